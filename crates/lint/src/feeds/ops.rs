//! Every statement of a program that adds to a container or takes from one, by the place of the container.

use ruff_python_ast::{ExprCall, Operator};

use super::fresh::{is_fresh, is_new, items};
use super::{Kind, Old, trimmed};
use crate::ask::last_name;
use crate::flow::{At, Flow, Place};
use crate::model::{Assign, BlockId, Bound, Call, Expr, Model, Ranged, ScopeId, TextSize};
use crate::program::FileId;
use crate::table::HashMap;

/// Something that happens to the container at a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op<'p, What> {
    /// The place of the container.
    pub at: At<'p>,
    /// What happens.
    pub what: What,
    pub file: FileId,
    pub scope: ScopeId,
    pub block: BlockId,
    /// Where it begins.
    pub offset: TextSize,
    /// The key of an entry.
    pub key: Option<&'p Expr>,
    /// How the container is written.
    pub container: Option<&'p Expr>,
}

impl<'p, What> Op<'p, What> {
    /// The same place, with something else that happens there.
    pub fn with<Other>(&self, what: Other) -> Op<'p, Other> {
        let Self { at, file, scope, block, offset, key, container, .. } = *self;
        Op { at, what, file, scope, block, offset, key, container }
    }
}

/// How a container loses elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// All: `clear()`, `xs = []`, `del xs[:]`.
    All,
    /// Another one takes its place, which may have old items: `xs = [x]`, `xs = {"a": [], "b": ys}`.
    Remade,
    /// Some: `pop()`, `del xs[0]`, `xs = xs[-10:]`.
    Some,
    /// None, but each that it has loses some: `for kept in d.values(): del kept[10:]`.
    OfEach,
}

/// What adds and what takes, by place.
#[derive(Debug, Default)]
pub(super) struct Ops<'p> {
    pub adds: HashMap<Place<'p>, Vec<Op<'p, Kind>>>,
    pub losses: HashMap<Place<'p>, Vec<Op<'p, Loss>>>,
    /// Values assigned to a place as a whole.
    pub assigned: HashMap<Place<'p>, Vec<Op<'p, &'p Expr>>>,
}

impl<'p> Ops<'p> {
    pub fn new(flow: &Flow<'p>) -> Self {
        let mut ops = Self::default();
        for (file, model) in flow.models.iter() {
            let mut collector = Collector { flow, file, ops: &mut ops };
            model.assigns.iter().for_each(|assign| collector.assign(assign));
            collector.calls(model);
            for delete in &model.deletes {
                let (target, loss) = match delete.target {
                    Expr::Subscript(each) => (&*each.value, if each.slice.is_slice_expr() { Loss::All } else { Loss::Some }),
                    other => (other, Loss::All),
                };
                collector.lose(delete.scope, delete.block, target, loss, delete.target.start());
                if let Some(container) = trimmed::by_delete(model, delete) {
                    collector.lose(delete.scope, delete.block, container, Loss::OfEach, delete.target.start());
                }
            }
        }
        ops
    }
}

struct Collector<'f, 'p> {
    flow: &'f Flow<'p>,
    file: FileId,
    ops: &'f mut Ops<'p>,
}

impl<'p> Collector<'_, 'p> {
    fn add(&mut self, scope: ScopeId, block: BlockId, container: &'p Expr, kind: Kind, offset: TextSize, key: Option<&'p Expr>) {
        for at in self.flow.places(self.file, scope, container) {
            let op = Op { at, what: kind, file: self.file, scope, block, offset, key, container: Some(container) };
            self.ops.adds.entry(at.place).or_default().push(op);
        }
    }

    fn lose(&mut self, scope: ScopeId, block: BlockId, container: &'p Expr, loss: Loss, offset: TextSize) {
        for at in self.flow.places(self.file, scope, container) {
            let op = Op { at, what: loss, file: self.file, scope, block, offset, key: None, container: Some(container) };
            self.ops.losses.entry(at.place).or_default().push(op);
        }
    }

    fn assign(&mut self, assign: &Assign<'p>) {
        let Assign { target, value, scope, block, .. } = *assign;
        let offset = target.start();
        match assign.how {
            // A missing key is made where the container makes it by reading.
            Bound::Augmented(_) if target.is_subscript_expr() => {
                if let Expr::Subscript(item) = target {
                    self.add(scope, block, &item.value, Kind::Item, offset, None);
                }
                self.add(scope, block, target, Kind::Extend, offset, None);
            }
            Bound::Augmented(Operator::Add | Operator::BitOr) => self.add(scope, block, target, Kind::Extend, offset, None),
            Bound::Augmented(_) => {}
            Bound::Whole | Bound::Part | Bound::Element | Bound::Entered => self.set(target, value, assign, offset),
        }
    }

    fn set(&mut self, target: &'p Expr, value: &'p Expr, assign: &Assign<'p>, offset: TextSize) {
        let (scope, block) = (assign.scope, assign.block);
        let trimmed = trimmed::by_loop(self.flow, self.file, assign);
        if let Some(container) = trimmed {
            self.lose(scope, block, container, Loss::OfEach, offset);
            self.lose(scope, block, target, Loss::Some, offset);
        } else if let Expr::Subscript(item) = target {
            if item.slice.is_slice_expr() {
                let loses = is_fresh(value) || self.is_cut(scope, value, &item.value);
                if loses {
                    self.lose(scope, block, &item.value, Loss::All, offset);
                } else {
                    self.add(scope, block, &item.value, Kind::Extend, offset, None);
                }
            } else {
                self.add(scope, block, &item.value, Kind::Item, offset, Some(&item.slice));
            }
        }
        if assign.how != Bound::Whole {
            return;
        }
        if is_new(value) {
            // `d[k] = []` begins a new one, too; see `Bounds::emptied`.
            self.lose(scope, block, target, Loss::All, offset);
        } else if self.is_remade(scope, value, target) {
            self.lose(scope, block, target, Loss::Remade, offset);
        } else if self.is_cut(scope, value, target) {
            if trimmed.is_none() {
                self.lose(scope, block, target, Loss::Some, offset);
            }
        } else if trimmed::by_comprehension(self.flow, self.file, assign) {
            self.lose(scope, block, target, Loss::OfEach, offset);
        } else if self.is_rebuilt(scope, value, target) {
            self.add(scope, block, target, Kind::Rebuilt, offset, None);
        }
        for at in self.flow.places(self.file, scope, target) {
            let op = Op { at, what: value, file: self.file, scope, block, offset, key: None, container: Some(target) };
            self.ops.assigned.entry(at.place).or_default().push(op);
        }
    }

    /// `xs[-10:]`, `list(xs)[-10:]`, `torch.cat([xs, x])[-10:]`: less of what was there, or no more than so much.
    fn is_cut(&self, scope: ScopeId, value: &'p Expr, target: &'p Expr) -> bool {
        match value {
            Expr::Subscript(each) if each.slice.is_slice_expr() => {
                self.mentions(scope, &each.value, target) || self.is_rebuilt(scope, &each.value, target)
            }
            Expr::ListComp(each) => {
                each.generators.iter().any(|generator| !generator.ifs.is_empty() && self.mentions(scope, &generator.iter, target))
            }
            Expr::DictComp(each) => {
                each.generators.iter().any(|generator| !generator.ifs.is_empty() && self.mentions(scope, &generator.iter, target))
            }
            // `xs[-10:] if len(xs) > 10 else xs`
            Expr::If(each) => self.is_cut(scope, &each.body, target) || self.is_cut(scope, &each.orelse, target),
            _ => false,
        }
    }

    /// `xs + [x]`, `[*xs, x]`, `{**d, k: v}`, `torch.cat([xs, x])`, `np.append(xs, x)`: what was there, and more.
    fn is_rebuilt(&self, scope: ScopeId, value: &'p Expr, target: &'p Expr) -> bool {
        let same = |one: &'p Expr| self.same(scope, one, target);
        let mentions = |one: &'p Expr| self.mentions(scope, one, target);
        Old { same: &same, mentions: &mentions }.added(value).is_some()
    }

    /// A list or dict that is written out, with nothing of the old one in it.
    fn is_remade(&self, scope: ScopeId, value: &'p Expr, target: &'p Expr) -> bool {
        if target.is_subscript_expr() {
            return false;
        }
        match items(value) {
            Some(mut items) => items.all(|item| match item {
                Expr::Name(_) => !self.same(scope, item, target),
                item => is_new(item) || self.is_remade(scope, item, target),
            }),
            None => false,
        }
    }

    fn same(&self, scope: ScopeId, one: &'p Expr, other: &'p Expr) -> bool {
        let others = self.flow.places(self.file, scope, other);
        !others.is_empty() && (self.is_at(scope, one, &others) || self.is_read_from(scope, one, &others))
    }

    fn is_at(&self, scope: ScopeId, one: &'p Expr, places: &[At<'p>]) -> bool {
        self.flow.places(self.file, scope, one).iter().any(|at| places.contains(at))
    }

    /// `old = rows.get(name)`, and nothing else: what `old` is until another takes its place in `rows`.
    fn is_read_from(&self, scope: ScopeId, one: &'p Expr, places: &[At<'p>]) -> bool {
        if !one.is_name_expr() {
            return false;
        }
        let read = |at: &At<'p>| {
            let mut assigned = self.flow.assigned(at.place);
            let is_read = |(file, assign): &(FileId, &Assign<'p>)| {
                *file == self.file
                    && assign.how == Bound::Whole
                    && assign.scope == scope
                    && self.is_at(scope, assign.value, places)
            };
            at.depth == 0 && assigned.next().is_some_and(is_read) && assigned.next().is_none()
        };
        self.flow.places(self.file, scope, one).iter().any(read)
    }

    /// The expression itself, or wrapped: `list(xs)`, `*xs`, `xs.items()`.
    fn mentions(&self, scope: ScopeId, expr: &'p Expr, target: &'p Expr) -> bool {
        self.same(scope, expr, target)
            || match expr {
                Expr::Call(call) => {
                    call.arguments.args.first().is_some_and(|first| self.same(scope, first, target))
                        || matches!(&*call.func, Expr::Attribute(each) if self.same(scope, &each.value, target))
                }
                Expr::Starred(each) => self.same(scope, &each.value, target),
                _ => false,
            }
    }

    fn calls(&mut self, model: &Model<'p>) {
        let mut handed: HashMap<Place<'p>, Vec<(&'p Expr, Method)>> = HashMap::default();
        for assign in model.assigns.iter().filter(|assign| assign.how == Bound::Whole) {
            if let Some(kept) = uncalled(assign.value) {
                for at in self.flow.places(self.file, assign.scope, assign.target).into_iter().filter(|at| at.depth == 0) {
                    handed.entry(at.place).or_default().push(kept);
                }
            }
        }
        for call in &model.calls {
            self.call(call);
            // `add = xs.append`, and then `add(x)`; `take = xs.popleft`, and then `take()`.
            if !handed.is_empty() && matches!(&*call.call.func, Expr::Name(_) | Expr::Attribute(_)) {
                for at in self.flow.places(self.file, call.scope, &call.call.func) {
                    for (container, method) in handed.get(&at.place).into_iter().flatten() {
                        match method {
                            Method::Adds(kind) => self.add(call.scope, call.block, container, *kind, call.call.start(), None),
                            Method::Loses(loss) => self.lose(call.scope, call.block, container, *loss, call.call.start()),
                        }
                    }
                }
            }
        }
    }

    fn call(&mut self, call: &Call<'p>) {
        let Call { call: expr, scope, block, .. } = *call;
        let arguments = &expr.arguments;
        if let Expr::Attribute(attribute) = &*expr.func {
            let name = attribute.attr.as_str();
            // What a method of the program's own adds is told by its own statements.
            let own = self.flow.callee(self.file, scope, &expr.func).is_some();
            if let Some(kind) = method(name).filter(|_| !own) {
                let key = matches!(name, "setdefault" | "__setitem__").then(|| arguments.args.first()).flatten();
                self.add(scope, block, &attribute.value, kind, expr.start(), key);
            } else if is_hook(name) {
                self.add(scope, block, &attribute.value, Kind::Hook, expr.start(), None);
            } else if let Some(loss) = loser(name).filter(|_| !own) {
                self.lose(scope, block, &attribute.value, loss, expr.start());
            } else if let ("set", [value]) = (name, &*arguments.args)
                && !own
            {
                self.set_context(call, &attribute.value, value);
            }
        }
        if let (Some("heappush" | "insort" | "insort_left" | "insort_right" | "iadd"), Some(first)) =
            (name_of(expr), arguments.args.first())
        {
            self.add(scope, block, first, Kind::Add, expr.start(), None);
        }
        if let (Some("heappop"), Some(first)) = (name_of(expr), arguments.args.first()) {
            self.lose(scope, block, first, Loss::Some, expr.start());
        }
        let values = crate::ask::given(expr);
        for value in values {
            if let Some((container, Method::Adds(_))) = uncalled(value) {
                self.add(scope, block, container, Kind::Handed, value.start(), None);
            }
        }
    }
}

impl<'p> Collector<'_, 'p> {
    /// `trail.set(trail.get() + (x,))`: what a `ContextVar` has is an item of it, as far as ways in the heap go.
    fn set_context(&mut self, call: &Call<'p>, variable: &'p Expr, value: &'p Expr) {
        let below = |at: At<'p>| At { depth: at.depth + 1, ..at };
        let inside: Vec<At<'p>> = self.flow.places(self.file, call.scope, variable).into_iter().map(below).collect();
        let same = |one: &'p Expr| self.is_at(call.scope, one, &inside) || self.is_read_from(call.scope, one, &inside);
        let mentions = |one: &'p Expr| {
            same(one)
                || match one {
                    Expr::Starred(each) => same(&each.value),
                    Expr::Call(each) => each.arguments.args.first().is_some_and(&same),
                    _ => false,
                }
        };
        if inside.is_empty() || (Old { same: &same, mentions: &mentions }).added(value).is_none() {
            return;
        }
        for at in inside {
            let (file, offset) = (self.file, call.call.start());
            let op =
                Op { at, what: Kind::Rebuilt, file, scope: call.scope, block: call.block, offset, key: None, container: None };
            self.ops.adds.entry(at.place).or_default().push(op);
        }
    }
}

/// The last name of what is called.
pub(super) fn name_of(call: &ExprCall) -> Option<&str> {
    last_name(&call.func)
}

fn method(name: &str) -> Option<Kind> {
    Some(match name {
        "append" | "appendleft" | "add" | "insert" | "push" | "put" | "put_nowait" | "send" => Kind::Add,
        "extend" | "extendleft" | "update" | "__iadd__" | "__ior__" | "update_from" | "fromlist" | "frombytes" | "write" => {
            Kind::Extend
        }
        "setdefault" | "__setitem__" | "__getitem__" => Kind::Item,
        _ => return None,
    })
}

/// Methods by whose name a hook or a callback is registered.
pub(super) fn is_hook(name: &str) -> bool {
    name.starts_with("register_") && name.contains("hook")
        || matches!(
            name,
            "register"
                | "add_callback"
                | "add_done_callback"
                | "add_hook"
                | "register_callback"
                | "subscribe"
                | "add_listener"
                | "connect"
                | "on"
        )
}

fn loser(name: &str) -> Option<Loss> {
    Some(match name {
        "clear" => Loss::All,
        "pop" | "popleft" | "popitem" | "remove" | "discard" | "get_nowait" => Loss::Some,
        _ => return None,
    })
}

/// What a method does to its container.
#[derive(Clone, Copy)]
enum Method {
    Adds(Kind),
    Loses(Loss),
}

/// The container of a method that adds or takes away and is not called: `xs.append`.
fn uncalled(expr: &Expr) -> Option<(&Expr, Method)> {
    let Expr::Attribute(attribute) = expr else { return None };
    let name = attribute.attr.as_str();
    // `module.add` handed somewhere is a function; a container is told by what else is known of it.
    let adds = method(name).filter(|_| name != "__getitem__").map(Method::Adds);
    Some((&attribute.value, adds.or_else(|| loser(name).map(Method::Loses))?))
}

//! What is put into containers, one by one.

use super::Check;
use super::again::loops_around;
use crate::feeds::{Bound as Limit, Old, is_inside};
use crate::flow::{At, ClassId, Place};
use crate::model::{Assign, BlockId, Bound, Expr, Model, Operator, Ranged, ScopeId, TextSize};
use crate::program::FileId;

/// One value is put into a container.
#[derive(Clone, Copy, Debug)]
pub struct Put<'p> {
    /// The file.
    pub file: FileId,
    /// The scope it stands in.
    pub scope: ScopeId,
    /// Where it stands.
    pub block: BlockId,
    /// The container, as it is written.
    pub container: &'p Expr,
    /// What is put into it.
    pub value: &'p Expr,
    /// The key of an entry.
    pub key: Option<&'p Expr>,
    /// Where the statement begins.
    pub offset: TextSize,
}

/// Functions of libraries that give a longer one of what they are given.
const JOINERS: &[&str] = &[
    "numpy.append",
    "numpy.concatenate",
    "numpy.hstack",
    "numpy.vstack",
    "pandas.concat",
    "torch.cat",
    "torch.concat",
    "torch.concatenate",
    "torch.hstack",
    "torch.vstack",
];

/// What a list that is added has in it, or what is added as it is.
fn elements(added: &Expr) -> Vec<&Expr> {
    if let Expr::List(list) = added { list.elts.iter().collect() } else { vec![added] }
}

impl<'p> Check<'_, 'p> {
    /// Everything that a file puts into a container: `xs.append(x)`, `d[k] = x`, `xs += [x]`.
    #[must_use]
    pub fn puts(&self, file: FileId, model: &Model<'p>) -> Vec<Put<'p>> {
        // Many rules ask.
        if let Some(puts) = self.puts.borrow().get(&file) {
            return puts.clone();
        }
        let puts = self.find_puts(file, model);
        self.puts.borrow_mut().insert(file, puts.clone());
        puts
    }

    fn find_puts(&self, file: FileId, model: &Model<'p>) -> Vec<Put<'p>> {
        let mut puts = Vec::new();
        for call in &model.calls {
            let (Expr::Attribute(method), scope, block) = (&*call.call.func, call.scope, call.block) else { continue };
            let args = &call.call.arguments.args;
            let (key, value) = match (method.attr.as_str(), &**args) {
                ("append" | "appendleft" | "add", [value]) | ("insert", [_, value]) => (None, value),
                ("setdefault", [key, value]) => (Some(key), value),
                _ => continue,
            };
            // What a method of the program's own does with it is told by its own statements.
            if self.flow.callee(file, scope, &call.call.func).is_none() {
                puts.push(Put { file, scope, block, container: &method.value, value, key, offset: call.call.start() });
            }
        }
        for assign in &model.assigns {
            let (scope, block, offset) = (assign.scope, assign.block, assign.target.start());
            match (assign.how, assign.target, assign.value) {
                (Bound::Whole, Expr::Subscript(item), value) if !item.slice.is_slice_expr() => {
                    let (container, key) = (&*item.value, Some(&*item.slice));
                    puts.push(Put { file, scope, block, container, value, key, offset });
                }
                (Bound::Augmented(Operator::Add), container, Expr::List(list)) => {
                    puts.extend(list.elts.iter().map(|value| Put { file, scope, block, container, value, key: None, offset }));
                }
                _ => {}
            }
        }
        puts
    }

    /// What a file puts into containers several at a time: `xs.extend(more)`, `d.update({k: x})`.
    #[must_use]
    pub fn extensions(&self, file: FileId, model: &Model<'p>) -> Vec<Put<'p>> {
        let mut puts = Vec::new();
        for call in model.calls_named(&["extend", "update"]) {
            let (Expr::Attribute(method), [value]) = (&*call.call.func, &*call.call.arguments.args) else { continue };
            let (scope, block, offset) = (call.scope, call.block, call.call.start());
            if self.flow.callee(file, scope, &call.call.func).is_some() {
                continue;
            }
            let put = |value, key| Put { file, scope, block, container: &method.value, value, key, offset };
            match value {
                Expr::Dict(each) => {
                    puts.extend(each.items.iter().filter_map(|item| Some(put(&item.value, Some(item.key.as_ref()?)))));
                }
                Expr::List(each) => puts.extend(each.elts.iter().map(|value| put(value, None))),
                value if method.attr.as_str() == "extend" => puts.push(put(value, None)),
                _ => {}
            }
        }
        puts
    }

    /// What a file joins to an array, a tensor or a list, which is made anew for it: `self.all = torch.cat([self.all, out])`.
    #[must_use]
    pub fn joins(&self, file: FileId, model: &Model<'p>) -> Vec<Put<'p>> {
        let all = model.assigns.iter().filter(|assign| !self.is_of_layers(file, assign));
        all.flat_map(|assign| self.joined(file, assign)).collect()
    }

    /// What an assignment joins to what it is given to.
    pub(super) fn joined(&self, file: FileId, assign: &Assign<'p>) -> Vec<Put<'p>> {
        let Assign { target, scope, block, .. } = *assign;
        if assign.how != Bound::Whole || !(target.is_name_expr() || target.is_attribute_expr()) {
            return Vec::new();
        }
        let same = |one: &'p Expr| self.same(file, scope, one, target);
        let old = Old { same: &same, mentions: &same };
        let put = |value| Put { file, scope, block, container: target, value, key: None, offset: target.start() };
        old.added(assign.value)
            .filter(|_| self.joins_data(file, scope, assign.value))
            .map_or_else(Vec::new, |added| added.into_iter().flat_map(elements).map(put).collect())
    }

    /// Whether it is plain that a value is a longer one: a list with another, or what a library's function joins. `x + y` may be a sum.
    fn joins_data(&self, file: FileId, scope: ScopeId, value: &'p Expr) -> bool {
        match value {
            Expr::BinOp(each) => each.right.is_list_expr() || self.joins_data(file, scope, &each.left),
            Expr::If(each) => [&each.body, &each.orelse].into_iter().any(|value| self.joins_data(file, scope, value)),
            Expr::Call(call) => {
                let name = self.flow.models.of(file).full_name(scope, &call.func);
                name.is_some_and(|name| JOINERS.contains(&name.as_str()))
                    || matches!(&*call.func, Expr::Attribute(method) if self.joins_data(file, scope, &method.value))
            }
            _ => false,
        }
    }

    /// Whether a model joins it that no framework trains by its hooks: keys and values of what it writes, features of its layers.
    fn is_of_layers(&self, file: FileId, assign: &Assign<'p>) -> bool {
        self.flow.models.of(file).method_of(assign.scope).is_some_and(|(class, _)| {
            let class = ClassId { file, scope: class };
            self.autograd.is_module(class) && !self.has_hook(class)
        })
    }

    /// What bounds the container of something that is put into it, whatever happens.
    #[must_use]
    pub fn firm_bound(&self, put: &Put<'p>) -> Option<Limit> {
        self.containers.bound(put.file, put.scope, put.block, put.container, put.key).filter(Limit::is_firm)
    }

    /// Whether the container of something that is put into it gets only more: nothing bounds it for sure, and nothing anywhere
    /// takes anything out of it.
    #[must_use]
    pub fn gets_only_more(&self, put: &Put<'p>) -> bool {
        self.firm_bound(put).is_none() && self.containers.is_never_emptied(put.file, put.scope, put.container)
    }

    /// What is put somewhere for good ([`Check::is_kept_for_good`]).
    pub fn kept_for_good(&self) -> &[Put<'p>] {
        self.kept.get_or_init(|| {
            let all = self.files().flat_map(|(file, model)| [self.puts(file, model), self.joins(file, model)].concat());
            all.filter(|put| {
                self.is_kept_for_good(put.file, put.scope, put.block, put.container, put.key) || self.is_kept_each_epoch(put)
            })
            .collect()
        })
    }

    /// Whether a loop of epochs files everything that a loop inside of it gathered: `outputs[epoch] = torch.cat(gathered)`.
    fn is_kept_each_epoch(&self, put: &Put<'p>) -> bool {
        let model = self.flow.models.of(put.file);
        let Expr::Call(call) = put.value else { return false };
        let Some(gathered @ Expr::Name(_)) = call.arguments.args.first() else { return false };
        let mut rounds = loops_around(model, put.block);
        let Some(round) = rounds.next().filter(|_| rounds.next().is_none()) else { return false };
        let joins = matches!(
            model.full_name(put.scope, &call.func).as_deref(),
            Some(
                "torch.cat"
                    | "torch.concat"
                    | "torch.stack"
                    | "torch.vstack"
                    | "numpy.concatenate"
                    | "numpy.vstack"
                    | "numpy.stack"
            )
        );
        let places = self.flow.places(put.file, put.scope, put.container);
        let own = |at: &At<'p>| {
            matches!(at.place, Place::Variable(of, owner, _)
                if of == put.file && owner == model.function_of(put.scope).unwrap_or(ScopeId::MODULE))
        };
        let in_round = |block| is_inside(model, block, round);
        let is_filled_inside = || {
            self.puts(put.file, model).iter().any(|inner| {
                self.same(put.file, inner.scope, inner.container, gathered)
                    && loops_around(model, inner.block).any(|inner| inner != round && in_round(inner))
                    && self.value(put.file, inner.scope, inner.block, inner.value).is_data()
            })
        };
        joins
            && !places.is_empty()
            && places.iter().all(own)
            && places.iter().all(|at| !self.flow.assigned(at.place).any(|(of, assign)| *of == put.file && in_round(assign.block)))
            && self.is_loop_of_epochs(put.file, round)
            && is_filled_inside()
            && self.gets_only_more(put)
    }
}

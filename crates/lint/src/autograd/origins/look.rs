//! From an expression to what its value is computed of.

use ruff_text_size::Ranged;

use super::off::{is_passed, tells_tensors};
use super::{Here, Origins, Walk, Wanted};
use crate::autograd::{Autograd, is_own, is_plain};
use crate::check::loops_around;
use crate::feeds::is_inside;
use crate::flow::Place;
use crate::model::{Assign, BlockKind, Bound, Comprehension, Expr, Item, Model, ScopeId, ScopeKind};

impl<'p> Autograd<'_, 'p> {
    pub(super) fn look(&self, here: Here, expr: &'p Expr, wanted: Wanted<'p>, walk: Walk, found: &mut Origins<'p>) {
        let Some(walk) = walk.deeper().filter(|_| !found.graph) else { return };
        match expr {
            Expr::Name(_) => self.look_places(here, expr, wanted, walk, found),
            Expr::Attribute(each) if !is_plain(each.attr.as_str()) && !each.attr.starts_with("__") => {
                self.look_places(here, expr, wanted, walk, found);
                self.look_part(here, &each.value, wanted.of(Item::Key(each.attr.as_str())), walk, found);
            }
            Expr::BinOp(each) => {
                for side in [&*each.left, &*each.right] {
                    found.graph |= self.is_parameter(here, side);
                    self.look(here, side, wanted, walk, found);
                }
            }
            Expr::UnaryOp(each) if !each.op.is_not() => self.look(here, &each.operand, wanted, walk, found),
            Expr::Subscript(each) => {
                let wanted = Item::of(&each.slice).map_or(Some(wanted), |item| wanted.of(item));
                self.look_part(here, &each.value, wanted, walk, found);
            }
            Expr::If(each) => {
                // `x.detach() if torch.is_tensor(x) else x`
                if tells_tensors(&each.test) != Some(false) {
                    self.look(here, &each.body, wanted, walk, found);
                }
                if tells_tensors(&each.test) != Some(true) {
                    self.look(here, &each.orelse, wanted, walk, found);
                }
            }
            Expr::BoolOp(each) => each.values.iter().for_each(|value| self.look(here, value, wanted, walk, found)),
            Expr::Named(each) => self.look(here, &each.value, wanted, walk, found),
            Expr::Await(each) => self.look(here, &each.value, wanted, walk, found),
            Expr::Starred(each) => self.look(here, &each.value, wanted, walk, found),
            Expr::Tuple(each) => self.look_display(here, &each.elts, wanted, walk, found),
            Expr::List(each) => self.look_display(here, &each.elts, wanted, walk, found),
            Expr::Set(each) => self.look_display(here, &each.elts, wanted, walk, found),
            Expr::Dict(each) => {
                for item in &each.items {
                    let key = item.key.as_ref().map(|key| Item::of(key).unwrap_or(Item::Any));
                    let wanted = key.map_or(Some(wanted), |key| wanted.inside(key));
                    self.look_part(here, &item.value, wanted, walk, found);
                }
            }
            Expr::ListComp(each) => self.look_each(here, &each.generators, expr, &each.elt, wanted, walk, found),
            Expr::SetComp(each) => self.look_each(here, &each.generators, expr, &each.elt, wanted, walk, found),
            Expr::Generator(each) => self.look_each(here, &each.generators, expr, &each.elt, wanted, walk, found),
            Expr::DictComp(each) => self.look_each(here, &each.generators, expr, &each.value, wanted, walk, found),
            Expr::Call(call) => self.look_call(here, call, wanted, walk, found),
            _ => {}
        }
    }

    pub(super) fn look_part(&self, here: Here, expr: &'p Expr, wanted: Option<Wanted<'p>>, walk: Walk, found: &mut Origins<'p>) {
        if let Some(wanted) = wanted {
            self.look(here, expr, wanted, walk, found);
        }
    }

    pub(super) fn look_places(&self, here: Here, expr: &'p Expr, wanted: Wanted<'p>, walk: Walk, found: &mut Origins<'p>) {
        for at in self.flow.places(here.file, here.scope, expr).iter().filter(|at| is_own(at)) {
            let from = Some(here).filter(|here| self.last_given(at.place, *here).is_some());
            found.merge(&self.place(at.place, from, wanted, walk));
        }
    }

    /// The last assignment to a variable of the function around, or of the file in what is in no function, that nobody passes
    /// by on the way here. None where another function gives it something, too: that may have been since.
    pub(super) fn last_given(&self, place: Place<'p>, here: Here) -> Option<&Assign<'p>> {
        let Place::Variable(file, owner, _) = place else { return None };
        let model = self.flow.models.of(file);
        let elsewhere = || self.flow.assigned(place).any(|(_, assign)| code_of(model, assign.scope) != owner);
        if file != here.file || code_of(model, here.scope) != owner || elsewhere() {
            return None;
        }
        let before = self.flow.assigned(place).map(|(_, assign)| assign).filter(|assign| {
            let is_loops = matches!(model.block(assign.block).kind, BlockKind::For(each) if each.range() == assign.range);
            let is_done = if is_loops { assign.target.end() <= here.offset } else { assign.range.end() <= here.offset };
            is_done && !matches!(assign.how, Bound::Augmented(_)) && is_passed(model, assign.block, here.block)
        });
        before.max_by_key(|assign| assign.target.start()).copied()
    }

    /// Whether what an assignment gives can be there, where another one is the last that nobody passes by: it comes after that, or
    /// in a loop that the other one stands before.
    pub(super) fn reaches(&self, assign: &Assign<'p>, last: &Assign<'p>, here: Here) -> bool {
        let model = self.flow.models.of(here.file);
        let (at, since) = (assign.target.start(), last.target.start());
        let by_loop = || {
            loops_around(model, here.block)
                .any(|round| !is_inside(model, last.block, round) && is_inside(model, assign.block, round))
        };
        at >= since && at < here.offset || by_loop()
    }

    pub(super) fn look_display(&self, here: Here, elements: &'p [Expr], wanted: Wanted<'p>, walk: Walk, found: &mut Origins<'p>) {
        let counted = !elements.iter().any(Expr::is_starred_expr);
        for (element, at) in elements.iter().zip(0..) {
            let item = if counted { u8::try_from(at).map_or(Item::Any, Item::At) } else { Item::Any };
            let wanted = if element.is_starred_expr() { Some(wanted) } else { wanted.inside(item) };
            self.look_part(here, element, wanted, walk, found);
        }
    }

    /// What a comprehension computes for each element.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn look_each(
        &self,
        here: Here,
        generators: &'p [Comprehension],
        whole: &'p Expr,
        value: &'p Expr,
        wanted: Wanted<'p>,
        walk: Walk,
        found: &mut Origins<'p>,
    ) {
        let model = self.flow.models.of(here.file);
        let scope = if generators.is_empty() { None } else { scope_of(model, whole) };
        if let Some(scope) = scope {
            self.look_part(Here { scope, ..here }, value, wanted.inside(Item::Any), walk, found);
        }
    }
}

/// The function, class or file whose statements a scope is a part of.
fn code_of(model: &Model, scope: ScopeId) -> ScopeId {
    let each = model.scope(scope);
    match (each.kind, each.parent) {
        (ScopeKind::Comprehension(_), Some(around)) => code_of(model, around),
        _ => scope,
    }
}

/// The scope of a comprehension.
fn scope_of(model: &Model, whole: &Expr) -> Option<ScopeId> {
    model.scopes.iter().zip(0..).find_map(|(scope, id)| {
        matches!(scope.kind, ScopeKind::Comprehension(each) if std::ptr::eq(each, whole)).then_some(ScopeId(id))
    })
}

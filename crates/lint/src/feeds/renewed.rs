//! What is made anew each time before more is joined to it.

use std::collections::HashSet;

use ruff_python_ast::visitor::{Visitor, walk_expr};

use super::bounds::Bounds;
use super::ops::Op;
use super::{Bound, Kind};
use crate::flow::{Alias, Flow, Place, Reach};
use crate::model::{BindingKind, Bound as Way, Expr, Ranged, ScopeId};
use crate::program::FileId;

/// Assignments and calls that are followed to what something is made of. What is further away may be anything.
const MAX_LOOKS: usize = 60;

impl<'p> Bounds<'_, 'p> {
    /// `x = load()` and then, with no loop between the two, `x = torch.cat([x, old])`: that is no longer than it was the last time,
    /// unless what it is made of comes from itself: `x = last`.
    pub(super) fn renewed(&self, added: &Op<'p, Kind>) -> Option<Bound> {
        if added.what != Kind::Rebuilt || added.at.depth > 0 {
            return None;
        }
        let model = self.flow.models.of(added.file);
        let mut around = Vec::new();
        for (id, block) in model.with_blocks_within(added.block) {
            around.push(id);
            if block.kind.is_loop() {
                break;
            }
        }
        // What a function makes is followed into that.
        let is_kept = |alias: &&Alias<'p>| !(alias.reach == Reach::Back && matches!(alias.at.place, Place::Result(..)));
        let itself: HashSet<Place<'p>> = self.aliases.iter().filter(is_kept).map(|alias| alias.at.place).collect();
        let made_of = |file, scope, value| {
            let (seen, asked) = (HashSet::new(), HashSet::new());
            MadeOf { flow: self.flow, itself: itself.clone(), seen, asked }.itself(file, scope, value)
        };
        let (_, assign) = self.flow.assigned(added.at.place).find(|(file, assign)| {
            *file == added.file
                && assign.how == Way::Whole
                && assign.range.end() <= added.offset
                && around.contains(&assign.block)
                && !made_of(*file, assign.scope, assign.value)
        })?;
        Some(Bound::Emptied(self.site(added.file, assign.target.start())))
    }
}

/// What is followed from a value to all that it may be made of: any part of it, what its names were given, what its calls return.
struct MadeOf<'f, 'p> {
    flow: &'f Flow<'p>,
    itself: HashSet<Place<'p>>,
    seen: HashSet<Place<'p>>,
    asked: HashSet<(FileId, ScopeId)>,
}

impl<'p> MadeOf<'_, 'p> {
    /// Whether it may be made of what lies at one of the places.
    fn itself(&mut self, file: FileId, scope: ScopeId, value: &'p Expr) -> bool {
        let mut parts = Parts(Vec::new());
        parts.visit_expr(value);
        parts.0.into_iter().any(|part| {
            let places = self.flow.places(file, scope, part);
            places.iter().any(|at| self.itself.contains(&at.place))
                || self.seen.len() + self.asked.len() > MAX_LOOKS
                || places.iter().any(|at| self.is_given(at.place))
                || self.is_returned(file, scope, part)
        })
    }

    fn is_given(&mut self, place: Place<'p>) -> bool {
        if !self.seen.insert(place) {
            return false;
        }
        let flow = self.flow;
        flow.assigned(place).any(|(of, assign)| self.itself(*of, assign.scope, assign.value))
            || flow.put_into(place).any(|put| self.itself(put.file, put.scope, put.value))
            || self.is_argument(place)
    }

    /// What a parameter is given by those who call the function.
    fn is_argument(&mut self, place: Place<'p>) -> bool {
        let Place::Variable(file, function, name) = place else { return false };
        let flow = self.flow;
        let bindings = flow.models.of(file).scope(function).bindings(name);
        bindings.iter().any(|binding| matches!(binding.kind, BindingKind::Parameter { .. }))
            && flow.callers(file, function).iter().any(|(from, call)| {
                let given = flow.given(*from, call, file, function);
                given.iter().any(|each| each.parameter == name && self.itself(*from, call.scope, each.value))
            })
    }

    fn is_returned(&mut self, file: FileId, scope: ScopeId, part: &'p Expr) -> bool {
        let Expr::Call(call) = part else { return false };
        let Some((of, function)) = self.flow.likely_callee(file, scope, &call.func) else { return false };
        let models = self.flow.models;
        self.asked.insert((of, function))
            && models.of(of).returned(function).any(|result| self.itself(of, result.scope, result.value))
    }
}

/// Every name, attribute and call inside of an expression.
struct Parts<'p>(Vec<&'p Expr>);

impl<'p> Visitor<'p> for Parts<'p> {
    fn visit_expr(&mut self, expr: &'p Expr) {
        if matches!(expr, Expr::Name(_) | Expr::Attribute(_) | Expr::Call(_)) {
            self.0.push(expr);
        }
        walk_expr(self, expr);
    }
}

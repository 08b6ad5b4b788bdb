//! A new one in the place of the last, which keeps that one inside: `fn = compose(fn, more)`, `last = Node(x, last)`, `head = (x, head)`.
//!
//! Each is small, and none is ever let go of: what such a variable has is a chain that gets a link longer each time.

use super::find::{Finder, Ranked};
use super::holder::Holder;
use super::ops::{Op, name_of};
use super::target::find_class;
use super::{Certainty, Kind};
use crate::ask::given;
use crate::flow::{At, Place};
use crate::model::{Bound, Expr, ScopeId};
use crate::program::FileId;

impl<'p> Finder<'_, 'p> {
    /// What makes an object larger that the way ends at: attributes of its class whose next value keeps the last one. Each of them is
    /// another object at the next look, so that what has it is all that stays.
    pub(super) fn links(&self, holder: &Holder) -> Vec<Ranked> {
        let Some(class) = holder.through.last().and_then(|class| find_class(self.flow, class)) else { return Vec::new() };
        let line = self.flow.classes.ancestors(class);
        let mut found = Vec::new();
        for (place, ops) in &self.ops.assigned {
            let Place::Attribute(of, _) = place else { continue };
            if !line.contains(of) {
                continue;
            }
            let at = At { place: *place, depth: 0 };
            let links = ops.iter().filter(|op| op.at == at && self.wraps(op, at));
            found.extend(links.map(|op| self.described(&op.with(Kind::Wrapped), Certainty::Traced)));
        }
        found
    }

    /// Whether what is assigned keeps what was there.
    pub(super) fn wraps(&self, op: &Op<'p, &'p Expr>, at: At<'p>) -> bool {
        let old = |part: &'p Expr| self.flow.places(op.file, op.scope, part).contains(&at);
        match op.what {
            Expr::Tuple(each) => each.elts.iter().any(old),
            Expr::List(each) => each.elts.iter().any(old),
            Expr::Call(call) => given(call).into_iter().any(old) && self.keeps_what_it_is_given(op.file, op.scope, &call.func),
            _ => false,
        }
    }

    /// A class of the program, a named tuple, `partial`, or a function that gives one which it has defined inside.
    fn keeps_what_it_is_given(&self, file: FileId, scope: ScopeId, called: &'p Expr) -> bool {
        if self.flow.models.class(file, scope, called).is_some() {
            return true;
        }
        if crate::ask::last_name(called) == Some("partial") {
            return true;
        }
        if let Some((file, function)) = self.flow.models.function(file, scope, called) {
            let model = self.flow.models.of(file);
            return model.returned(function).any(|result| match result.value {
                Expr::Lambda(_) => true,
                value => self
                    .flow
                    .models
                    .function(file, function, value)
                    .is_some_and(|(_, inner)| model.scope(inner).parent == Some(function)),
            });
        }
        self.flow.places(file, scope, called).into_iter().any(|at| match at.place {
            Place::Variable(..) => self.flow.assigned(at.place).any(|(_, assign)| {
                let is_named = |value: &Expr| matches!(value, Expr::Call(call) if matches!(name_of(call), Some("namedtuple" | "NamedTuple" | "make_dataclass")));
                assign.how == Bound::Whole && is_named(assign.value)
            }),
            _ => false,
        })
    }
}

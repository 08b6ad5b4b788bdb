//! Conditions that are met again and again by themselves: on the remainder of what is counted on.

use ruff_python_ast::{CmpOp, ExprCall, Operator, UnaryOp};

use super::limit::literal;
use super::ops::name_of;
use crate::ask::receiver;
use crate::flow::{Flow, Place};
use crate::model::{Assign, BindingKind, BlockId, BlockKind, Bound as Way, Expr, Ranged, ScopeId};
use crate::program::FileId;

/// From one value to the next that are followed to where something is counted.
const MAX_LOOKS: usize = 4;

/// Whether something stands under a condition that may never be met. One on a remainder is met every so many times.
pub(super) fn may_never_run(flow: &Flow<'_>, file: FileId, block: BlockId) -> bool {
    let model = flow.models.of(file);
    model.blocks_within(block).any(|each| match each.kind {
        BlockKind::If(test) => {
            let in_loop = model.loops(block) > 0;
            !Rounds { flow, file, scope: each.scope, in_loop }.comes_round(test)
        }
        kind => kind.is_conditional(),
    })
}

/// Where a condition stands.
struct Rounds<'f, 'p> {
    flow: &'f Flow<'p>,
    file: FileId,
    scope: ScopeId,
    /// Whether a loop is around it in its function: what is set once before that is no counter.
    in_loop: bool,
}

impl<'p> Rounds<'_, 'p> {
    /// `n % 100 == 0`, `not n % every`, `(n + 1) % self.every == 0`, also with guards that hold from some time on:
    /// `n > 0 and n % every == 0`.
    fn comes_round(&self, test: &'p Expr) -> bool {
        let Expr::BoolOp(each) = test else { return self.round(test).is_some() };
        if each.op.is_or() {
            return each.values.iter().any(|value| self.comes_round(value));
        }
        let Some(round) = each.values.iter().find_map(|value| self.round(value)) else { return false };
        each.values
            .iter()
            .all(|value| self.round(value).is_some_and(|other| std::ptr::eq(other.0, round.0)) || self.holds(value, round))
    }

    /// What is counted on and the number of times, where that is all that a condition asks.
    fn round(&self, test: &'p Expr) -> Option<(&'p Expr, &'p Expr)> {
        let remainder = |each: &'p Expr| match each {
            Expr::BinOp(each) if each.op == Operator::Mod => Some((&*each.left, &*each.right)),
            _ => None,
        };
        let (counter, period) = match test {
            Expr::Compare(each) => {
                let ([CmpOp::Eq], [right]) = (&*each.ops, &*each.comparators) else { return None };
                let (round, rest) = match remainder(&each.left) {
                    Some(round) => (round, right),
                    None => (remainder(right)?, &*each.left),
                };
                self.is_met(rest, round.1).then_some(round)?
            }
            Expr::UnaryOp(each) if each.op.is_not() => remainder(&each.operand)?,
            _ => return None,
        };
        (self.is_period(period) && self.is_counted(counter, MAX_LOOKS)).then_some((counter, period))
    }

    /// Whether a remainder can be this: zero, or one less than the number of times. Of a number that is written out, any that is written out.
    fn is_met(&self, rest: &Expr, period: &Expr) -> bool {
        match rest {
            Expr::NumberLiteral(_) => period.is_number_literal_expr() || literal(rest) == Some(0),
            Expr::BinOp(each) => {
                each.op == Operator::Sub && each.right.is_number_literal_expr() && self.text(&each.left) == self.text(period)
            }
            _ => false,
        }
    }

    /// A number, a name, an attribute, an entry by a constant key, or what is computed of such, that gets no larger while the program runs.
    fn is_period(&self, period: &'p Expr) -> bool {
        match period {
            Expr::NumberLiteral(_) => true,
            Expr::Name(_) | Expr::Attribute(_) => self.flow.places(self.file, self.scope, period).iter().all(|at| {
                self.flow.assigned(at.place).all(|(file, assign)| match assign.how {
                    Way::Whole => !self.is_from_itself(*file, assign, at.place),
                    Way::Part | Way::Entered => true,
                    Way::Augmented(_) | Way::Element => false,
                })
            }),
            Expr::Subscript(each) => {
                (each.slice.is_string_literal_expr() || each.slice.is_number_literal_expr())
                    && self.changes_of(period).next().is_none()
                    && self.is_period(&each.value)
            }
            Expr::BinOp(each) => {
                matches!(each.op, Operator::Mult | Operator::FloorDiv)
                    && self.is_period(&each.left)
                    && self.is_period(&each.right)
            }
            Expr::Call(call) => {
                matches!(name_of(call), Some("int" | "max" | "min"))
                    && call.func.is_name_expr()
                    && call.arguments.keywords.is_empty()
                    && call.arguments.args.iter().all(|each| self.is_period(each))
            }
            _ => false,
        }
    }

    /// Whether a number is another one each time, as far as the source tells: something is added to it, a loop gives it, or it is
    /// somebody else's and has the name of such.
    fn is_counted(&self, number: &'p Expr, looks: usize) -> bool {
        let Some(looks) = looks.checked_sub(1) else { return false };
        match number {
            Expr::Name(_) | Expr::Attribute(_) => {
                let places = self.flow.places(self.file, self.scope, number);
                places.iter().any(|at| at.depth == 0 && self.is_counted_at(at.place, looks))
            }
            Expr::Subscript(_) => self.changes_of(number).next().is_some(),
            Expr::BinOp(each) => {
                matches!(each.op, Operator::Add | Operator::Sub | Operator::Mult | Operator::FloorDiv)
                    && (self.is_counted(&each.left, looks) || self.is_counted(&each.right, looks))
            }
            Expr::Named(each) => self.is_counted(&each.target, looks) || self.is_counted(&each.value, looks),
            Expr::Call(call) => self.is_counted_call(call, looks),
            _ => false,
        }
    }

    /// `next(numbers)`, `len(rows)`, `int(step)`, `self.step.item()`.
    fn is_counted_call(&self, call: &'p ExprCall, looks: usize) -> bool {
        match (name_of(call), &*call.func, &*call.arguments.args) {
            (Some("next" | "len"), Expr::Name(_), [_]) => true,
            (Some("int" | "max" | "min" | "abs"), Expr::Name(_), args) => args.iter().any(|each| self.is_counted(each, looks)),
            (Some("item"), Expr::Attribute(_), []) => receiver(call).is_some_and(|each| self.is_counted(each, looks)),
            _ => false,
        }
    }

    fn is_counted_at(&self, place: Place<'p>, looks: usize) -> bool {
        if let Place::Variable(file, owner, name) = place
            && self.is_parameter(file, owner, name)
            && self.flow.assigned(place).next().is_none()
        {
            return self.is_given_counted(file, owner, name, looks);
        }
        let mut assigned = self.flow.assigned(place).peekable();
        // The number of a round (`enumerate`), or of a framework.
        assigned.peek().is_none() && counts(place)
            || assigned.any(|(file, assign)| match assign.how {
                Way::Augmented(how) => matches!(how, Operator::Add | Operator::Sub),
                Way::Element => true,
                Way::Whole => {
                    self.is_from_itself(*file, assign, place)
                        || self.is_set_again(*file, assign, place)
                            && Rounds { file: *file, scope: assign.scope, ..*self }.is_counted(assign.value, looks)
                }
                Way::Part | Way::Entered => false,
            })
    }

    fn is_parameter(&self, file: FileId, owner: ScopeId, name: &str) -> bool {
        let bindings = self.flow.models.of(file).scope(owner).bindings(name);
        bindings.iter().any(|each| matches!(each.kind, BindingKind::Parameter { .. }))
    }

    /// Whether a parameter is given what is counted, by anybody; who calls it may not be told by the source.
    fn is_given_counted(&self, file: FileId, function: ScopeId, name: &str, looks: usize) -> bool {
        let callers = self.flow.callers(file, function);
        let mut given = callers.iter().flat_map(|(from, call)| {
            let given = self.flow.given(*from, call, file, function);
            given.into_iter().filter(|each| each.parameter == name).map(|each| (*from, call.scope, call.block, each.value))
        });
        callers.is_empty() && counts(Place::Variable(file, function, name))
            || given.any(|(file, scope, block, value)| {
                let in_loop = self.flow.models.of(file).loops(block) > 0;
                Rounds { flow: self.flow, file, scope, in_loop }.is_counted(value, looks)
            })
    }

    /// `n = n + 1`
    fn is_from_itself(&self, file: FileId, assign: &Assign<'p>, place: Place<'p>) -> bool {
        let Expr::BinOp(each) = assign.value else { return false };
        [&*each.left, &*each.right].into_iter().any(|side| {
            let places = self.flow.places(file, assign.scope, side);
            places.iter().any(|at| at.depth == 0 && at.place == place)
        })
    }

    /// Whether a place is given its value again before the condition is asked again; what is made once counts nothing.
    fn is_set_again(&self, file: FileId, assign: &Assign<'p>, place: Place<'p>) -> bool {
        let model = self.flow.models.of(file);
        let Some(function) = model.function_of(assign.scope) else { return model.loops(assign.block) > 0 };
        let is_own = matches!(place, Place::Variable(of, owner, _) if (of, owner) == (file, function));
        model.scope(function).name() != "__init__" && (!is_own || !self.in_loop || model.loops(assign.block) > 0)
    }

    /// What is added to an entry, or takes its place with more: `state["step"] += 1`.
    fn changes_of(&self, entry: &'p Expr) -> impl Iterator<Item = &'p Expr> {
        let places = self.flow.places(self.file, self.scope, entry);
        let text = self.text(entry);
        self.flow.models.of(self.file).assigns.iter().filter_map(move |assign| {
            let is_it = matches!(assign.how, Way::Augmented(_))
                && assign.target.is_subscript_expr()
                && self.text(assign.target) == text
                && self.flow.places(self.file, assign.scope, assign.target).iter().any(|at| places.contains(at));
            is_it.then_some(assign.target)
        })
    }

    /// `n`, `n > 0`, `n >= self.warmup`: of what is counted. That the number of times is asked for (`self.every and ...`) says that it
    /// may be off.
    fn holds(&self, guard: &'p Expr, (counter, _): (&'p Expr, &'p Expr)) -> bool {
        let is_one = |side: &Expr| self.is_in(counter, side);
        let is_fixed = |side: &'p Expr| side.is_none_literal_expr() || is_less(side) || self.is_period(side);
        match guard {
            Expr::Compare(each) => match (&*each.ops, &*each.comparators) {
                ([CmpOp::Gt | CmpOp::GtE | CmpOp::NotEq | CmpOp::IsNot], [right]) => is_one(&each.left) && is_fixed(right),
                ([CmpOp::Lt | CmpOp::LtE], [right]) => is_one(right) && is_fixed(&each.left),
                _ => false,
            },
            guard => is_one(guard),
        }
    }

    /// Whether a number is a part of a sum: `n` of `n + 1`.
    fn is_in(&self, sum: &Expr, number: &Expr) -> bool {
        self.text(sum) == self.text(number)
            || match sum {
                Expr::BinOp(each) => {
                    !number.is_number_literal_expr() && (self.is_in(&each.left, number) || self.is_in(&each.right, number))
                }
                _ => false,
            }
    }

    fn text(&self, expr: &Expr) -> &str {
        self.flow.models.of(self.file).source.slice(expr.range())
    }
}

/// Whether what nobody sets has the name of something that is counted, as `trainer.global_step`; a rank or a number of a device is one
/// for the whole run.
fn counts(place: Place<'_>) -> bool {
    const COUNTED: &[&str] = &[
        "count",
        "counter",
        "epoch",
        "i",
        "idx",
        "index",
        "it",
        "iter",
        "iteration",
        "n",
        "round",
        "step",
        "t",
        "tick",
        "update",
    ];
    const FIXED: &[&str] =
        &["device", "gpu", "gpus", "host", "id", "local", "node", "rank", "size", "worker", "workers", "world"];
    let has = |name: &str, words: &[&str]| name.to_ascii_lowercase().split('_').any(|part| words.contains(&part));
    match place {
        Place::Variable(_, _, name) | Place::Attribute(_, name) | Place::Unknown(name) => has(name, COUNTED) && !has(name, FIXED),
        Place::Result(..) | Place::Instance(_) => false,
    }
}

/// `-1`
fn is_less(expr: &Expr) -> bool {
    matches!(expr, Expr::UnaryOp(each) if each.op == UnaryOp::USub && each.operand.is_number_literal_expr())
}

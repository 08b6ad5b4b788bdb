//! A tensor whose autograd graph gets longer: values that are computed from their own last value.

use ruff_python_ast::visitor::{Visitor, walk_expr};

use super::find::{Finder, Ranked};
use super::ops::{Op, name_of};
use super::{Certainty, Kind};
use crate::ask::given;
use crate::flow::Alias;
use crate::model::{Assign, Bound, Expr, Operator, Ranged, ScopeId};
use crate::program::FileId;

/// Intermediate variables that are looked through: `new = a * old + b; old = new`.
const MAX_HOPS: usize = 2;
/// What a call is farther away than any statement of the function that it calls.
const ELSEWHERE: usize = 1000;

/// Assignments to one of these places whose value is computed from it.
pub(super) fn find<'p>(finder: &Finder<'_, 'p>, aliases: &[Alias<'p>]) -> Vec<Ranked> {
    let mut found = Vec::new();
    for (file, model) in finder.flow.models.iter() {
        for assign in &model.assigns {
            let places = finder.flow.places(file, assign.scope, assign.target);
            let Some(alias) = aliases.iter().find(|alias| places.contains(&alias.at)) else { continue };
            let what = match assign.how {
                Bound::Augmented(_) => (!detaches(assign.value)).then_some(Kind::Accumulated),
                Bound::Whole | Bound::Part => comes_from(finder, file, assign, aliases, MAX_HOPS),
                Bound::Element | Bound::Entered => None,
            };
            if let Some(what) = what {
                let op = Op {
                    at: alias.at,
                    what,
                    file,
                    scope: assign.scope,
                    block: assign.block,
                    offset: assign.target.start(),
                    key: None,
                    container: Some(assign.target),
                };
                let mut ranked = finder.ranked(&op, alias, Certainty::Traced);
                // What a function of the program makes of other things is told by its own statements.
                if is_made_elsewhere(finder, file, assign, aliases) {
                    ranked.steps += ELSEWHERE;
                }
                found.push(ranked);
            }
        }
    }
    found
}

/// Whether a function of the program makes the value, and is not given what the target had before.
fn is_made_elsewhere<'p>(finder: &Finder<'_, 'p>, file: FileId, assign: &Assign<'p>, aliases: &[Alias<'p>]) -> bool {
    let Expr::Call(call) = assign.value else { return false };
    let places = finder.flow.places(file, assign.scope, assign.target);
    let own: Vec<Alias<'p>> = aliases.iter().filter(|alias| places.contains(&alias.at)).copied().collect();
    assign.how == Bound::Whole
        && finder.flow.callee(file, assign.scope, &call.func).is_some()
        && !finder.reads(file, assign.scope, &own, assign.value)
}

/// How a value is made from what the places had before; `None` where it is not. What is only handed on is made where it was computed:
/// a value that a place is given is known by the place's name, too, and is not made from itself.
fn comes_from<'p>(
    finder: &Finder<'_, 'p>,
    file: FileId,
    assign: &Assign<'p>,
    aliases: &[Alias<'p>],
    hops: usize,
) -> Option<Kind> {
    if detaches(assign.value) {
        return None;
    }
    let mut mentions = Mentions { finder, file, scope: assign.scope, aliases, found: false, others: Vec::new() };
    match assign.value {
        Expr::Name(_) => mentions.others.push(assign.value),
        Expr::Attribute(_) | Expr::Subscript(_) => {}
        value => mentions.visit_expr(value),
    }
    if mentions.found {
        return Some(made(assign.value, &|part| finder.reads(file, assign.scope, aliases, part)));
    }
    let others = mentions.others;
    if hops == 0 {
        return None;
    }
    others.iter().find_map(|other| {
        let places = finder.flow.places(file, assign.scope, other);
        let before = finder.flow.models.of(file).assigns.iter().filter(|each| {
            each.scope == assign.scope
                && matches!(each.how, Bound::Whole | Bound::Part)
                && each.target.range() != assign.target.range()
                && finder.flow.places(file, each.scope, each.target).iter().any(|at| places.contains(at))
        });
        before.take(8).find_map(|each| comes_from(finder, file, each, aliases, hops - 1))
    })
}

impl<'p> Finder<'_, 'p> {
    /// Whether a part of an expression reads one of the places, outside of what detaches it.
    fn reads(&self, file: FileId, scope: ScopeId, aliases: &[Alias<'p>], part: &'p Expr) -> bool {
        let mut mentions = Mentions { finder: self, file, scope, aliases, found: false, others: Vec::new() };
        mentions.visit_expr(part);
        mentions.found
    }
}

/// Functions and methods that only reckon with what they are given.
const ARITHMETIC: &[&str] = &["add", "cat", "concat", "mean", "mul", "stack", "sub", "sum", "vstack", "where"];

/// What is made of the last value: a sum, an average, or what a model makes of it.
fn made<'p>(value: &'p Expr, reads: &dyn Fn(&'p Expr) -> bool) -> Kind {
    let scaled = |part: &'p Expr| match part {
        Expr::BinOp(product) => matches!(product.op, Operator::Mult | Operator::Div) && reads(part),
        _ => false,
    };
    match value {
        Expr::BinOp(sum) if matches!(sum.op, Operator::Add | Operator::Sub) => {
            if scaled(&sum.left) || scaled(&sum.right) {
                Kind::Averaged
            } else {
                Kind::Accumulated
            }
        }
        Expr::Call(call) => match name_of(call) {
            Some("lerp" | "lerp_") => Kind::Averaged,
            Some(name) if ARITHMETIC.contains(&name.trim_end_matches('_')) => Kind::Accumulated,
            _ if given(call).into_iter().any(reads) => Kind::Carried,
            _ => Kind::Accumulated,
        },
        _ => Kind::Accumulated,
    }
}

/// Whether a value leaves its graph behind.
fn detaches(value: &Expr) -> bool {
    match value {
        Expr::Call(call) => {
            matches!(name_of(call), Some("detach" | "item" | "detach_" | "numpy" | "tolist" | "float" | "int" | "str"))
                || matches!(&*call.func, Expr::Attribute(each) if detaches(&each.value))
        }
        Expr::Attribute(each) => each.attr.as_str() == "data" || detaches(&each.value),
        Expr::Subscript(each) => detaches(&each.value),
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::BooleanLiteral(_) | Expr::NoneLiteral(_) => true,
        _ => false,
    }
}

/// Whether an expression reads one of the places outside of what detaches it.
struct Mentions<'a, 'f, 'p> {
    finder: &'a Finder<'f, 'p>,
    file: FileId,
    scope: ScopeId,
    aliases: &'a [Alias<'p>],
    found: bool,
    /// Other variables that it reads.
    others: Vec<&'p Expr>,
}

impl<'p> Visitor<'p> for Mentions<'_, '_, 'p> {
    fn visit_expr(&mut self, expr: &'p Expr) {
        if self.found || detaches(expr) {
            return;
        }
        if matches!(expr, Expr::Name(_) | Expr::Attribute(_) | Expr::Subscript(_)) {
            let places = self.finder.flow.places(self.file, self.scope, expr);
            if self.aliases.iter().any(|alias| places.contains(&alias.at)) {
                self.found = true;
                return;
            }
            if expr.is_name_expr() && self.others.len() < 16 {
                self.others.push(expr);
            }
        }
        stacker::maybe_grow(128 << 10, 2 << 20, || walk_expr(self, expr));
    }
}

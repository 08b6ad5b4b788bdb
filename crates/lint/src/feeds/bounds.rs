//! What keeps a holder from growing for ever, as far as the source tells.

use ruff_python_ast::{CmpOp, Operator};

use super::asked::{Here, invert};
use super::context::Contexts;
use super::fresh::is_fresh;
use super::limit::limit;
use super::ops::{Loss, Op, Ops, name_of};
use super::rounds::may_never_run;
use super::{Bound, Kind, Site};
use crate::ask::last_name;
use crate::flow::{Alias, At, Flow, Place};
use crate::model::{Assign, BlockKind, Bound as Way, Call, Expr, Model, Ranged, ScopeId, TextSize};
use crate::program::FileId;

/// Calls that are followed from what empties a container up to what makes its object.
const MADE_BY: usize = 3;

/// Words in the names of functions that end something.
const ENDS: &[&str] = &[
    "abort",
    "atexit",
    "broken",
    "close",
    "del",
    "destroy",
    "exit",
    "finalize",
    "kill",
    "shutdown",
    "stop",
    "teardown",
    "terminate",
];

/// Everything that a bound is read from.
pub(super) struct Bounds<'f, 'p> {
    pub flow: &'f Flow<'p>,
    pub ops: &'f Ops<'p>,
    pub contexts: &'f Contexts,
    /// Every place that can hold the container.
    pub aliases: &'f [Alias<'p>],
    /// The function whose local it is.
    pub local_of: Option<(FileId, ScopeId)>,
}

impl<'p> Bounds<'_, 'p> {
    /// The same for what is seen to grow in one process, in which what has an entry for each sample is full after an epoch, and what has
    /// one for each size of a batch when all sizes have come. A rule warns of both all the same, where each worker has its own.
    pub fn in_one_process(&self, op: &Op<'p, Kind>) -> Option<Bound> {
        if op.key.is_some_and(|key| self.is_sample_number(op.file, op.scope, key)) {
            return Some(Bound::Samples);
        }
        let bound = self.of(op);
        let is_firm = bound.as_ref().is_some_and(Bound::is_firm);
        if is_firm {
            return bound;
        }
        let is_size = op.key.is_some_and(|key| self.is_size(op.file, op.scope, key));
        is_size.then_some(Bound::Sizes).or_else(|| self.is_being_made(op)).or(bound)
    }

    /// What bounds the growth by one statement, the firmest first.
    pub fn of(&self, op: &Op<'p, Kind>) -> Option<Bound> {
        if op.key.is_some_and(|key| is_one_of_few(self.flow.models.of(op.file), op.scope, key)) {
            return Some(Bound::Keys);
        }
        self.made_with_a_limit().or_else(|| self.guarded(op)).or_else(|| self.emptied(op)).or_else(|| self.dies())
    }

    /// `deque(maxlen=100)`, `Queue(100)`, `LRUCache(maxsize=100)`.
    fn made_with_a_limit(&self) -> Option<Bound> {
        let mut made = self.aliases.iter().flat_map(|alias| at(&self.ops.assigned, alias.at));
        made.find_map(|op| match op.what {
            Expr::Call(call) => {
                let number = self.number(op.file, op.scope, limit(call)?);
                Some(Bound::Ceiling(self.site(op.file, call.start()), number))
            }
            _ => None,
        })
    }

    /// Where what has a fixed length is made: it has no more places than that.
    pub fn length(&self) -> Option<Bound> {
        let mut made = self.aliases.iter().flat_map(|alias| at(&self.ops.assigned, alias.at));
        made.next().map(|op| Bound::Ceiling(self.site(op.file, op.offset), None))
    }

    /// `if len(xs) < 100:` around it, or `if self.held < self.room:`, where what is held is counted.
    fn guarded(&self, added: &Op<'p, Kind>) -> Option<Bound> {
        let Op { file, scope, .. } = *added;
        let model = self.flow.models.of(file);
        let is_measure =
            |here: Here<'p>, expr| self.is_length(here.file, here.scope, expr) || self.is_filled_up(here, added, expr);
        model.with_blocks_within(added.block).find_map(|(id, block)| {
            let test = match block.kind {
                BlockKind::If(test) => test,
                BlockKind::While(each) => &*each.test,
                _ => return None,
            };
            let here = Here::at(file, scope, id);
            self.compares(here, test, &[CmpOp::Lt, CmpOp::LtE, CmpOp::NotEq], &is_measure)
                .then(|| Bound::Ceiling(self.site(file, test.start()), self.number_in(here, test)))
        })
    }

    /// Whether a condition is `len(xs) < n`, alone or with `and`, or so of another measure of the container.
    pub(super) fn compares(
        &self,
        here: Here<'p>,
        test: &'p Expr,
        ops: &[CmpOp],
        is_measure: &dyn Fn(Here<'p>, &'p Expr) -> bool,
    ) -> bool {
        match test {
            Expr::Compare(each) => {
                let is_measured = |side: &'p Expr| self.is_measured(here, side, is_measure);
                let flipped: Vec<CmpOp> = ops.iter().map(|op| flip(*op)).collect();
                each.ops.iter().any(|op| ops.contains(op)) && is_measured(&each.left)
                    || each.ops.iter().any(|op| flipped.contains(op)) && each.comparators.iter().any(is_measured)
            }
            Expr::BoolOp(each) if each.op.is_and() => each.values.iter().any(|value| self.compares(here, value, ops, is_measure)),
            // `if not xs:` is `len(xs) < 1`.
            Expr::UnaryOp(each) if each.op.is_not() => {
                let inverted: Vec<CmpOp> = ops.iter().map(|op| invert(*op)).collect();
                ops.contains(&CmpOp::Lt) && self.is_alias(here.file, here.scope, &each.operand)
                    || !is_compound(&each.operand) && self.compares(here, &each.operand, &inverted, is_measure)
            }
            test => self.predicate(here, test).is_some_and(|(here, test)| {
                // What is left while there is any is no limit.
                !is_compound(test) && self.number_in(here, test) != Some(0) && self.compares(here, test, ops, is_measure)
            }),
        }
    }

    pub(super) fn is_length(&self, file: FileId, scope: ScopeId, expr: &'p Expr) -> bool {
        match expr {
            Expr::Call(call) if matches!(name_of(call), Some("len")) => {
                call.arguments.args.first().is_some_and(|of| self.is_alias(file, scope, of))
            }
            Expr::Call(call) => match &*call.func {
                Expr::Attribute(each) if matches!(each.attr.as_str(), "qsize" | "__len__") => {
                    self.is_alias(file, scope, &each.value)
                }
                _ => false,
            },
            _ => false,
        }
    }

    pub(super) fn is_alias(&self, file: FileId, scope: ScopeId, expr: &'p Expr) -> bool {
        let places = self.flow.places(file, scope, expr);
        self.aliases.iter().any(|alias| places.contains(&alias.at))
    }

    /// What takes elements out again, where it runs again and again.
    fn emptied(&self, added: &Op<'p, Kind>) -> Option<Bound> {
        let mut maybe = None;
        // Of a program that calls its functions by ways that the source does not show, what empties it is not shown to run either.
        let is_shown = self.contexts.is_repeated(self.flow.models.of(added.file), added.file, added.scope, added.block);
        for op in self.aliases.iter().flat_map(|alias| self.losses(alias.at)) {
            let model = self.flow.models.of(op.file);
            // Where it is made is no emptying.
            let function = model.function_of(op.scope);
            let all = matches!(op.what, Loss::All | Loss::Remade);
            let in_init = function.is_some_and(|function| self.is_for_making(op.file, function, MADE_BY));
            let own = matches!(op.at.place, Place::Variable(file, owner, _) if file == op.file && Some(owner) == function)
                && model.loops(op.block) == 0;
            // `d[k] = []` in front of what adds to it begins one; elsewhere it empties it.
            let begins = all
                && op.container.is_some_and(Expr::is_subscript_expr)
                && at(&self.ops.assigned, op.at).any(|assigned| assigned.offset == op.offset)
                && (op.file, function) == (added.file, self.flow.models.of(added.file).function_of(added.scope));
            let runs = !is_shown && function.is_some() || self.contexts.is_repeated(model, op.file, op.scope, op.block);
            if in_init || begins || own && all || !runs {
                continue;
            }
            let site = self.site(op.file, op.offset);
            if op.what != Loss::OfEach
                && let Some(number) = self.ceiling(op, added)
            {
                return Some(Bound::Ceiling(site, number));
            }
            let conditional = may_never_run(self.flow, op.file, op.block)
                || function.is_some_and(|function| self.is_at_an_end(op.file, function) || self.is_made_late(op.file, function));
            // `xs = xs[-10:]` leaves so many, however many there were.
            let cut = op.what == Loss::Some && at(&self.ops.assigned, op.at).any(|assigned| assigned.offset == op.offset);
            if !conditional && (all || cut) {
                return Some(Bound::Emptied(site));
            }
            maybe.get_or_insert(Bound::EmptiedIf(site));
        }
        maybe
    }

    /// Whether a method runs when its object is made, and at no other time: `__init__`, and its private helpers that nobody else
    /// calls. Others may be called by those whose source is not here.
    pub(super) fn is_for_making(&self, file: FileId, function: ScopeId, depth: usize) -> bool {
        let name = self.flow.models.of(file).scope(function).name();
        if matches!(name, "__init__" | "__new__" | "__post_init__" | "__setstate__") || name.contains("after_fork") {
            return true;
        }
        let callers = if depth == 0 || !name.starts_with('_') { Vec::new() } else { self.flow.callers(file, function) };
        let is_making = |(from, call): &(FileId, Call<'p>)| {
            let caller = self.flow.models.of(*from).function_of(call.scope);
            caller.is_some_and(|caller| self.is_for_making(*from, caller, depth - 1))
        };
        !callers.is_empty() && callers.iter().all(is_making)
    }

    /// Whether a library's function is there for the end of a thing, or for when it breaks: in use nothing is emptied by it.
    fn is_at_an_end(&self, file: FileId, function: ScopeId) -> bool {
        let model = self.flow.models.of(file);
        self.flow.models.program.in_library(file) && model.scope(function).name().split('_').any(|word| ENDS.contains(&word))
    }

    /// Whether a function is called only where something is not there yet, which it makes: `if self.thread is None: self.start()`.
    fn is_made_late(&self, file: FileId, function: ScopeId) -> bool {
        let callers = self.flow.callers(file, function);
        let own = self.flow.models.of(file);
        let makes = |thing: &str| {
            let mut assigns = own.assigns.iter().filter(|assign| own.function_of(assign.scope) == Some(function));
            assigns.any(|assign| last_name(assign.target) == Some(thing))
        };
        // By its name: who calls may be of a class that inherits from this one.
        let is_late = |(from, call): &(FileId, Call<'p>)| {
            self.flow.models.of(*from).blocks_within(call.block).any(|block| match block.kind {
                BlockKind::If(test) => missing(test).and_then(last_name).is_some_and(makes),
                _ => false,
            })
        };
        !callers.is_empty() && callers.iter().all(is_late)
    }

    /// What takes elements out of it, or lets go of it with what it lies in, where it lies nowhere else.
    fn losses(&self, wanted: At<'p>) -> impl Iterator<Item = &Op<'p, Loss>> + use<'_, 'p> {
        let lies_elsewhere = self.aliases.iter().any(|alias| alias.at.place != wanted.place);
        let all = self.ops.losses.get(&wanted.place).into_iter().flatten();
        all.filter(move |op| {
            let around = op.at.depth < wanted.depth && op.what == Loss::All && !lies_elsewhere;
            op.at.depth == wanted.depth || around
        })
    }

    /// A local of a function that is called again and again, kept nowhere else.
    fn dies(&self) -> Option<Bound> {
        let (file, function) = self.local_of?;
        let locals = || {
            self.aliases
                .iter()
                .map(|alias| alias.at)
                .filter(|at| matches!(at.place, Place::Variable(of, owner, _) if (of, owner) == (file, function)))
        };
        // One that each call makes anew: no other name of what there was before.
        let made = |local: At<'p>| at(&self.ops.assigned, local).map(|op| op.what);
        let is_new = locals().all(|local| made(local).next().is_some() && made(local).all(is_fresh));
        let depth = locals().map(|at| at.depth).min().filter(|_| is_new);
        let kept = self.aliases.iter().any(|alias| match alias.at.place {
            // `self.scores = scores` has that of one call, `self.all.append(scores)` has them all.
            Place::Attribute(..) => depth.is_none_or(|depth| alias.at.depth > depth),
            Place::Result(..) => true,
            Place::Variable(_, owner, _) => owner == ScopeId::MODULE,
            Place::Unknown(_) | Place::Instance(_) => false,
        });
        (!kept && self.contexts.is_called_repeatedly(file, function)).then_some(Bound::Local)
    }

    fn site(&self, file: FileId, offset: TextSize) -> Site {
        site(self.flow, file, offset)
    }
}

/// The line that an offset of a file lies in.
pub(crate) fn site(flow: &Flow, file: FileId, offset: TextSize) -> Site {
    let source = flow.models.of(file).source;
    let place = source.place(offset);
    let text: String = source.line_text(offset).chars().take(super::MAX_TEXT).collect();
    let (cell, line) = source.in_cell(place.line);
    Site { file: source.path().to_owned(), cell, line, column: place.column, text }
}

/// What a condition says is not there: `x is None`, `not x`.
fn missing(test: &Expr) -> Option<&Expr> {
    match test {
        Expr::Compare(each) => {
            let is_none = matches!(&*each.ops, [CmpOp::Is]) && each.comparators.iter().all(Expr::is_none_literal_expr);
            is_none.then_some(&*each.left)
        }
        Expr::UnaryOp(each) => each.op.is_not().then_some(&*each.operand),
        _ => None,
    }
}

/// `a and b`, `not a`
fn is_compound(test: &Expr) -> bool {
    test.is_bool_op_expr() || test.is_unary_op_expr()
}

/// What happens to exactly this object.
pub(super) fn at<'m, 'p, What>(
    ops: &'m crate::table::HashMap<Place<'p>, Vec<Op<'p, What>>>,
    wanted: At<'p>,
) -> impl Iterator<Item = &'m Op<'p, What>> + use<'m, 'p, What> {
    ops.get(&wanted.place).into_iter().flatten().filter(move |op| op.at.depth == wanted.depth)
}

fn flip(op: CmpOp) -> CmpOp {
    match op {
        CmpOp::Lt => CmpOp::Gt,
        CmpOp::LtE => CmpOp::GtE,
        CmpOp::Gt => CmpOp::Lt,
        CmpOp::GtE => CmpOp::LtE,
        other => other,
    }
}

/// A constant, a remainder, a variable of a loop over constants, or text that is put together of such: few different keys however often
/// it runs.
fn is_one_of_few(model: &Model, scope: ScopeId, key: &Expr) -> bool {
    let is_few = |each: &Expr| is_one_of_few(model, scope, each);
    match key {
        Expr::StringLiteral(_) | Expr::NumberLiteral(_) | Expr::BooleanLiteral(_) | Expr::NoneLiteral(_) => true,
        Expr::BinOp(each) if each.op == Operator::Mod => !matches!(&*each.left, Expr::StringLiteral(_) | Expr::FString(_)),
        // `n = n + 1` is no text: one side has to be.
        Expr::BinOp(each) => {
            let is_text = each.left.is_string_literal_expr() || each.right.is_string_literal_expr();
            each.op == Operator::Add && is_text && is_few(&each.left) && is_few(&each.right)
        }
        Expr::FString(each) => {
            each.value.elements().filter_map(|part| part.as_interpolation()).all(|part| is_few(&part.expression))
        }
        Expr::UnaryOp(each) => is_few(&each.operand),
        Expr::Tuple(each) => !each.elts.is_empty() && each.elts.iter().all(is_few),
        Expr::Name(each) => {
            let mut values = model.assigns.iter().filter(|assign| {
                assign.scope == scope && assign.target.as_name_expr().is_some_and(|target| target.id == each.id)
            });
            let over_constants = |assign: &Assign| assign.how == Way::Element && is_constants(assign.value);
            let first = values.next();
            first.is_some_and(over_constants) && values.all(over_constants)
        }
        _ => false,
    }
}

/// `("audio", "text")`, written out.
fn is_constants(values: &Expr) -> bool {
    let elements = match values {
        Expr::Tuple(each) => &each.elts,
        Expr::List(each) => &each.elts,
        _ => return false,
    };
    !elements.is_empty() && elements.iter().all(|each| each.is_string_literal_expr() || each.is_number_literal_expr())
}

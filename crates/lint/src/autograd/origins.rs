//! Where what a value carries comes from: a graph that begins in the program, or parameters of the function around.

use std::cell::Cell;
use std::rc::Rc;

use ruff_python_ast::ExprCall;
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::plain::makes_anew;
use super::{Autograd, is_own, is_plain, mentions};
use crate::ask::last_name;
use crate::check::loops_around;
use crate::feeds::is_inside;
use crate::flow::{At, ItemPut, Place};
use crate::model::{
    Assign, BindingKind, BlockId, BlockKind, Bound, Call, Comprehension, Expr, Item, Model, ScopeId, ScopeKind, Way, dotted,
};
use crate::program::FileId;
use crate::table::HashSet;

/// Places that a value is followed back through.
const MAX_DEPTH: usize = 14;
/// Nested expressions that are looked into.
const MAX_NESTING: usize = 40;
/// Parameters that one value comes from, at most: more are not told.
const MAX_GIVEN: usize = 8;
/// Calls that an argument is followed back through.
const MAX_HOPS: usize = 5;
/// Callers of one function that are asked what they give.
const MAX_CALLERS: usize = 24;

/// Which part of a value is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Wanted<'p> {
    /// The way to it.
    way: Way<'p>,
    /// Whether anything below it counts as well.
    deep: bool,
}

impl<'p> Wanted<'p> {
    /// The value itself, or anything in it.
    pub const ANY: Self = Self { way: Way::ITSELF, deep: true };
    /// The value itself.
    const ITSELF: Self = Self { way: Way::ITSELF, deep: false };

    /// The same part of an item of something.
    fn of(self, item: Item<'p>) -> Option<Self> {
        self.of_part(Way::to(item))
    }

    /// The same part of a part of something.
    fn of_part(self, part: Way<'p>) -> Option<Self> {
        Some(Self { way: part.then(self.way)?, ..self })
    }

    /// What is asked about an item, where something may be asked about it.
    fn inside(self, item: Item<'p>) -> Option<Self> {
        match self.way.split() {
            Some((first, rest)) => first.may_be(item).then_some(Self { way: rest, ..self }),
            None => self.deep.then_some(self),
        }
    }

    /// What is asked about a part.
    fn inside_part(self, part: Way<'p>) -> Option<Self> {
        part.items().iter().try_fold(self, |wanted, item| wanted.inside(*item))
    }
}

/// Where a value comes from.
#[derive(Clone, Debug, Default)]
pub(super) struct Origins<'p> {
    /// It carries a graph, whoever calls.
    pub graph: bool,
    /// Parameters that it comes from.
    pub given: Vec<(Place<'p>, Wanted<'p>)>,
}

impl<'p> Origins<'p> {
    fn add(&mut self, place: Place<'p>, wanted: Wanted<'p>) {
        if self.given.len() < MAX_GIVEN && !self.given.contains(&(place, wanted)) {
            self.given.push((place, wanted));
        }
    }

    fn merge(&mut self, other: &Self) {
        self.graph |= other.graph;
        other.given.iter().for_each(|(place, wanted)| self.add(*place, *wanted));
    }
}

/// What a parameter may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sought {
    /// Something with a graph.
    Graph,
    /// The same, or what the forward pass of a module is given.
    Activation,
}

/// A place, where it is read if that matters, and which part of what it holds.
pub(super) type Question<'p> = (Place<'p>, Option<TextSize>, Wanted<'p>);

/// What is known of a part of a place.
#[derive(Clone, Debug)]
pub(super) enum Answer<'p> {
    /// Where it comes from.
    Known(Rc<Origins<'p>>),
    /// It is being looked at, so many places up.
    Asked(usize),
    /// Where it comes from but for the place so many up, which is still being looked at.
    Guessed(Rc<Origins<'p>>, usize),
}

/// A walk from a place to the places that its value comes from.
#[derive(Clone, Copy)]
pub(super) struct Walk<'w> {
    /// Nested expressions that may still be looked into.
    nesting: usize,
    /// Places up to the one that was asked for.
    depth: usize,
    /// The outermost place that was met again: what is not found below it is not known before it is.
    met: &'w Cell<usize>,
}

impl Walk<'_> {
    fn deeper(self) -> Option<Self> {
        Some(Self { nesting: self.nesting.checked_sub(1)?, ..self })
    }
}

/// Where an expression stands.
#[derive(Clone, Copy)]
struct Here {
    file: FileId,
    scope: ScopeId,
    block: BlockId,
    offset: TextSize,
}

impl<'p> Autograd<'_, 'p> {
    /// Where a part of the value of an expression comes from.
    pub(super) fn origins(
        &self,
        file: FileId,
        scope: ScopeId,
        block: BlockId,
        expr: &'p Expr,
        wanted: Wanted<'p>,
    ) -> Rc<Origins<'p>> {
        let mut found = Origins::default();
        if self.records(file, scope, block) {
            let walk = Walk { nesting: MAX_NESTING, depth: 0, met: &Cell::new(usize::MAX) };
            self.look(Here { file, scope, block, offset: expr.start() }, expr, wanted, walk, &mut found);
        }
        Rc::new(found)
    }

    /// Where a part of what a place holds comes from.
    pub(super) fn origins_of(&self, place: Place<'p>, wanted: Wanted<'p>) -> Rc<Origins<'p>> {
        self.place(place, None, wanted, Walk { nesting: MAX_NESTING, depth: 0, met: &Cell::new(usize::MAX) })
    }

    /// Whether some caller gives a parameter what is sought, in the part that is asked about.
    pub(super) fn is_given(&self, parameter: Place<'p>, wanted: Wanted<'p>, sought: Sought) -> bool {
        self.given_within(parameter, wanted, sought, MAX_HOPS)
    }

    fn given_within(&self, parameter: Place<'p>, wanted: Wanted<'p>, sought: Sought, hops: usize) -> bool {
        let Some(hops) = hops.checked_sub(1) else { return false };
        let Place::Variable(file, function, name) = parameter else { return false };
        let key = (parameter, wanted, sought);
        if let Some(known) = self.handed.borrow().get(&key) {
            return *known;
        }
        if self.is_taken_off(parameter) {
            return false;
        }
        if sought == Sought::Activation && self.is_of_forward(parameter) {
            return true;
        }
        // While it is looked for, a function that calls itself tells nothing of it.
        self.handed.borrow_mut().insert(key, false);
        let found = self.flow.sure_callers(file, function).iter().take(MAX_CALLERS).any(|(from, call)| {
            self.arguments(*from, call, (file, function), name).into_iter().any(|(value, depth)| {
                let wanted = if depth == 0 { Some(wanted) } else { wanted.inside(Item::Any) };
                let Some(wanted) = wanted else { return false };
                let origins = self.origins(*from, call.scope, call.block, value, wanted);
                origins.graph || origins.given.iter().any(|(place, wanted)| self.given_within(*place, *wanted, sought, hops))
            })
        });
        self.handed.borrow_mut().insert(key, found);
        found
    }

    /// Whether a parameter gets something else at once: `value = value.item()` takes the graph off.
    #[must_use]
    pub fn is_taken_off(&self, parameter: Place<'p>) -> bool {
        let given = HashSet::from_iter([parameter]);
        let mut again = self.flow.assigned(parameter).filter(|(_, assign)| assign.how == Bound::Whole);
        again.any(|(file, assign)| !mentions(self.flow, *file, assign.scope, assign.value, &given, 12))
    }

    /// Whether graphs are recorded at a block.
    fn records(&self, file: FileId, scope: ScopeId, block: BlockId) -> bool {
        !self.uses().off.contains(&file) && !self.is_without(file, scope, block)
    }

    /// `from` is where it is read, where not all that the place ever gets can be there.
    fn place(&self, place: Place<'p>, from: Option<Here>, wanted: Wanted<'p>, walk: Walk) -> Rc<Origins<'p>> {
        let key = (place, from.map(|here| here.offset), wanted);
        match self.answers.borrow().get(&key) {
            Some(Answer::Known(known)) => return Rc::clone(known),
            Some(Answer::Asked(depth)) => {
                walk.met.set(walk.met.get().min(*depth));
                return Rc::default();
            }
            Some(Answer::Guessed(guess, depth)) => {
                walk.met.set(walk.met.get().min(*depth));
                return Rc::clone(guess);
            }
            None => {}
        }
        if walk.depth >= MAX_DEPTH {
            walk.met.set(0);
            return Rc::default();
        }
        self.answers.borrow_mut().insert(key, Answer::Asked(walk.depth));
        let met = Cell::new(usize::MAX);
        let inner = Walk { nesting: MAX_NESTING, depth: walk.depth + 1, met: &met };
        let mut found = Origins { graph: self.is_backward_on(place, wanted), given: Vec::new() };
        if !found.graph {
            match place {
                Place::Result(file, function) => self.results(file, function, wanted, inner, &mut found),
                _ => self.held(place, from, wanted, inner, &mut found),
            }
        }
        let found = Rc::new(found);
        // "No" is known where it does not hang on a place further up that is still being looked at.
        if found.graph || met.get() >= walk.depth {
            self.answers.borrow_mut().insert(key, Answer::Known(Rc::clone(&found)));
        } else {
            // Good enough while the same is asked about; many ways lead to one place.
            self.answers.borrow_mut().insert(key, Answer::Guessed(Rc::clone(&found), met.get()));
            self.guessed.borrow_mut().push(key);
            walk.met.set(walk.met.get().min(met.get()));
        }
        if walk.depth == 0 {
            let mut answers = self.answers.borrow_mut();
            for key in self.guessed.borrow_mut().drain(..) {
                if matches!(answers.get(&key), Some(Answer::Guessed(..))) {
                    answers.remove(&key);
                }
            }
        }
        found
    }

    /// Whether `backward` is called on the part of a place that is asked about, or on something in it.
    fn is_backward_on(&self, place: Place<'p>, wanted: Wanted<'p>) -> bool {
        let uses = self.uses();
        uses.backward.contains(&place)
            || uses.backward_sum.contains(&place)
            || uses.backward_of.get(&place).is_some_and(|items| items.iter().any(|item| wanted.inside(*item).is_some()))
    }

    /// What a function gives.
    fn results(&self, file: FileId, function: ScopeId, wanted: Wanted<'p>, walk: Walk, found: &mut Origins<'p>) {
        let model = self.flow.models.of(file);
        let for_tensors = |result: &crate::model::Result<'p>| matches!(model.block(result.block).kind, BlockKind::If(test) if tells_tensors(test) == Some(true));
        let all = || model.results.iter().filter(|result| result.scope == function);
        // `if torch.is_tensor(x): return x.item()` decides for tensors.
        let decided = all().any(&for_tensors);
        for result in
            all().filter(|result| !decided || for_tensors(result) || wanted != Wanted::ITSELF && !result.value.is_name_expr())
        {
            let wanted = if result.yielded { wanted.inside(Item::Any) } else { Some(wanted) };
            if let Some(wanted) = wanted
                && self.records(file, result.scope, result.block)
            {
                let here = Here { file, scope: result.scope, block: result.block, offset: result.value.start() };
                self.look(here, result.value, wanted, walk, found);
            }
        }
    }

    /// What a variable or an attribute gets.
    fn held(&self, place: Place<'p>, from: Option<Here>, wanted: Wanted<'p>, walk: Walk, found: &mut Origins<'p>) {
        // `for key in outputs: outputs[key] = outputs[key].detach()`
        if wanted != Wanted::ITSELF && self.is_freed_by_item(place, wanted) {
            return;
        }
        let last = from.and_then(|here| self.last_given(place, here).map(|last| (here, last)));
        if last.is_none()
            && let Place::Variable(file, owner, name) = place
        {
            let scope = self.flow.models.of(file).scope(owner);
            let is_parameter = |kind: &BindingKind| matches!(kind, BindingKind::Parameter { .. });
            if scope.bindings(name).iter().any(|binding| is_parameter(&binding.kind)) {
                found.add(place, wanted);
                found.graph |= self.is_output_for_hook(file, owner, name);
            }
        }
        let all = self.flow.assigned(place).filter(|(_, assign)| assign.how != Bound::Entered);
        for (file, assign) in all.filter(|(_, assign)| last.is_none_or(|(here, last)| self.reaches(assign, last, here))) {
            if let Some(wanted) = wanted.of_part(assign.part)
                && self.records(*file, assign.scope, assign.block)
            {
                let here = Here { file: *file, scope: assign.scope, block: assign.block, offset: assign.value.start() };
                self.look(here, assign.value, wanted, walk, found);
            }
        }
        if found.graph || wanted == Wanted::ITSELF {
            return;
        }
        for put in self.flow.put_into(place) {
            let inside = wanted.inside_part(put.way);
            if let Some(wanted) = inside
                && self.records(put.file, put.scope, put.block)
            {
                let here = Here { file: put.file, scope: put.scope, block: put.block, offset: put.value.start() };
                self.look(here, put.value, wanted, walk, found);
            }
        }
    }

    /// Whether what is asked about is put into the container once more, without its graph.
    fn is_freed_by_item(&self, place: Place<'p>, wanted: Wanted<'p>) -> bool {
        let mut puts = self.flow.put_into(place);
        puts.any(|put| {
            let whole = put.way.items() == [Item::Any] || wanted.way.items().first() == put.way.items().first();
            whole && !put.spread && is_taken_off(put.value, 12) && is_item_of(self.flow.models.of(put.file), put)
        })
    }

    fn look(&self, here: Here, expr: &'p Expr, wanted: Wanted<'p>, walk: Walk, found: &mut Origins<'p>) {
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

    fn look_part(&self, here: Here, expr: &'p Expr, wanted: Option<Wanted<'p>>, walk: Walk, found: &mut Origins<'p>) {
        if let Some(wanted) = wanted {
            self.look(here, expr, wanted, walk, found);
        }
    }

    fn look_places(&self, here: Here, expr: &'p Expr, wanted: Wanted<'p>, walk: Walk, found: &mut Origins<'p>) {
        for at in self.flow.places(here.file, here.scope, expr).iter().filter(|at| is_own(at)) {
            let from = Some(here).filter(|here| self.last_given(at.place, *here).is_some());
            found.merge(&self.place(at.place, from, wanted, walk));
        }
    }

    /// The last assignment to a variable of the function around that nobody passes by on the way here.
    fn last_given(&self, place: Place<'p>, here: Here) -> Option<&Assign<'p>> {
        let Place::Variable(file, owner, _) = place else { return None };
        let model = self.flow.models.of(file);
        if file != here.file || model.function_of(here.scope) != Some(owner) {
            return None;
        }
        let before = self.flow.assigned(place).map(|(_, assign)| assign).filter(|assign| {
            let is_loops = matches!(model.block(assign.block).kind, BlockKind::For(each) if each.range() == assign.range);
            let is_done = if is_loops { assign.target.end() <= here.offset } else { assign.range.end() <= here.offset };
            model.function_of(assign.scope) == Some(owner)
                && is_done
                && !matches!(assign.how, Bound::Augmented(_))
                && is_passed(model, assign.block, here.block)
        });
        before.max_by_key(|assign| assign.target.start()).copied()
    }

    /// Whether what an assignment gives can be there, where another one is the last that nobody passes by: it comes after that, or
    /// in a loop that the other one stands before.
    fn reaches(&self, assign: &Assign<'p>, last: &Assign<'p>, here: Here) -> bool {
        let model = self.flow.models.of(here.file);
        let (at, since) = (assign.target.start(), last.target.start());
        let by_loop = || {
            loops_around(model, here.block)
                .any(|round| !is_inside(model, last.block, round) && is_inside(model, assign.block, round))
        };
        at >= since && at < here.offset || by_loop()
    }

    fn look_display(&self, here: Here, elements: &'p [Expr], wanted: Wanted<'p>, walk: Walk, found: &mut Origins<'p>) {
        let counted = !elements.iter().any(Expr::is_starred_expr);
        for (element, at) in elements.iter().zip(0..) {
            let item = if counted { u8::try_from(at).map_or(Item::Any, Item::At) } else { Item::Any };
            let wanted = if element.is_starred_expr() { Some(wanted) } else { wanted.inside(item) };
            self.look_part(here, element, wanted, walk, found);
        }
    }

    /// What a comprehension computes for each element.
    #[allow(clippy::too_many_arguments)]
    fn look_each(
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

    fn look_call(&self, here: Here, call: &'p ExprCall, wanted: Wanted<'p>, walk: Walk, found: &mut Origins<'p>) {
        let Here { file, scope, .. } = here;
        if self.calls_model(file, scope, &call.func) || self.asks_model(file, scope, call) {
            found.graph = true;
            return;
        }
        // `criterion(output, target)`
        let places = self.flow.places(file, scope, &call.func);
        let passes = |at: &At<'p>| self.uses().proven.passes.contains(&at.place) || self.is_given_part(at.place);
        if places.iter().any(|at| is_own(at) && passes(at)) {
            crate::ask::given(call).for_each(|value| self.look(here, value, Wanted::ANY, walk, found));
            return;
        }
        // `apply(state, torch.Tensor.detach)`
        let takes_off =
            |value: &Expr| matches!(value, Expr::Attribute(each) if matches!(each.attr.as_str(), "detach" | "item" | "numpy"));
        if crate::ask::given(call).any(takes_off) {
            return;
        }
        let name = self.flow.models.of(file).full_name(scope, &call.func);
        if let Some(name) = name.as_deref()
            && self.look_library(here, name, call, wanted, walk, found)
        {
            return;
        }
        if self.look_made(here, call, wanted, walk, found) {
            return;
        }
        if let Some(callee) = self.flow.likely_callee(file, scope, &call.func) {
            self.look_function(here, call, callee, wanted, walk, found);
            return;
        }
        if let Expr::Attribute(method) = &*call.func
            && name.is_none()
        {
            self.look_method(here, call, &method.value, method.attr.as_str(), wanted, walk, found);
        }
    }

    /// A function of torch or of Python; false where it is none that is known.
    fn look_library(
        &self,
        here: Here,
        name: &str,
        call: &'p ExprCall,
        wanted: Wanted<'p>,
        walk: Walk,
        found: &mut Origins<'p>,
    ) -> bool {
        let args = &call.arguments.args;
        let first = args.first();
        match name {
            "sum" | "max" | "min" => {
                if let Some(first) = first {
                    self.look_part(here, first, wanted.of(Item::Any), walk, found);
                }
                args.iter().for_each(|value| self.look(here, value, wanted, walk, found));
            }
            "list" | "tuple" | "sorted" | "reversed" | "set" | "iter" | "dict" | "collections.OrderedDict" | "copy.copy" => {
                first.into_iter().for_each(|value| self.look(here, value, wanted, walk, found));
                for keyword in &call.arguments.keywords {
                    let wanted = keyword.arg.as_ref().map_or(Some(wanted), |name| wanted.inside(Item::Key(name.as_str())));
                    self.look_part(here, &keyword.value, wanted, walk, found);
                }
            }
            "next" => first.into_iter().for_each(|value| self.look_part(here, value, wanted.of(Item::Any), walk, found)),
            "zip" => {
                for (value, at) in args.iter().zip(0..) {
                    let item = wanted.inside(Item::Any).and_then(|wanted| wanted.inside(Item::At(at)));
                    self.look_part(here, value, item.and_then(|wanted| wanted.of(Item::Any)), walk, found);
                }
            }
            _ if TENSORS.iter().any(|library| name.starts_with(library)) => {
                let last = name.rsplit('.').next().unwrap_or(name);
                let computes = last.starts_with(|first: char| first.is_lowercase()) || name.starts_with("torch.distributions.");
                if computes && !makes_anew(last) {
                    for value in crate::ask::given(call) {
                        found.graph |= self.is_parameter(here, value);
                        self.look(here, value, Wanted::ANY, walk, found);
                    }
                }
            }
            // A built-in, or what an import leads to in the program.
            _ => return false,
        }
        true
    }

    /// An object of a class of the program, asked about what it keeps of what it is made with; false where none is made.
    fn look_made(&self, here: Here, call: &'p ExprCall, wanted: Wanted<'p>, walk: Walk, found: &mut Origins<'p>) -> bool {
        let Some((of, class)) = self.flow.models.class(here.file, here.scope, &call.func) else { return false };
        let class = crate::flow::ClassId { file: of, scope: class };
        if self.is_module(class) {
            return true;
        }
        let Some((of, init)) = self.flow.method(class, "__init__") else {
            // A dataclass or a named tuple.
            for value in &call.arguments.args {
                self.look_part(here, value, wanted.inside(Item::Any), walk, found);
            }
            for keyword in &call.arguments.keywords {
                let key = keyword.arg.as_ref().map_or(Item::Any, |name| Item::Key(name.as_str()));
                self.look_part(here, &keyword.value, wanted.inside(key), walk, found);
            }
            return true;
        };
        let mut kept = Origins::default();
        for assign in self.flow.models.of(of).assigns.iter().filter(|assign| assign.scope == init && assign.how == Bound::Whole) {
            let Expr::Attribute(target) = assign.target else { continue };
            self.look_part(
                Here { file: of, scope: init, block: assign.block, offset: assign.value.start() },
                assign.value,
                wanted.inside(Item::Key(target.attr.as_str())),
                walk,
                &mut kept,
            );
        }
        self.hand_in(here, call, (of, init), &kept, walk, found);
        true
    }

    /// A function of the program: what it gives of its own, and what it gives of what it is given.
    fn look_function(
        &self,
        here: Here,
        call: &'p ExprCall,
        callee: (FileId, ScopeId),
        wanted: Wanted<'p>,
        walk: Walk,
        found: &mut Origins<'p>,
    ) {
        let own = self.place(Place::Result(callee.0, callee.1), None, wanted, walk);
        self.hand_in(here, call, callee, &own, walk, found);
    }

    /// Puts the arguments of a call in the place of the parameters that something comes from.
    fn hand_in(
        &self,
        here: Here,
        call: &'p ExprCall,
        callee: (FileId, ScopeId),
        own: &Origins<'p>,
        walk: Walk,
        found: &mut Origins<'p>,
    ) {
        found.graph |= own.graph;
        let site = Call { call, statement: TextRange::default(), block: BlockId(0), scope: here.scope };
        for (place, wanted) in &own.given {
            match place {
                Place::Variable(file, function, name) if (*file, *function) == callee => {
                    if self.is_taken_off(*place) {
                        continue;
                    }
                    for (value, depth) in self.arguments(here.file, &site, callee, name) {
                        let wanted = if depth == 0 { Some(*wanted) } else { wanted.inside(Item::Any) };
                        self.look_part(here, value, wanted, walk, found);
                    }
                }
                _ => found.add(*place, *wanted),
            }
        }
    }

    /// A method of something that is no object of the program's own: of a tensor or a container.
    #[allow(clippy::too_many_arguments)]
    fn look_method(
        &self,
        here: Here,
        call: &'p ExprCall,
        on: &'p Expr,
        method: &str,
        wanted: Wanted<'p>,
        walk: Walk,
        found: &mut Origins<'p>,
    ) {
        let args = &call.arguments.args;
        match method {
            "values" | "copy" => self.look(here, on, wanted, walk, found),
            "items" => {
                let value = wanted.inside(Item::Any).and_then(|wanted| wanted.inside(Item::At(1)));
                self.look_part(here, on, value.and_then(|wanted| wanted.of(Item::Any)), walk, found);
            }
            "get" | "pop" | "setdefault" | "popleft" => {
                let item = args.first().and_then(Item::of).unwrap_or(Item::Any);
                self.look_part(here, on, wanted.of(item), walk, found);
            }
            // accelerate: what all processes have, this one's with its graph.
            "gather_for_metrics" | "pad_across_processes" => {
                args.iter().for_each(|value| self.look(here, value, wanted, walk, found));
            }
            // Another type of number, not Python's own.
            "float" => self.look(here, on, Wanted::ITSELF, walk, found),
            _ if makes_anew(method) => {}
            _ => {
                found.graph |= self.is_parameter(here, on);
                self.look(here, on, Wanted::ITSELF, walk, found);
                if matches!(method, "sub" | "mul" | "div" | "matmul" | "mm" | "bmm" | "lerp" | "add_" | "mul_" | "sub_" | "lerp_")
                {
                    args.iter().for_each(|value| self.look(here, value, Wanted::ITSELF, walk, found));
                }
            }
        }
    }

    /// Whether an expression is a `nn.Parameter` itself, or what goes over those of a model.
    fn is_parameter(&self, here: Here, expr: &'p Expr) -> bool {
        let is_one_of = |assign: &Assign| {
            let Expr::Call(call) = assign.value else { return false };
            match (crate::ask::method(call), assign.how, assign.part.items()) {
                (Some("parameters"), Bound::Element, _) => true,
                (Some("named_parameters"), Bound::Element | Bound::Part, part) => part.last() == Some(&Item::At(1)),
                _ => false,
            }
        };
        let makes = |file: FileId, scope, value: &Expr| {
            let Expr::Call(call) = value else { return false };
            let name = self.flow.models.of(file).full_name(scope, &call.func);
            matches!(name.as_deref(), Some("torch.nn.Parameter" | "torch.nn.parameter.Parameter"))
        };
        matches!(expr, Expr::Name(_) | Expr::Attribute(_))
            && self.flow.places(here.file, here.scope, expr).into_iter().filter(is_own).any(|at| {
                let mut assigned = self.flow.assigned(at.place);
                assigned.any(|(file, assign)| {
                    assign.how == Bound::Whole && makes(*file, assign.scope, assign.value) || is_one_of(assign)
                })
            })
    }
}

/// Libraries whose functions compute tensors of tensors.
const TENSORS: &[&str] = &["torch.", "einops.", "horovod."];

/// Whether a condition holds for tensors (or for nothing else): `torch.is_tensor(x)`, `isinstance(x, torch.Tensor)`,
/// `hasattr(x, "item")`.
fn tells_tensors(test: &Expr) -> Option<bool> {
    match test {
        Expr::UnaryOp(each) if each.op.is_not() => tells_tensors(&each.operand).map(|tensors| !tensors),
        Expr::Call(call) => {
            let second = call.arguments.args.get(1);
            let tells = match last_name(&call.func)? {
                "is_tensor" => true,
                "isinstance" => match second? {
                    Expr::Tuple(all) => all.elts.iter().any(|one| last_name(one) == Some("Tensor")),
                    one => last_name(one) == Some("Tensor"),
                },
                "hasattr" => second.and_then(Expr::as_string_literal_expr).is_some_and(|name| is_plain(name.value.to_str())),
                _ => false,
            };
            tells.then_some(true)
        }
        _ => None,
    }
}

/// Whether something is put where it was taken from, or by a loop over the container: `outputs[key] = outputs[key].item()`.
fn is_item_of(model: &Model, put: &ItemPut) -> bool {
    let is_it = |expr: &Expr| dotted(expr).is_some_and(|parts| dotted(put.base).is_some_and(|base| base == parts));
    match source(put.value) {
        Expr::Subscript(item) => is_it(&item.value),
        Expr::Name(name) => model.assigns.iter().any(|assign| {
            assign.how == Bound::Element
                && assign.scope == put.scope
                && assign.target.as_name_expr().is_some_and(|target| target.id == name.id)
                && is_it(assign.value)
        }),
        _ => false,
    }
}

/// What a value is computed from, behind what is done to it.
fn source(expr: &Expr) -> &Expr {
    match expr {
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) => source(&method.value),
            _ => call.arguments.args.first().map_or(expr, source),
        },
        Expr::Attribute(each) if is_plain(each.attr.as_str()) => source(&each.value),
        _ => expr,
    }
}

/// Whether a value has no graph whatever it is computed from: `x.item()`, `x.detach().cpu()`, `x.data`.
pub(crate) fn is_taken_off(value: &Expr, left: usize) -> bool {
    let Some(left) = left.checked_sub(1) else { return false };
    match value {
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) => is_plain(method.attr.as_str()) || is_taken_off(&method.value, left),
            Expr::Name(name) => is_plain(name.id.as_str()),
            _ => false,
        },
        Expr::Attribute(each) => is_plain(each.attr.as_str()),
        Expr::NumberLiteral(_) | Expr::NoneLiteral(_) => true,
        Expr::BinOp(each) => is_taken_off(&each.left, left) && is_taken_off(&each.right, left),
        _ => false,
    }
}

/// Whether who comes to a block has been in another one, as far as it matters for tensors: what is done under
/// `if torch.is_tensor(x):` is done for all of them.
pub(crate) fn is_passed(model: &Model, passed: BlockId, block: BlockId) -> bool {
    is_inside(model, block, passed)
        || matches!(model.block(passed).kind, BlockKind::If(test) if tells_tensors(test) == Some(true))
            && model.block(passed).parent.is_some_and(|around| is_inside(model, block, around))
}

/// The scope of a comprehension.
fn scope_of(model: &Model, whole: &Expr) -> Option<ScopeId> {
    model.scopes.iter().zip(0..).find_map(|(scope, id)| {
        matches!(scope.kind, ScopeKind::Comprehension(each) if std::ptr::eq(each, whole)).then_some(ScopeId(id))
    })
}

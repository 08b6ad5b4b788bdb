//! Where what a value carries comes from: a graph that begins in the program, or parameters of the function around.

mod calls;
mod look;
mod off;
mod wanted;

use std::cell::Cell;
use std::rc::Rc;

use ruff_text_size::{Ranged, TextSize};

use super::{Autograd, mentions};
use crate::flow::Place;
use crate::model::{BindingKind, BlockId, BlockKind, Bound, Expr, Item, ScopeId};
use crate::program::FileId;
use crate::table::HashSet;

use off::{is_item_of, tells_tensors};
pub(crate) use off::{is_passed, is_taken_off};
pub(super) use wanted::Wanted;

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
}

//! Which variables and attributes must hold a model, because `backward` is called on what calling them gave: a program that gets
//! its model from somewhere need not show what it is.

use super::{Autograd, is_own, is_plain};
use crate::ask::given;
use crate::flow::Place;
use crate::model::{Bound, Comprehension, Expr, ExprCall, ScopeId, ScopeKind};
use crate::program::FileId;
use crate::table::HashSet;

/// Nested expressions and variables that are looked into.
const MAX_NESTING: usize = 24;
/// Calls that are looked at for one `backward`: what is computed by more proves nothing of any.
const MAX_CALLS: usize = 32;

/// A call that a value is computed by.
#[derive(Debug)]
struct Source<'p> {
    /// What is called; none for the program's own functions.
    called: Option<Place<'p>>,
    /// How many arguments it has.
    arguments: usize,
    /// Whether it is one of several values that it gives which the graph came with.
    partial: bool,
    /// What its arguments are computed by.
    behind: Vec<Source<'p>>,
}

/// What the `backward` of a program prove of what it calls.
#[derive(Debug, Default)]
pub(super) struct Proven<'p> {
    /// Models: nothing else can have brought the graph.
    pub models: HashSet<Place<'p>>,
    /// What gives a value with a graph for one that has one: losses, mostly.
    pub passes: HashSet<Place<'p>>,
}

impl<'p> Proven<'p> {
    fn add(&mut self, sources: &[Source<'p>]) {
        let whole = sources.iter().filter(|source| !source.behind.is_empty() && !source.partial);
        self.passes.extend(whole.filter_map(|source| source.called));
        if let Some(model) = only(sources.iter()) {
            self.models.insert(model);
        }
        // Losses are given what a model gave and what it should have given. A head may also stand on a model that is frozen.
        if sources.iter().all(|source| source.arguments > 1 && !source.behind.is_empty())
            && let Some(model) = only(sources.iter().flat_map(|source| &source.behind))
        {
            self.models.insert(model);
        }
    }
}

/// The one place that all calls are of, where nothing is behind any of them.
fn only<'s, 'p: 's>(sources: impl Iterator<Item = &'s Source<'p>>) -> Option<Place<'p>> {
    let mut found = None;
    for source in sources {
        let called = source.called.filter(|_| source.behind.is_empty())?;
        if found.is_some_and(|found| found != called) {
            return None;
        }
        found = Some(called);
    }
    found
}

/// The loss among what a training step gives to its framework, which calls `backward` on it: `loss`, `{"loss": loss}`,
/// `(loss, outputs) if return_outputs else loss`.
fn losses<'p>(given: &'p Expr, found: &mut Vec<&'p Expr>) {
    match given {
        Expr::Name(_) | Expr::Call(_) | Expr::BinOp(_) => found.push(given),
        Expr::Tuple(each) => each.elts.first().into_iter().for_each(|first| losses(first, found)),
        Expr::If(each) => [&*each.body, &*each.orelse].into_iter().for_each(|one| losses(one, found)),
        Expr::Dict(each) => {
            let loss = each.items.iter().find(|item| item.key.as_ref().is_some_and(|key| crate::ask::says(key, "loss")));
            found.extend(loss.map(|item| &item.value));
        }
        _ => {}
    }
}

/// A walk back from what `backward` is called on.
struct Walk<'w, 'p> {
    file: FileId,
    /// Variables that were followed.
    seen: HashSet<Place<'p>>,
    /// Whether something was computed from what is looked at.
    computed: bool,
    found: &'w mut Vec<Source<'p>>,
}

impl<'p> Autograd<'_, 'p> {
    /// What frameworks call `backward` on: the losses that `training_step` of Lightning and `compute_loss` of a Trainer of
    /// transformers give, with the files and scopes that they stand in.
    pub(super) fn given_to_frameworks(&self) -> Vec<(FileId, ScopeId, &'p Expr)> {
        let mut found = Vec::new();
        for class in self.flow.classes.iter() {
            for (step, base) in [("training_step", "LightningModule"), ("compute_loss", "Trainer")] {
                let Some((file, method)) = self.flow.method(class, step).filter(|(file, _)| *file == class.file) else {
                    continue;
                };
                let model = self.flow.models.of(file);
                let own = model.scope(method).parent == Some(class.scope);
                if own && self.bases(class).any(|name| name.contains('.') && name.ends_with(base)) {
                    for result in model.returned(method) {
                        let mut all = Vec::new();
                        losses(result.value, &mut all);
                        found.extend(all.into_iter().map(|loss| (file, result.scope, loss)));
                    }
                }
            }
        }
        found
    }

    /// Notes what is proven by `backward` being called on a value.
    pub(super) fn prove(&self, file: FileId, scope: ScopeId, value: &'p Expr, proven: &mut Proven<'p>) {
        let mut found = Vec::new();
        let mut walk = Walk { file, seen: HashSet::default(), computed: false, found: &mut found };
        self.sources(&mut walk, scope, value, MAX_NESTING);
        if !found.is_empty() && found.len() < MAX_CALLS {
            proven.add(&found);
        }
    }

    fn sources(&self, walk: &mut Walk<'_, 'p>, scope: ScopeId, expr: &'p Expr, left: usize) {
        let Some(left) = left.checked_sub(1).filter(|_| walk.found.len() < MAX_CALLS) else { return };
        match expr {
            Expr::Name(_) => self.sources_of_variable(walk, scope, expr, left),
            Expr::Attribute(each) if !is_plain(each.attr.as_str()) => self.sources(walk, scope, &each.value, left),
            Expr::Subscript(each) => self.sources(walk, scope, &each.value, left),
            Expr::BinOp(each) => {
                let computed = std::mem::replace(&mut walk.computed, true);
                self.sources(walk, scope, &each.left, left);
                self.sources(walk, scope, &each.right, left);
                walk.computed = computed;
            }
            Expr::UnaryOp(each) => self.sources(walk, scope, &each.operand, left),
            Expr::If(each) => {
                self.sources(walk, scope, &each.body, left);
                self.sources(walk, scope, &each.orelse, left);
            }
            Expr::Tuple(each) => each.elts.iter().for_each(|one| self.sources(walk, scope, one, left)),
            Expr::List(each) => each.elts.iter().for_each(|one| self.sources(walk, scope, one, left)),
            Expr::Dict(each) => each.items.iter().for_each(|item| self.sources(walk, scope, &item.value, left)),
            Expr::ListComp(each) => self.sources_of_each(walk, scope, expr, &each.generators, &each.elt, left),
            Expr::Generator(each) => self.sources_of_each(walk, scope, expr, &each.generators, &each.elt, left),
            Expr::Call(call) => self.sources_of_call(walk, scope, call, left),
            _ => {}
        }
    }

    fn sources_of_each(
        &self,
        walk: &mut Walk<'_, 'p>,
        scope: ScopeId,
        whole: &'p Expr,
        generators: &'p [Comprehension],
        each: &'p Expr,
        left: usize,
    ) {
        let model = self.flow.models.of(walk.file);
        let is_it = |kind: &ScopeKind| matches!(kind, ScopeKind::Comprehension(each) if std::ptr::eq(*each, whole));
        let inner = model.scopes.iter().position(|scope| is_it(&scope.kind)).and_then(|at| u32::try_from(at).ok());
        self.sources(walk, inner.map_or(scope, ScopeId), each, left);
        generators.iter().for_each(|generator| self.sources(walk, scope, &generator.iter, left));
    }

    fn sources_of_variable(&self, walk: &mut Walk<'_, 'p>, scope: ScopeId, name: &'p Expr, left: usize) {
        let model = self.flow.models.of(walk.file);
        let function = model.function_of(scope).unwrap_or(ScopeId::MODULE);
        for at in self.flow.places(walk.file, scope, name) {
            let Place::Variable(of, owner, _) = at.place else { continue };
            let own = of == walk.file && (owner == function || owner == scope);
            if !own || !walk.seen.insert(at.place) {
                continue;
            }
            for (file, assign) in self.flow.assigned(at.place) {
                if *file != walk.file || matches!(assign.how, Bound::Element | Bound::Entered) {
                    continue;
                }
                let before = walk.found.len();
                self.sources(walk, assign.scope, assign.value, left);
                // One of several values: the loss beside what is logged, which need not have a graph. A model's are all computed.
                if assign.how == Bound::Part {
                    let computed = walk.computed;
                    let mut parts = walk.found.split_off(before);
                    parts.retain(|source| computed && source.called.is_some());
                    parts.iter_mut().for_each(|source| source.partial = true);
                    walk.found.append(&mut parts);
                }
            }
            let file = walk.file;
            for put in self.flow.put_into(at.place).filter(|put| put.file == file) {
                self.sources(walk, put.scope, put.value, left);
            }
        }
    }

    fn sources_of_call(&self, walk: &mut Walk<'_, 'p>, scope: ScopeId, call: &'p ExprCall, left: usize) {
        let last = crate::ask::last_name(&call.func);
        if last.is_some_and(is_plain) {
            return;
        }
        let all = |walk: &mut Walk<'_, 'p>| given(call).for_each(|value| self.sources(walk, scope, value, left));
        let own = self.flow.callee(walk.file, scope, &call.func).is_some()
            || self.flow.models.class(walk.file, scope, &call.func).is_some();
        let place = || self.flow.places(walk.file, scope, &call.func).into_iter().find(is_own).map(|at| at.place);
        // A function of a library or of Python, if it is not a parameter of the same name.
        let library = || self.flow.models.of(walk.file).full_name(scope, &call.func).is_some();
        let called = if own { None } else { place().filter(|_| !library()) };
        if own || called.is_some() {
            let mut behind = Vec::new();
            let seen = std::mem::take(&mut walk.seen);
            let mut inner = Walk { file: walk.file, seen, computed: true, found: &mut behind };
            all(&mut inner);
            walk.seen = inner.seen;
            walk.found.push(Source { called, arguments: given(call).count(), partial: false, behind });
            return;
        }
        let computed = std::mem::replace(&mut walk.computed, true);
        if let Expr::Attribute(method) = &*call.func {
            self.sources(walk, scope, &method.value, left);
        }
        all(walk);
        walk.computed = computed;
    }
}

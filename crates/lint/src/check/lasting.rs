//! Whether something is kept for good: for as long as the training runs, by what nothing is ever taken out of.

use std::collections::HashSet;

use super::Check;
use super::again::loops_around;
use crate::ask::{last_name, receiver};
use crate::feeds::is_inside;
use crate::flow::{At, ClassId, Place};
use crate::model::{Assign, BindingKind, BlockId, BlockKind, Bound, Call, Expr, ScopeId};
use crate::program::FileId;

/// A loop of so many rounds is a training without epochs: no model has so many layers, and no batch so many parts.
const MANY_STEPS: i64 = 10_000;

/// Classes of which an instance is made outside of loops and used in a training.
#[derive(Debug, Default)]
pub(super) struct MadeBefore {
    /// In its steps.
    steps: HashSet<ClassId>,
    /// Once an epoch.
    epochs: HashSet<ClassId>,
}

impl<'p> Check<'_, 'p> {
    /// Whether what is put into a container here stays there for as long as the training runs: this runs again and again,
    /// the container lasts, nothing bounds it, and nothing anywhere takes anything out of it.
    #[must_use]
    pub fn is_kept_for_good(
        &self,
        file: FileId,
        scope: ScopeId,
        block: BlockId,
        container: &'p Expr,
        key: Option<&'p Expr>,
    ) -> bool {
        !self.is_constructor(file, scope)
            && self.lasts(file, scope, block, container)
            && self.runs_with_training(file, scope, block)
            && self.containers.bound(file, scope, block, container, key).is_none()
            && (self.containers.is_never_emptied(file, scope, container) || self.is_emptied_by_nobody(file, scope, container))
    }

    /// Whether what empties a container are methods of its object alone that nothing calls, in a program that makes such an object
    /// before a training and uses it there: `meter.reset()` that was forgotten.
    #[must_use]
    pub fn is_emptied_by_nobody(&self, file: FileId, scope: ScopeId, container: &'p Expr) -> bool {
        let places = self.flow.places(file, scope, container);
        let used = |at: &At<'p>| matches!(at.place, Place::Attribute(class, _) if self.is_made_before_training(class));
        !places.is_empty()
            && places.iter().all(used)
            && self.containers.emptied_at(file, scope, container).into_iter().all(|(of, scope, _)| {
                let model = self.flow.models.of(of);
                model.method_of(scope).is_some_and(|(_, method)| {
                    let name = model.scope(method).name();
                    !name.starts_with("__")
                        && !name.starts_with("on_")
                        && !self.is_each_round(of, method)
                        && !self.flow.models.iter().any(|(_, model)| model.attributes.contains(name))
                })
            })
    }

    /// Whether code runs again and again as a training or an evaluation does: a loop that runs a model or trains one is around
    /// it, or its function is called again and again. Other loops go over layers, names, files.
    #[must_use]
    pub fn runs_with_training(&self, file: FileId, scope: ScopeId, block: BlockId) -> bool {
        let model = self.flow.models.of(file);
        model.function_of(scope).is_some_and(|function| self.is_called_again(file, function))
            || loops_around(model, block).any(|round| self.trains_in(file, round) || self.runs_model(file, round))
    }

    /// Whether a model is called inside a block.
    #[must_use]
    pub fn runs_model(&self, file: FileId, round: BlockId) -> bool {
        if let Some(known) = self.rounds.borrow().get(&(file, round)) {
            return *known;
        }
        let model = self.flow.models.of(file);
        let mut inside = model.calls.iter().filter(|call| is_inside(model, call.block, round));
        let found = inside.any(|call| self.autograd.calls_model(file, call.scope, &call.call.func));
        self.rounds.borrow_mut().insert((file, round), found);
        found
    }

    /// Whether a call runs a model, itself or in the function that it calls.
    #[must_use]
    pub fn call_runs_model(&self, file: FileId, call: &Call<'p>) -> bool {
        self.autograd.calls_model(file, call.scope, &call.call.func)
            || self.flow.likely_callee(file, call.scope, &call.call.func).is_some_and(|(of, function)| {
                let model = self.flow.models.of(of);
                let mut calls = model.calls.iter().filter(|call| model.function_of(call.scope) == Some(function));
                calls.any(|call| self.autograd.calls_model(of, call.scope, &call.call.func))
            })
    }

    /// What a constructor puts together is there once for each object.
    fn is_constructor(&self, file: FileId, scope: ScopeId) -> bool {
        let model = self.flow.models.of(file);
        model
            .function_of(scope)
            .is_some_and(|function| matches!(model.scope(function).name(), "__init__" | "__post_init__" | "__new__"))
    }

    /// Whether a container lasts for the whole training: a variable of a module that functions add to, an attribute of a model
    /// or of what trains one, a local of a training loop of loops.
    #[must_use]
    pub fn lasts(&self, file: FileId, scope: ScopeId, block: BlockId, container: &'p Expr) -> bool {
        let function = self.flow.models.of(file).function_of(scope);
        self.flow.places(file, scope, container).iter().any(|at| match at.place {
            Place::Variable(of, ScopeId::MODULE, _) if of != file || function.is_some() => true,
            Place::Variable(of, owner, _) => {
                let own = of == file && owner == function.unwrap_or(ScopeId::MODULE);
                own && self.lasts_in_loops(file, block, *at)
            }
            Place::Attribute(class, _) => {
                self.is_long_lived(class)
                    // Once an epoch is little, unless each time brings many.
                    || loops_around(self.flow.models.of(file), block).next().is_some() && self.is_used_in_epochs(class)
            }
            Place::Unknown(_) | Place::Result(..) | Place::Instance(_) => false,
        })
    }

    /// Whether a container is an attribute that lasts for the epochs of a training, of which each adds to it.
    #[must_use]
    pub fn lasts_for_epochs(&self, file: FileId, scope: ScopeId, container: &'p Expr) -> bool {
        self.flow.places(file, scope, container).iter().any(
            |at| matches!(at.place, Place::Attribute(class, _) if self.is_long_lived(class) || self.is_used_in_epochs(class)),
        )
    }

    /// A local that is there before the outermost of several loops, one of which trains.
    fn lasts_in_loops(&self, file: FileId, block: BlockId, at: At<'p>) -> bool {
        let model = self.flow.models.of(file);
        let loops: Vec<BlockId> = loops_around(model, block).collect();
        let long = |outermost: &&BlockId| loops.len() > 1 || self.is_of_many_steps(file, **outermost);
        let Some(outermost) = loops.last().filter(long) else { return false };
        let base = At { depth: 0, ..at };
        let renewed = self.flow.assigned(base.place).any(|(of, assign)| {
            *of == file && is_inside(model, assign.block, *outermost) && self.joined(file, assign).is_empty()
        });
        !renewed && self.trains_in(file, *outermost)
    }

    /// Whether instances of a class live as long as the training: models, what a framework calls for each batch, what calls
    /// `backward`, what is made before a training of several loops and used in it.
    #[must_use]
    pub fn is_long_lived(&self, class: ClassId) -> bool {
        if let Some(known) = self.long_lived.borrow().get(&class) {
            return *known;
        }
        let found = self.lives_long(class);
        self.long_lived.borrow_mut().insert(class, found);
        found
    }

    fn lives_long(&self, class: ClassId) -> bool {
        let line = self.flow.classes.ancestors(class).iter().chain(self.flow.classes.descendants(class));
        self.autograd.is_module(class)
            || line.copied().any(|class| self.takes_part(class) || self.has_hook(class))
            || self.is_made_before_training(class)
            || self.is_held_by_trainer(class)
    }

    /// Whether an object that takes part in a training is given one of these when it is made, and uses it: `self.logger.note(loss)`.
    fn is_held_by_trainer(&self, class: ClassId) -> bool {
        let model = self.flow.models.of(class.file);
        let mut methods = model.functions().filter(|(scope, _)| model.scope(*scope).parent == Some(class.scope));
        methods.any(|(method, _)| {
            self.callers(class.file, method).iter().any(|(from, call)| {
                let Some(on) = receiver(call.call).and_then(Expr::as_attribute_expr) else { return false };
                let caller = self.flow.models.of(*from);
                let Some(owner) = self.flow.own_class(*from, call.scope, &on.value).filter(|owner| *owner != class) else {
                    return false;
                };
                let made = |assign: &Assign| {
                    let function = caller.function_of(assign.scope);
                    assign.value.is_name_expr() && function.is_some_and(|function| caller.scope(function).name() == "__init__")
                };
                let Some(name) = self.flow.attribute_name(on.attr.as_str()) else { return false };
                let mut given = self.flow.assigned(Place::Attribute(owner, name)).peekable();
                given.peek().is_some() && given.all(|(of, assign)| of == from && made(assign)) && self.takes_part(owner)
            })
        })
    }

    /// Whether an instance is made outside of loops, and a loop that trains, with loops in it, calls its methods.
    fn is_made_before_training(&self, class: ClassId) -> bool {
        self.made_before.get_or_init(|| self.find_made_before()).steps.contains(&class)
    }

    /// Whether an instance is made outside of loops, and a loop of epochs, in which another trains, calls its methods.
    fn is_used_in_epochs(&self, class: ClassId) -> bool {
        self.made_before.get_or_init(|| self.find_made_before()).epochs.contains(&class)
    }

    /// Whether instances of a class live as long as the rounds of a training, be it that they are used in none of its steps.
    #[must_use]
    pub fn lives_through_rounds(&self, class: ClassId) -> bool {
        self.is_long_lived(class) || self.is_used_in_epochs(class)
    }

    fn find_made_before(&self) -> MadeBefore {
        let mut found = MadeBefore::default();
        for (file, model) in self.flow.models.iter() {
            let made = model.assigns.iter().filter_map(|assign| {
                let (Expr::Name(name), Expr::Call(call), Bound::Whole) = (assign.target, assign.value, assign.how) else {
                    return None;
                };
                let (of, class) = self.flow.models.class(file, assign.scope, &call.func)?;
                loops_around(model, assign.block).next().is_none().then_some((
                    name.id.as_str(),
                    assign,
                    ClassId { file: of, scope: class },
                ))
            });
            let made: Vec<_> = made.collect();
            self.find_given_before(file, &mut found);
            self.find_of_module(file, &made, &mut found);
            if made.is_empty() {
                continue;
            }
            for call in &model.calls {
                // `meter.update(loss)`, `validate(model, loader, meter)`
                let given = || call.call.arguments.args.iter().filter_map(Expr::as_name_expr);
                let on = receiver(call.call).and_then(Expr::as_name_expr);
                let function = model.function_of(call.scope);
                let mut objects = made.iter().filter(|(name, assign, _)| {
                    (on.is_some_and(|on| *name == on.id.as_str()) || given().any(|each| *name == each.id.as_str()))
                        && model.function_of(assign.scope) == function
                });
                let Some((_, _, class)) = objects.next() else { continue };
                if self.is_used_in_training(file, call.block) {
                    found.steps.insert(*class);
                    found.steps.extend(objects.map(|(_, _, class)| *class));
                } else if loops_around(model, call.block).any(|round| self.is_loop_of_epochs(file, round)) {
                    found.epochs.insert(*class);
                    found.epochs.extend(objects.map(|(_, _, class)| *class));
                }
            }
        }
        found
    }

    /// Objects that are variables of a module, and that functions use which run with a training: they outlive every loop.
    fn find_of_module(&self, file: FileId, made: &[(&'p str, &Assign<'p>, ClassId)], found: &mut MadeBefore) {
        let model = self.flow.models.of(file);
        for (name, _, class) in made.iter().filter(|(_, assign, _)| model.function_of(assign.scope).is_none()) {
            let uses = |call: &Call<'p>| {
                let on = receiver(call.call).unwrap_or(&call.call.func);
                model.function_of(call.scope).is_some()
                    && matches!(on, Expr::Name(each) if each.id.as_str() == *name)
                    && model.owner(call.scope, name) == Some(ScopeId::MODULE)
                    && self.runs_with_training(file, call.scope, call.block)
            };
            if !found.steps.contains(class) && model.calls.iter().any(uses) {
                found.steps.insert(*class);
            }
        }
    }

    /// Objects that a function is given, as their annotation says, and that a loop of epochs or rounds calls methods of.
    fn find_given_before(&self, file: FileId, found: &mut MadeBefore) {
        let model = self.flow.models.of(file);
        for call in model.calls.iter().filter(|call| model.loops(call.block) > 0) {
            let Some(Expr::Name(on)) = receiver(call.call) else { continue };
            let mut bindings = model.bindings(call.scope, on.id.as_str()).iter().peekable();
            let is_given = bindings.peek().is_some()
                && bindings.all(|binding| matches!(binding.kind, BindingKind::Parameter { annotation: Some(_), .. }));
            let Some(Place::Variable(of, owner, name)) =
                receiver(call.call).and_then(|on| self.flow.places(file, call.scope, on).first().map(|at| at.place))
            else {
                continue;
            };
            if is_given
                && let Some(class) = self.flow.class_at(Place::Variable(of, owner, name), false)
                && loops_around(model, call.block).any(|round| self.is_loop_of_epochs(file, round))
            {
                found.epochs.insert(class);
            }
        }
    }

    /// Whether a block lies in a loop of loops that trains, or in one of a great many steps.
    fn is_used_in_training(&self, file: FileId, block: BlockId) -> bool {
        let loops: Vec<BlockId> = loops_around(self.flow.models.of(file), block).collect();
        let Some(outermost) = loops.last() else { return false };
        (loops.len() > 1 || self.is_of_many_steps(file, *outermost)) && self.trains_in(file, *outermost)
    }

    /// `for step in range(1_000_000)`, `for step in itertools.count()`: a training without epochs.
    fn is_of_many_steps(&self, file: FileId, round: BlockId) -> bool {
        let block = self.flow.models.of(file).block(round);
        let BlockKind::For(each) = block.kind else { return false };
        let over = match &*each.iter {
            Expr::Call(call) if matches!(last_name(&call.func), Some("enumerate" | "tqdm")) => call.arguments.args.first(),
            other => Some(other),
        };
        let Some(Expr::Call(call)) = over else { return false };
        match last_name(&call.func) {
            Some("range" | "trange") => {
                let last = call.arguments.args.get(1).or_else(|| call.arguments.args.first());
                last.and_then(|last| self.number(file, block.scope, last)).is_some_and(|steps| steps >= MANY_STEPS)
            }
            Some("count" | "cycle") => true,
            _ => false,
        }
    }

    /// Whether a loop trains by another loop inside of it, here or in a function that it calls.
    pub(super) fn is_loop_of_epochs(&self, file: FileId, round: BlockId) -> bool {
        let model = self.flow.models.of(file);
        let inner = (0..).map(BlockId).zip(&model.blocks).any(|(id, block)| {
            id != round
                && matches!(block.kind, BlockKind::For(_) | BlockKind::While(_))
                && is_inside(model, id, round)
                && self.trains_in(file, id)
        });
        inner
            || model.calls.iter().filter(|call| is_inside(model, call.block, round)).any(|call| {
                let Some((of, function)) = self.flow.callee(file, call.scope, &call.call.func) else { return false };
                let model = self.flow.models.of(of);
                self.trains(of, function)
                    && (0..).map(BlockId).zip(&model.blocks).any(|(id, block)| {
                        matches!(block.kind, BlockKind::For(_) | BlockKind::While(_))
                            && model.function_of(block.scope) == Some(function)
                            && self.trains_in(of, id)
                    })
            })
    }

    /// Whether a model calls one of a class's methods: it holds the object, then.
    pub(super) fn has_hook(&self, class: ClassId) -> bool {
        let model = self.flow.models.of(class.file);
        let mut methods = model.functions().filter(|(scope, _)| model.scope(*scope).parent == Some(class.scope));
        methods.any(|(method, _)| self.autograd.is_hook(class.file, method))
    }

    fn takes_part(&self, class: ClassId) -> bool {
        let model = self.flow.models.of(class.file);
        let mut methods = model.functions().filter(|(scope, _)| model.scope(*scope).parent == Some(class.scope));
        methods.any(|(scope, _)| {
            self.is_each_round(class.file, scope) && model.scope(scope).name() != "__getitem__"
                || model.calls.iter().any(|call| {
                    model.method_of(call.scope) == Some((class.scope, scope))
                        && matches!(&*call.call.func, Expr::Attribute(method)
                            if method.attr.as_str() == "backward" && call.call.arguments.args.is_empty()
                                || method.attr.as_str() == "manual_backward")
                })
        })
    }

    /// Whether an expression means the same object each time that a loop goes round, or (without one) each time that its
    /// function is called.
    #[must_use]
    pub fn is_steady(&self, file: FileId, scope: ScopeId, expr: &'p Expr, round: Option<BlockId>) -> bool {
        self.steady(file, scope, expr, round, 8)
    }

    fn steady(&self, file: FileId, scope: ScopeId, expr: &'p Expr, round: Option<BlockId>, left: usize) -> bool {
        let Some(left) = left.checked_sub(1) else { return false };
        let inner = |expr: &'p Expr| self.steady(file, scope, expr, round, left);
        match expr {
            Expr::Name(_) => self.name_is_steady(file, scope, expr, round, left),
            Expr::Attribute(each) => inner(&each.value),
            Expr::Subscript(each) => inner(&each.value) && inner(&each.slice),
            Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::NoneLiteral(_) => true,
            Expr::UnaryOp(each) => inner(&each.operand),
            Expr::Call(call) => match &*call.func {
                // What a model gives of itself.
                Expr::Attribute(method) if PARTS.contains(&method.attr.as_str()) => {
                    inner(&method.value) && call.arguments.args.iter().all(inner)
                }
                Expr::Name(name) if matches!(name.id.as_str(), "getattr" | "list" | "enumerate" | "zip" | "reversed") => {
                    call.arguments.args.iter().all(inner)
                }
                _ => false,
            },
            _ => false,
        }
    }

    fn name_is_steady(&self, file: FileId, scope: ScopeId, expr: &'p Expr, round: Option<BlockId>, left: usize) -> bool {
        let model = self.flow.models.of(file);
        if let Some(class) = self.flow.own_class(file, scope, expr) {
            return round.is_some() || self.is_long_lived(class);
        }
        let Expr::Name(name) = expr else { return false };
        let Some(owner) = model.owner(scope, name.id.as_str()) else { return false };
        let function = model.function_of(scope).unwrap_or(ScopeId::MODULE);
        if owner != function {
            return owner == ScopeId::MODULE;
        }
        let place = self.flow.variable(file, owner, name.id.as_str());
        let assigns: Vec<_> = self
            .flow
            .assigned(place)
            .filter(|(_, assign)| round.is_none_or(|round| is_inside(model, assign.block, round)))
            .collect();
        // The loop's own variable is another each time.
        if round.is_some_and(|round| {
            assigns.iter().any(|(_, assign)| assign.block == round && matches!(assign.how, Bound::Element | Bound::Part))
        }) {
            return false;
        }
        // What a framework trains is the same each time.
        let from_framework = || matches!(name.id.as_str(), "model" | "pl_module" | "trainer") && self.is_each_round(file, owner);
        let from_callers = || round.is_some() || from_framework() || self.argument_is_steady(file, owner, name.id.as_str(), left);
        if assigns.is_empty() {
            return owner == ScopeId::MODULE || from_callers();
        }
        assigns.iter().all(|(_, assign)| self.steady(file, assign.scope, assign.value, round, left))
    }

    /// Whether a caller in a loop gives the same object for a parameter each time.
    pub(super) fn argument_is_steady(&self, file: FileId, function: ScopeId, name: &str, left: usize) -> bool {
        self.callers(file, function).iter().any(|(from, call)| {
            let given = self.flow.given(*from, call, file, function).into_iter();
            let value = given.filter(|one| one.parameter == name && one.depth == 0).map(|one| one.value).next();
            let caller = self.flow.models.of(*from);
            let mut rounds = loops_around(caller, call.block);
            value.is_some_and(|value| match rounds.next() {
                Some(round) => self.steady(*from, call.scope, value, Some(round), left),
                None => {
                    caller.function_of(call.scope).is_some_and(|caller| self.is_called_again(*from, caller))
                        && self.steady(*from, call.scope, value, None, left)
                }
            })
        })
    }
}

/// Methods by which a model gives parts of itself.
const PARTS: &[&str] = &["modules", "named_modules", "children", "named_children", "get_submodule", "values", "items"];

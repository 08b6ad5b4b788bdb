//! Whether a statement runs again and again, and in which part of the training, as far as the source tells.

use super::Phase;
use super::ops::name_of;
use crate::ask::last_name;
use crate::model::{BlockId, BlockKind, Call, Expr, ExprCall, Model, ScopeId, ScopeKind};
use crate::program::{FileId, Models};
use crate::table::{HashMap, HashSet};

/// Functions that somebody calls again and again whom the source does not show: Python itself, torch, a framework.
const CALLED_BY_OTHERS: &[&str] = &["__getitem__", "__iter__", "__next__", "__call__", "forward", "backward", "collate_fn"];

/// What is known of a program's functions.
#[derive(Debug, Default)]
pub(super) struct Contexts {
    repeated: HashSet<(FileId, ScopeId)>,
    phases: HashMap<(FileId, ScopeId), Phase>,
    /// Blocks with a `backward` inside.
    training: HashSet<(FileId, BlockId)>,
    /// Methods that take one step of a training: an optimizer's, and no loop is around.
    steps: HashSet<(FileId, ScopeId)>,
}

impl Contexts {
    pub fn new(models: &Models) -> Self {
        let mut contexts = Self::default();
        contexts.find_training(models);
        contexts.find_steps(models);
        let calls = calls_by_name(models);
        contexts.find_repeated(models, &calls);
        contexts.find_phases(models, &calls);
        contexts
    }

    /// Whether code at this block runs again and again.
    pub fn is_repeated(&self, model: &Model, file: FileId, scope: ScopeId, block: BlockId) -> bool {
        model.loops(block) > 0 || model.function_of(scope).is_some_and(|function| self.is_called_repeatedly(file, function))
    }

    /// Whether a function, or one around it, is called again and again.
    pub fn is_called_repeatedly(&self, file: FileId, function: ScopeId) -> bool {
        self.repeated.contains(&(file, function))
    }

    /// Whether a function is a method that takes one step of a training.
    pub fn is_step(&self, file: FileId, function: ScopeId) -> bool {
        self.steps.contains(&(file, function))
    }

    /// The part of the training that a block belongs to.
    pub fn phase(&self, model: &Model, file: FileId, scope: ScopeId, block: BlockId) -> Option<Phase> {
        for each in model.blocks_within(block) {
            if let BlockKind::With(with) = each.kind
                && with.items.iter().any(|item| is_without_gradients(&item.context_expr))
            {
                return Some(Phase::Validation);
            }
        }
        let mut at = Some(block);
        while let Some(id) = at {
            let each = model.block(id);
            if each.kind.is_loop() && self.training.contains(&(file, id)) {
                return Some(Phase::Training);
            }
            at = if each.kind.is_scope() { None } else { each.parent };
        }
        self.phases.get(&(file, model.function_of(scope)?)).copied()
    }

    fn find_training(&mut self, models: &Models) {
        for (file, model) in models.iter() {
            for call in &model.calls {
                if matches!(name_of(call.call), Some("backward" | "manual_backward")) {
                    let mut at = Some(call.block);
                    while let Some(id) = at {
                        self.training.insert((file, id));
                        let each = model.block(id);
                        at = if each.kind.is_scope() { None } else { each.parent };
                    }
                }
            }
        }
    }

    /// Nobody writes a method for one step and takes only one.
    fn find_steps(&mut self, models: &Models) {
        for (file, model) in models.iter() {
            let once = |call: &&Call| model.loops(call.block) == 0;
            let functions = |name: &'static str| {
                model.calls_named(&[name]).into_iter().filter(once).filter_map(|call| model.function_of(call.scope))
            };
            let steps: HashSet<ScopeId> = functions("step").collect();
            let begun: HashSet<ScopeId> = functions("zero_grad").collect();
            let of_class = |function: &ScopeId| {
                let scope = model.scope(*function);
                let parent = scope.parent.map(|parent| model.scope(parent));
                parent.is_some_and(|parent| parent.is_class() && !parent.name().contains("Test"))
                    && !scope.name().starts_with("test")
            };
            self.steps.extend(
                functions("backward")
                    .filter(|function| steps.contains(function) && begun.contains(function) && of_class(function))
                    .map(|function| (file, function)),
            );
        }
    }

    /// A library that has a function of the same name calls its own, and knows those of a program by their base classes alone.
    fn find_repeated(&mut self, models: &Models, calls: &Calls) {
        let in_library = |file: FileId| models.program.in_library(file);
        let handed = handed_names(models);
        // By the name that they are called by.
        let mut functions: HashMap<&str, Vec<(FileId, ScopeId)>> = HashMap::default();
        for (file, model) in models.iter() {
            for (scope, function) in model.functions() {
                let parent = model.scope(scope).parent.unwrap_or(ScopeId::MODULE);
                let name = function.name.as_str();
                // Constructing a class calls its `__init__`; a thread that is made runs once.
                let runs = name == "run" && is_run_once(model, parent);
                let called = if name == "__init__" || runs { model.scope(parent).name() } else { name };
                functions.entry(called).or_default().push((file, scope));
                let is_handed = || handed.get(name).is_some_and(|by_program| *by_program || in_library(file));
                let known = CALLED_BY_OTHERS.contains(&name) || is_handed();
                let of_framework = || {
                    model.scope(parent).is_class()
                        && name != "__init__"
                        && !runs
                        && calls
                            .get(called)
                            .into_iter()
                            .flatten()
                            .all(|site| site.by_super || in_library(site.file) && !in_library(file))
                        && has_foreign_base(models, file, model, parent)
                };
                if known || self.steps.contains(&(file, scope)) || of_framework() {
                    self.repeated.insert((file, scope));
                }
            }
            // A lambda is made to be called later, mostly more than once.
            let lambdas = model.scopes.iter().zip(0..).filter(|(scope, _)| matches!(scope.kind, ScopeKind::Lambda(_)));
            self.repeated.extend(lambdas.map(|(_, id)| (file, ScopeId(id))));
        }
        loop {
            let before = self.repeated.len();
            for (called, named) in &mut functions {
                let sites = || calls.get(called).into_iter().flatten();
                let hot = |site: &&CallSite| {
                    site.loops > 0 || site.function.is_some_and(|function| self.repeated.contains(&(site.file, function)))
                };
                let any = sites().any(|site| hot(&site));
                let by_program = any && sites().any(|site| hot(&site) && !in_library(site.file));
                self.repeated.extend(named.extract_if(.., |(file, _)| by_program || any && in_library(*file)));
            }
            if self.repeated.len() == before {
                return;
            }
        }
    }

    fn find_phases(&mut self, models: &Models, calls: &Calls) {
        for (file, model) in models.iter() {
            let backward = model.calls.iter().filter(|call| matches!(name_of(call.call), Some("backward" | "manual_backward")));
            let training: HashSet<ScopeId> = backward.filter_map(|call| model.function_of(call.scope)).collect();
            for (scope, function) in model.functions() {
                let without = function.decorator_list.iter().any(|decorator| is_without_gradients(&decorator.expression));
                let phase = match () {
                    () if without => Some(Phase::Validation),
                    () if training.contains(&scope) => Some(Phase::Training),
                    () => by_name(function.name.as_str()),
                };
                if let Some(phase) = phase {
                    self.phases.insert((file, scope), phase);
                }
            }
        }
        // A function called from one part only belongs to it.
        for _ in 0..3 {
            let mut found = Vec::new();
            for (file, model) in models.iter() {
                for (scope, function) in model.functions() {
                    if self.phases.contains_key(&(file, scope)) {
                        continue;
                    }
                    let sites = calls.get(function.name.as_str()).into_iter().flatten();
                    let mut phases = sites.map(|site| self.phase(models.of(site.file), site.file, site.scope, site.block));
                    if let Some(Some(first)) = phases.next()
                        && phases.all(|phase| phase == Some(first))
                    {
                        found.push(((file, scope), first));
                    }
                }
            }
            self.phases.extend(found);
        }
    }
}

/// Where a function or a class of the program is called.
struct CallSite {
    file: FileId,
    scope: ScopeId,
    block: BlockId,
    function: Option<ScopeId>,
    loops: usize,
    /// As `super().name()`: one that overrides a method and hands on is called by whoever calls that.
    by_super: bool,
}

type Calls<'p> = HashMap<&'p str, Vec<CallSite>>;

fn calls_by_name<'p>(models: &Models<'p>) -> Calls<'p> {
    let defined =
        |(_, model): (FileId, &Model<'p>)| model.functions().map(|(_, function)| function.name.as_str()).collect::<Vec<_>>();
    let classes = |(_, model): (FileId, &Model<'p>)| model.classes().map(|(_, class)| class.name.as_str()).collect::<Vec<_>>();
    let own: HashSet<&str> = models.iter().flat_map(defined).chain(models.iter().flat_map(classes)).collect();
    let mut calls: Calls = HashMap::default();
    for (file, model) in models.iter() {
        for Call { call, scope, block, .. } in &model.calls {
            for name in name_of(call).into_iter().chain(target(call).and_then(last_name)).filter(|name| own.contains(name)) {
                let function = model.function_of(*scope);
                let loops = model.loops(*block);
                let site = CallSite { file, scope: *scope, block: *block, function, loops, by_super: is_by_super(call) };
                calls.entry(name).or_default().push(site);
            }
        }
    }
    calls
}

fn is_by_super(call: &ExprCall) -> bool {
    let Expr::Attribute(method) = &*call.func else { return false };
    matches!(&*method.value, Expr::Call(of) if matches!(&*of.func, Expr::Name(name) if name.id.as_str() == "super"))
}

/// Whether a class is a thread or a process of its own.
fn is_run_once(model: &Model, class: ScopeId) -> bool {
    let ScopeKind::Class(definition) = model.scope(class).kind else { return false };
    let mut bases = definition.arguments.iter().flat_map(|arguments| &arguments.args);
    bases.any(|base| matches!(last_name(base), Some("Thread" | "Process" | "Timer")))
}

/// Names of functions that are given to somebody, and whether the program itself does so: callbacks, hooks, targets of threads.
fn handed_names<'p>(models: &Models<'p>) -> HashMap<&'p str, bool> {
    let mut names = HashMap::default();
    for (file, model) in models.iter() {
        let by_program = !models.program.in_library(file);
        for call in &model.calls {
            let target = target(call.call);
            for value in crate::ask::given(call.call).filter(|value| target.is_none_or(|target| !std::ptr::eq(target, *value))) {
                if let Some(name) = last_name(value) {
                    *names.entry(name).or_default() |= by_program;
                }
            }
        }
    }
    names
}

/// What a thread or a process that is made runs: once, as often as such a one is made.
fn target(call: &ExprCall) -> Option<&Expr> {
    let target = call.arguments.keywords.iter().find(|keyword| keyword.arg.as_ref().is_some_and(|arg| arg.as_str() == "target"));
    target.map(|target| &target.value)
}

/// Whether a class inherits from something outside the program, which may call its methods.
pub(super) fn has_foreign_base(models: &Models, file: FileId, model: &Model, class: ScopeId) -> bool {
    let scope = model.scope(class);
    let ScopeKind::Class(definition) = scope.kind else { return false };
    let outer = scope.parent.unwrap_or(ScopeId::MODULE);
    let mut bases = definition.arguments.iter().flat_map(|arguments| &arguments.args);
    bases.any(|base| match models.class(file, outer, base) {
        None => !matches!(base, Expr::Name(name) if name.id.as_str() == "object"),
        Some((to, base)) => (to, base) != (file, class) && foreign_above(models, to, base, 8),
    })
}

fn foreign_above(models: &Models, file: FileId, class: ScopeId, left: usize) -> bool {
    let model = models.of(file);
    let ScopeKind::Class(definition) = model.scope(class).kind else { return false };
    let outer = model.scope(class).parent.unwrap_or(ScopeId::MODULE);
    let mut bases = definition.arguments.iter().flat_map(|arguments| &arguments.args);
    left > 0
        && bases.any(|base| match models.class(file, outer, base) {
            None => true,
            Some((to, base)) => foreign_above(models, to, base, left - 1),
        })
}

/// `torch.no_grad()`, `inference_mode`, however imported.
fn is_without_gradients(expr: &Expr) -> bool {
    match expr {
        Expr::Call(call) => matches!(name_of(call), Some("no_grad" | "inference_mode")),
        Expr::Attribute(attribute) => matches!(attribute.attr.as_str(), "no_grad" | "inference_mode"),
        Expr::Name(name) => matches!(name.id.as_str(), "no_grad" | "inference_mode"),
        _ => false,
    }
}

/// What functions of a training are mostly called, in frameworks and in plain loops.
fn by_name(name: &str) -> Option<Phase> {
    let name = name.to_ascii_lowercase();
    let has = |words: &[&str]| name.split('_').any(|part| words.contains(&part));
    if has(&["val", "valid", "validate", "validation", "eval", "evaluate", "evaluation", "test"]) {
        Some(Phase::Validation)
    } else if has(&["train", "training", "fit"]) {
        Some(Phase::Training)
    } else {
        None
    }
}

//! Which places hold a model or a loss function, and which expressions call one.

use ruff_python_ast::ExprCall;

use super::{Autograd, is_own, says_false};
use crate::ask::{keyword, last_name};
use crate::flow::{ClassId, Place};
use crate::model::{BindingKind, Bound, Call, Expr, Item, ScopeId, ScopeKind, dotted};
use crate::program::FileId;

/// Nested calls that are looked into for one model.
const MAX_NESTING: usize = 8;
/// Callers of a function that are asked what they give.
const MAX_CALLERS: usize = 16;

impl<'p> Autograd<'_, 'p> {
    /// Whether a module has been given a part of it that it calls: what comes out of it has the graph of what goes in.
    pub(super) fn is_given_part(&self, place: Place<'p>) -> bool {
        let Place::Attribute(class, _) = place else { return false };
        let mut assigned = self.flow.assigned(place).peekable();
        let is_given = |file: FileId, scope: ScopeId, value: &Expr| {
            let name = match value {
                Expr::Name(name) => name,
                // `self.encoder = make_encoder(width)`
                Expr::Call(call) => match &*call.func {
                    Expr::Name(name) => name,
                    _ => return false,
                },
                _ => return false,
            };
            let model = self.flow.models.of(file);
            let mut bindings = model.bindings(scope, name.id.as_str()).iter().peekable();
            bindings.peek().is_some() && bindings.all(|binding| matches!(binding.kind, BindingKind::Parameter { .. }))
        };
        assigned.peek().is_some()
            && self.is_module(class)
            && assigned.all(|(file, assign)| assign.how == Bound::Whole && is_given(*file, assign.scope, assign.value))
    }

    /// Whether a place is given a model or a loss function, or is used like one.
    pub fn is_model(&self, place: Place<'p>) -> bool {
        if let Some(known) = self.models.borrow().get(&place) {
            return *known;
        }
        // While it is looked for, a place that is given its own value tells nothing of it.
        self.models.borrow_mut().insert(place, false);
        let is_model = self.uses().models.contains(&place)
            || self.uses().proven.models.contains(&place)
            || self.flow.assigned(place).any(|(file, assign)| match assign.how {
                // What goes over a list of modules is one.
                Bound::Whole | Bound::Element => self.makes_model(*file, assign.scope, assign.value, MAX_NESTING),
                Bound::Part => match (assign.value, assign.part.items()) {
                    (Expr::Call(call), &[Item::At(at)]) => self.gives_model(*file, assign.scope, call, at, MAX_NESTING),
                    _ => false,
                },
                _ => false,
            })
            || self.is_given_model(place);
        self.models.borrow_mut().insert(place, is_model);
        is_model
    }

    /// Whether a parameter gets a model: from a framework, or from some caller.
    fn is_given_model(&self, place: Place<'p>) -> bool {
        let Place::Variable(file, function, name) = place else { return false };
        let model = self.flow.models.of(file);
        let is_parameter = |kind: &BindingKind| matches!(kind, BindingKind::Parameter { .. });
        if !model.scope(function).bindings(name).iter().any(|binding| is_parameter(&binding.kind)) {
            return false;
        }
        // `Trainer.compute_loss(self, model, inputs)` of transformers and of what builds on it.
        let of_trainer = name == "model"
            && matches!(model.scope(function).name(), "compute_loss" | "training_step" | "prediction_step")
            && model
                .method_of(function)
                .is_some_and(|(class, _)| self.bases(ClassId { file, scope: class }).any(|base| base.ends_with("Trainer")));
        of_trainer
            || self.flow.callers(file, function).iter().take(MAX_CALLERS).any(|(from, call)| {
                let given = self.flow.given(*from, call, file, function).into_iter();
                given
                    .filter(|given| given.parameter == name && given.depth == 0)
                    .any(|given| self.makes_model(*from, call.scope, given.value, MAX_NESTING))
            })
    }

    /// Whether the value of an expression is a model.
    fn makes_model(&self, file: FileId, scope: ScopeId, value: &'p Expr, nesting: usize) -> bool {
        let Some(left) = nesting.checked_sub(1) else { return false };
        let inner = |value: &'p Expr| self.makes_model(file, scope, value, left);
        let call = match value {
            Expr::Call(call) => call,
            Expr::Name(_) | Expr::Attribute(_) => {
                return self.flow.class_of(file, scope, value).is_some_and(|class| self.is_module(class))
                    || self.is_annotated(file, scope, value)
                    || self.flow.places(file, scope, value).iter().filter(|at| is_own(at)).any(|at| self.is_model(at.place));
            }
            Expr::If(each) => return inner(&each.body) || inner(&each.orelse),
            Expr::BoolOp(each) => return each.values.iter().any(inner),
            _ => return false,
        };
        let first = || call.arguments.args.first();
        match self.flow.models.of(file).full_name(scope, &call.func).as_deref() {
            Some("torch.compile" | "torch.jit.script" | "torch.jit.trace" | "copy.deepcopy") => {
                return first().is_some_and(inner);
            }
            Some(name) if is_layer(name) || is_of_library(name) => return true,
            _ => {}
        }
        if let Some(class) = self.flow.class_of(file, scope, value) {
            return self.is_module(class);
        }
        // `Net().to(device)`, `accelerator.prepare(net)`
        if let Expr::Attribute(method) = &*call.func {
            match method.attr.as_str() {
                "requires_grad_" if says_false(call) => return false,
                "to" | "cuda" | "cpu" | "train" | "eval" | "float" | "half" | "bfloat16" | "double" | "requires_grad_" => {
                    return inner(&method.value);
                }
                "prepare" | "prepare_model" | "setup_module" if first().is_some_and(inner) => return true,
                _ => {}
            }
        }
        self.flow.callee(file, scope, &call.func).is_some_and(|(of, function)| {
            let model = self.flow.models.of(of);
            let mut results = model.returned(function).take(4);
            results.any(|result| self.makes_model(of, result.scope, result.value, left.min(3)))
        })
    }

    /// Whether one of the several values that a call gives is a model.
    fn gives_model(&self, file: FileId, scope: ScopeId, call: &'p ExprCall, at: u8, nesting: usize) -> bool {
        let at = usize::from(at);
        if matches!(last_name(&call.func), Some("prepare" | "setup" | "initialize")) {
            let given = call.arguments.args.get(at).or_else(|| keyword(call, "model").filter(|_| at == 0));
            return given.is_some_and(|given| self.makes_model(file, scope, given, nesting.saturating_sub(1)));
        }
        self.flow.callee(file, scope, &call.func).is_some_and(|(of, function)| {
            let model = self.flow.models.of(of);
            let mut results = model.returned(function).take(4);
            results.any(|result| match result.value {
                Expr::Tuple(all) => {
                    all.elts.get(at).is_some_and(|one| self.makes_model(of, result.scope, one, nesting.saturating_sub(1).min(3)))
                }
                _ => false,
            })
        })
    }

    /// Whether a scope is a method of a class that inherits from `torch.nn.Module`, or is inside of one.
    #[must_use]
    pub fn is_in_module(&self, file: FileId, scope: ScopeId) -> bool {
        let method = self.flow.models.of(file).method_of(scope);
        method.is_some_and(|(class, _)| self.is_module(ClassId { file, scope: class }))
    }

    /// Whether a class inherits from `torch.nn.Module`, in whatever way.
    #[must_use]
    pub fn is_module(&self, class: ClassId) -> bool {
        if let Some(known) = self.modules.borrow().get(&class) {
            return *known;
        }
        let is_module = self
            .bases(class)
            .any(|name| name.starts_with("torch.nn.") || name.ends_with(".LightningModule") || name.ends_with("PreTrainedModel"));
        self.modules.borrow_mut().insert(class, is_module);
        is_module
    }

    /// The full names of all classes of libraries that a class inherits from.
    pub fn bases(&self, class: ClassId) -> impl Iterator<Item = String> {
        self.flow.classes.ancestors(class).iter().flat_map(|class| {
            let model = self.flow.models.of(class.file);
            let scope = model.scope(class.scope);
            let arguments = if let ScopeKind::Class(definition) = scope.kind { definition.arguments.as_deref() } else { None };
            let outer = scope.parent.unwrap_or(ScopeId::MODULE);
            arguments.into_iter().flat_map(|arguments| &arguments.args).filter_map(move |base| model.full_name(outer, base))
        })
    }

    pub(super) fn is_metric(&self, class: ClassId) -> bool {
        self.bases(class).any(|name| name.contains("torchmetrics") && name.ends_with("Metric"))
    }

    /// Whether a call of this is a model's forward pass.
    #[must_use]
    pub fn calls_model(&self, file: FileId, scope: ScopeId, func: &'p Expr) -> bool {
        if let Some(class) = self.flow.class_of(file, scope, func)
            && self.flow.models.class(file, scope, func).is_none()
        {
            return self.is_module(class);
        }
        if let Expr::Attribute(method) = func
            && method.attr.as_str() == "forward"
        {
            // `super().forward(x)` is told by what is above.
            return !method.value.is_call_expr() && self.makes_model(file, scope, &method.value, MAX_NESTING);
        }
        let places = self.flow.places(file, scope, func);
        let frozen = || places.iter().any(|at| self.uses().frozen.contains(&at.place));
        (places.iter().any(|at| is_own(at) && self.is_model(at.place)) || self.is_annotated(file, scope, func)) && !frozen()
    }

    /// Whether a call is of a method by which a model of a library computes something, as it does when it is called.
    pub(super) fn asks_model(&self, file: FileId, scope: ScopeId, call: &'p ExprCall) -> bool {
        const COMPUTES: &[&str] = &[
            "encode_image",
            "encode_text",
            "extract_features",
            "forward_features",
            "forward_head",
            "get_audio_features",
            "get_image_features",
            "get_text_features",
        ];
        let Expr::Attribute(method) = &*call.func else { return false };
        COMPUTES.contains(&method.attr.as_str())
            && self.flow.callee(file, scope, &call.func).is_none()
            && self.calls_model(file, scope, &method.value)
    }

    /// A parameter said to be a `nn.Module`.
    fn is_annotated(&self, file: FileId, scope: ScopeId, func: &Expr) -> bool {
        let Expr::Name(name) = func else { return false };
        let model = self.flow.models.of(file);
        model.bindings(scope, name.id.as_str()).iter().any(|binding| match binding.kind {
            BindingKind::Parameter { annotation: Some(annotation), .. } => self.names_module(file, scope, annotation),
            _ => false,
        })
    }

    /// Whether an annotation means a module: `nn.Module`, `Optional[nn.Module]`, `nn.Module | None`, also as text.
    fn names_module(&self, file: FileId, scope: ScopeId, annotation: &Expr) -> bool {
        match annotation {
            Expr::BinOp(either) => self.names_module(file, scope, &either.left) || self.names_module(file, scope, &either.right),
            Expr::Subscript(generic) if dotted(&generic.value).is_some_and(|parts| parts.last() == Some(&"Optional")) => {
                self.names_module(file, scope, &generic.slice)
            }
            Expr::StringLiteral(text) => matches!(text.value.to_str(), "nn.Module" | "torch.nn.Module"),
            _ => self.flow.models.of(file).full_name(scope, annotation).is_some_and(|name| {
                name.starts_with("torch.nn.") && !name.ends_with("Parameter")
                    || name.ends_with(".LightningModule")
                    || name.ends_with(".PreTrainedModel")
            }),
        }
    }

    /// What a call gives to a parameter of the function that it calls.
    pub(super) fn arguments(
        &self,
        file: FileId,
        call: &Call<'p>,
        (of, function): (FileId, ScopeId),
        parameter: &str,
    ) -> Vec<(&'p Expr, u32)> {
        let given = self.flow.given(file, call, of, function).into_iter();
        given.filter(|given| given.parameter == parameter).map(|given| (given.value, given.depth)).collect()
    }
}

/// A class of `torch.nn` that computes: a layer, a container of such, a loss.
pub(super) fn is_layer(name: &str) -> bool {
    let Some(own) = name.strip_prefix("torch.nn.") else { return false };
    let last = own.rsplit('.').next().unwrap_or(own);
    last.starts_with(|first: char| first.is_uppercase())
        && !own.starts_with("utils.")
        && !own.starts_with("init.")
        && !matches!(last, "Parameter" | "Buffer" | "ParameterList" | "ParameterDict" | "UninitializedParameter")
}

/// Functions of libraries that give a model.
fn is_of_library(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    match () {
        () if name.starts_with("torchvision.models.") => !last.starts_with("get_") && !last.ends_with("_Weights"),
        () if matches!(name, "timm.create_model" | "timm.models.create_model" | "torch.hub.load") => true,
        () if name.starts_with("transformers.") && matches!(last, "from_pretrained" | "from_config") => {
            let class = name.rsplit('.').nth(1).unwrap_or_default();
            class.contains("Model") || class.contains("For")
        }
        () => name.starts_with("segmentation_models_pytorch.") && last.starts_with(|first: char| first.is_uppercase()),
    }
}

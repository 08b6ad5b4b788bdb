//! LT304: Hooks are registered again and again.

use crate::words::{code, function};
use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::ask::{argument, last_name, method, receiver};
use lowtide_lint::check::{Check, Hit, loops_around};
use lowtide_lint::feeds::Kind;
use lowtide_lint::feeds::is_inside;
use lowtide_lint::model::{BlockId, Bound, Call, Expr, Model, Ranged, ScopeId, dotted};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT304",
    name: "hooks-registered-again",
    title: "Hooks are registered again and again",
    severity: Severity::Leak,
    happens: "`register_forward_hook` and the like run in a loop or in a function that is called in one, and the \
                  handle is not removed.",
    keeps: "The module keeps every hook, and each hook what it closes over. Each forward calls all of them, so \
                that time grows, too.",
    shows: "Memory and time per step rise together; the module's hook dictionary gets longer.",
    fix: Fix {
        text: "Register once, or remove the handle when it has done its work.",
        language: Language::Python,
        before: r#"for batch in loader:
    layer.register_forward_hook(save)
    model(batch)"#,
        after: r#"handle = layer.register_forward_hook(save)
for batch in loader:
    model(batch)
handle.remove()"#,
    },
    harmless: "A hook registered once, however long it stays.",
    sources: &["https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.statement == Some(Kind::Hook)).then_some(95)
}

/// A hook on the same module in each round of a loop or each call of a function, where nothing can remove it: its handle is
/// dropped, or `remove()` is called nowhere in the file.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        for call in &model.calls {
            let Some(hooked) = hooked(check, file, call) else { continue };
            let kept = !is_dropped(call) && removes(model);
            let what = match hooked {
                _ if kept => continue,
                Hooked::All => {
                    if !is_again_for_all(check, file, call) {
                        continue;
                    }
                    "every module".to_owned()
                }
                Hooked::Module(module) => {
                    if check.is_given_to_one_after_the_other(file, call.scope, call.block, module) {
                        hits.push(Hit::new(file, call.call.start()).saying(format!(
                            "{} gets one more hook with each object that is made for the same model; none is removed",
                            code(check, file, module)
                        )));
                        continue;
                    }
                    if !is_again(check, file, call, module) {
                        continue;
                    }
                    code(check, file, module)
                }
                Hooked::Parameter(name, of) => {
                    if !is_again(check, file, call, of) {
                        continue;
                    }
                    code(check, file, name)
                }
            };
            hits.push(Hit::new(file, call.call.start()).saying(format!(
                "{what} gets one more hook each time that this line in {} runs; none is removed",
                function(check, file, call.scope)
            )));
        }
    }
    hits
}

/// What a hook is put on.
enum Hooked<'p> {
    /// A module, or an optimizer.
    Module(&'p Expr),
    /// A parameter, and the model whose it is.
    Parameter(&'p Expr, &'p Expr),
    /// Every module that there is.
    All,
}

fn hooked<'p>(check: &Check<'_, 'p>, file: FileId, call: &Call<'p>) -> Option<Hooked<'p>> {
    let name = last_name(&call.call.func)?;
    let model = check.flow.models.of(file);
    if OF_ALL.contains(&name) || name == "register_parametrization" {
        let full = model.full_name(call.scope, &call.call.func).filter(|full| full.starts_with("torch.nn."))?;
        return match full.rsplit('.').next() {
            Some("register_parametrization") => argument(call.call, 0, "module").map(Hooked::Module),
            _ => Some(Hooked::All),
        };
    }
    let on = receiver(call.call).filter(|_| check.flow.callee(file, call.scope, &call.call.func).is_none())?;
    if HOOKS.contains(&name) {
        return Some(Hooked::Module(on));
    }
    // Those of other tensors go with them.
    let of = if OF_PARAMETERS.contains(&name) { model_of(model, call.scope, on)? } else { return None };
    Some(Hooked::Parameter(on, of))
}

/// The model whose parameter an expression is: `layer.weight`, or what a loop over `model.parameters()` gives.
fn model_of<'p>(model: &Model<'p>, scope: ScopeId, parameter: &'p Expr) -> Option<&'p Expr> {
    match parameter {
        Expr::Attribute(each) if matches!(each.attr.as_str(), "weight" | "bias") => Some(&each.value),
        Expr::Name(name) => model.assigns.iter().find_map(|assign| {
            let is_it = matches!(assign.target, Expr::Name(target) if target.id == name.id)
                && matches!(assign.how, Bound::Element | Bound::Part)
                && model.owner(assign.scope, name.id.as_str()) == model.owner(scope, name.id.as_str());
            let Expr::Call(call) = assign.value else { return None };
            receiver(call).filter(|_| is_it && matches!(method(call), Some("parameters" | "named_parameters")))
        }),
        _ => None,
    }
}

/// Hooks on every module (`torch.nn.modules.module`).
const OF_ALL: &[&str] = &[
    "register_module_backward_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_parameter_registration_hook",
];
/// Hooks of tensors.
const OF_PARAMETERS: &[&str] = &["register_hook", "register_post_accumulate_grad_hook"];
/// Hooks of modules and optimizers.
const HOOKS: &[&str] = &[
    "register_backward_hook",
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_full_backward_hook",
    "register_full_backward_pre_hook",
    "register_load_state_dict_post_hook",
    "register_load_state_dict_pre_hook",
    "register_state_dict_pre_hook",
    "register_step_post_hook",
    "register_step_pre_hook",
];

fn is_dropped(call: &Call) -> bool {
    call.statement == call.call.range()
}

/// Whether `handle.remove()` is called anywhere in a file.
fn removes(model: &Model) -> bool {
    model.calls.iter().any(|call| {
        matches!(&*call.call.func, Expr::Attribute(method) if method.attr.as_str() == "remove" && call.call.arguments.is_empty())
    })
}

/// A hook on all modules, in a loop that runs a model or in a function that is called again and again.
fn is_again_for_all<'p>(check: &Check<'_, 'p>, file: FileId, call: &Call<'p>) -> bool {
    let model = check.flow.models.of(file);
    !model.blocks_within(call.block).any(|block| block.kind.is_conditional())
        && (loops_around(model, call.block).any(|round| works_in(check, file, round))
            || model.function_of(call.scope).is_some_and(|function| check.is_called_again(file, function)))
}

fn is_again<'p>(check: &Check<'_, 'p>, file: FileId, call: &Call<'p>, module: &'p Expr) -> bool {
    let model = check.flow.models.of(file);
    // A hook under a condition may be registered once.
    if model.blocks_within(call.block).any(|block| block.kind.is_conditional()) {
        return false;
    }
    // A loop over kinds of hooks registers others each time: one that matters runs the model.
    let by_loop = loops_around(model, call.block).any(|round| {
        check.is_steady(file, call.scope, module, Some(round))
            && (works(check, file, module, &|block| is_inside(model, block, round)) || works_in(check, file, round))
    });
    let by_call = || {
        let function = model.function_of(call.scope).filter(|function| model.scope(*function).name() != "__init__");
        function.is_some_and(|function| {
            check.is_steady(file, call.scope, module, None)
                && (check.is_each_round(file, function)
                    || works(check, file, module, &|block| model.function_of(model.block(block).scope) == Some(function))
                        && check.is_called_again(file, function)
                    || check.callers(file, function).iter().any(|(from, call)| {
                        let caller = check.flow.models.of(*from);
                        loops_around(caller, call.block).any(|round| works_in(check, *from, round))
                    }))
        })
    };
    by_loop || by_call()
}

/// Whether a model runs in some of the blocks of a file: that of the hook, or one that is known.
fn works<'p>(check: &Check<'_, 'p>, file: FileId, module: &'p Expr, inside: &dyn Fn(BlockId) -> bool) -> bool {
    let model = check.flow.models.of(file);
    let root = |expr| dotted(expr).and_then(|parts| parts.first().copied().map(str::to_owned));
    let of_hook = root(module);
    model.calls.iter().filter(|call| inside(call.block)).any(|call| match &*call.call.func {
        Expr::Attribute(method) if method.attr.as_str() == "backward" => true,
        Expr::Name(name) if of_hook.as_deref() == Some(name.id.as_str()) => true,
        func => check.autograd.calls_model(file, call.scope, func),
    })
}

/// The same in a loop, for whatever model; one that is called with the loop's own variable counts.
fn works_in(check: &Check, file: FileId, round: BlockId) -> bool {
    let model = check.flow.models.of(file);
    let over: Vec<&str> = model
        .assigns
        .iter()
        .filter(|assign| assign.block == round && matches!(assign.how, Bound::Element | Bound::Part))
        .filter_map(|assign| assign.target.as_name_expr().map(|name| name.id.as_str()))
        .collect();
    model.calls.iter().filter(|call| is_inside(model, call.block, round)).any(|call| {
        let given = || {
            call.call.arguments.args.iter().any(|value| value.as_name_expr().is_some_and(|name| over.contains(&name.id.as_str())))
        };
        match &*call.call.func {
            Expr::Attribute(method) if method.attr.as_str() == "backward" => true,
            Expr::Name(name) => {
                given()
                    && check.flow.callee(file, call.scope, &call.call.func).is_none()
                    && model.owner(call.scope, name.id.as_str()).is_some()
                    || check.autograd.calls_model(file, call.scope, &call.call.func)
            }
            func => check.autograd.calls_model(file, call.scope, func),
        }
    })
}

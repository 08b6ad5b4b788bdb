//! LT304: Hooks are registered again and again.

use crate::words::{code, function};
use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::check::{Check, Hit, loops_around};
use lowtide_lint::feeds::Kind;
use lowtide_lint::feeds::is_inside;
use lowtide_lint::model::{BlockId, Bound, Call, Expr, Model, Ranged, dotted};
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
            let Expr::Attribute(method) = &*call.call.func else { continue };
            if !HOOKS.contains(&method.attr.as_str()) || check.flow.callee(file, call.scope, &call.call.func).is_some() {
                continue;
            }
            let kept = !is_dropped(call) && removes(model);
            if !kept && check.is_given_to_one_after_the_other(file, call.scope, call.block, &method.value) {
                hits.push(Hit::new(file, call.call.start()).saying(format!(
                    "{} gets one more hook with each object that is made for the same model; none is removed",
                    code(check, file, &method.value)
                )));
            } else if !kept && is_again(check, file, call, &method.value) {
                hits.push(Hit::new(file, call.call.start()).saying(format!(
                    "{} gets one more hook each time that this line in {} runs; none is removed",
                    code(check, file, &method.value),
                    function(check, file, call.scope)
                )));
            }
        }
    }
    hits
}

/// Hooks of modules. Those of a tensor go with it.
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

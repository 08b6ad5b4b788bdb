//! LT303: A progress bar is given tensors (a myth, mostly).

use crate::words::code;
use crate::{Cause, Fix, Language, Severity};
use lowtide_lint::ask::{given, receiver};
use lowtide_lint::check::{Check, Confidence, Hit, Value};
use lowtide_lint::model::{Bound, Call, Expr, Ranged};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT303",
    name: "progress-bar-postfix",
    title: "A progress bar is given tensors (a myth, mostly)",
    severity: Severity::Harmless,
    happens: "`set_postfix(loss=loss)` is often named as a leak.",
    keeps: "tqdm turns the values into text at once and keeps the text: nothing is held. A bar of one's own that \
                keeps the values does leak (LT103).",
    shows: "No growth. Reading the value from the GPU makes each step wait, which is a cost of time. `lowtide check --select LT303` \
                lists the places, as hints.",
    fix: Fix {
        text: "Nothing to fix for the memory. Pass `.item()` every few steps to save time.",
        language: Language::Python,
        before: r#"bar.set_postfix(loss=loss)"#,
        after: r#"if step % 20 == 0:
    bar.set_postfix(loss=loss.item())"#,
    },
    harmless: "Always with tqdm 4; look at what other bars keep.",
    sources: &["https://tqdm.github.io/docs/tqdm/", "zoo/04_tqdm_postfix.py", "zoo/05_progress_history.py"],
    signature: None,
    rule: Some(rule),
};

/// tqdm's own `set_postfix` is given a tensor. A hint: that nothing is kept is what it says.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, _, call) in check.calls_of(&["set_postfix"]) {
        let tensor = given(call.call).find(|value| check.value(file, call.scope, call.block, value) == Value::Tensor);
        if let Some(value) = tensor.filter(|_| is_tqdm(check, file, call)) {
            hits.push(Hit::new(file, call.call.start()).with(Confidence::Low).saying(format!(
                "tqdm makes text of {} at once and keeps no tensor: it costs a wait for the device, and no memory",
                code(check, file, value)
            )));
        }
    }
    hits
}

fn is_tqdm<'p>(check: &Check<'_, 'p>, file: FileId, call: &Call<'p>) -> bool {
    let Some(bar) = receiver(call.call) else { return false };
    check.flow.places(file, call.scope, bar).iter().filter(|at| at.depth == 0).any(|at| {
        check.flow.assigned(at.place).any(|(of, assign)| {
            let Expr::Call(made) = assign.value else { return false };
            let name = check.flow.models.of(*of).full_name(assign.scope, &made.func);
            matches!(assign.how, Bound::Whole | Bound::Entered) && name.is_some_and(|name| name.starts_with("tqdm."))
        })
    })
}

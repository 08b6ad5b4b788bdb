//! LT310: A history with a limit.

use crate::kept::{Sort, sort};
use crate::words::code;
use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::ask::last_name;
use lowtide_lint::check::{Check, Confidence, Hit};
use lowtide_lint::feeds::Bound as Limit;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT310",
    name: "bounded-window",
    title: "A history with a limit",
    severity: Severity::Harmless,
    happens: "The last N gradients, losses or frames are kept.",
    keeps: "It grows until it has N elements, and then stays.",
    shows: "Growth that ends at a ceiling which can be computed: N times the size of an element. A short watch \
                cannot tell it from a leak. `lowtide check --select LT310` lists what source shows to be such, as hints.",
    fix: Fix {
        text: "Nothing to fix. Make N smaller if the ceiling is too high.",
        language: Language::Python,
        before: r#"self.grad_norms = deque(maxlen=100)"#,
        after: r#"self.grad_norms = deque(maxlen=100)"#,
    },
    harmless: "Always, as long as the elements themselves have a bounded size: a window of tensors with graphs has \
                   not (LT108).",
    sources: &["https://docs.python.org/3/library/collections.html", "zoo/22_warmup_plateau.py"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.bounded && live.adds_to_container()).then_some(97)
}

/// Data is put into what has a limit, in each round of a training. A hint: that it stops growing is what it says.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        for put in check.puts(file, model) {
            let large = || matches!(sort(check, &put), Sort::Data | Sort::Batch | Sort::View | Sort::State);
            // The norm of all gradients is a tensor of one number.
            let is_norm =
                put.value.as_call_expr().and_then(|call| last_name(&call.func)).is_some_and(|name| name.contains("_norm"));
            // What bounds it takes the longest to tell.
            if !is_norm
                && check.runs_with_training(file, put.scope, put.block)
                && large()
                && matches!(check.firm_bound(&put), Some(Limit::Ceiling(..)))
            {
                hits.push(Hit::new(file, put.offset).with(Confidence::Low).saying(format!(
                    "{} grows until it has as many of {} as its limit says, and then stays",
                    code(check, file, put.container),
                    code(check, file, put.value)
                )));
            }
        }
    }
    hits
}

//! LT305: Callbacks and closures keep what they refer to.

use crate::kept::{Sort, sort};
use crate::keys::is_added;
use crate::words::{code, function};
use crate::{Cause, Fix, Language, Live, Memory, Severity};
use lowtide_lint::check::{Check, Hit, Put};
use lowtide_lint::flow::Place;
use lowtide_lint::model::Ranged;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT305",
    name: "callback-keeps-batch",
    title: "Callbacks and closures keep what they refer to",
    severity: Severity::Leak,
    happens: "A lambda or an inner function that uses the batch, the loss or the trainer is put into a list of \
                  callbacks.",
    keeps: "A closure holds every variable that it uses, for as long as it can be called.",
    shows: "A list of functions that gets longer; behind each a batch.",
    fix: Fix {
        text: "Clear the list when it was fired; hand in what is needed as numbers; use weak references for the \
                   trainer.",
        language: Language::Python,
        before: r#"self.callbacks.append(lambda: batch.mean())"#,
        after: r#"mean = batch.mean().item()
self.callbacks.append(lambda: mean)"#,
    },
    harmless: "A fixed set of callbacks made at the start.",
    sources: &["https://docs.python.org/3/reference/executionmodel.html", "zoo/28_callback_closures.py"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    // Threads and processes have methods of their own, which hold nothing but them.
    let resources = matches!(live.kind, Memory::Processes | Memory::Threads | Memory::Descriptors);
    (live.objects_named(&["function", "method", "partial", "cell"]) && live.adds_to_container() && !resources).then_some(88)
}

/// A function made in a step, that uses what belongs to the step, is put somewhere for good.
fn rule(check: &Check) -> Vec<Hit> {
    let puts = check.kept_for_good().iter().filter(|put| is_added(check, put) && sort(check, put) == Sort::Closure);
    let here = puts.map(|put| {
        Hit::new(put.file, put.offset).saying(format!(
            "{} keeps one more function each time that {} runs, and each the variables that it uses",
            code(check, put.file, put.container),
            function(check, put.file, put.scope)
        ))
    });
    here.chain(handed(check)).collect()
}

/// Such a function is handed to a method that puts it somewhere for good: `events.on_end(lambda: x.mean())`.
fn handed(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    let own = |file| check.files().any(|(own, _)| own == file);
    for put in check.kept_for_good().iter().filter(|put| put.value.is_name_expr() && is_added(check, put)) {
        for at in check.flow.places(put.file, put.scope, put.value).into_iter().filter(|at| at.depth == 0) {
            let Place::Variable(of, to, name) = at.place else { continue };
            for (file, call) in check.callers(of, to) {
                let Some(one) =
                    check.flow.given(file, &call, of, to).into_iter().find(|one| one.parameter == name && one.depth == 0)
                else {
                    continue;
                };
                let given =
                    Put { file, scope: call.scope, block: call.block, value: one.value, offset: call.call.start(), ..*put };
                if own(file) && sort(check, &given) == Sort::Closure && check.runs_with_training(file, call.scope, call.block) {
                    hits.push(Hit::new(file, given.offset).saying(format!(
                        "{} keeps one more function each time that {} runs, and each the variables that it uses",
                        code(check, put.file, put.container),
                        function(check, file, call.scope)
                    )));
                }
            }
        }
    }
    hits
}

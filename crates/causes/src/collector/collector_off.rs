//! LT602: The garbage collector is off.

use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::check::{Check, Hit};
use lowtide_lint::feeds::Kind;
use lowtide_lint::model::{Call, Ranged};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT602",
    name: "collector-off",
    title: "The garbage collector is off",
    severity: Severity::Leak,
    happens: "`gc.disable()`, `gc.freeze()` or `gc.set_threshold(0)` for speed, and never on again.",
    keeps: "Every cycle that the program or its libraries make stays for ever.",
    shows: "Growth of unreachable objects; `gc.collect()` by hand frees them all.",
    fix: Fix {
        text: "Collect by hand at each epoch's end, or set a threshold instead.",
        language: Language::Python,
        before: r#"gc.disable()"#,
        after: r#"gc.disable()
for epoch in range(epochs):
    train()
    gc.collect()"#,
    },
    harmless: "Where collections are called by hand, as some frameworks do to keep ranks in step.",
    sources: &["https://docs.python.org/3/library/gc.html"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.statement == Some(Kind::CollectorOff)).then_some(96)
}

/// `gc.disable()` or `gc.set_threshold(0)`, and nothing in the program switches it on again or collects again and again.
fn rule(check: &Check) -> Vec<Hit> {
    let (mut off, mut on) = (Vec::new(), Vec::new());
    for (file, model) in check.flow.models.iter() {
        for call in model.calls_named(&["disable", "enable", "set_threshold", "collect"]) {
            let Some(name) = check.called(file, call).filter(|name| name.starts_with("gc.")) else { continue };
            match &*name {
                "gc.disable" => off.push((file, call)),
                "gc.set_threshold" if sets_zero(check, file, call) => off.push((file, call)),
                "gc.enable" | "gc.set_threshold" => on.push((file, call)),
                // By hand once, before or after the work, is not enough.
                "gc.collect" if check.containers.is_repeated(file, call.scope, call.block) => on.push((file, call)),
                _ => {}
            }
        }
    }
    let own = |file: FileId| check.files().any(|(own, _)| own == file);
    off.retain(|(file, _)| own(*file));
    off.retain(|(file, off)| {
        !on.iter()
            .any(|(of, on)| !(of == file && on.scope == off.scope && on.block == off.block && on.call.start() < off.call.start()))
    });
    let hit = |(file, call): (FileId, &Call)| {
        Hit::new(file, call.call.start()).saying(
            "every reference cycle stays from here on: the collector is off, and nothing switches it on again or collects",
        )
    };
    off.into_iter().map(hit).collect()
}

/// A threshold of 0 for the youngest generation switches the collector off.
fn sets_zero<'p>(check: &Check<'_, 'p>, file: FileId, call: &Call<'p>) -> bool {
    call.call.arguments.args.first().and_then(|first| check.number(file, call.scope, first)) == Some(0)
}

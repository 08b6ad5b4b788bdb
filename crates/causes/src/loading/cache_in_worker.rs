//! LT404: A cache in the data set exists once per worker.

use super::rows_written_into::data_set_of;
use crate::{Cause, Fix, Language, Live, Role, Severity};
use lowtide_lint::ask::names_in;
use lowtide_lint::check::{Check, Confidence, Hit, Put, Value, Workers};
use lowtide_lint::model::Expr;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT404",
    name: "cache-in-worker",
    title: "A cache in the data set exists once per worker",
    severity: Severity::Bounded,
    happens: "`__getitem__` stores decoded samples on the data set, to be faster in the next epoch; or it writes them into the row \
                  that it has looked up, which the data set keeps.",
    keeps: "Each worker has its own copy of the data set and fills its own cache; without persistent workers it is \
                thrown away each epoch, and without a bound it grows to the whole data set, per worker.",
    shows: "Workers grow, the trainer does not.",
    fix: Fix {
        text: "Cache on disk or in shared memory, or bound it.",
        language: Language::Python,
        before: r#"def __getitem__(self, i):
    if i not in self.cache:
        self.cache[i] = decode(i)
    return self.cache[i]"#,
        after: r#"def __getitem__(self, i):
    return self.decoded[i]  # one memory-mapped array, filled once"#,
    },
    harmless: "Its ceiling is data set x workers: harmless where that fits.",
    sources: &["https://docs.pytorch.org/docs/stable/data.html", "zoo/25_worker_leak.py", "zoo/45_one_of_four.py"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.role == Some(Role::Worker) && live.adds_to_container()).then_some(82)
}

/// What `__getitem__` puts into an attribute of its data set, which nothing bounds and nothing empties.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        for put in check.puts(file, model) {
            if let Some(hit) = written_into_row(check, &put) {
                hits.push(hit);
                continue;
            }
            let Some(class) = check.makes_samples(file, put.scope) else { continue };
            let of_self =
                check.flow.places(file, put.scope, put.container).iter().any(|at| is_attribute_of_data(check, at.place));
            if !of_self || super::frame_cache_per_reader::is_video_reader(check, file, put.scope, put.value) {
                continue;
            }
            let grows = put.key.is_none() || check.grows_by_key(file, put.scope, put.container);
            let kept = grows && !check.is_limited(file, put.block, put.container) && check.gets_only_more(&put);
            let confidence = match (put.key, check.workers_of(class)) {
                _ if is_small(check, &put) => Confidence::Low,
                // Every sample again in every epoch.
                (None, _) => Confidence::High,
                (Some(_), Some(Workers::None)) => Confidence::Low,
                (Some(key), _) if !is_of_sample(check, &put, key, 3) => Confidence::Low,
                (Some(_), _) => Confidence::Medium,
            };
            if kept {
                let container = crate::words::code(check, file, put.container);
                let what = match put.key {
                    None => format!("{container} gets one more with every sample, in each worker, and nothing is ever taken out"),
                    Some(_) => {
                        format!("{container} keeps every sample that it has given, once per worker, up to the whole data set")
                    }
                };
                hits.push(Hit::new(file, put.offset).saying(what).with(confidence));
            }
        }
    }
    hits
}

/// What is decoded for one sample is put into the row that the data set keeps. Where the row is asked for it before, it is a cache.
fn written_into_row<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> Option<Hit> {
    let (class, rows) = data_set_of(check, put)?;
    let meant = crate::graphs::is_cached(check, put) && check.workers_of(class) == Some(Workers::None);
    let confidence = if meant { Confidence::Low } else { Confidence::Medium };
    Some(Hit::new(put.file, put.offset).with(confidence).saying(format!(
        "{} stays in its row of `self.{rows}`: each sample that was read once is kept, in each worker, up to the whole data set",
        crate::words::code(check, put.file, put.value)
    )))
}

fn is_attribute_of_data(check: &Check, place: lowtide_lint::flow::Place) -> bool {
    matches!(place, lowtide_lint::flow::Place::Attribute(class, _) if check.is_read_by_loader(class))
}

/// Numbers and short texts, and what a set has once: they grow, but not to a size that anybody sees.
fn is_small<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    check.value(put.file, put.scope, put.block, put.value) == Value::Small
        || check.is_set(put.file, put.scope, put.container)
        || put.key.is_none() && matches!(put.value, Expr::Name(name) if is_index(check, put, name.id.as_str()))
}

/// Whether a key comes from what a sample is asked for by: others may be the names of a few parts.
fn is_of_sample<'p>(check: &Check<'_, 'p>, put: &Put<'p>, key: &'p Expr, looks: usize) -> bool {
    let Some(looks) = looks.checked_sub(1) else { return false };
    names_in(key).into_iter().any(|name| is_index(check, put, name) && !matches!(name, "self" | "cls"))
        || matches!(key, Expr::Name(_))
            && check
                .values(put.file, put.scope, key)
                .into_iter()
                .any(|(of, _, value)| of == put.file && is_of_sample(check, put, value, looks))
}

/// The index that a sample is asked for by.
fn is_index(check: &Check, put: &Put, name: &str) -> bool {
    let bindings = check.flow.models.of(put.file).bindings(put.scope, name);
    bindings.iter().any(|binding| matches!(binding.kind, lowtide_lint::model::BindingKind::Parameter { .. }))
}

//! LT405: Tensors in shared memory are held.

use crate::{Cause, Fix, Language, Live, Memory, Severity};
use lowtide_lint::ask::{keyword, last_name, method, truth};
use lowtide_lint::check::{Check, Confidence, Hit, Loader, Put, Workers};
use lowtide_lint::model::{Bound, Expr, Ranged};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT405",
    name: "shared-memory-held",
    title: "Tensors in shared memory are held",
    severity: Severity::Leak,
    happens: "Batches from workers, or tensors shared between processes, are kept.",
    keeps: "Each lies in a file of `/dev/shm` (or behind a file descriptor) until the last process lets go.",
    shows: "Shared memory and file descriptors grow, anonymous memory does not. In a container `/dev/shm` has 64 \
                MiB by default, and its end is \"bus error\".",
    fix: Fix {
        text: "Copy what is kept (`.clone()`), and let the shared one go.",
        language: Language::Python,
        before: r#"board.append(batch)"#,
        after: r#"board.append(batch.clone())"#,
    },
    harmless: "Batches that go with their step.",
    sources: &["https://docs.pytorch.org/docs/stable/multiprocessing.html", "zoo/26_shm_held.py"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.kind == Memory::Shared).then_some(90)
}

/// A batch that came from workers, or a tensor or block in shared memory, that a container keeps as it is.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        let loads = check.loaders().iter().any(|loader| loader.file == file && loader.workers != Workers::None);
        let shares = model.calls.iter().any(|call| matches!(last_name(&call.call.func), Some("share_memory_" | "SharedMemory")));
        if !loads && !shares {
            continue;
        }
        for put in check.puts(file, model) {
            let sort = if loads { from_workers(check, &put) } else { None };
            let (what, confidence) = match sort {
                Some(workers) => (
                    "keeps batches as they came from the workers",
                    if workers == Workers::Some { Confidence::High } else { Confidence::Medium },
                ),
                None if shares && is_shared(check, &put) => ("gets one more block of shared memory each time", Confidence::High),
                None => continue,
            };
            let outlives = check.containers.outlives(file, put.scope, put.block, put.container)
                && (sort.is_some() || check.runs_again(file, put.scope, put.block));
            if outlives && !check.is_limited(file, put.block, put.container) && check.gets_only_more(&put) {
                let container = crate::words::code(check, file, put.container);
                let what = format!("{container} {what}: each lies in a file of `/dev/shm` until it goes");
                hits.push(Hit::new(file, put.offset).saying(what).with(confidence));
            }
        }
    }
    hits
}

/// Whether a value is what a loop over a loader with workers gives, or a part of it, and nothing was made of it in between.
/// With `pin_memory` the loader has copied it already.
fn from_workers<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> Option<Workers> {
    let mut base = put.value;
    while let Expr::Subscript(item) = base {
        base = &item.value;
    }
    let Expr::Name(_) = base else { return None };
    check.flow.places(put.file, put.scope, base).into_iter().find_map(|at| {
        let assigned: Vec<_> = check.flow.assigned(at.place).collect();
        let again = assigned.iter().any(|(_, assign)| matches!(assign.how, Bound::Whole | Bound::Augmented(_)));
        assigned.into_iter().filter(|_| !again).find_map(|(file, assign)| {
            let from_loop = matches!(assign.how, Bound::Element | Bound::Part) && *file == put.file;
            let round = check.long_loop(*file, put.block)?;
            if !from_loop || !check.is_within(*file, assign.block, round) && assign.block != round {
                return None;
            }
            let is_it = |value: &Expr| {
                check.loaders().iter().find(|loader| loader.file == *file && loader.call.call.range() == value.range())
            };
            let loader = is_it(assign.value)
                .or_else(|| check.values(*file, assign.scope, assign.value).into_iter().find_map(|(_, _, value)| is_it(value)))?;
            (loader.workers != Workers::None && !is_pinned(check, loader)).then_some(loader.workers)
        })
    })
}

fn is_pinned<'p>(check: &Check<'_, 'p>, loader: &Loader<'p>) -> bool {
    check.option(loader.file, &loader.call, "pin_memory").is_some_and(|value| truth(value) != Some(false))
}

/// `x.share_memory_()`, `SharedMemory(create=True)`, or a local that was given one.
fn is_shared<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    let is_it = |value: &Expr| match value {
        Expr::Call(call) => {
            method(call) == Some("share_memory_")
                || last_name(&call.func) == Some("SharedMemory") && keyword(call, "create").and_then(truth) == Some(true)
        }
        _ => false,
    };
    let parts: &'p [Expr] = if let Expr::Tuple(tuple) = put.value { &tuple.elts } else { std::slice::from_ref(put.value) };
    parts.iter().any(|part| is_it(part) || check.values(put.file, put.scope, part).into_iter().any(|(_, _, value)| is_it(value)))
}

//! LT403: A DataLoader with persistent workers is built anew each epoch.

use crate::{Cause, Fix, Language, Live, Memory, Severity};
use lowtide_lint::check::{Check, Confidence, Hit, Loader, Workers};
use lowtide_lint::model::{Call, Expr, Ranged, ScopeId};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT403",
    name: "loader-built-each-epoch",
    title: "A DataLoader with persistent workers is built anew each epoch",
    severity: Severity::Leak,
    happens: "`DataLoader(..., persistent_workers=True)` stands inside the epoch loop, or its iterator is kept.",
    keeps: "Persistent workers live as long as their loader's iterator. Anything that keeps the old one (a list, a \
                traceback, a cycle) keeps its processes.",
    shows: "The number of processes rises by the number of workers each epoch.",
    fix: Fix {
        text: "Build it once, before the loop.",
        language: Language::Python,
        before: r#"for epoch in range(epochs):
    for batch in DataLoader(data, num_workers=4, persistent_workers=True):
        step(batch)"#,
        after: r#"loader = DataLoader(data, num_workers=4, persistent_workers=True)
for epoch in range(epochs):
    for batch in loader:
        step(batch)"#,
    },
    harmless: "Without persistent workers each epoch's workers end with it: churn, and time, but no growth.",
    sources: &["https://docs.pytorch.org/docs/stable/data.html", "zoo/40_zombie_workers.py", "zoo/43_worker_respawn.py"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    let others = !live.objects.is_empty() && !live.objects.iter().any(|object| object.contains("DataLoader"));
    (live.kind == Memory::Processes && !others).then_some(85)
}

/// A loader with persistent workers that each epoch makes anew, or one with workers that a list keeps.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    let own = |file: FileId| check.files().any(|(own, _)| own == file);
    for loader in check.loaders().iter().filter(|loader| loader.persistent && loader.workers != Workers::None && own(loader.file))
    {
        if is_made_each_epoch(check, loader) {
            let data = loader.call.call.arguments.args.first();
            let data = data.map_or_else(|| "the same data".to_owned(), |data| crate::words::code(check, loader.file, data));
            let what = format!("each epoch starts persistent workers for {data} anew, which were meant to outlive it");
            hits.push(Hit::new(loader.file, loader.call.call.start()).saying(what).with(Confidence::Medium));
        }
    }
    for (file, model) in check.files() {
        if !check.loaders().iter().any(|loader| loader.file == file) {
            continue;
        }
        for put in check.puts(file, model) {
            if is_with_workers(check, file, put.scope, put.value, 3)
                && check.training_loop(file, put.block).is_some()
                && check.containers.outlives(file, put.scope, put.block, put.container)
                && check.gets_only_more(&put)
            {
                let container = crate::words::code(check, file, put.container);
                let what = format!("{container} keeps the iterator or loader of each round, and with it its worker processes");
                hits.push(Hit::new(file, put.offset).saying(what));
            }
        }
    }
    hits
}

/// In every round of a loop that trains, of the same data, under no condition; or in a function that is called so.
fn is_made_each_epoch<'p>(check: &Check<'_, 'p>, loader: &Loader<'p>) -> bool {
    let (file, call) = (loader.file, &loader.call);
    let model = check.flow.models.of(file);
    if let Some(round) = check.training_loop(file, call.block) {
        let other_data = call.call.arguments.args.first().is_some_and(|data| check.changes_in(file, call.scope, round, data));
        return !other_data && !check.is_conditional(file, call.block, round);
    }
    let Some(function) = model.function_of(call.scope) else { return false };
    let conditional = model.blocks_within(call.block).any(|block| block.kind.is_conditional());
    // The data of the object around, of which nothing but the constructor makes another.
    let of_object = || call.call.arguments.args.first().is_some_and(|data| is_of_object(check, file, call, data));
    !conditional && (check.is_called_in_training_loop(file, function) || of_object() && check.is_called_in_loop(file, function))
}

fn is_of_object<'p>(check: &Check<'_, 'p>, file: FileId, call: &Call<'p>, data: &'p Expr) -> bool {
    data.is_attribute_expr()
        && check.flow.places(file, call.scope, data).into_iter().all(|at| {
            check.flow.assigned(at.place).all(|(of, assign)| {
                let model = check.flow.models.of(*of);
                model.function_of(assign.scope).is_some_and(|function| model.scope(function).name() == "__init__")
            })
        })
}

/// A loader with workers, or `iter` of one.
fn is_with_workers<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, value: &'p Expr, looks: usize) -> bool {
    let Some(looks) = looks.checked_sub(1) else { return false };
    match value {
        Expr::Call(call) => {
            let is_it = |loader: &&Loader| loader.file == file && loader.call.call.range() == call.range();
            check.loaders().iter().find(is_it).is_some_and(|loader| loader.workers != Workers::None)
                || matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "iter")
                    && call.arguments.args.first().is_some_and(|of| is_with_workers(check, file, scope, of, looks))
        }
        Expr::Name(_) => check
            .values(file, scope, value)
            .into_iter()
            .any(|(of, scope, value)| of == file && is_with_workers(check, of, scope, value, looks)),
        _ => false,
    }
}

//! LT505: An auxiliary batch is far larger than the main one.

use crate::{Cause, Class, Fix, Language, Live, Severity};
use lowtide_lint::ask::{argument, last_name};
use lowtide_lint::check::{Check, Confidence, Hit, Loader};
use lowtide_lint::feeds::Phase;
use lowtide_lint::model::{BlockId, BlockKind, Expr, Ranged, ScopeId};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT505",
    name: "auxiliary-batch-too-large",
    title: "An auxiliary batch is far larger than the main one",
    severity: Severity::Spike,
    happens: "A second loss has a loader of its own: 64 triplets are 192 images beside a main batch of 8.",
    keeps: "Activations are those of the larger one. It decides the peak, whatever the main batch size is.",
    shows: "Spikes at the steps that have it; halving the main batch changes nothing.",
    fix: Fix {
        text: "Count images, not entries; split it into pieces with their own `backward`.",
        language: Language::Python,
        before: r#"triplets = next(triplet_loader)
loss = main_loss + triplet_loss(model(triplets))"#,
        after: r#"for part in next(triplet_loader).split(8):
    triplet_loss(model(part)).backward()"#,
    },
    harmless: "If the peak fits.",
    sources: &["zoo/12_triplet_spike.py"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.class == Some(Class::Spikes) && live.phase == Some(Phase::Training)).then_some(55)
}

/// So many times the samples of the main batch are far more: semi-supervised recipes take up to seven times as many on purpose.
const FAR_LARGER: i64 = 8;
/// Names and wrappers that are looked through from an iterator to its loader.
const MAX_LOOKS: usize = 6;

/// A training loop over one loader that takes, at a step, a batch of another one with far more samples.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        let loops = model.blocks.iter().zip(0..).filter_map(|(block, id)| match block.kind {
            BlockKind::For(each) => Some((BlockId(id), &*each.iter, block.scope)),
            _ => None,
        });
        for (round, iterable, scope) in loops {
            let over = loaders_of(check, file, scope, iterable, MAX_LOOKS);
            if over.is_empty() || !check.trains_in(file, round) {
                continue;
            }
            let next = model
                .calls
                .iter()
                .filter(|call| last_name(&call.call.func) == Some("next") && check.is_within(file, call.block, round));
            let beside = next.filter_map(|call| call.call.arguments.args.first().map(|of| (call.scope, of)));
            let mut all = over.clone();
            all.extend(beside.flat_map(|(scope, of)| loaders_of(check, file, scope, of, MAX_LOOKS)));
            let Some(main) = over.iter().filter_map(|loader| size_of(check, loader)).min() else { continue };
            for loader in &all {
                let Some(size) = size_of(check, loader).filter(|size| main > 0 && *size / main >= FAR_LARGER) else { continue };
                let what = format!(
                    "a step takes {size} samples of this loader beside {main} of the main one: it alone decides the peak"
                );
                let hit = Hit::new(loader.file, loader.call.call.start()).saying(what).with(Confidence::Medium);
                if !hits.iter().any(|other: &Hit| (other.file, other.offset) == (hit.file, hit.offset)) {
                    hits.push(hit);
                }
            }
        }
    }
    hits
}

fn size_of<'p>(check: &Check<'_, 'p>, loader: &Loader<'p>) -> Option<i64> {
    let size = argument(loader.call.call, 1, "batch_size").or_else(|| check.option(loader.file, &loader.call, "batch_size"))?;
    check.number(loader.file, loader.call.scope, size)
}

/// The loaders that an iterable goes over, each in every round: `zip(a, b)`, `enumerate(a)`, `cycle(a)`, `iter(a)`.
fn loaders_of<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, iterable: &'p Expr, looks: usize) -> Vec<Loader<'p>> {
    let Some(looks) = looks.checked_sub(1) else { return Vec::new() };
    match iterable {
        Expr::Call(call) => {
            let own = check.loaders().iter().filter(|loader| loader.file == file && loader.call.call.range() == call.range());
            let own: Vec<_> = own.copied().collect();
            match last_name(&call.func) {
                _ if !own.is_empty() => own,
                Some("zip" | "enumerate" | "iter" | "cycle" | "tqdm" | "islice") => {
                    call.arguments.args.iter().flat_map(|value| loaders_of(check, file, scope, value, looks)).collect()
                }
                _ => Vec::new(),
            }
        }
        Expr::Name(_) | Expr::Attribute(_) => check
            .values(file, scope, iterable)
            .into_iter()
            .chain(check.returned_parts(file, scope, iterable))
            .flat_map(|(file, scope, value)| loaders_of(check, file, scope, value, looks))
            .collect(),
        _ => Vec::new(),
    }
}

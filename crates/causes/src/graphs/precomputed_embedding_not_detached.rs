//! LT107: Precomputed embeddings are moved to the device without `detach`.

use std::collections::HashSet;

use crate::words::code;
use crate::{Cause, Fix, Language, Severity};
use lowtide_lint::check::{Check, Hit, loops_around};
use lowtide_lint::flow::Place;
use lowtide_lint::model::{Assign, Bound, Expr, Ranged};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT107",
    name: "precomputed-embedding-not-detached",
    title: "Precomputed embeddings are moved to the device without `detach`",
    severity: Severity::Leak,
    happens: "Text or image embeddings are computed once and moved to the device in every step, still attached to \
                  the encoder's graph.",
    keeps: "Each copy on the device is a new node on top of the encoder's graph, and keeps it alive for as long as \
                the copy is. The whole encoder's activations stay for the run.",
    shows: "A floor higher than the data by the encoder's activations; growth where the copies are kept.",
    fix: Fix {
        text: "Compute under `no_grad`, and detach before the embeddings are stored.",
        language: Language::Python,
        before: r#"embeddings = text_encoder(tokens)"#,
        after: r#"with torch.no_grad():
    embeddings = text_encoder(tokens)"#,
    },
    harmless: "An encoder that is trained along: then the graph is needed, and must not be kept over steps.",
    sources: &["https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html"],
    signature: None,
    rule: Some(rule),
};

/// What a model gave before the training loop, with its graph, is moved to a device inside of it.
fn rule(check: &Check) -> Vec<Hit> {
    let moved = moved_in_training(check);
    let mut hits = Vec::new();
    for (file, model) in check.files().filter(|_| !moved.is_empty()) {
        for made in model.assigns.iter().filter(|assign| assign.how == Bound::Whole && is_embedded(check, file, assign)) {
            if check.flow.places(file, made.scope, made.target).iter().any(|at| moved.contains(&at.place)) {
                hits.push(Hit::new(file, made.target.start()).saying(format!(
                    "{} keeps the graph of {} for as long as it is used",
                    code(check, file, made.target),
                    code(check, file, made.value)
                )));
            }
        }
    }
    hits
}

/// Whether a value comes from a model's call with its graph, once: outside of all loops.
fn is_embedded<'p>(check: &Check<'_, 'p>, file: FileId, made: &Assign<'p>) -> bool {
    let model = check.flow.models.of(file);
    let calls = |value: &'p Expr| matches!(value, Expr::Call(call) if check.autograd.calls_model(file, made.scope, &call.func));
    let embeds = match made.value {
        Expr::ListComp(each) => calls(&each.elt),
        Expr::DictComp(each) => calls(&each.value),
        value => calls(value),
    };
    embeds && loops_around(model, made.block).next().is_none() && !check.autograd.is_without(file, made.scope, made.block)
}

/// What is moved, as a whole or in parts, in a loop that trains.
fn moved_in_training<'p>(check: &Check<'_, 'p>) -> HashSet<Place<'p>> {
    let mut moved = HashSet::new();
    for (file, model) in check.files() {
        for call in &model.calls {
            let Expr::Attribute(method) = &*call.call.func else { continue };
            if matches!(method.attr.as_str(), "to" | "cuda")
                && loops_around(model, call.block).any(|round| check.trains_in(file, round))
            {
                moved.extend(check.flow.places(file, call.scope, &method.value).into_iter().map(|at| at.place));
            }
        }
    }
    moved
}

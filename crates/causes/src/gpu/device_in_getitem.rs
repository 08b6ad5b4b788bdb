//! LT503: Samples are moved to the GPU in `__getitem__`.

use crate::{Cause, Fix, Language, Live, Role, Severity};
use lowtide_lint::ask::{given, keyword, last_name, receiver};
use lowtide_lint::check::{Check, Confidence, Hit, Workers};
use lowtide_lint::model::{Call, Ranged};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT503",
    name: "device-in-getitem",
    title: "Samples are moved to the GPU in `__getitem__`",
    severity: Severity::Habit,
    happens: "`__getitem__` or the collate function calls `.cuda()` or `.to(device)`.",
    keeps: "With forked workers it fails. With spawned ones each process gets a CUDA context of its own (300 to 500 MB on the card), and samples in the \
                queue lie on the GPU: prefetch x workers of them.",
    shows: "Several processes on the card, each with the same constant size.",
    fix: Fix {
        text: "Return CPU tensors; move the batch in the loop, with `pin_memory=True`.",
        language: Language::Python,
        before: r#"def __getitem__(self, i):
    return self.x[i].cuda()"#,
        after: r#"def __getitem__(self, i):
    return self.x[i]"#,
    },
    harmless: "Without workers it is only slow.",
    sources: &["https://docs.pytorch.org/docs/stable/data.html", "https://docs.pytorch.org/docs/stable/notes/cuda.html"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.role == Some(Role::Worker) && live.on_gpu).then_some(90)
}

/// `.cuda()`, `.to(device)` with a device that is a GPU, or a tensor made there, in `__getitem__` or in what collates.
fn rule(check: &Check) -> Vec<Hit> {
    const MOVERS: &[&str] = &["to", "cuda", "tensor", "as_tensor", "zeros", "ones", "empty", "full", "randn", "rand", "load"];
    let collate = check.collate_functions();
    let mut hits = Vec::new();
    for (file, model, call) in check.calls_of(MOVERS) {
        let by_collate =
            model.function_of(call.scope).and_then(|function| collate.iter().find(|(other, _)| *other == (file, function)));
        let workers = match (check.makes_samples(file, call.scope), by_collate) {
            (Some(class), _) => check.workers_of(class),
            (None, Some((_, workers))) => Some(*workers),
            (None, None) => continue,
        };
        if moves_to_gpu(check, file, call) {
            let confidence = match workers {
                Some(Workers::Some) => Confidence::High,
                Some(Workers::Unknown) | None => Confidence::Medium,
                Some(Workers::None) => Confidence::Low,
            };
            let place = crate::words::function(check, file, call.scope);
            let what = format!(
                "{place} puts samples on the GPU: in workers each has a CUDA context of its own, and what waits lies on the card"
            );
            hits.push(Hit::new(file, call.call.start()).saying(what).with(confidence));
        }
    }
    hits
}

fn moves_to_gpu<'p>(check: &Check<'_, 'p>, file: FileId, call: &Call<'p>) -> bool {
    match last_name(&call.call.func) {
        // A model that makes features is moved elsewhere, and would be of the same kind: it is no sample.
        Some("cuda" | "to")
            if receiver(call.call).is_none_or(|on| {
                check.flow.class_of(file, call.scope, on).is_some_and(|class| check.autograd.is_module(class))
            }) =>
        {
            false
        }
        Some("cuda") => check.called(file, call).is_none_or(|name| !name.starts_with("torch.")),
        Some("to") => given(call.call).any(|value| check.is_gpu(file, call.scope, value)),
        _ => {
            check.called(file, call).is_some_and(|name| name.starts_with("torch."))
                && ["device", "map_location"]
                    .iter()
                    .filter_map(|name| keyword(call.call, name))
                    .any(|value| check.is_gpu(file, call.scope, value))
        }
    }
}

//! LT103: Outputs are kept together with their graph.

use super::cached_embedding_with_graph::is_cached;
use crate::words::code;
use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::ask::is_backward;
use lowtide_lint::check::{Check, Confidence, Hit, Put, loops_around};
use lowtide_lint::feeds::{Bound as Limit, is_inside};
use lowtide_lint::flow::{At, Place};
use lowtide_lint::model::{BindingKind, Expr, ScopeId};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT103",
    name: "output-kept-with-graph",
    title: "Outputs are kept together with their graph",
    severity: Severity::Leak,
    happens: "Outputs or losses are appended to a list or filed in a dictionary as they come from the model.",
    keeps: "Each kept tensor holds the graph that made it: the inputs, the activations, and the parameters' \
                gradient nodes of its step.",
    shows: "Much more memory than the kept tensors themselves have: one batch's activations for every element of \
                the list. Where the list is cleared at the epoch's end, a sawtooth.",
    fix: Fix {
        text: "Detach before keeping; move to the CPU what is only looked at later.",
        language: Language::Python,
        before: r#"self.outputs.append(out)"#,
        after: r#"self.outputs.append(out.detach().cpu())"#,
    },
    harmless: "Outputs that are kept for one loss over several of them, and go with its `backward`.",
    sources: &["https://docs.pytorch.org/docs/stable/notes/faq.html", "zoo/03_adapter_graph_epoch.py"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.has_graph() && live.adds_to_container()).then_some(90)
}

/// Something with a graph is put into a container that outlives the round and is not emptied in it.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        let puts = check.puts(file, model);
        for put in puts.iter().filter(|put| keeps(check, put)) {
            if is_cached(check, put)
                || check.firm_bound(put).is_some() && !is_let_go_late(check, put)
                || check.autograd.is_summed_up(file, put.scope, put.container)
            {
                continue;
            }
            let what = format!("{} keeps {} with its graph", code(check, file, put.container), code(check, file, put.value));
            let proven = check.spans_steps(file, put.scope, put.block, put.container, put.value);
            let confidence = if proven { Confidence::High } else { Confidence::Low };
            let hit = Hit::new(file, put.offset).saying(what).with(confidence);
            hits.push(hit.fixed(check.detach(file, put.scope, put.block, put.value, put.container)));
        }
    }
    hits
}

/// Whether something with its graph is put where it outlives the round.
pub(super) fn keeps<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    let Put { file, scope, block, container, value, .. } = *put;
    check.containers.is_repeated(file, scope, block)
        && check.outlives(file, scope, block, container)
        && check.carries(file, scope, block, put.offset, value)
        && !is_slot(check, put)
}

/// Whether a container is made anew around the innermost loop, and that loop takes a training step in each of its rounds: the
/// graphs of all of its steps, a whole epoch mostly, are alive at once.
fn is_let_go_late<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    let model = check.flow.models.of(put.file);
    let Some(round) = loops_around(model, put.block).next() else { return false };
    if !matches!(check.firm_bound(put), Some(Limit::Emptied(_))) {
        return false;
    }
    let steps = model.calls.iter().any(|call| is_backward(call.call) && is_inside(model, call.block, round));
    steps && check.containers.is_made_around(put.file, put.scope, put.container, round)
}

/// An entry of the function around, under a key that is given by its caller: the results of workers.
fn is_slot<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    let Some(Expr::Name(key)) = put.key else { return false };
    let model = check.flow.models.of(put.file);
    let own = model.function_of(put.scope);
    let outer = |at: &At| matches!(at.place, Place::Variable(_, owner, _) if owner != ScopeId::MODULE && Some(owner) != own);
    let given = model.bindings(put.scope, key.id.as_str()).iter().any(|each| matches!(each.kind, BindingKind::Parameter { .. }));
    given && check.flow.places(put.file, put.scope, put.container).iter().all(outer)
}

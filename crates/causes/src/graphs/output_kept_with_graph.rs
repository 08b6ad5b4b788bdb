//! LT103: Outputs are kept together with their graph.

use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::check::{Check, Hit};
use lowtide_lint::model::{BlockId, Bound, Expr, Ranged, ScopeId};
use lowtide_lint::program::FileId;

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
    sources: &[
        "https://docs.pytorch.org/docs/stable/notes/faq.html",
        "zoo/03_adapter_graph_epoch.py",
        "zoo/05_progress_history.py",
    ],
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
        for call in &model.calls {
            let Expr::Attribute(method) = &*call.call.func else { continue };
            let at = match method.attr.as_str() {
                "append" | "appendleft" | "add" => 0,
                "insert" => 1,
                _ => continue,
            };
            if let Some(value) = call.call.arguments.args.get(at)
                && keeps(check, file, (call.scope, call.block), &method.value, value, None)
            {
                hits.push(Hit::new(file, call.call.start()));
            }
        }
        for assign in model.assigns.iter().filter(|assign| assign.how == Bound::Whole) {
            if let Expr::Subscript(item) = assign.target
                && keeps(check, file, (assign.scope, assign.block), &item.value, assign.value, Some(&item.slice))
            {
                hits.push(Hit::new(file, assign.target.start()));
            }
        }
    }
    hits
}

fn keeps<'p>(
    check: &Check<'_, 'p>,
    file: FileId,
    (scope, block): (ScopeId, BlockId),
    container: &'p Expr,
    value: &'p Expr,
    key: Option<&'p Expr>,
) -> bool {
    check.autograd.carries(file, scope, block, value)
        && check.containers.is_repeated(file, scope, block)
        && check.outlives(file, scope, block, container)
        && !check.containers.bound(file, scope, block, container, key).is_some_and(|bound| bound.is_firm())
        && !check.autograd.is_summed_up(file, scope, container)
}

//! LT108: A replay buffer keeps graphs.

use super::output_kept_with_graph::keeps;
use crate::words::code;
use crate::{Cause, Container, Fix, Language, Live, Severity};
use lowtide_lint::check::{Check, Hit, Put};
use lowtide_lint::feeds::Bound as Limit;
use lowtide_lint::flow::{At, Place};
use lowtide_lint::model::{Bound, Expr, Number};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT108",
    name: "replay-buffer-with-graph",
    title: "A replay buffer keeps graphs",
    severity: Severity::Leak,
    happens: "States, log-probabilities or values are pushed into a buffer as the policy gives them.",
    keeps: "Every entry holds its step's graph. A buffer of 100,000 entries is bounded in length, not in memory.",
    shows: "Growth until the buffer is full, far above the size of its tensors, mostly beyond what the machine has.",
    fix: Fix {
        text: "Store detached tensors or numpy arrays; compute log-probabilities anew when they are needed.",
        language: Language::Python,
        before: r#"buffer.append((state, action, log_prob))"#,
        after: r#"buffer.append((state.detach(), action, log_prob.item()))"#,
    },
    harmless: "On-policy methods that need the graph of one rollout and clear it after the update.",
    sources: &["https://docs.pytorch.org/docs/stable/notes/autograd.html"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.has_graph() && live.container == Some(Container::Deque)).then_some(93)
}

/// Something with a graph is put into a container with a limit that is more than a few.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        for put in check.puts(file, model).iter().filter(|put| keeps(check, put) || is_handed(check, put)) {
            if matches!(check.firm_bound(put), Some(Limit::Ceiling(..)))
                && !is_small(check, put)
                && !check.autograd.is_summed_up(file, put.scope, put.container)
                && check.containers.is_never_cleared(file, put.scope, put.container)
            {
                hits.push(Hit::new(file, put.offset).saying(format!(
                    "{} is bounded in length, but keeps {} with the graph of its step",
                    code(check, file, put.container),
                    code(check, file, put.value)
                )));
            }
        }
    }
    hits
}

/// Whether an object that is no model puts what a training gives to it, with its graph, into a container of its own.
fn is_handed<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    let own = |at: &At| matches!(at.place, Place::Attribute(..));
    let model = check.flow.models.of(put.file);
    let by_training = || {
        let callers = model.function_of(put.scope).map(|function| check.callers(put.file, function)).unwrap_or_default();
        callers.iter().any(|(from, _)| check.flow.models.of(*from).source.text().contains(".backward("))
    };
    put.key.is_none()
        && check.flow.places(put.file, put.scope, put.container).iter().any(own)
        && check.containers.is_repeated(put.file, put.scope, put.block)
        && by_training()
        && check.is_handed(put.file, put.scope, put.block, put.value)
}

/// `deque(maxlen=4)`: a few steps' graphs, on purpose.
fn is_small<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    let places = check.flow.places(put.file, put.scope, put.container);
    places.iter().flat_map(|at| check.flow.assigned(at.place)).any(|(_, assign)| {
        let Expr::Call(made) = assign.value else { return false };
        let few = |value: &Expr| {
            matches!(value, Expr::NumberLiteral(number)
            if matches!(&number.value, Number::Int(number) if number.as_u8().is_some_and(|number| number <= 16)))
        };
        let limit = made.arguments.keywords.iter().find(|each| each.arg.as_ref().is_some_and(|arg| arg == "maxlen"));
        let limit = limit.map(|each| &each.value).or_else(|| made.arguments.args.get(1));
        assign.how == Bound::Whole && limit.is_some_and(few)
    })
}

//! LT203: Copies of the model's state are kept in memory.

use crate::kept::{Sort, sort};
use crate::keys::is_added;
use crate::words::{code, function};
use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::check::{Check, Hit, Put, loops_around};
use lowtide_lint::flow::{At, Place};
use lowtide_lint::model::{BlockKind, Expr, Model, Number, Ranged};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT203",
    name: "state-dict-history",
    title: "Copies of the model's state are kept in memory",
    severity: Severity::Leak,
    happens: "The best or the last weights are kept as a list of `state_dict()`, or one copy per round and node.",
    keeps: "A copy has the size of the model. Without a copy it is worse in another way: `state_dict()` holds the \
                live parameters, which change.",
    shows: "Growth in steps of the model's size, one per epoch, checkpoint or round.",
    fix: Fix {
        text: "Keep one, on the CPU; write the others to disk.",
        language: Language::Python,
        before: r#"best_states.append(copy.deepcopy(model.state_dict()))"#,
        after: r#"best_state = {k: v.detach().cpu().clone() for k, v in model.state_dict().items()}"#,
    },
    harmless: "A fixed number of them, as for averaging the last five.",
    sources: &[
        "https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html",
        "zoo/09_fed_rounds.py",
        "zoo/35_epoch_step.py",
    ],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.objects_named(&["Parameter", "OrderedDict"]) && live.holds_tensors() && live.adds_to_container()).then_some(86)
}

/// The state of one and the same model is put somewhere again and again, for good or as long as a training loop runs.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in
        check.files().filter(|(_, model)| ["state_dict()", "deepcopy("].iter().any(|text| model.source.text().contains(text)))
    {
        for put in check.puts(file, model).iter().filter(|put| sort(check, put) == Sort::State) {
            let Some(owner) = crate::kept::state_of(check, put) else { continue };
            let round = loops_around(model, put.block).find(|round| !is_short(model.block(*round).kind));
            let in_loop = round.is_some_and(|round| {
                check.is_steady(file, put.scope, owner, Some(round))
                    // A copy of a whole model, and what a function gives, are one and the same model's where the round trains it: else
                    // layers are put together from copies of one.
                    && (is_asked_for_its_state(model, owner) || check.trains_in(file, round))
                    && check.containers.outlives(file, put.scope, round, put.container)
                    && check.containers.bound(file, put.scope, put.block, put.container, put.key).is_none()
                    && check.containers.is_never_emptied(file, put.scope, put.container)
            });
            let by_call = || {
                round.is_none()
                    && is_asked_for_its_state(model, owner)
                    && (check.is_kept_for_good(file, put.scope, put.block, put.container, put.key)
                        || is_kept_by_epochs(check, put))
                    && check.is_steady(file, put.scope, owner, None)
            };
            if in_loop || by_call() || are_handed(check, put) {
                hits.push(Hit::new(file, put.offset).saying(format!(
                    "{} keeps one more state of {} each time that this line in {} runs",
                    code(check, file, put.container),
                    code(check, file, owner),
                    function(check, file, put.scope)
                )));
            }
        }
    }
    hits
}

/// Whether an object that lives through a training's rounds keeps the states that it is given in each, whosever they are: the
/// clients' of a federation.
fn are_handed<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    let own = |at: &At| matches!(at.place, Place::Attribute(class, _) if check.lives_through_rounds(class));
    let model = check.flow.models.of(put.file);
    put.key.is_none()
        && put.value.is_name_expr()
        && check.flow.places(put.file, put.scope, put.container).iter().any(own)
        && model.function_of(put.scope).is_some_and(|function| check.is_called_again(put.file, function))
        && check.containers.bound(put.file, put.scope, put.block, put.container, put.key).is_none()
        && check.containers.is_never_emptied(put.file, put.scope, put.container)
}

/// `net.state_dict()`, and not a copy of all of it or a function of the program that gives one.
fn is_asked_for_its_state(model: &Model, owner: &Expr) -> bool {
    model.source.text().get(usize::from(owner.end())..).is_some_and(|rest| rest.starts_with(".state_dict"))
}

/// Whether each epoch of a training adds one: that is once in a while, and a state is large.
fn is_kept_by_epochs<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    let Put { file, scope, block, container, key, .. } = *put;
    let constructs = check.method_at(file, scope).is_none_or(|(_, name)| name == "__init__");
    !constructs
        && is_added(check, put)
        && check.runs_again(file, scope, block)
        && check.lasts_for_epochs(file, scope, container)
        && check.containers.bound(file, scope, block, container, key).is_none()
        && check.containers.is_never_emptied(file, scope, container)
}

/// `for i in range(5)`, `for name in ["a", "b"]`: a fixed, small number.
fn is_short(kind: BlockKind) -> bool {
    let BlockKind::For(each) = kind else { return false };
    match &*each.iter {
        Expr::List(_) | Expr::Tuple(_) => true,
        Expr::Call(call) => {
            matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "range")
                && !call.arguments.args.is_empty()
                && call
                    .arguments
                    .args
                    .iter()
                    .all(|argument| matches!(argument, Expr::NumberLiteral(number) if is_small(&number.value)))
        }
        _ => false,
    }
}

fn is_small(number: &Number) -> bool {
    matches!(number, Number::Int(number) if number.as_u8().is_some_and(|number| number <= 10))
}

//! LT205: A metric is never reset.

use crate::words::code;
use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::ask::{given, method, receiver};
use lowtide_lint::check::{Check, Hit, Put, loops_around};
use lowtide_lint::flow::{At, Place};
use lowtide_lint::model::{Assign, BlockId, Bound, Expr, Model, Ranged, ScopeId, ScopeKind, TextSize};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT205",
    name: "metric-never-reset",
    title: "A metric is never reset",
    severity: Severity::Leak,
    happens: "A metric object is updated in every batch, and `reset()` is never called.",
    keeps: "Metrics that need all predictions (AUROC, mAP, anything with a `cat` state) keep every batch in a list.",
    shows: "Growth per batch in the phase that the metric is used in. And the values are those of the whole run, \
                not of the epoch.",
    fix: Fix {
        text: "Reset after `compute`. With Lightning, log the metric object itself: it is then reset for you.",
        language: Language::Python,
        before: r#"metric.update(pred, y)
score = metric.compute()"#,
        after: r#"metric.update(pred, y)
score = metric.compute()
metric.reset()"#,
    },
    harmless: "Metrics that sum into a few numbers do not grow, only report the wrong thing.",
    sources: &["https://lightning.ai/docs/torchmetrics/stable/pages/overview.html"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.owner_contains("metric") && live.adds_to_container()).then_some(87)
}

/// A metric of torchmetrics that keeps what it was given is updated again and again, lasts, and is neither reset nor given to
/// somebody who may do it.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files().filter(|(_, model)| model.source.text().contains("torchmetrics")) {
        for made in model.assigns.iter().filter(|assign| assign.how == Bound::Whole && keeps_all(model, assign)) {
            let metric = check.flow.places(file, made.scope, made.target);
            if metric.is_empty() || is_reset_or_given(check, &metric) {
                continue;
            }
            if let Some((of, at, name)) = update(check, &metric) {
                hits.push(Hit::new(of, at).saying(format!(
                    "{name} is {}, which keeps all that it is updated with, and is never reset",
                    code(check, file, made.value)
                )));
            }
        }
        hits.extend(own_lists(check, file, model));
    }
    hits
}

/// What a metric of the program's own puts into lists that are no states of it, so that `reset` does not know of them.
fn own_lists<'p>(check: &Check<'_, 'p>, file: FileId, model: &Model<'p>) -> Vec<Hit> {
    let puts = check.puts(file, model);
    let kept = puts.iter().filter(|put| {
        let Some((class, "update")) = check.method_at(file, put.scope) else { return false };
        let own = |at: &At| matches!(at.place, Place::Attribute(of, _) if check.flow.classes.ancestors(class).contains(&of));
        check.has_base(class, |name| name.starts_with("torchmetrics.") && name.ends_with("Metric"))
            && check.flow.places(file, put.scope, put.container).iter().any(own)
            && put.key.is_none()
            && is_used(check, file, model, put.scope)
            && is_attribute_made(check, file, put)
            && check.containers.bound(file, put.scope, put.block, put.container, put.key).is_none()
            && check.containers.is_never_emptied(file, put.scope, put.container)
    });
    kept.map(|put| {
        Hit::new(file, put.offset).saying(format!(
            "{} gets {} at each update, and is no state that `reset` empties",
            code(check, file, put.container),
            code(check, file, put.value)
        ))
    })
    .collect()
}

/// Whether the program itself updates such a metric again and again.
fn is_used(check: &Check, file: FileId, model: &Model, scope: ScopeId) -> bool {
    model.function_of(scope).is_some_and(|update| {
        check.callers(file, update).iter().any(|(from, call)| check.runs_again(*from, call.scope, call.block))
    })
}

/// Whether a list is an attribute that is assigned: a state is made by `add_state`.
fn is_attribute_made<'p>(check: &Check<'_, 'p>, file: FileId, put: &Put<'p>) -> bool {
    check.values(file, put.scope, put.container).iter().any(|(_, _, value)| value.is_list_expr())
}

/// Whether a metric is made that has the predictions of all batches as its state.
fn keeps_all(model: &Model, made: &Assign) -> bool {
    let Expr::Call(call) = unmoved(made.value) else { return false };
    let is_collection = matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "MetricCollection")
        || matches!(&*call.func, Expr::Attribute(method) if method.attr.as_str() == "MetricCollection");
    if is_collection {
        return call.arguments.args.first().is_some_and(|all| match all {
            Expr::List(each) => each.elts.iter().any(|metric| keeps(model, made, metric)),
            Expr::Dict(each) => each.items.iter().any(|item| keeps(model, made, &item.value)),
            _ => false,
        });
    }
    keeps(model, made, made.value)
}

/// What is moved to a device: `AUROC("binary").to(device)`.
fn unmoved(value: &Expr) -> &Expr {
    match value {
        Expr::Call(call) if matches!(method(call), Some("to" | "cuda" | "cpu" | "clone" | "eval")) => {
            receiver(call).unwrap_or(value)
        }
        value => value,
    }
}

fn keeps(model: &Model, made: &Assign, metric: &Expr) -> bool {
    let Expr::Call(call) = unmoved(metric) else { return false };
    // Curves with fixed thresholds are counted.
    let counted = call.arguments.keywords.iter().any(|each| each.arg.as_ref().is_some_and(|arg| arg == "thresholds"));
    !counted
        && model.full_name(made.scope, &call.func).is_some_and(|name| {
            let last = name.rsplit('.').next().unwrap_or_default();
            let plain = ["Binary", "Multiclass", "Multilabel"].iter().find_map(|kind| last.strip_prefix(kind)).unwrap_or(last);
            name.starts_with("torchmetrics.") && (KEEPERS.contains(&plain) || plain.starts_with("Retrieval"))
        })
}

/// Metrics whose state is a list with an element per update (torchmetrics 1).
const KEEPERS: &[&str] = &[
    "AUROC",
    "AveragePrecision",
    "BERTScore",
    "CatMetric",
    "CosineSimilarity",
    "InceptionScore",
    "KendallRankCorrCoef",
    "KernelInceptionDistance",
    "MeanAveragePrecision",
    "PrecisionRecallCurve",
    "ROC",
    "ROUGEScore",
    "SpearmanCorrCoef",
];

/// Whether the metric is reset anywhere, by itself or with others in a loop, or handed to somebody: `self.log` resets it.
fn is_reset_or_given<'p>(check: &Check<'_, 'p>, metric: &[At<'p>]) -> bool {
    check.flow.models.iter().any(|(file, model)| {
        let is_it = |scope, expr: &'p Expr| {
            check.flow.places(file, scope, expr).iter().any(|at| metric.contains(at) || same_attribute(at, metric))
        };
        let known =
            |scope, expr: &'p Expr| {
                check.flow.places(file, scope, expr).iter().any(|at| {
                    at.depth == 0 && (matches!(at.place, Place::Attribute(..)) || is_another_parameter(check, *at, metric))
                })
            };
        model.calls.iter().any(|call| {
            let resets = matches!(&*call.call.func, Expr::Attribute(method)
                if method.attr.as_str() == "reset" && (is_it(call.scope, &method.value) || !known(call.scope, &method.value)));
            // What a function of the program does with it, its own statements tell.
            let follows = || {
                check.flow.callee(file, call.scope, &call.call.func).is_some_and(|(of, function)| {
                    let of_metric = |value: &'p Expr| holds(value, &|value| is_it(call.scope, value));
                    let all = given(call.call).filter(|value| of_metric(value)).count();
                    let handed = check.flow.given(file, call, of, function).into_iter();
                    let handed = handed.filter(|one| one.depth == 0 && of_metric(one.value)).collect::<Vec<_>>();
                    handed.len() == all && handed.iter().all(|one| is_only_asked(check, of, function, one.parameter))
                })
            };
            resets || given(call.call).any(|value| holds(value, &|value| is_it(call.scope, value))) && !follows()
        }) || model.results.iter().any(|result| holds(result.value, &|value| is_it(result.scope, value)))
            || model
                .assigns
                .iter()
                .any(|assign| !assign.value.is_call_expr() && holds(assign.value, &|value| is_it(assign.scope, value)))
    })
}

/// Whether a variable is a parameter that no caller gives the metric for, as far as they can be told.
fn is_another_parameter<'p>(check: &Check<'_, 'p>, at: At<'p>, metric: &[At<'p>]) -> bool {
    let given = check.given_to(at);
    !given.is_empty()
        && given.into_iter().all(|(file, scope, value)| {
            let places = check.flow.places(file, scope, value);
            !places.is_empty() && !places.iter().any(|at| metric.contains(at) || matches!(at.place, Place::Unknown(_)))
        })
}

/// Whether a function does nothing with a parameter but update it and ask for its result.
fn is_only_asked(check: &Check, file: FileId, function: ScopeId, parameter: &str) -> bool {
    let model = check.flow.models.of(file);
    let is_it = |value: &Expr| matches!(value, Expr::Name(name) if name.id.as_str() == parameter);
    let ScopeKind::Function(definition) = model.scope(function).kind else { return false };
    let words = check.text(file, definition.range).split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let uses = words.filter(|word| *word == parameter).count();
    let asked = model.calls.iter().filter(|call| {
        model.function_of(call.scope) == Some(function)
            && (is_it(&call.call.func)
                || matches!(method(call.call), Some("update" | "compute" | "forward" | "to"))
                    && receiver(call.call).is_some_and(is_it))
    });
    // Once where it is declared.
    uses == asked.count() + 1
}

/// Whether a metric is there before several loops around its update, or belongs to an object whose method with the update another
/// one of its methods calls in a loop.
fn lasts_here<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, block: BlockId, metric: &'p Expr) -> bool {
    let model = check.flow.models.of(file);
    check.flow.places(file, scope, metric).iter().any(|at| match at.place {
        Place::Variable(of, owner, _) => {
            let loops: Vec<BlockId> = loops_around(model, block).collect();
            let own = of == file && owner == model.function_of(scope).unwrap_or(ScopeId::MODULE);
            let is_inside = |round: BlockId| {
                check.flow.assigned(at.place).any(|(of, assign)| *of == file && check.is_within(file, assign.block, round))
            };
            own && loops.len() > 1 && loops.last().is_some_and(|outermost| !is_inside(*outermost))
        }
        Place::Attribute(class, _) => model.function_of(scope).is_some_and(|function| {
            check.callers(file, function).iter().any(|(from, call)| {
                let of_self = receiver(call.call).and_then(|on| check.flow.own_class(*from, call.scope, on)) == Some(class);
                let made = check.flow.assigned(at.place).all(|(of, assign)| {
                    let model = check.flow.models.of(*of);
                    model.function_of(assign.scope).is_some_and(|function| model.scope(function).name() == "__init__")
                });
                of_self && made && check.long_loop(*from, call.block).is_some()
            })
        }),
        _ => false,
    })
}

/// Whether a function that updates a parameter is given the metric in a loop, before which it is there.
fn is_handed_in_rounds<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, updated: &'p Expr, metric: &[At<'p>]) -> bool {
    let model = check.flow.models.of(file);
    let (Expr::Name(name), Some(function)) = (updated, model.function_of(scope)) else { return false };
    check.callers(file, function).iter().any(|(from, call)| {
        check.flow.given(*from, call, file, function).into_iter().any(|one| {
            one.depth == 0
                && one.parameter == name.id.as_str()
                && check.flow.places(*from, call.scope, one.value).iter().any(|at| metric.contains(at))
                && check.long_loop(*from, call.block).is_some_and(|round| {
                    !metric.iter().any(|at| {
                        check
                            .flow
                            .assigned(at.place)
                            .any(|(of, assign)| of == from && check.is_within(*from, assign.block, round))
                    })
                })
        })
    })
}

fn holds<'p>(value: &'p Expr, is_it: &dyn Fn(&'p Expr) -> bool) -> bool {
    match value {
        Expr::List(each) => each.elts.iter().any(is_it),
        Expr::Tuple(each) => each.elts.iter().any(is_it),
        Expr::Dict(each) => each.items.iter().any(|item| is_it(&item.value)),
        Expr::Name(_) | Expr::Attribute(_) => is_it(value),
        _ => false,
    }
}

/// An attribute of this name, of an object whose class is not told.
fn same_attribute(at: &At, metric: &[At]) -> bool {
    let Place::Unknown(name) = at.place else { return false };
    metric.iter().any(|metric| matches!(metric.place, Place::Attribute(_, of) if of == name))
}

/// Where the metric is updated again and again, though it lasts.
fn update<'p>(check: &Check<'_, 'p>, metric: &[At<'p>]) -> Option<(FileId, TextSize, String)> {
    check.files().find_map(|(file, model)| {
        let found = model.calls.iter().find_map(|call| {
            let (updated, scope, block) = match &*call.call.func {
                Expr::Attribute(method) if matches!(method.attr.as_str(), "update" | "forward") => {
                    (&*method.value, call.scope, call.block)
                }
                func => (func, call.scope, call.block),
            };
            let places = check.flow.places(file, scope, updated);
            let is_it = places.iter().any(|at| metric.contains(at));
            let handed = || is_handed_in_rounds(check, file, scope, updated, metric);
            let own = || is_it && (check.lasts(file, scope, block, updated) || lasts_here(check, file, scope, block, updated));
            (check.runs_again(file, scope, block) && (own() || handed())).then(|| (call.call.start(), code(check, file, updated)))
        });
        found.map(|(at, name)| (file, at, name))
    })
}

//! LT302: An experiment logger keeps what it was given.

use std::collections::HashSet;

use crate::keys::is_added;
use crate::words::{code, function};
use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::ask::{argument, is_backward, keyword, method, receiver, truth};
use lowtide_lint::autograd::mentions;
use lowtide_lint::check::{Check, Confidence, Hit, Put};
use lowtide_lint::feeds::Kind;
use lowtide_lint::flow::Place;
use lowtide_lint::model::{BindingKind, Expr, ExprCall, Model, Ranged, ScopeId};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT302",
    name: "logger-keeps-values",
    title: "An experiment logger keeps what it was given",
    severity: Severity::Leak,
    happens: "Tensors, images or figures are handed to a logger that keeps them until it flushes, or for the run's \
                  summary.",
    keeps: "The logger's history holds the objects themselves; tensors bring their graph along.",
    shows: "Growth per logged step, held by the logger's object.",
    fix: Fix {
        text: "Hand over numbers; images as small arrays; flush or finish where the logger has that.",
        language: Language::Python,
        before: r#"run.log({"loss": loss, "features": features})"#,
        after: r#"run.log({"loss": loss.item(), "features_norm": features.norm().item()})"#,
    },
    harmless: "Loggers that render at once to text or a file hold nothing afterwards.",
    sources: &["https://docs.wandb.ai/guides/track/log/", "zoo/05_progress_history.py", "zoo/11_logger_history.py"],
    signature: Some(signature),
    rule: Some(rule),
};

/// Words in the names of what logs.
const LOGGERS: &[&str] = &["log", "logs", "logger", "loggers", "logging", "wandb", "tensorboard", "mlflow", "writer"];

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    // Python's own loggers hand records on, which have what was logged as it is.
    let logs = LOGGERS.iter().any(|word| live.owner_has_word(word)) || live.objects_named(&["LogRecord"]);
    match live.statement {
        Some(Kind::Call) if logs => Some(72),
        // Something keeps what it is given by a call: what sort of thing that is, its name does not tell.
        Some(Kind::Call) => Some(35),
        _ => (logs && live.adds_to_container() && !live.has_graph()).then_some(72),
    }
}

/// An object of the program's own keeps what it is given, and is given something with its graph; or the history of HF's Trainer is.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        for put in check.puts(file, model).iter().filter(|put| keeps(check, put)) {
            hits.push(Hit::new(file, put.offset).saying(format!(
                "{} keeps what {} is given, which comes with its graph",
                code(check, file, put.container),
                function(check, file, put.scope)
            )));
        }
        for call in &model.calls {
            let Some(given) = trainers_log(check, file, call.scope, call.call) else { continue };
            if check.autograd.carries(file, call.scope, call.block, given) {
                hits.push(Hit::new(file, call.call.start()).saying(format!(
                    "the trainer's `state.log_history` keeps {} with its graph, for the whole run",
                    code(check, file, given)
                )));
            }
        }
    }
    hits.extend(of_trials(check));
    hits.extend(of_records(check));
    hits.extend(of_tables(check));
    hits.extend(of_consoles(check));
    hits
}

/// A handler of `logging` that keeps the records: each has the arguments of its message as they were given, and an exception with
/// its frames.
fn of_records(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    // Of a test it keeps a few.
    let trains = |model: &Model| model.calls.iter().any(|call| is_backward(call.call));
    for (file, model) in check.files().filter(|(_, model)| model.source.text().contains("logging") && trains(model)) {
        for put in check.puts(file, model) {
            let Some((class, "emit" | "handle")) = check.method_at(file, put.scope) else { continue };
            let Expr::Name(record) = put.value else { continue };
            let bindings = model.bindings(put.scope, record.id.as_str());
            if check.has_base(class, |name| name.starts_with("logging.") && name.ends_with("Handler"))
                && bindings.iter().all(|binding| matches!(binding.kind, BindingKind::Parameter { index: 1, .. }))
                && put.container.is_attribute_expr()
                && is_added(check, &put)
                && check.gets_only_more(&put)
            {
                hits.push(Hit::new(file, put.offset).with(Confidence::Medium).saying(format!(
                    "{} keeps every record, with the arguments of its message as they were given: tensors among them",
                    code(check, file, put.container)
                )));
            }
        }
    }
    hits
}

/// A table of W&B that is there before a training and gets a row at each step.
fn of_tables(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model, call) in check.calls_of(&["add_data"]) {
        let Some(table) = receiver(call.call).filter(|_| model.source.text().contains("wandb")) else { continue };
        let made = check.values(file, call.scope, table);
        let is_table = |(of, scope, value): &(FileId, ScopeId, &Expr)| match value {
            Expr::Call(call) => check.flow.models.of(*of).full_name(*scope, &call.func).is_some_and(|name| name == "wandb.Table"),
            value => value.is_none_literal_expr(),
        };
        if !made.is_empty()
            && made.iter().all(is_table)
            && check.runs_with_training(file, call.scope, call.block)
            && check.lasts(file, call.scope, call.block, table)
            && check.containers.is_never_emptied(file, call.scope, table)
        {
            hits.push(Hit::new(file, call.call.start()).with(Confidence::Medium).saying(format!(
                "{} is there before the training and gets a row each time: the table and its images stay, and are logged whole",
                code(check, file, table)
            )));
        }
    }
    hits
}

/// A console of rich that records all that it prints, and is never asked for it.
fn of_consoles(check: &Check) -> Vec<Hit> {
    let taken = ["export_text", "export_html", "export_svg", "save_text", "save_html", "save_svg"];
    if check.calls_of(&taken).next().is_some() {
        return Vec::new();
    }
    let mut hits = Vec::new();
    for (file, model, call) in check.calls_of(&["Console"]) {
        let records = keyword(call.call, "record").and_then(truth) == Some(true);
        if !records || !check.called(file, call).is_some_and(|name| name.starts_with("rich.")) {
            continue;
        }
        let Some(made) = check.assigned(file, call.call.range()) else { continue };
        let console = check.flow.places(file, made.scope, made.target);
        let prints = model.calls.iter().find(|each| {
            matches!(method(each.call), Some("print" | "log" | "rule" | "print_json"))
                && check.runs_with_training(file, each.scope, each.block)
                && receiver(each.call)
                    .is_some_and(|on| check.flow.places(file, each.scope, on).iter().any(|at| console.contains(at)))
        });
        if let Some(print) = prints {
            hits.push(Hit::new(file, print.call.start()).with(Confidence::Medium).saying(format!(
                "{} records all that it prints (`record=True`), and nothing takes it out",
                code(check, file, made.target)
            )));
        }
    }
    hits
}

/// `trial.set_user_attr(name, value)`: a study in memory keeps the attributes of all its trials, for as long as it lives.
fn of_trials(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model, call) in check.calls_of(&["set_user_attr"]) {
        let Some(value) = argument(call.call, 1, "value").filter(|_| model.source.text().contains("optuna")) else { continue };
        let is_model = check.autograd.calls_model(file, call.scope, value);
        if is_model || check.value(file, call.scope, call.block, value).is_data() {
            hits.push(Hit::new(file, call.call.start()).with(Confidence::Medium).saying(format!(
                "the study keeps {} of every trial, unless its storage is a database",
                code(check, file, value)
            )));
        }
    }
    hits
}

/// Whether what an object was handed is put into a container of its own, for good.
pub(crate) fn keeps<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    let Put { file, scope, block, container, value, key, .. } = *put;
    let of_object = check.flow.places(file, scope, container).iter().any(|at| match at.place {
        Place::Attribute(class, _) => !check.autograd.is_module(class),
        _ => false,
    });
    of_object
        && is_added(check, put)
        && !is_given_out(check, put)
        && check.is_handed(file, scope, block, value)
        && check.containers.bound(file, scope, block, container, key).is_none()
        && check.containers.is_never_emptied(file, scope, container)
}

/// Whether what is in a container is given to others: a memory to learn from, not a log.
fn is_given_out<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    let container: HashSet<_> = check.flow.places(put.file, put.scope, put.container).into_iter().map(|at| at.place).collect();
    let model = check.flow.models.of(put.file);
    model.results.iter().any(|result| mentions(check.flow, put.file, result.scope, result.value, &container, 12))
}

/// What `self.log({...})` of a Trainer of transformers is given: that appends it to its history as it is.
fn trainers_log<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, call: &'p ExprCall) -> Option<&'p Expr> {
    let Expr::Attribute(method) = &*call.func else { return None };
    let given = call.arguments.args.first().filter(|given| method.attr.as_str() == "log" && given.is_dict_expr())?;
    let class = check.flow.own_class(file, scope, &method.value)?;
    check.autograd.bases(class).any(|name| name.starts_with("transformers.") && name.ends_with("Trainer")).then_some(given)
}

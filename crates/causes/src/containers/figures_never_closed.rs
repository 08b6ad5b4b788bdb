//! LT309: Figures are never closed.

use crate::words::function;
use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::ask::{given, keyword, last_name};
use lowtide_lint::check::{Check, Hit};
use lowtide_lint::model::{Assign, Call, Expr, Model, Ranged, ScopeId};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT309",
    name: "figures-never-closed",
    title: "Figures are never closed",
    severity: Severity::Leak,
    happens: "`plt.figure()` or `plt.subplots()` runs for every plot, and `plt.close` does not.",
    keeps: "pyplot keeps a list of all open figures; each holds its canvas and its data.",
    shows: "Growth by megabytes per plot, mostly in validation. matplotlib warns at 20 open figures.",
    fix: Fix {
        text: "Close each figure, or make figures without pyplot.",
        language: Language::Python,
        before: r#"fig, ax = plt.subplots()
ax.plot(losses)
fig.savefig(path)"#,
        after: r#"fig, ax = plt.subplots()
ax.plot(losses)
fig.savefig(path)
plt.close(fig)"#,
    },
    harmless: "One figure that is drawn anew each time.",
    sources: &["https://matplotlib.org/stable/api/_as_gen/matplotlib.pyplot.figure.html"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.objects_named(&["Figure", "FigureCanvasAgg", "FigureManagerBase"])).then_some(92)
}

/// A new figure of pyplot in code that runs again and again, which neither closes nor shows it, nor gives it to anybody.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files().filter(|(_, model)| model.source.text().contains("matplotlib")) {
        for call in &model.calls {
            let makes = makes_figure(model, call) || returns_figure(check, file, call);
            if makes
                && !has_number(call)
                && check.runs_again(file, call.scope, call.block)
                && !is_closed(check, file, model, call.scope)
                && !is_given_away(model, call)
            {
                hits.push(Hit::new(file, call.call.start()).saying(format!(
                    "pyplot keeps one more figure each time that this line in {} runs; none is closed",
                    function(check, file, call.scope)
                )));
            }
        }
    }
    hits
}

fn makes_figure(model: &Model, call: &Call) -> bool {
    pyplot(model, call.scope, &call.call.func)
        .is_some_and(|name| matches!(name.as_str(), "figure" | "subplots" | "subplot_mosaic"))
}

/// Whether a call is one of a function of the program that gives a figure it made.
fn returns_figure<'p>(check: &Check<'_, 'p>, file: FileId, call: &Call<'p>) -> bool {
    let Some((of, function)) = check.flow.callee(file, call.scope, &call.call.func) else { return false };
    let model = check.flow.models.of(of);
    let made = model.assigns.iter().filter(|assign| model.function_of(assign.scope) == Some(function)).find(|assign| {
        assign.target.is_name_expr()
            && model.calls.iter().any(|made| made.call.range() == assign.value.range() && makes_figure(model, made))
    });
    made.is_some_and(|made| {
        let mut results = model.results.iter().filter(|result| model.function_of(result.scope) == Some(function));
        results.any(|result| match (result.value, made.target) {
            (Expr::Name(given), Expr::Name(figure)) => given.id == figure.id,
            _ => false,
        })
    })
}

/// The name of a function of pyplot.
fn pyplot(model: &Model, scope: ScopeId, func: &Expr) -> Option<String> {
    let name = model.full_name(scope, func)?;
    Some(name.strip_prefix("matplotlib.pyplot.").or_else(|| name.strip_prefix("pylab."))?.to_owned())
}

/// `plt.figure(1)` is the same figure each time.
fn has_number(call: &Call) -> bool {
    last_name(&call.call.func) == Some("figure") && !call.call.arguments.args.is_empty() || keyword(call.call, "num").is_some()
}

/// Whether this function or one that calls it closes figures, or waits until the user has.
fn is_closed<'p>(check: &Check<'_, 'p>, file: FileId, model: &Model<'p>, scope: ScopeId) -> bool {
    let closes = |model: &Model, inside: Option<ScopeId>| {
        model.calls.iter().any(|call| {
            model.function_of(call.scope) == inside
                && pyplot(model, call.scope, &call.call.func)
                    .is_some_and(|name| matches!(name.as_str(), "close" | "show" | "gcf"))
        })
    };
    let inside = model.function_of(scope);
    // What is called after it may close the newest one.
    let helps = |helper: &Call<'p>| {
        model.function_of(helper.scope) == inside
            && check
                .flow
                .callee(file, helper.scope, &helper.call.func)
                .is_some_and(|(of, function)| closes(check.flow.models.of(of), Some(function)))
    };
    closes(model, inside)
        || model.calls.iter().any(helps)
        || inside.is_some_and(|inside| {
            check.callers(file, inside).iter().any(|(from, call)| {
                let caller = check.flow.models.of(*from);
                closes(caller, caller.function_of(call.scope))
            })
        })
}

/// Whether the figure, or pyplot with its newest one, is returned, put into an attribute or given to a call.
fn is_given_away(model: &Model, call: &Call) -> bool {
    let function = model.function_of(call.scope);
    let is_value = |assign: &&Assign| assign.value.range() == call.call.range();
    let targets: Vec<&Expr> = model.assigns.iter().filter(is_value).map(|assign| assign.target).collect();
    // A call in the middle of something else gives its figure to that.
    if targets.is_empty() && call.statement != call.call.range() {
        return true;
    }
    let mut names: Vec<&str> = targets.iter().filter_map(|target| target.as_name_expr().map(|name| name.id.as_str())).collect();
    if names.len() < targets.len() {
        return true;
    }
    names.push("plt");
    let is_figure = |expr: &Expr| matches!(expr, Expr::Name(name) if names.contains(&name.id.as_str()));
    let holds = |expr: &Expr| match expr {
        Expr::Tuple(each) => each.elts.iter().any(is_figure),
        Expr::List(each) => each.elts.iter().any(is_figure),
        Expr::Dict(each) => each.items.iter().any(|item| is_figure(&item.value)),
        other => is_figure(other),
    };
    let returned = model.results.iter().any(|result| model.function_of(result.scope) == function && holds(result.value));
    let kept = model.assigns.iter().any(|assign| model.function_of(assign.scope) == function && holds(assign.value));
    let given = model.calls.iter().any(|other| model.function_of(other.scope) == function && given(other.call).any(holds));
    returned || kept || given
}

//! LT309: Figures are never closed.

use std::collections::HashSet;

use crate::words::function;
use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::ask::{given, keyword, last_name};
use lowtide_lint::check::{Check, Hit, loops_around};
use lowtide_lint::model::{Assign, Call, Expr, Model, Ranged, ScopeId, TextRange};
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

/// What draws with pyplot.
const DRAW: &[&str] = &["matplotlib", "seaborn", "pandas"];

/// A new figure of pyplot in code that runs again and again, which neither closes nor shows it, nor gives it to anybody who closes
/// figures.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    // A figure that another file's function gives is drawn there.
    let draws = |model: &Model| DRAW.iter().any(|name| model.source.text().contains(name));
    if !check.flow.models.iter().any(|(_, model)| draws(model)) {
        return hits;
    }
    let given = given_figures(check);
    let closing = check.flow.models.iter().any(|(_, model)| closes_any(model));
    for (file, model) in check.files() {
        let mut making: Vec<&Call> = figures(model);
        if given.iter().any(|(of, _)| *of == file) {
            making.extend(model.calls.iter().filter(|call| given.contains(&(file, call.call.range()))));
        }
        for call in making {
            if !has_number(check, file, call)
                && check.runs_again(file, call.scope, call.block)
                && !is_closed(check, file, model, call.scope)
                && !is_given_away(check, file, model, call, closing)
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

/// Functions of pyplot that make a figure.
const OF_PYPLOT: &[&str] = &["figure", "subplot_mosaic", "subplots"];
/// What a table of pandas draws: `frame.plot()`, `frame.plot.bar()`.
const OF_PANDAS: &[&str] = &["area", "bar", "barh", "box", "density", "hexbin", "hist", "kde", "line", "pie", "plot", "scatter"];

/// The calls that make a figure.
fn figures<'m, 'p>(model: &'m Model<'p>) -> Vec<&'m Call<'p>> {
    let names: Vec<&str> = [OF_PYPLOT, OF_SEABORN, OF_PANDAS].concat();
    let mut calls = model.calls_named(&names);
    calls.retain(|call| {
        let by_pyplot = pyplot(model, call.scope, &call.call.func).is_some_and(|name| OF_PYPLOT.contains(&name.as_str()));
        by_pyplot || draws_figure(model, call)
    });
    calls
}

/// Functions of seaborn that make a figure of their own; the others draw into the current one.
const OF_SEABORN: &[&str] = &["catplot", "clustermap", "displot", "jointplot", "lmplot", "pairplot", "relplot"];

/// `sns.pairplot(frame)`, `pd.DataFrame(rows).plot()`: a figure of pyplot that is not asked for by its name.
fn draws_figure(model: &Model, call: &Call) -> bool {
    let Some(name) = last_name(&call.call.func) else { return false };
    if OF_SEABORN.contains(&name) {
        return model.full_name(call.scope, &call.call.func).is_some_and(|name| name.starts_with("seaborn."));
    }
    let Expr::Attribute(plot) = &*call.call.func else { return false };
    // `frame.plot(...)`, `frame.plot.bar(...)`
    let on = match &*plot.value {
        Expr::Attribute(inner) if inner.attr.as_str() == "plot" => &*inner.value,
        on if name == "plot" => on,
        _ => return false,
    };
    keyword(call.call, "ax").is_none() && is_frame(model, call.scope, on, 4)
}

/// Whether a value is a table of pandas that is made here: `pd.DataFrame(rows)`, `pd.read_csv(path)`, a name for one.
fn is_frame(model: &Model, scope: ScopeId, value: &Expr, left: usize) -> bool {
    let Some(left) = left.checked_sub(1) else { return false };
    match value {
        Expr::Call(call) => {
            let name = model.full_name(scope, &call.func);
            name.is_some_and(|name| {
                name.strip_prefix("pandas.")
                    .is_some_and(|name| matches!(name, "DataFrame" | "Series") || name.starts_with("read_"))
            }) || matches!(&*call.func, Expr::Attribute(method) if is_frame(model, scope, &method.value, left))
        }
        Expr::Subscript(item) => is_frame(model, scope, &item.value, left),
        Expr::Name(name) => {
            let Some(owner) = model.owner(scope, name.id.as_str()) else { return false };
            let mut made = model.assigns.iter().filter(|assign| {
                matches!(assign.target, Expr::Name(target) if target.id == name.id)
                    && model.owner(assign.scope, name.id.as_str()) == Some(owner)
            });
            made.next().is_some_and(|first| is_frame(model, first.scope, first.value, left)) && made.next().is_none()
        }
        _ => false,
    }
}

/// The calls of functions of the program that give a figure they made.
fn given_figures(check: &Check) -> HashSet<(FileId, TextRange)> {
    let mut given = HashSet::new();
    for (of, model) in check.flow.models.iter() {
        for made in figures(model) {
            let Some(function) = model.function_of(made.scope) else { continue };
            let figures: Vec<&str> = model
                .assigns
                .iter()
                .filter(|assign| assign.value.range() == made.call.range())
                .filter_map(|assign| assign.target.as_name_expr().map(|name| name.id.as_str()))
                .collect();
            let mut results = model.results.iter().filter(|result| model.function_of(result.scope) == Some(function));
            if results.any(|result| matches!(result.value, Expr::Name(name) if figures.contains(&name.id.as_str()))) {
                given.extend(check.callers(of, function).into_iter().map(|(from, call)| (from, call.call.range())));
            }
        }
    }
    given
}

/// Whether anything in a file closes figures, by whatever name.
fn closes_any(model: &Model) -> bool {
    const CLOSE: &[&str] = &["clf", "close", "show", "switch_backend"];
    model
        .calls_named(CLOSE)
        .into_iter()
        .any(|call| pyplot(model, call.scope, &call.call.func).is_some_and(|name| CLOSE.contains(&name.as_str())))
}

/// The name of a function of pyplot.
fn pyplot(model: &Model, scope: ScopeId, func: &Expr) -> Option<String> {
    let name = model.full_name(scope, func)?;
    Some(name.strip_prefix("matplotlib.pyplot.").or_else(|| name.strip_prefix("pylab."))?.to_owned())
}

/// `plt.figure(1)` is the same figure each time; `plt.figure(epoch)` is not.
fn has_number<'p>(check: &Check<'_, 'p>, file: FileId, call: &Call<'p>) -> bool {
    let by_place = call.call.arguments.args.first().filter(|_| last_name(&call.call.func) == Some("figure"));
    by_place.or_else(|| keyword(call.call, "num")).is_some_and(|number| {
        let round = loops_around(check.flow.models.of(file), call.block).last();
        let another = |of: FileId, scope, block, value: &'p Expr| {
            let round = loops_around(check.flow.models.of(of), block).last();
            round.is_some_and(|round| check.changes_in(of, scope, round, value))
        };
        let changes = another(file, call.scope, call.block, number)
            || round.is_none()
                && number.is_name_expr()
                && check.flow.models.of(file).function_of(call.scope).is_some_and(|function| {
                    check.callers(file, function).iter().any(|(from, caller)| {
                        let given = check.flow.given(*from, caller, file, function).into_iter();
                        given
                            .filter(|one| {
                                one.depth == 0 && matches!(number, Expr::Name(name) if name.id.as_str() == one.parameter)
                            })
                            .any(|one| another(*from, caller.scope, caller.block, one.value))
                    })
                });
        !changes
    })
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
fn is_given_away<'p>(check: &Check<'_, 'p>, file: FileId, model: &Model<'p>, call: &Call<'p>, closing: bool) -> bool {
    let function = model.function_of(call.scope);
    let is_value = |assign: &&Assign| assign.value.range() == call.call.range();
    let targets: Vec<&Expr> = model.assigns.iter().filter(is_value).map(|assign| assign.target).collect();
    // A call in the middle of something else gives its figure to that.
    if targets.is_empty() && call.statement != call.call.range() {
        let is_given = |other: &&Call<'p>| given(other.call).any(|value| value.range() == call.call.range());
        return !model.calls.iter().find(is_given).is_some_and(|other| leaves_open(check, file, model, other, closing));
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
    let given = model.calls.iter().any(|other| {
        model.function_of(other.scope) == function
            && given(other.call).any(holds)
            && !leaves_open(check, file, model, other, closing)
    });
    returned || kept || given
}

/// Whether who is given a figure is known to leave it open: what makes an image of it, a figure's or pyplot's own functions, and
/// TensorBoard's `add_figure` where it is told so. A function of the program's own leaves it open where nothing in its file closes
/// figures.
fn leaves_open<'p>(check: &Check<'_, 'p>, file: FileId, model: &Model<'p>, call: &Call<'p>, closing: bool) -> bool {
    // What keeps it or sends it away leaves it open, and who takes it from there would have to call pyplot.
    if !closing && matches!(last_name(&call.call.func), Some("append" | "log" | "log_figure" | "log_image" | "upload")) {
        // A list of this function may go to somebody who closes what is in it.
        let local = matches!(&*call.call.func, Expr::Attribute(method) if matches!(&*method.value, Expr::Name(list)
            if last_name(&call.call.func) == Some("append") && model.owner(call.scope, list.id.as_str()) != Some(ScopeId::MODULE)));
        return !local && check.flow.callee(file, call.scope, &call.call.func).is_none();
    }
    let name = model.full_name(call.scope, &call.call.func).unwrap_or_default();
    if matches!(
        name.as_str(),
        "wandb.Image" | "wandb.sdk.data_types.image.Image" | "len" | "id" | "print" | "isinstance" | "type" | "mlflow.log_figure"
    ) {
        return true;
    }
    if last_name(&call.call.func) == Some("add_figure") {
        let close = keyword(call.call, "close").or_else(|| call.call.arguments.args.get(3));
        return close.is_some_and(|close| matches!(close, Expr::BooleanLiteral(close) if !close.value));
    }
    let closes = |model: &Model| model.calls.iter().any(|call| last_name(&call.call.func) == Some("close"));
    check.flow.callee(file, call.scope, &call.call.func).is_some_and(|(of, function)| {
        let model = check.flow.models.of(of);
        // It may hand it on.
        !closes(model)
            && !model.results.iter().any(|result| model.function_of(result.scope) == Some(function))
            && model.calls.iter().filter(|inner| model.function_of(inner.scope) == Some(function)).all(|inner| {
                matches!(&*inner.call.func, Expr::Attribute(method) if DRAWS_ON.contains(&method.attr.as_str()))
                    || pyplot(model, inner.scope, &inner.call.func).is_some()
            })
    })
}

/// Methods of figures and axes that only draw, set or save.
const DRAWS_ON: &[&str] = &[
    "add_axes",
    "add_subplot",
    "bar",
    "colorbar",
    "fill_between",
    "gca",
    "grid",
    "hist",
    "imshow",
    "legend",
    "plot",
    "savefig",
    "scatter",
    "set",
    "set_axis_off",
    "set_title",
    "set_xlabel",
    "set_xlim",
    "set_ylabel",
    "set_ylim",
    "suptitle",
    "text",
    "tight_layout",
];

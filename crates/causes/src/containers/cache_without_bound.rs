//! LT307: A cache is never cleared.

use crate::kept::{Sort, never_repeats, sort};
use crate::words::{code, function};
use crate::{Cause, Container, Fix, Language, Live, Severity};
use lowtide_lint::ask::last_name;
use lowtide_lint::check::{Check, Confidence, Hit, Put};
use lowtide_lint::feeds::{Bound as Limit, Kind};
use lowtide_lint::model::{Expr, ScopeId, ScopeKind, Stmt};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT307",
    name: "cache-without-bound",
    title: "A cache is never cleared",
    severity: Severity::Leak,
    happens: "A dictionary on the model, on the data set or at module level, or `@cache` on a function, answers \
                  repeated questions, and nothing ever leaves it.",
    keeps: "Every different key stays. With keys that never repeat (a step, a random crop, a tensor's id) it is a \
                list in disguise.",
    shows: "Growth that bends where keys repeat, and stops when all have been seen; a straight line where they do not.",
    fix: Fix {
        text: "Give it a bound, key it by what repeats, or clear it between epochs.",
        language: Language::Python,
        before: r#"self.cache[key] = value"#,
        after: r#"self.cache[key] = value
if len(self.cache) > 1000:
    self.cache.pop(next(iter(self.cache)))"#,
    },
    harmless: "A cache whose keys are few: its ceiling can be computed.",
    sources: &["zoo/32_step_dict.py", "zoo/44_feature_cache.py"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    let of_dict =
        live.statement == Some(Kind::Item) && live.container == Some(Container::Dict) && !live.has_graph() && !live.is_of_model();
    match live.statement {
        // A decorator's cache says so itself.
        Some(Kind::Cache) if !live.in_class => Some(95),
        // Of tensors in a dict, that of an encoder's cache is more than what is kept for logs.
        _ if of_dict && live.owner_contains("cache") => Some(75),
        _ => of_dict.then_some(65),
    }
}

/// A dictionary that is kept for good is filed by what never comes again: the step, a tensor, an address, a time.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for put in check.kept_for_good() {
        let Some(key) = put.key else { continue };
        if never_repeats(check, put, key) && matches!(sort(check, put), Sort::Other | Sort::Cached) {
            hits.push(Hit::new(put.file, put.offset).saying(format!(
                "{} gets an entry each time that {} runs: {} never comes again, and nothing takes one out",
                code(check, put.file, put.container),
                function(check, put.file, put.scope),
                code(check, put.file, key)
            )));
        }
    }
    hits.extend(never_cleared(check));
    hits
}

/// A method that does nothing but empty things, that no framework calls and nothing in the program mentions.
fn is_uncalled(check: &Check, file: FileId, function: ScopeId) -> bool {
    let model = check.flow.models.of(file);
    let name = model.scope(function).name();
    let ScopeKind::Function(definition) = model.scope(function).kind else { return false };
    let empties = |stmt: &Stmt| match stmt {
        Stmt::Expr(each) => match &*each.value {
            Expr::Call(call) => matches!(last_name(&call.func), Some("clear" | "cache_clear" | "collect" | "empty_cache")),
            value => value.is_string_literal_expr(),
        },
        Stmt::Assign(each) => match &*each.value {
            Expr::List(list) => list.elts.is_empty(),
            Expr::Dict(dict) => dict.items.is_empty(),
            Expr::Call(call) => call.arguments.is_empty(),
            value => value.is_none_literal_expr() || value.is_number_literal_expr(),
        },
        _ => false,
    };
    !name.starts_with("on_")
        && !check.is_each_round(file, function)
        && definition.body.iter().all(empties)
        && !check.flow.models.iter().any(|(_, model)| model.attributes.contains(name))
}

/// A cache that a method empties which nothing in the program calls: `clear_cache()` of a model. A hint, since others may call it.
fn never_cleared(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        for put in check.puts(file, model) {
            let Put { scope, block, container, .. } = put;
            let added = put.key.is_none_or(|key| never_repeats(check, &put, key));
            if !container.is_attribute_expr() || !added || !check.runs_with_training(file, scope, block) {
                continue;
            }
            let emptied = check.containers.taken_out(file, scope, container).into_iter().filter_map(|(of, scope, _)| {
                let model = check.flow.models.of(of);
                let function = model.function_of(scope)?;
                (model.scope(function).name() != "__init__").then_some((of, function))
            });
            let emptied: Vec<(FileId, ScopeId)> = emptied.collect();
            if emptied.is_empty() || !emptied.iter().all(|(of, function)| is_uncalled(check, *of, *function)) {
                continue;
            }
            let first = emptied.first().map_or("", |(of, function)| check.flow.models.of(*of).scope(*function).name());
            let large = !matches!(sort(check, &put), Sort::Small | Sort::Other);
            if large
                && check.lasts(file, scope, block, container)
                && matches!(check.firm_bound(&put), None | Some(Limit::Emptied(_)))
            {
                hits.push(
                    Hit::new(file, put.offset).with(Confidence::Low).saying(format!(
                        "{} is emptied by `{first}` alone, which nothing here calls",
                        code(check, file, container)
                    )),
                );
            }
        }
    }
    hits
}

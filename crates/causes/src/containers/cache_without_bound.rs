//! LT307: A cache is never cleared.

use crate::kept::{Sort, sort};
use crate::keys::never_repeats;
use crate::words::{code, function};
use crate::{Cause, Container, Fix, Language, Live, Severity};
use lowtide_lint::ask::last_name;
use lowtide_lint::check::{Check, Confidence, Hit, Put, Value};
use lowtide_lint::feeds::{Bound as Limit, Kind, cache_limit};
use lowtide_lint::model::{Binding, BindingKind, Call, Decorator, Expr, Ranged, ScopeId, ScopeKind, Stmt};
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
    hits.extend(of_tensors(check));
    hits
}

/// Whether the parameter that a value is given for says that it is a tensor.
fn is_declared<'p>(check: &Check<'_, 'p>, file: FileId, function: ScopeId, from: FileId, call: &Call<'p>, value: &Expr) -> bool {
    let model = check.flow.models.of(file);
    let outer = model.scope(function).parent.unwrap_or(ScopeId::MODULE);
    let is_tensor = |binding: &Binding| match binding.kind {
        BindingKind::Parameter { annotation: Some(annotation), .. } => {
            model.full_name(outer, annotation).is_some_and(|name| matches!(&*name, "torch.Tensor" | "numpy.ndarray"))
        }
        _ => false,
    };
    let given = check.flow.given(from, call, file, function).into_iter().filter(|one| one.depth == 0);
    given
        .filter(|one| one.value.range() == value.range())
        .any(|one| model.scope(function).bindings(one.parameter).iter().any(is_tensor))
}

/// `@cache` on a function that is given tensors: they are told apart by their addresses, so that no call ever finds what another
/// left, and the cache keeps arguments and result of each.
fn of_tensors(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        for (scope, definition) in model.functions() {
            let outer = model.scope(scope).parent.unwrap_or(ScopeId::MODULE);
            let caches = |decorator: &&Decorator| {
                let named = if let Expr::Call(call) = &decorator.expression { &*call.func } else { &decorator.expression };
                let full = model.full_name(outer, named).unwrap_or_default();
                matches!(&*full, "functools.lru_cache" | "functools.cache") && cache_limit(&decorator.expression) == Some(false)
            };
            // Of methods LT306 tells.
            let Some(decorator) = definition.decorator_list.iter().find(caches).filter(|_| !model.scope(outer).is_class()) else {
                continue;
            };
            let given = check.callers(file, scope).into_iter().find_map(|(from, call)| {
                let again = check.runs_with_training(from, call.scope, call.block);
                let round = check.long_loop(from, call.block);
                let mut values = lowtide_lint::ask::given(call.call).filter(|_| again);
                values
                    .find(|value| {
                        // The same tensor each time has the same address.
                        round.is_none_or(|round| !check.is_steady(from, call.scope, value, Some(round)))
                            && (check.value(from, call.scope, call.block, value) == Value::Tensor
                                || is_declared(check, file, scope, from, &call, value))
                    })
                    .map(|value| code(check, from, value))
            });
            if let Some(given) = given {
                hits.push(Hit::new(file, decorator.expression.start()).saying(format!(
                    "`{}` keeps every tensor that it is called with, as {given}, and what it gave for it: another tensor is another key",
                    definition.name
                )));
            }
        }
    }
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

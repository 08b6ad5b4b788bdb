//! LT306: `lru_cache` on a method keeps every instance.

use std::collections::HashMap;

use super::made_with_model::made_with_model;
use crate::words::code;
use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::check::{Check, Confidence, Hit, Put};
use lowtide_lint::feeds::Kind;
use lowtide_lint::feeds::cache_limit;
use lowtide_lint::flow::{ClassId, Place};
use lowtide_lint::model::{Expr, Model, Ranged, ScopeId, ScopeKind, TextSize};
use lowtide_lint::program::{Defined, FileId};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT306",
    name: "lru-cache-on-method",
    title: "`lru_cache` on a method keeps every instance",
    severity: Severity::Leak,
    happens: "`@lru_cache`, `@cache` or a decorator of one's own that remembers results decorates a method. The instance is a part \
                  of each key.",
    keeps: "The cache lives as long as the class. It keeps every instance that the method was called on, with \
                arguments and results; with `maxsize=None` without bound.",
    shows: "Instances that nobody uses any more stay alive, held by a cache; growth with each new argument.",
    fix: Fix {
        text: "Cache on the instance (`cached_property`, a dictionary in `__init__`), or give a limit and plain keys.",
        language: Language::Python,
        before: r#"@lru_cache(maxsize=None)
def features(self, x):
    return self.encoder(x)"#,
        after: r#"def __init__(self, encoder):
    self.encoder = encoder
    self.features = lru_cache(maxsize=256)(encoder)"#,
    },
    harmless: "A cache with a limit, of small results, on a class with one instance, or with instances that hold nothing large.",
    sources: &["https://docs.python.org/3/library/functools.html", "https://docs.python.org/3/faq/programming.html"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.statement == Some(Kind::Cache) && live.in_class).then_some(95)
}

/// `@cache` or `@lru_cache(maxsize=None)` on a method; with a limit only where an instance is a model, which has size enough, or where
/// each is made with one in a function that lets go of it.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    // A decorator is mostly used more than once.
    let mut known: HashMap<Defined, bool> = HashMap::new();
    for (file, model) in check.files() {
        for (scope, function) in model.functions() {
            let Some(class) = model.scope(scope).parent.filter(|parent| model.scope(*parent).is_class()) else { continue };
            let first = function.parameters.posonlyargs.first().or_else(|| function.parameters.args.first());
            let is_plain = |decorator: &Expr| matches!(decorator, Expr::Name(name) if matches!(name.id.as_str(), "staticmethod" | "classmethod"));
            if first.is_none()
                || function.decorator_list.iter().any(|each| is_plain(&each.expression))
                || lives_for_ever(model, class)
            {
                continue;
            }
            for decorator in &function.decorator_list {
                let own = || caches_for_ever(check, file, class, &decorator.expression, &mut known).then_some(false);
                let Some(limited) = limit(model, class, &decorator.expression).or_else(own) else { continue };
                if knows(model, decorator.expression.start()) {
                    continue;
                }
                let class = ClassId { file, scope: class };
                let (decorated, owner) = (code(check, file, &decorator.expression), model.qualified_name(class.scope));
                let each = format!("the cache of {decorated} keeps each `{owner}` that `{}` was called on", function.name);
                let hit = Hit::new(file, decorator.expression.start());
                if !limited || check.autograd.is_module(class) {
                    hits.push(hit.saying(format!("{each}, for as long as the class lives")));
                } else if let Some(with) = made_with_model(check, class) {
                    hits.push(hit.with(Confidence::Medium).saying(format!(
                        "{each}, with {with}, until others take their places: who made it has let go of it long before"
                    )));
                }
            }
        }
    }
    hits
}

/// Whether a decorator of functools caches, and whether it has a limit.
fn limit(model: &Model, class: ScopeId, decorator: &Expr) -> Option<bool> {
    let named = if let Expr::Call(call) = decorator { &*call.func } else { decorator };
    let name = model.full_name(class, named)?;
    cache_limit(decorator).filter(|_| matches!(name.as_str(), "functools.lru_cache" | "functools.cache"))
}

/// Whether a decorator of the program's own, or of cachetools, files each result under arguments with the instance among them, and
/// takes none out.
fn caches_for_ever(check: &Check, file: FileId, class: ScopeId, decorator: &Expr, known: &mut HashMap<Defined, bool>) -> bool {
    let named = if let Expr::Call(call) = decorator { &*call.func } else { decorator };
    if let Expr::Call(call) = decorator
        && check.flow.models.of(file).full_name(class, named).is_some_and(|name| name == "cachetools.cached")
    {
        let cache = call.arguments.args.first().or_else(|| lowtide_lint::ask::keyword(call, "cache"));
        return cache.is_some_and(Expr::is_dict_expr) && lowtide_lint::ask::keyword(call, "key").is_none();
    }
    let Some(defined) = check.flow.models.defined(file, class, named) else { return false };
    *known.entry(defined).or_insert_with(|| match defined {
        Defined::Function(of, function) => files_results(check, of, &|model, scope| is_around(model, function, scope)),
        Defined::Class(of, class) => files_results(check, of, &|model, scope| {
            model.method_of(scope).is_some_and(|(own, method)| own == class && model.scope(method).name() == "__call__")
        }),
    })
}

/// Whether what a decorator puts in the place of a function (`is_wrapper` tells its scope) adds to something older, by a key that
/// holds all its arguments.
fn files_results(check: &Check, file: FileId, is_wrapper: &dyn Fn(&Model, ScopeId) -> bool) -> bool {
    let model = check.flow.models.of(file);
    check.puts(file, model).iter().any(|put| {
        let Some(wrapper) = model.function_of(put.scope).filter(|_| is_wrapper(model, put.scope)) else { return false };
        let Some(key) = put.key else { return false };
        if !is_given_back(model, wrapper) {
            return false;
        }
        let older = check.flow.places(file, put.scope, put.container).iter().any(|at| match at.place {
            Place::Variable(of, owner, _) => of == file && owner != wrapper,
            Place::Attribute(..) => true,
            _ => false,
        });
        older && holds_arguments(check, put, model, wrapper, key, 3) && check.gets_only_more(put) && !is_weak(check, put)
    })
}

/// Whether a function takes the place of what was decorated: the one around it returns it, or it is a method.
fn is_given_back(model: &Model, wrapper: ScopeId) -> bool {
    let scope = model.scope(wrapper);
    model.method_of(wrapper).is_some_and(|(_, method)| method == wrapper)
        || model
            .results
            .iter()
            .any(|result| Some(result.scope) == scope.parent && lowtide_lint::ask::names_in(result.value).contains(scope.name()))
}

/// Whether a key is or holds all arguments, or the first: not a text or a number made of them.
fn holds_arguments<'p>(
    check: &Check<'_, 'p>,
    put: &Put<'p>,
    model: &Model<'p>,
    wrapper: ScopeId,
    key: &'p Expr,
    left: usize,
) -> bool {
    let Some(left) = left.checked_sub(1) else { return false };
    match key {
        Expr::Tuple(each) => each.elts.iter().any(|part| holds_arguments(check, put, model, wrapper, part, left)),
        Expr::Starred(each) => holds_arguments(check, put, model, wrapper, &each.value, left),
        Expr::BinOp(each) => {
            holds_arguments(check, put, model, wrapper, &each.left, left)
                || holds_arguments(check, put, model, wrapper, &each.right, left)
        }
        Expr::Name(name) => {
            let Some(parameters) = model.scope(wrapper).parameters() else { return false };
            let all = parameters.vararg.as_ref().is_some_and(|vararg| vararg.name.id == name.id) && parameters.args.is_empty();
            // Of a class's `__call__` the first is the decorator itself.
            let own = usize::from(model.method_of(wrapper).is_some_and(|(_, method)| method == wrapper));
            let all =
                all || parameters.vararg.as_ref().is_some_and(|vararg| vararg.name.id == name.id) && parameters.args.len() == own;
            let first = parameters.args.get(own).is_some_and(|first| first.parameter.name.id == name.id);
            all || first
                || check.values(put.file, put.scope, key).into_iter().any(|(of, scope, value)| {
                    of == put.file
                        && model.function_of(scope) == Some(wrapper)
                        && holds_arguments(check, put, model, wrapper, value, left)
                })
        }
        _ => false,
    }
}

/// A dictionary that lets go of its keys.
fn is_weak<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    check.values(put.file, put.scope, put.container).into_iter().any(|(_, _, value)| {
        matches!(value, Expr::Call(call) if lowtide_lint::ask::last_name(&call.func).is_some_and(|name| name.starts_with("Weak")))
    })
}

/// Whether a scope lies inside of a function.
fn is_around(model: &Model, function: ScopeId, scope: ScopeId) -> bool {
    let mut at = model.scope(scope).parent;
    while let Some(id) = at {
        if id == function {
            return true;
        }
        at = model.scope(id).parent;
    }
    false
}

/// Whether the author says to another linter, by the line of the decorator, that the same is meant to be.
fn knows(model: &Model, decorator: TextSize) -> bool {
    let line = model.source.line_text(decorator);
    line.split_once('#').is_some_and(|(_, comment)| comment.contains("B019") || comment.contains("method-cache-max-size-none"))
}

/// Members of an enumeration live for ever anyway, and so do loggers.
fn lives_for_ever(model: &Model, class: ScopeId) -> bool {
    let outer = model.scope(class).parent.unwrap_or(ScopeId::MODULE);
    let ScopeKind::Class(definition) = model.scope(class).kind else { return false };
    let mut bases = definition.arguments.iter().flat_map(|arguments| &arguments.args);
    bases.any(|base| {
        model
            .full_name(outer, base)
            .is_some_and(|name| name.ends_with("Enum") || name.ends_with("Flag") || name.starts_with("logging."))
    })
}

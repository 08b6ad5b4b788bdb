//! LT306: `lru_cache` on a method keeps every instance.

use crate::words::code;
use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::check::{Check, Hit};
use lowtide_lint::feeds::Kind;
use lowtide_lint::feeds::cache_limit;
use lowtide_lint::flow::ClassId;
use lowtide_lint::model::{Expr, Model, Ranged, ScopeId, ScopeKind, TextSize};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT306",
    name: "lru-cache-on-method",
    title: "`lru_cache` on a method keeps every instance",
    severity: Severity::Leak,
    happens: "`@lru_cache` or `@cache` decorates a method. The instance is a part of each key.",
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
    harmless: "A cache with a limit, of small results, on a class with one instance.",
    sources: &["https://docs.python.org/3/library/functools.html", "https://docs.python.org/3/faq/programming.html"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.statement == Some(Kind::Cache)).then_some(95)
}

/// `@cache` or `@lru_cache(maxsize=None)` on a method; with a limit only where an instance is a model, which has size enough.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
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
                let Some(limited) = limit(model, class, &decorator.expression) else { continue };
                if knows(model, decorator.expression.start()) {
                    continue;
                }
                if !limited || check.autograd.is_module(ClassId { file, scope: class }) {
                    let (decorated, owner) = (code(check, file, &decorator.expression), model.qualified_name(class));
                    hits.push(Hit::new(file, decorator.expression.start()).saying(format!(
                        "the cache of {decorated} keeps each `{owner}` that `{}` was called on, for as long as the class lives",
                        function.name
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

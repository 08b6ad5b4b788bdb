//! LT308: A default argument is changed.

use crate::words::code;
use crate::{Cause, Fix, Language, Live, RootKind, Severity};
use lowtide_lint::check::{Check, Confidence, Hit};
use lowtide_lint::feeds::Kind;
use lowtide_lint::flow::At;
use lowtide_lint::model::{Bound, Expr, Ranged, TextRange};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT308",
    name: "mutable-default",
    title: "A default argument is changed",
    severity: Severity::Leak,
    happens: "`def f(x, seen=[])` appends to `seen`. The list is made once, with the function.",
    keeps: "The function keeps its defaults for as long as it lives, and every call adds to the same list.",
    shows: "Growth per call of something that looks local.",
    fix: Fix {
        text: "Use `None`, and make the list inside.",
        language: Language::Python,
        before: r#"def collect(x, into=[]):
    into.append(x)"#,
        after: r#"def collect(x, into=None):
    into = [] if into is None else into
    into.append(x)"#,
    },
    harmless: "A default that is only read.",
    sources: &["https://docs.python.org/3/faq/programming.html"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.root == Some(RootKind::Default)).then_some(96)
}

/// A parameter whose default is a new list, dictionary or set gets elements, and nothing takes its place before.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        for (scope, function) in model.functions() {
            for parameter in function.parameters.iter_non_variadic_params() {
                let name = parameter.parameter.name.as_str();
                let Some(default) = parameter.default.as_deref().filter(|default| is_new(default)) else { continue };
                let place = check.flow.variable(file, scope, name);
                if check.containers.has_losses(At { place, depth: 0 })
                    || check.flow.assigned(place).any(|(_, assign)| !matches!(assign.how, Bound::Augmented(_)))
                {
                    continue;
                }
                let grows = check.containers.additions(At { place, depth: 0 }).find(|adds| {
                    let grows = match adds.kind {
                        Kind::Add => true,
                        // An update of a dictionary mostly sets the same few keys again.
                        Kind::Extend => !is_mapping(default),
                        Kind::Item => adds.key.is_some(),
                        _ => false,
                    };
                    grows
                        && adds.container.is_some_and(|container| {
                            check.containers.bound(adds.file, adds.scope, adds.block, container, adds.key).is_none()
                                && check.containers.is_never_emptied(adds.file, adds.scope, container)
                        })
                });
                if let Some(adds) = grows {
                    let what = format!(
                        "every call of `{}` without `{name}` adds to the same {}, which was made with the function",
                        model.qualified_name(scope),
                        code(check, file, default)
                    );
                    let is_cache = adds.key.is_some_and(|key| is_looked_up(check, file, name, key, function.range()));
                    let confidence = if is_cache { Confidence::Low } else { Confidence::High };
                    hits.push(Hit::new(file, adds.offset).saying(what).with(confidence));
                }
            }
        }
    }
    hits
}

/// Whether a function reads an entry by the key that it also sets: a cache, and meant as one.
fn is_looked_up(check: &Check, file: FileId, name: &str, key: &Expr, function: TextRange) -> bool {
    let key = check.text(file, key.range());
    let text = check.text(file, function);
    let entry = [format!("{name}[{key}]"), format!("{name}[{}]", key.trim_matches(['(', ')']))];
    entry.iter().any(|entry| text.matches(entry.as_str()).count() > 1) || text.contains(&format!("{name}.get({key}"))
}

/// `[]`, `{}`, `set()`, `list()`, `dict()`, `defaultdict(list)`: made once, when the function is.
fn is_new(default: &Expr) -> bool {
    match default {
        Expr::List(_) | Expr::Dict(_) | Expr::Set(_) => true,
        Expr::Call(call) => {
            matches!(&*call.func, Expr::Name(name) if matches!(name.id.as_str(), "list" | "dict" | "set" | "defaultdict" | "OrderedDict"))
        }
        _ => false,
    }
}

fn is_mapping(default: &Expr) -> bool {
    default.is_dict_expr()
        || matches!(default, Expr::Call(call)
            if matches!(&*call.func, Expr::Name(name) if matches!(name.id.as_str(), "dict" | "defaultdict" | "OrderedDict")))
}

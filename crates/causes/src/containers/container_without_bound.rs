//! LT301: A container grows without bound.

use crate::kept::{Sort, sort};
use crate::keys::never_repeats;
use crate::words::{code, function};
use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::ask::words;
use lowtide_lint::check::{Check, Confidence, Hit, Put};
use lowtide_lint::feeds::Kind;
use lowtide_lint::flow::{ClassId, Place};
use lowtide_lint::model::Expr;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT301",
    name: "container-without-bound",
    title: "A container grows without bound",
    severity: Severity::Leak,
    happens: "Something is appended, added or filed at every step, and nothing is ever taken out.",
    keeps: "The container holds every element, and each element all that it refers to.",
    shows: "A straight line per step or per epoch; the container's number of elements is that of the steps.",
    fix: Fix {
        text: "Decide how much of it is needed: a number, the last N (`deque(maxlen=N)`), or a file.",
        language: Language::Python,
        before: r#"self.trace.append(record)"#,
        after: r#"self.trace = collections.deque(maxlen=1000)
self.trace.append(record)"#,
    },
    harmless: "A container with a ceiling: of data-set size, of classes, of layers.",
    sources: &["https://docs.python.org/3/library/collections.html"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    let keeps_to_give = matches!(live.statement, Some(Kind::Cycle | Kind::Split));
    (keeps_to_give || live.adds_to_container() || live.statement == Some(Kind::Call) && live.container.is_some()).then_some(40)
}

/// Something is put somewhere for good that no other rule is about. How large it is the source does not tell: a hint. And data that
/// nobody ever reads again.
fn rule(check: &Check) -> Vec<Hit> {
    let other = check
        .kept_for_good()
        .iter()
        .filter(|put| sort(check, put) == Sort::Other && put.key.is_none_or(|key| !never_repeats(check, put, key)));
    let hints = other.map(|put| {
        Hit::new(put.file, put.offset).with(Confidence::Low).saying(format!(
            "{} gets {} each time that {} runs, and nothing ever takes one out",
            code(check, put.file, put.container),
            code(check, put.file, put.value),
            function(check, put.file, put.scope)
        ))
    });
    let mut hits: Vec<Hit> = hints.collect();
    for (file, model) in check.files() {
        for put in check.puts(file, model).iter().filter(|put| is_never_read(check, put)) {
            hits.push(Hit::new(file, put.offset).with(Confidence::Medium).saying(format!(
                "{} gets {} each time that {} runs; nothing ever takes one out or reads one",
                code(check, file, put.container),
                code(check, file, put.value),
                function(check, file, put.scope)
            )));
        }
    }
    hits
}

/// Whether an attribute gets data again and again and is named nowhere but where it is made and where it gets more.
fn is_never_read<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    let Expr::Attribute(attribute) = put.container else { return false };
    let name = attribute.attr.as_str();
    let model = check.flow.models.of(put.file);
    let Some((class, _)) = model.method_of(put.scope) else { return false };
    let class = ClassId { file: put.file, scope: class };
    let own = check.flow.own_class(put.file, put.scope, &attribute.value) == Some(class);
    let again = || model.function_of(put.scope).is_some_and(|function| check.is_called_again(put.file, function));
    // Others may read what the objects of a class of theirs have.
    if !own || put.key.is_some() || check.containers.is_foreign(class) || check.autograd.is_module(class) || !again() {
        return false;
    }
    let named: usize = check.flow.models.iter().map(|(_, model)| words(model.source.text(), name)).sum();
    let all = check.flow.put_into(Place::Attribute(class, name)).count();
    let made = check.values(put.file, put.scope, put.container);
    let empty = |value: &Expr| matches!(value, Expr::List(list) if list.elts.is_empty());
    !made.is_empty()
        && made.iter().all(|(_, _, value)| empty(value))
        && named == all + made.len()
        && check.value(put.file, put.scope, put.block, put.value).is_data()
        && check.containers.bound(put.file, put.scope, put.block, put.container, put.key).is_none()
        // What others tell of it is more.
        && !check.kept_for_good().iter().any(|other| (other.file, other.offset) == (put.file, put.offset))
        && !super::logger_keeps_values::keeps(check, put)
}

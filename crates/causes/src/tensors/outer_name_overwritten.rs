//! LT209: A loop variable overwrites an outer name.

use crate::{Cause, Fix, Language, Severity};
use lowtide_lint::ask::{last_name, names_in};
use lowtide_lint::check::{Check, Confidence, Hit};
use lowtide_lint::model::{BlockKind, Expr, Ranged, Stmt, dotted};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT209",
    name: "outer-name-overwritten",
    title: "A loop variable overwrites an outer name",
    severity: Severity::Habit,
    happens: "A comprehension's or a loop's variable has the name of something outside that is still used: `node`, \
                  `model`, `x`.",
    keeps: "The name now means the last element. What was meant to be released by `del` or by moving it away is \
                another object, and stays.",
    shows: "Something that should be freed after its turn is not: memory climbs by one per round.",
    fix: Fix {
        text: "Give the inner variable another name.",
        language: Language::Python,
        before: r#"for node in nodes:
    for node in node.neighbours:
        train(node)
    node.to("cpu")"#,
        after: r#"for node in nodes:
    for neighbour in node.neighbours:
        train(neighbour)
    node.to("cpu")"#,
    },
    harmless: "Comprehensions have a scope of their own in Python 3.",
    sources: &["https://docs.python.org/3/reference/compound_stmts.html#the-for-statement"],
    signature: None,
    rule: Some(rule),
};

/// A loop inside a loop has the same variable, and after it something of that name is released.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        for block in &model.blocks {
            let BlockKind::For(outer) = block.kind else { continue };
            let outer_names = names_in(&outer.target);
            let mut body = outer.body.iter();
            let mut before: Vec<&Stmt> = Vec::new();
            while let Some(stmt) = body.next() {
                before.push(stmt);
                let Stmt::For(inner) = stmt else { continue };
                let inner_names = names_in(&inner.target);
                // A name from outside of both loops, that the next round of the outer one reads again.
                let from_outside = inner_names.iter().find(|name| {
                    let bindings = model.bindings(block.scope, name);
                    let (own, others): (Vec<_>, Vec<_>) =
                        bindings.iter().partition(|each| outer.range().contains_range(each.range));
                    own.len() == 1
                        && others.iter().any(|each| each.range.start() < outer.start())
                        && before.iter().rev().skip(1).any(|stmt| has_word(check, file, stmt, name))
                });
                if let Some(name) = from_outside.filter(|_| !is_count(&inner.iter)) {
                    hits.push(Hit::new(file, inner.start()).with(Confidence::Low).saying(format!(
                        "from here on `{name}` means the last element of this loop, in the next rounds of the outer loop, too"
                    )));
                }
                let Some(name) = outer_names.iter().find(|name| inner_names.contains(*name)) else { continue };
                if body.clone().any(|after| releases(after, name)) {
                    hits.push(Hit::new(file, inner.start()).saying(format!(
                        "after this loop `{name}` means its last element: what the outer loop's `{name}` was is not released"
                    )));
                } else if !is_count(&inner.iter) && body.clone().any(|after| reads_first(check, file, after, name)) {
                    // Whether the other one holds anything the source does not tell.
                    hits.push(Hit::new(file, inner.start()).with(Confidence::Low).saying(format!(
                        "after this loop `{name}` means its last element, and no more what it was in the outer loop"
                    )));
                }
            }
        }
    }
    hits
}

/// `range(n)`: a number holds nothing.
fn is_count(iterable: &Expr) -> bool {
    matches!(iterable, Expr::Call(call) if last_name(&call.func) == Some("range"))
}

/// Whether a statement has a name in it, and gives it no new value.
fn reads_first(check: &Check, file: FileId, stmt: &Stmt, name: &str) -> bool {
    let anew = match stmt {
        Stmt::Assign(each) => {
            each.targets.iter().any(|target| matches!(target, Expr::Name(target) if target.id.as_str() == name))
        }
        Stmt::For(each) => matches!(&*each.target, Expr::Name(target) if target.id.as_str() == name),
        _ => false,
    };
    !anew && has_word(check, file, stmt, name)
}

fn has_word(check: &Check, file: FileId, stmt: &Stmt, name: &str) -> bool {
    let text = check.text(file, stmt.range());
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|word| word == name)
}

/// `del x`, `x.to("cpu")`, `x.close()`, `x = None`.
fn releases(stmt: &Stmt, name: &str) -> bool {
    let is_it = |expr: &Expr| dotted(expr).is_some_and(|parts| parts.first() == Some(&name));
    match stmt {
        Stmt::Delete(delete) => delete.targets.iter().any(is_it),
        Stmt::Expr(each) => match &*each.value {
            Expr::Call(call) => matches!(&*call.func, Expr::Attribute(method)
                if matches!(method.attr.as_str(), "to" | "cpu" | "clear" | "close" | "free" | "release" | "unload" | "reset" | "cleanup")
                    && is_it(&method.value)),
            _ => false,
        },
        Stmt::Assign(each) => {
            // An attribute of it; the name itself would be the loop's own.
            each.value.is_none_literal_expr() && each.targets.iter().any(|target| target.is_attribute_expr() && is_it(target))
        }
        _ => false,
    }
}

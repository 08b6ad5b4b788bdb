//! LT209: A loop variable overwrites an outer name.

use crate::{Cause, Fix, Language, Severity};
use lowtide_lint::check::{Check, Hit};
use lowtide_lint::model::{BlockKind, Expr, Ranged, Stmt, dotted};

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
            let Expr::Name(name) = &*outer.target else { continue };
            let mut body = outer.body.iter();
            while let Some(stmt) = body.next() {
                let Stmt::For(inner) = stmt else { continue };
                let same = matches!(&*inner.target, Expr::Name(target) if target.id == name.id);
                if same && body.clone().any(|after| releases(after, name.id.as_str())) {
                    hits.push(Hit::new(file, inner.start()).saying(format!(
                        "after this loop `{name}` means its last element: what the outer loop's `{name}` was is not released",
                        name = name.id
                    )));
                }
            }
        }
    }
    hits
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

//! A longer one in the place of what was there: `xs = xs + [x]`, `out = torch.cat([out, x])`.

use ruff_python_ast::{CmpOp, ExprCall};

use super::ops::name_of;
use crate::model::{Expr, Operator};

/// Functions that give a longer one of what they are given.
const JOINERS: &[&str] = &[
    "append",
    "cat",
    "chain",
    "column_stack",
    "concat",
    "concatenate",
    "dstack",
    "hstack",
    "insert",
    "merge",
    "row_stack",
    "stack",
    "union",
    "vstack",
];
/// Methods that give a longer one of what they are called on, in a library where they do not change it in place.
const METHODS: &[&str] = &["append", "concat", "union"];
/// Methods that give the same again, wherever it lies and of whatever type.
const SAME: &[&str] = &[
    "astype",
    "clone",
    "contiguous",
    "copy",
    "cpu",
    "cuda",
    "detach",
    "double",
    "float",
    "half",
    "long",
    "numpy",
    "requires_grad_",
    "reset_index",
    "to",
];

/// How an expression is held against what was there.
pub(crate) struct Old<'a, 'p> {
    /// It is the same object.
    pub same: &'a dyn Fn(&'p Expr) -> bool,
    /// It is the same, or made of it alone: `list(xs)`, `*xs`, `xs.items()`.
    pub mentions: &'a dyn Fn(&'p Expr) -> bool,
}

impl<'p> Old<'_, 'p> {
    /// What a value has besides what was there before; `None` where it is no longer one of that.
    pub fn added(&self, value: &'p Expr) -> Option<Vec<&'p Expr>> {
        match value {
            Expr::BinOp(each) if matches!(each.op, Operator::Add | Operator::BitOr) => {
                if (self.same)(&each.left) {
                    return Some(vec![&each.right]);
                }
                if (self.same)(&each.right) {
                    return Some(vec![&each.left]);
                }
                let mut more = self.added(&each.left)?;
                more.push(&each.right);
                Some(more)
            }
            Expr::List(each) => self.spread(&each.elts),
            Expr::Set(each) => self.spread(&each.elts),
            Expr::Tuple(each) => self.spread(&each.elts),
            Expr::Dict(each) => {
                let old = |of: &'p Expr| (self.mentions)(of);
                let found = each.items.iter().any(|item| item.key.is_none() && old(&item.value));
                found.then(|| each.items.iter().map(|item| &item.value).filter(|value| !old(value)).collect())
            }
            // `x if xs is None else torch.cat([xs, x])`: the first time there is nothing yet.
            Expr::If(each) if self.asks(&each.test) => self.added(&each.body).or_else(|| self.added(&each.orelse)),
            Expr::Call(call) => self.joined(call).or_else(|| self.added(again(value)?)),
            _ => None,
        }
    }

    fn spread(&self, elements: &'p [Expr]) -> Option<Vec<&'p Expr>> {
        let old = |element: &'p Expr| element.is_starred_expr() && (self.mentions)(element);
        elements.iter().any(old).then(|| elements.iter().filter(|element| !old(element)).collect())
    }

    fn joined(&self, call: &'p ExprCall) -> Option<Vec<&'p Expr>> {
        let name = name_of(call)?;
        let arguments = &call.arguments;
        if METHODS.contains(&name)
            && let Expr::Attribute(method) = &*call.func
            && self.is_old(&method.value)
        {
            return Some(arguments.args.iter().collect());
        }
        if !JOINERS.contains(&name) {
            return None;
        }
        let mut given = arguments.args.iter().chain(arguments.keywords.iter().map(|keyword| &keyword.value));
        // Of `torch.cat(xs, 0)` it is not to be seen that there is more than there was.
        let parts: Vec<&'p Expr> = match given.find(|argument| argument.is_list_expr() || argument.is_tuple_expr()) {
            Some(Expr::List(each)) => each.elts.iter().collect(),
            Some(Expr::Tuple(each)) => each.elts.iter().collect(),
            _ => arguments.args.iter().filter(|argument| !argument.is_number_literal_expr()).collect(),
        };
        let (old, added): (Vec<&'p Expr>, Vec<&'p Expr>) = parts.into_iter().partition(|part| self.is_old(part));
        (!old.is_empty() && !added.is_empty()).then_some(added)
    }

    /// `xs`, `xs.cpu()`
    fn is_old(&self, part: &'p Expr) -> bool {
        (self.same)(part) || again(part).is_some_and(|inner| self.is_old(inner))
    }

    /// `xs is None`, `xs`, `not xs`, `len(xs) == 0`, `xs.numel()`
    fn asks(&self, test: &'p Expr) -> bool {
        match test {
            Expr::Compare(each) if each.ops.iter().all(|op| !matches!(op, CmpOp::In | CmpOp::NotIn)) => {
                (self.mentions)(&each.left)
            }
            Expr::UnaryOp(each) => each.op.is_not() && (self.mentions)(&each.operand),
            other => (self.mentions)(other),
        }
    }
}

/// What a method is called on that gives the same again.
fn again(value: &Expr) -> Option<&Expr> {
    let Expr::Call(call) = value else { return None };
    let Expr::Attribute(method) = &*call.func else { return None };
    SAME.contains(&method.attr.as_str()).then_some(&*method.value)
}

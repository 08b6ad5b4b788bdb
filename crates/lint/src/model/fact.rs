//! What happens in a file, as flat lists.

use ruff_python_ast::{Expr, ExprCall, Operator};
use ruff_text_size::TextRange;

use super::{BlockId, ScopeId, Way};

/// A place gets a value.
#[derive(Clone, Copy, Debug)]
pub struct Assign<'a> {
    /// The place: a name, an attribute, an item. Tuples are taken apart.
    pub target: &'a Expr,
    /// Where the value comes from.
    pub value: &'a Expr,
    /// How it gets there.
    pub how: Bound,
    /// Which part of the value that is, as far as the statement tells.
    pub part: Way<'a>,
    /// The whole statement.
    pub range: TextRange,
    /// Where it stands.
    pub block: BlockId,
    /// The scope it stands in.
    pub scope: ScopeId,
}

/// How a value gets to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// It is the value.
    Whole,
    /// It is one of the elements of the value (a loop variable).
    Element,
    /// It is some part of the value that is not told (`a, b = f()`).
    Part,
    /// It is combined with the old one (`+=`).
    Augmented(Operator),
    /// It is what the value gives on entering (`with value as target`).
    Entered,
}

/// A call.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The call.
    pub call: &'a ExprCall,
    /// The statement that it is a part of.
    pub statement: TextRange,
    /// Where it stands.
    pub block: BlockId,
    /// The scope it stands in.
    pub scope: ScopeId,
}

/// What a function gives.
#[derive(Clone, Copy, Debug)]
pub struct Result<'a> {
    /// The value.
    pub value: &'a Expr,
    /// Whether it is yielded, so that the caller gets it as an element.
    pub yielded: bool,
    /// The function.
    pub scope: ScopeId,
    /// Where it stands.
    pub block: BlockId,
}

/// A `del`.
#[derive(Clone, Copy, Debug)]
pub struct Delete<'a> {
    /// The name, attribute or item.
    pub target: &'a Expr,
    /// Where it stands.
    pub block: BlockId,
    /// The scope it stands in.
    pub scope: ScopeId,
}

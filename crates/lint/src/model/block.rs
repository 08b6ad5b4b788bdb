//! The blocks that statements stand in.

use ruff_python_ast::{Expr, StmtFor, StmtWhile, StmtWith};

use super::ScopeId;

/// Index of a block in its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

/// A block of statements, or the part of an expression that runs again and again.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// The block around it.
    pub parent: Option<BlockId>,
    /// What it is.
    pub kind: BlockKind<'a>,
    /// The scope that its names live in.
    pub scope: ScopeId,
}

/// What a block is.
#[derive(Clone, Copy, Debug)]
pub enum BlockKind<'a> {
    /// The file.
    Module,
    /// A class.
    Class,
    /// A function or a lambda.
    Function,
    /// The body of `for`.
    For(&'a StmtFor),
    /// The body of `while`.
    While(&'a StmtWhile),
    /// What a comprehension computes for each element.
    Comprehension,
    /// The body of `if` or `elif`, with its condition; the branch of a conditional expression, too.
    If(&'a Expr),
    /// What runs where the conditions before were not met.
    Else,
    /// The body of `with`.
    With(&'a StmtWith),
    /// The body of `try`, its `else` and `finally`.
    Try,
    /// The body of `except`.
    Except,
    /// A case of `match`.
    Case,
}

impl BlockKind<'_> {
    /// Whether names inside live in a scope of their own and the code runs at another time.
    #[must_use]
    pub fn is_scope(&self) -> bool {
        matches!(self, Self::Module | Self::Class | Self::Function)
    }

    /// Whether it runs again and again.
    #[must_use]
    pub fn is_loop(&self) -> bool {
        matches!(self, Self::For(_) | Self::While(_) | Self::Comprehension)
    }

    /// Whether it may not run at all although what stands around it does (a loop over nothing does not count).
    #[must_use]
    pub fn is_conditional(&self) -> bool {
        matches!(self, Self::If(_) | Self::Else | Self::Except | Self::Case)
    }
}

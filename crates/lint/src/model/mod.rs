//! What names mean in one file: scopes, bindings, imports, the blocks that statements stand in, and flat lists of what
//! happens (assignments, calls, returns, deletions).
//!
//! Everything is collected in one walk over the tree. Whoever asks questions of a program (which statements add to this
//! list, does this tensor carry a graph) reads the flat lists and never walks the tree again.

mod block;
mod build;
mod element;
mod fact;
mod name;
mod scope;
mod way;

pub use block::{Block, BlockId, BlockKind};
pub use element::elements_of;
pub use fact::{Assign, Bound, Call, Delete, Result};
pub use name::dotted;
pub use ruff_python_ast::{CmpOp, Comprehension, Decorator, Expr, ExprCall, ExprSubscript, Number, Operator, Stmt};
pub use ruff_text_size::{Ranged, TextRange, TextSize};
pub use scope::{Binding, BindingKind, Scope, ScopeId, ScopeKind};
pub use way::{Item, Way};

use crate::source::Source;
use crate::table::{HashMap, HashSet};

/// What names mean in one file.
#[derive(Debug)]
pub struct Model<'a> {
    /// The file.
    pub source: &'a Source,
    /// Its scopes; the first is the module's.
    pub scopes: Vec<Scope<'a>>,
    /// The blocks that statements stand in; the first is the module's.
    pub blocks: Vec<Block<'a>>,
    /// Everything that is bound to a place: assignments, loop variables, `with ... as`.
    pub assigns: Vec<Assign<'a>>,
    /// Every call.
    pub calls: Vec<Call<'a>>,
    /// Every `return` and `yield` with a value.
    pub results: Vec<Result<'a>>,
    /// The name of every attribute that is read or written.
    pub attributes: HashSet<&'a str>,
    /// Every `del`.
    pub deletes: Vec<Delete<'a>>,
    /// The scopes that bind each name.
    binders: HashMap<&'a str, Binders>,
    /// The calls by name.
    called: Called<'a>,
}

/// The scopes that bind a name: mostly one.
#[derive(Debug)]
struct Binders {
    first: ScopeId,
    more: Vec<ScopeId>,
}

/// Calls by the last name of what is called.
#[derive(Debug, Default)]
struct Called<'a> {
    /// Their places in the list of all.
    by_name: HashMap<&'a str, Vec<usize>>,
    /// The names that imports give to what has another, by the last name that it has there.
    renamed: HashMap<String, Vec<&'a str>>,
}

impl<'a> Called<'a> {
    fn of(calls: &[Call<'a>], scopes: &[Scope<'a>]) -> Self {
        let mut called = Self::default();
        for (call, at) in calls.iter().zip(0..) {
            if let Some(name) = crate::ask::last_name(call.call.func.as_ref()) {
                called.by_name.entry(name).or_default().push(at);
            }
        }
        for (name, bindings) in scopes.iter().flat_map(|scope| &scope.names) {
            for binding in bindings {
                if let BindingKind::Import { path, .. } = &binding.kind
                    && let Some(last) = path.rsplit('.').next().filter(|last| last != name)
                {
                    called.renamed.entry(last.to_owned()).or_default().push(name);
                }
            }
        }
        called
    }
}

impl<'a> Model<'a> {
    /// Reads a file's tree.
    #[must_use]
    pub fn new(source: &'a Source) -> Self {
        let mut model = build::build(source);
        model.called = Called::of(&model.calls, &model.scopes);
        model
    }

    /// The scope of this id.
    #[must_use]
    pub fn scope(&self, id: ScopeId) -> &Scope<'a> {
        &self.scopes[id.0 as usize]
    }

    /// The block of this id.
    #[must_use]
    pub fn block(&self, id: BlockId) -> &Block<'a> {
        &self.blocks[id.0 as usize]
    }

    /// The block and those around it, up to the function, class or module that it stands in, that one included.
    pub fn blocks_within(&self, id: BlockId) -> impl Iterator<Item = &Block<'a>> {
        self.with_blocks_within(id).map(|(_, block)| block)
    }

    /// The same, with their numbers.
    pub fn with_blocks_within(&self, id: BlockId) -> impl Iterator<Item = (BlockId, &Block<'a>)> {
        let mut next = Some(id);
        std::iter::from_fn(move || {
            let id = next?;
            let block = self.block(id);
            next = if block.kind.is_scope() { None } else { block.parent };
            Some((id, block))
        })
    }

    /// The calls whose last name is one of these, or was before an import gave it another; in the order of the text.
    #[must_use]
    pub fn calls_named(&self, names: &[&str]) -> Vec<&Call<'a>> {
        let called = &self.called;
        let renamed = names.iter().filter_map(|name| called.renamed.get(*name)).flatten().copied();
        let by_name = names.iter().copied().chain(renamed).filter_map(|name| called.by_name.get(name));
        let mut found: Vec<usize> = by_name.flatten().copied().collect();
        found.sort_unstable();
        found.dedup();
        found.into_iter().map(|at| &self.calls[at]).collect()
    }

    /// How many loops stand around a block inside its function (comprehensions among them).
    #[must_use]
    pub fn loops(&self, id: BlockId) -> usize {
        self.blocks_within(id).filter(|block| block.kind.is_loop()).count()
    }
}

#[cfg(test)]
mod tests;

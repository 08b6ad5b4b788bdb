//! What a dotted expression names, through imports and their aliases.

use ruff_python_ast::Expr;
use smallvec::SmallVec;

use super::{BindingKind, Model, ScopeId};

/// The parts of `a.b.c`; none where it is anything but names and dots.
#[must_use]
pub fn dotted(expr: &Expr) -> Option<SmallVec<[&str; 4]>> {
    let mut parts = SmallVec::new();
    let mut at = expr;
    loop {
        match at {
            Expr::Attribute(attribute) => {
                parts.push(attribute.attr.as_str());
                at = &attribute.value;
            }
            Expr::Name(name) => {
                parts.push(name.id.as_str());
                parts.reverse();
                return Some(parts);
            }
            _ => return None,
        }
    }
}

impl Model<'_> {
    /// The full name of what an expression names: `F.relu` after `import torch.nn.functional as F` is
    /// `torch.nn.functional.relu`, a built-in is its bare name. None for what the file itself defines and for what is no
    /// name. Relative imports keep their dots.
    #[must_use]
    pub fn full_name(&self, scope: ScopeId, expr: &Expr) -> Option<String> {
        let parts = dotted(expr)?;
        let (first, rest) = parts.split_first()?;
        let mut name = match self.owner(scope, first) {
            None => (*first).to_owned(),
            Some(owner) => match &self.scope(owner).bindings(first).last()?.kind {
                BindingKind::Import { path, level } => format!("{}{path}", ".".repeat(*level as usize)),
                _ => return None,
            },
        };
        for part in rest {
            name.push('.');
            name.push_str(part);
        }
        Some(name)
    }
}

//! What is put into containers, one by one.

use super::Check;
use crate::feeds::Bound as Limit;
use crate::model::{BlockId, Bound, Expr, Model, Operator, Ranged, ScopeId, TextSize};
use crate::program::FileId;

/// One value is put into a container.
#[derive(Clone, Copy, Debug)]
pub struct Put<'p> {
    /// The file.
    pub file: FileId,
    /// The scope it stands in.
    pub scope: ScopeId,
    /// Where it stands.
    pub block: BlockId,
    /// The container, as it is written.
    pub container: &'p Expr,
    /// What is put into it.
    pub value: &'p Expr,
    /// The key of an entry.
    pub key: Option<&'p Expr>,
    /// Where the statement begins.
    pub offset: TextSize,
}

impl<'p> Check<'_, 'p> {
    /// Everything that a file puts into a container: `xs.append(x)`, `d[k] = x`, `xs += [x]`.
    #[must_use]
    pub fn puts(&self, file: FileId, model: &Model<'p>) -> Vec<Put<'p>> {
        // Many rules ask.
        if let Some(puts) = self.puts.borrow().get(&file) {
            return puts.clone();
        }
        let puts = self.find_puts(file, model);
        self.puts.borrow_mut().insert(file, puts.clone());
        puts
    }

    fn find_puts(&self, file: FileId, model: &Model<'p>) -> Vec<Put<'p>> {
        let mut puts = Vec::new();
        for call in &model.calls {
            let (Expr::Attribute(method), scope, block) = (&*call.call.func, call.scope, call.block) else { continue };
            let args = &call.call.arguments.args;
            let (key, value) = match (method.attr.as_str(), &**args) {
                ("append" | "appendleft" | "add", [value]) | ("insert", [_, value]) => (None, value),
                ("setdefault", [key, value]) => (Some(key), value),
                _ => continue,
            };
            // What a method of the program's own does with it is told by its own statements.
            if self.flow.callee(file, scope, &call.call.func).is_none() {
                puts.push(Put { file, scope, block, container: &method.value, value, key, offset: call.call.start() });
            }
        }
        for assign in &model.assigns {
            let (scope, block, offset) = (assign.scope, assign.block, assign.target.start());
            match (assign.how, assign.target, assign.value) {
                (Bound::Whole, Expr::Subscript(item), value) if !item.slice.is_slice_expr() => {
                    let (container, key) = (&*item.value, Some(&*item.slice));
                    puts.push(Put { file, scope, block, container, value, key, offset });
                }
                (Bound::Augmented(Operator::Add), container, Expr::List(list)) => {
                    puts.extend(list.elts.iter().map(|value| Put { file, scope, block, container, value, key: None, offset }));
                }
                _ => {}
            }
        }
        puts
    }

    /// What bounds the container of something that is put into it, whatever happens.
    #[must_use]
    pub fn firm_bound(&self, put: &Put<'p>) -> Option<Limit> {
        self.containers.bound(put.file, put.scope, put.block, put.container, put.key).filter(Limit::is_firm)
    }

    /// Whether the container of something that is put into it gets only more: nothing bounds it for sure, and nothing anywhere
    /// takes anything out of it.
    #[must_use]
    pub fn gets_only_more(&self, put: &Put<'p>) -> bool {
        self.firm_bound(put).is_none() && self.containers.is_never_emptied(put.file, put.scope, put.container)
    }

    /// What is put somewhere for good ([`Check::is_kept_for_good`]).
    pub fn kept_for_good(&self) -> &[Put<'p>] {
        self.kept.get_or_init(|| {
            let all = self.files().flat_map(|(file, model)| self.puts(file, model));
            all.filter(|put| self.is_kept_for_good(put.file, put.scope, put.block, put.container, put.key)).collect()
        })
    }
}

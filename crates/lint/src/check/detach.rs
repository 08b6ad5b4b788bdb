//! The fix for what is kept with its graph: the value without it.

use super::Check;
use crate::fix::{Edit, Fix, Safety};
use crate::model::{BlockId, Bound, Expr, Operator, ScopeId};
use crate::program::FileId;

/// Nested expressions that are looked into.
const MAX_NESTING: usize = 12;
/// Functions of torch and of `torch.nn.functional` that give one tensor, whatever they are given.
const ONE_TENSOR: &[&str] = &[
    "abs",
    "bmm",
    "cat",
    "clamp",
    "cross_entropy",
    "dropout",
    "einsum",
    "exp",
    "gelu",
    "layer_norm",
    "linear",
    "log",
    "log_softmax",
    "matmul",
    "mm",
    "mse_loss",
    "nll_loss",
    "normalize",
    "relu",
    "sigmoid",
    "silu",
    "softmax",
    "sqrt",
    "stack",
    "tanh",
];
/// Layers of `torch.nn` that give one tensor.
const LAYERS: &[&str] = &[
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "Flatten",
    "GELU",
    "L1Loss",
    "LayerNorm",
    "Linear",
    "MSELoss",
    "NLLLoss",
    "ReLU",
    "Sigmoid",
    "SiLU",
    "Softmax",
    "Tanh",
];

impl<'p> Check<'_, 'p> {
    /// `.detach()` behind what carries the graph in an expression; none where no part of it is known to.
    ///
    /// Safe where each such part is surely a tensor, and nobody can use what is taken away: its graph is gone once the step is
    /// over because `backward` has freed it, or nothing that `holder` keeps is ever used with its graph.
    #[must_use]
    pub fn detach(&self, file: FileId, scope: ScopeId, block: BlockId, expr: &'p Expr, holder: &'p Expr) -> Option<Fix> {
        let mut parts = Vec::new();
        self.parts(file, scope, block, expr, MAX_NESTING, &mut parts);
        // In `a = b = x` the value of `b` is also said to be `a`, behind which nothing can stand.
        let is_target = |part: &&Expr| matches!(part, Expr::Name(name) if name.ctx.is_store());
        if parts.is_empty() || parts.iter().any(is_target) {
            return None;
        }
        let spent = || !self.retains(file) && parts.iter().all(|part| self.is_spent(file, scope, block, part, MAX_NESTING));
        let unused = || {
            let scaled = matches!(expr, Expr::BinOp(_));
            (scaled || parts.iter().all(|part| self.is_surely_tensor(file, scope, part, MAX_NESTING)))
                && self.is_graph_unused(file, scope, holder)
        };
        let safe = spent() || unused();
        let edits = parts.iter().flat_map(|part| Edit::behind(part, ".detach()")).collect();
        Some(Fix { safety: if safe { Safety::Safe } else { Safety::Unsafe }, edits })
    }

    /// The parts of a display that carry a graph; of a scaled value the value.
    fn parts(&self, file: FileId, scope: ScopeId, block: BlockId, expr: &'p Expr, nesting: usize, found: &mut Vec<&'p Expr>) {
        let Some(nesting) = nesting.checked_sub(1) else { return };
        if !self.autograd.carries(file, scope, block, expr) {
            return;
        }
        match expr {
            Expr::Tuple(each) => each.elts.iter().for_each(|part| self.parts(file, scope, block, part, nesting, found)),
            Expr::List(each) => each.elts.iter().for_each(|part| self.parts(file, scope, block, part, nesting, found)),
            Expr::Dict(each) => {
                each.items.iter().for_each(|item| self.parts(file, scope, block, &item.value, nesting, found));
            }
            Expr::BinOp(each) if matches!(each.op, Operator::Mult | Operator::Div) => {
                let sides = [&*each.left, &*each.right];
                sides.into_iter().for_each(|side| self.parts(file, scope, block, side, nesting, found));
            }
            _ => found.push(expr),
        }
    }

    /// Whether a value is surely a tensor, computed from nothing with a graph but what `backward` is called on.
    fn is_spent(&self, file: FileId, scope: ScopeId, block: BlockId, expr: &'p Expr, nesting: usize) -> bool {
        let Some(nesting) = nesting.checked_sub(1) else { return false };
        match expr {
            Expr::BinOp(each) => [&*each.left, &*each.right]
                .into_iter()
                .all(|side| !self.autograd.carries(file, scope, block, side) || self.is_spent(file, scope, block, side, nesting)),
            _ => {
                let places = self.flow.places(file, scope, expr);
                !places.is_empty() && places.iter().all(|at| at.depth == 0 && self.autograd.is_scalar(at.place))
            }
        }
    }

    /// Whether a value is a tensor for sure: a function of torch or a layer of its own gave it.
    #[must_use]
    pub fn is_tensor(&self, file: FileId, scope: ScopeId, expr: &'p Expr) -> bool {
        self.is_surely_tensor(file, scope, expr, MAX_NESTING)
    }

    /// Whether a value is a tensor for sure, so that it has `detach`: a function of torch or a layer of its own gave it, or it is
    /// computed from one that is.
    fn is_surely_tensor(&self, file: FileId, scope: ScopeId, expr: &'p Expr, nesting: usize) -> bool {
        let Some(nesting) = nesting.checked_sub(1) else { return false };
        let inner = |expr: &'p Expr| self.is_surely_tensor(file, scope, expr, nesting);
        match expr {
            Expr::BinOp(each) => inner(&each.left) || inner(&each.right),
            Expr::UnaryOp(each) => inner(&each.operand),
            Expr::Name(_) => {
                let places = self.flow.places(file, scope, expr);
                let mut assigned = places.iter().flat_map(|at| self.flow.assigned(at.place)).peekable();
                assigned.peek().is_some()
                    && places.iter().all(|at| at.depth == 0)
                    && assigned.all(|(of, assign)| match assign.how {
                        Bound::Whole => self.is_surely_tensor(*of, assign.scope, assign.value, nesting),
                        Bound::Augmented(_) => true,
                        _ => false,
                    })
            }
            Expr::Call(call) => {
                let model = self.flow.models.of(file);
                let name = model.full_name(scope, &call.func).unwrap_or_default();
                if let Some(function) = name.strip_prefix("torch.") {
                    return ONE_TENSOR.contains(&function.trim_start_matches("nn.functional."));
                }
                if let Some((of, function)) = self.flow.callee(file, scope, &call.func) {
                    let model = self.flow.models.of(of);
                    let mut results = model.results.iter().filter(|result| result.scope == function).peekable();
                    return results.peek().is_some()
                        && results
                            .all(|result| !result.yielded && self.is_surely_tensor(of, result.scope, result.value, nesting));
                }
                let is_layer = |value: &Expr, file: FileId, scope| {
                    let Expr::Call(made) = value else { return false };
                    let name = self.flow.models.of(file).full_name(scope, &made.func);
                    name.is_some_and(|name| name.strip_prefix("torch.nn.").is_some_and(|layer| LAYERS.contains(&layer)))
                };
                let mut made = self.values(file, scope, &call.func).into_iter().peekable();
                made.peek().is_some() && made.all(|(file, scope, value)| is_layer(value, file, scope))
            }
            _ => false,
        }
    }

    /// Whether a file keeps graphs beyond `backward` on purpose.
    fn retains(&self, file: FileId) -> bool {
        self.flow.models.of(file).calls.iter().any(|call| {
            call.call
                .arguments
                .keywords
                .iter()
                .any(|keyword| keyword.arg.as_ref().is_some_and(|arg| matches!(arg.as_str(), "retain_graph" | "create_graph")))
        })
    }
}

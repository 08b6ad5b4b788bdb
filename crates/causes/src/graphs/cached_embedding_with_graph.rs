//! LT104: Cached embeddings are used again with the graph that made them.

use super::output_kept_with_graph::keeps;
use crate::words::code;
use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::check::{Check, Hit, Put};
use lowtide_lint::feeds::Kind;
use lowtide_lint::flow::Place;
use lowtide_lint::model::{Assign, BlockKind, Bound, CmpOp, Expr, Ranged};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT104",
    name: "cached-embedding-with-graph",
    title: "Cached embeddings are used again with the graph that made them",
    severity: Severity::Leak,
    happens: "Embeddings are stored on first use and read at every later one. What is stored still requires gradients.",
    keeps: "The first graph stays as long as the cache. Worse, where the cached value goes into the next one, each \
                epoch adds a layer of history to an entry: the cache has a constant number of entries and grows all \
                the same.",
    shows: "No container gets longer, yet memory climbs from the second epoch on. Or `backward` fails with \
                \"trying to backward through the graph a second time\", and `retain_graph=True` was added against it.",
    fix: Fix {
        text: "Store detached values. If gradients must reach the encoder, compute the embeddings anew in each step.",
        language: Language::Python,
        before: r#"cache[key] = encoder(x)"#,
        after: r#"cache[key] = encoder(x).detach()"#,
    },
    harmless: "A frozen encoder run under `no_grad`: there is no graph to keep.",
    sources: &["https://docs.pytorch.org/docs/stable/notes/autograd.html", "zoo/07_embed_cache_graph.py"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.has_graph() && live.statement == Some(Kind::Item)).then_some(92)
}

/// Something with a graph is filed under a key that is asked for before it is computed.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        let puts = check.puts(file, model);
        for put in puts.iter().filter(|put| keeps(check, put) && is_cached(check, put) && check.firm_bound(put).is_none()) {
            let hit = Hit::new(file, put.offset).saying(format!(
                "{} keeps {} with the graph that made it, to be used again",
                code(check, file, put.container),
                code(check, file, put.value)
            ));
            hits.push(hit.fixed(check.detach(file, put.scope, put.block, put.value, put.container)));
        }
        for assign in model.assigns.iter().filter(|assign| assign.how == Bound::Whole && is_made_once(check, file, assign)) {
            let hit = Hit::new(file, assign.target.start()).saying(format!(
                "{} keeps {} with the graph that made it, to be used again",
                code(check, file, assign.target),
                code(check, file, assign.value)
            ));
            hits.push(hit.fixed(check.detach(file, assign.scope, assign.block, assign.value, assign.target)));
        }
    }
    hits
}

/// `if self.prompts is None: self.prompts = encoder(tokens)` in something that is called again and again, and nothing sets it back.
fn is_made_once<'p>(check: &Check<'_, 'p>, file: FileId, assign: &Assign<'p>) -> bool {
    let model = check.flow.models.of(file);
    let Expr::Attribute(target) = assign.target else { return false };
    let BlockKind::If(test) = model.block(assign.block).kind else { return false };
    let places = || check.flow.places(file, assign.scope, assign.target);
    let asks = match test {
        Expr::Compare(test) => {
            matches!(&*test.ops, [CmpOp::Is])
                && test.comparators.iter().all(Expr::is_none_literal_expr)
                && matches!(&*test.left, Expr::Attribute(asked) if asked.attr.as_str() == target.attr.as_str())
                && check.same(file, assign.scope, &test.left, assign.target)
        }
        _ => false,
    };
    let is_nothing = |of: FileId, other: &Assign| {
        let model = check.flow.models.of(of);
        other.range == assign.range
            || other.value.is_none_literal_expr()
                && model.function_of(other.scope).is_none_or(|function| model.scope(function).name() == "__init__")
    };
    let in_training_only = || {
        model.blocks_within(assign.block).any(|block| match block.kind {
            BlockKind::If(test) => check.text(file, test.range()).contains("training"),
            _ => false,
        })
    };
    asks && places().iter().all(|at| matches!(at.place, Place::Attribute(..)) && at.depth == 0)
        && check.autograd.carries(file, assign.scope, assign.block, assign.value)
        && model.function_of(assign.scope).is_some_and(|function| check.is_called_again(file, function))
        && !in_training_only()
        && places().iter().all(|at| check.flow.assigned(at.place).all(|(of, other)| is_nothing(*of, other)))
}

/// Whether the same function asks a container for the key before: `if key in cache`, `cache.get(key)`, `try: return cache[key]`.
pub(crate) fn is_cached<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    if put.key.is_none() {
        return false;
    }
    let model = check.flow.models.of(put.file);
    let function = model.function_of(put.scope);
    let places = check.flow.places(put.file, put.scope, put.container);
    let same = |expr: &'p Expr| check.flow.places(put.file, put.scope, expr).iter().any(|at| places.contains(at));
    let asked = model.blocks.iter().filter(|block| model.function_of(block.scope) == function).any(|block| match block.kind {
        BlockKind::If(Expr::Compare(test)) => {
            test.ops.iter().any(|op| matches!(op, CmpOp::In | CmpOp::NotIn)) && test.comparators.iter().any(same)
        }
        _ => false,
    });
    // The entry is read where a `KeyError` would be caught, and made where it was, or after that.
    let tried = || {
        let is_entry = |value: &'p Expr| matches!(value, Expr::Subscript(item) if same(&item.value));
        let inside = |scope, block| {
            model.function_of(scope) == function && model.blocks_within(block).any(|block| matches!(block.kind, BlockKind::Try))
        };
        let catches = model
            .blocks
            .iter()
            .any(|block| model.function_of(block.scope) == function && matches!(block.kind, BlockKind::Except));
        catches
            && (model.results.iter().any(|result| inside(result.scope, result.block) && is_entry(result.value))
                || model
                    .assigns
                    .iter()
                    .any(|assign| assign.target.is_name_expr() && inside(assign.scope, assign.block) && is_entry(assign.value)))
    };
    asked
        || tried()
        || model.calls.iter().filter(|call| model.function_of(call.scope) == function).any(
            |call| matches!(&*call.call.func, Expr::Attribute(method) if method.attr.as_str() == "get" && same(&method.value)),
        )
}

//! LT104: Cached embeddings are used again with the graph that made them.

use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::feeds::Kind;

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
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.has_graph() && live.statement == Some(Kind::Item)).then_some(92)
}

//! LT107: Precomputed embeddings are moved to the device without `detach`.

use crate::{Cause, Fix, Language, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT107",
    name: "precomputed-embedding-not-detached",
    title: "Precomputed embeddings are moved to the device without `detach`",
    severity: Severity::Leak,
    happens: "Text or image embeddings are computed once and moved to the device in every step, still attached to \
                  the encoder's graph.",
    keeps: "Each copy on the device is a new node on top of the encoder's graph, and keeps it alive for as long as \
                the copy is. The whole encoder's activations stay for the run.",
    shows: "A floor higher than the data by the encoder's activations; growth where the copies are kept.",
    fix: Fix {
        text: "Compute under `no_grad`, and detach before the embeddings are stored.",
        language: Language::Python,
        before: r#"embeddings = text_encoder(tokens)"#,
        after: r#"with torch.no_grad():
    embeddings = text_encoder(tokens)"#,
    },
    harmless: "An encoder that is trained along: then the graph is needed, and must not be kept over steps.",
    sources: &["https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html", "zoo/08_text_embed_ema.py"],
    signature: None,
    rule: None,
};

//! LT701: `zero_grad` keeps the gradients allocated.

use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::feeds::Kind;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT701",
    name: "gradients-kept-allocated",
    title: "`zero_grad` keeps the gradients allocated",
    severity: Severity::Floor,
    happens: "`zero_grad(set_to_none=False)`, a hand-written `p.grad.zero_()`, or a torch older than 2.0, where \
                  that was the default.",
    keeps: "Gradients have the size of the parameters, and stay through validation and data loading.",
    shows: "A floor higher by one copy of the parameters, outside of `backward`.",
    fix: Fix {
        text: "`optimizer.zero_grad(set_to_none=True)`, which is the default from torch 2.0 on.",
        language: Language::Python,
        before: r#"optimizer.zero_grad(set_to_none=False)"#,
        after: r#"optimizer.zero_grad(set_to_none=True)"#,
    },
    harmless: "If the validation needs less than the backward pass does, the peak is the same.",
    sources: &[
        "https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html",
        "zoo/06_zero_grad_floor.py",
    ],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.statement == Some(Kind::Zeroed)).then_some(95)
}

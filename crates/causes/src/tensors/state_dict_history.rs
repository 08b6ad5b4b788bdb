//! LT203: Copies of the model's state are kept in memory.

use crate::{Cause, Fix, Language, Live, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT203",
    name: "state-dict-history",
    title: "Copies of the model's state are kept in memory",
    severity: Severity::Leak,
    happens: "The best or the last weights are kept as a list of `state_dict()`, or one copy per round and node.",
    keeps: "A copy has the size of the model. Without a copy it is worse in another way: `state_dict()` holds the \
                live parameters, which change.",
    shows: "Growth in steps of the model's size, one per epoch, checkpoint or round.",
    fix: Fix {
        text: "Keep one, on the CPU; write the others to disk.",
        language: Language::Python,
        before: r#"best_states.append(copy.deepcopy(model.state_dict()))"#,
        after: r#"best_state = {k: v.detach().cpu().clone() for k, v in model.state_dict().items()}"#,
    },
    harmless: "A fixed number of them, as for averaging the last five.",
    sources: &[
        "https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html",
        "zoo/09_fed_rounds.py",
        "zoo/35_epoch_step.py",
    ],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.objects_named(&["Parameter", "OrderedDict"]) && live.holds_tensors() && live.adds_to_container()).then_some(75)
}

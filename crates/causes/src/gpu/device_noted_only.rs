//! LT506: A `.to()` that only notes the device.

use crate::{Cause, Fix, Language, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT506",
    name: "device-noted-only",
    title: "A `.to()` that only notes the device",
    severity: Severity::Harmless,
    happens: "A data set or a loader has a `to` method that stores the device and moves nothing.",
    keeps: "Nothing is kept: batches are moved when they are made.",
    shows: "No jump when it is called. `lowtide check --audit datasets` lists such methods beside those that move data.",
    fix: Fix {
        text: "Nothing to fix.",
        language: Language::Python,
        before: r#"def to(self, device):
    self.device = device
    return self"#,
        after: r#"def to(self, device):
    self.device = device
    return self"#,
    },
    harmless: "Always; look for its opposite, LT501.",
    sources: &["zoo/01_ds_to_device.py"],
    signature: None,
    rule: None,
};

//! LT309: Figures are never closed.

use crate::{Cause, Fix, Language, Live, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT309",
    name: "figures-never-closed",
    title: "Figures are never closed",
    severity: Severity::Leak,
    happens: "`plt.figure()` or `plt.subplots()` runs for every plot, and `plt.close` does not.",
    keeps: "pyplot keeps a list of all open figures; each holds its canvas and its data.",
    shows: "Growth by megabytes per plot, mostly in validation. matplotlib warns at 20 open figures.",
    fix: Fix {
        text: "Close each figure, or make figures without pyplot.",
        language: Language::Python,
        before: r#"fig, ax = plt.subplots()
ax.plot(losses)
fig.savefig(path)"#,
        after: r#"fig, ax = plt.subplots()
ax.plot(losses)
fig.savefig(path)
plt.close(fig)"#,
    },
    harmless: "One figure that is drawn anew each time.",
    sources: &["https://matplotlib.org/stable/api/_as_gen/matplotlib.pyplot.figure.html"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.objects_named(&["Figure", "FigureCanvasAgg", "FigureManagerBase"])).then_some(92)
}

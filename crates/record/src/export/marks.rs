//! The table of marks: what processes said of themselves.

#![cfg_attr(not(all(feature = "sqlite", feature = "parquet")), allow(dead_code))]

use lowtide_model::{InnerFacts, Mark, MarkKind, Scope};

use super::table::{Table, Value, table, word};

table! {
    /// One row for each mark.
    MARKS "marks", row(mark: &Mark, said: Said, facts: &InnerFacts) {
        t_s: Real = mark.t_s,
        process_index: Integer = mark.id.0,
        kind: Text = said.kind,
        scope: Text = said.scope.map(|scope| Value::Text(word(&scope))),
        number: Integer = said.number,
        text: Text = said.text,
        steps: Integer = mark.steps,
        lost: Integer = said.lost,
        loss: Real = said.loss,
        heap_used_bytes: Integer = facts.heap_used,
        heap_free_bytes: Integer = facts.heap_free,
        gc_enabled: Integer = facts.gc_enabled,
        gc_full: Integer = facts.gc_full,
        gc_objects: Integer = facts.gc_objects,
        workers: Integer = facts.workers,
        compiled: Integer = facts.compiled,
        python_blocks: Integer = facts.python_blocks,
        device_allocated_bytes: Integer = facts.allocated(),
        device_reserved_bytes: Integer = facts.reserved(),
    }
}

pub(super) fn mark_row(mark: &Mark) -> [Value; MARKS.columns.len()] {
    row(mark, Said::by(&mark.what), mark.facts.as_ref().unwrap_or(&InnerFacts::default()))
}

/// The columns that depend on what a mark says.
#[derive(Default)]
pub(super) struct Said<'a> {
    kind: &'static str,
    scope: Option<Scope>,
    number: Option<u64>,
    text: Option<&'a str>,
    lost: Option<u64>,
    loss: Option<f64>,
}

impl<'a> Said<'a> {
    fn by(what: &'a MarkKind) -> Self {
        let kind = |kind| Self { kind, ..Self::default() };
        match what {
            MarkKind::On(why) => Self { text: Some(why), ..kind("on") },
            MarkKind::Step => kind("step"),
            MarkKind::Begin(begun) => {
                Self { scope: Some(begun.scope), number: begun.index, text: Some(&begun.name), ..kind("begin") }
            }
            MarkKind::End(scope) => Self { scope: Some(*scope), ..kind("end") },
            MarkKind::Off(why) => Self { text: Some(why), ..kind("off") },
            MarkKind::Lost(lost) => Self { lost: Some(*lost), ..kind("lost") },
            MarkKind::Loss(loss) => Self { loss: Some(*loss), ..kind("loss") },
            MarkKind::Answer(answer) => Self { number: answer.value, text: Some(answer.request.name()), ..kind("answer") },
        }
    }
}

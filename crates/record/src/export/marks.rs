//! The table of marks: what processes said of themselves.

#![cfg_attr(not(all(feature = "sqlite", feature = "parquet")), allow(dead_code))]

use lowtide_model::{InnerFacts, Mark, MarkKind};

use super::tables::Type::{Integer, Real, Text};
use super::tables::{Table, Value, integer, optional, text, word};

pub(super) const MARKS: Table = Table {
    name: "marks",
    columns: &[
        ("t_s", Real),
        ("process_index", Integer),
        ("kind", Text),
        ("scope", Text),
        ("number", Integer),
        ("text", Text),
        ("steps", Integer),
        ("lost", Integer),
        ("heap_used_bytes", Integer),
        ("heap_free_bytes", Integer),
        ("gc_enabled", Integer),
        ("gc_full", Integer),
        ("gc_objects", Integer),
        ("workers", Integer),
        ("compiled", Integer),
        ("device_allocated_bytes", Integer),
        ("device_reserved_bytes", Integer),
    ],
};

pub(super) fn mark_row(mark: &Mark) -> [Value; 17] {
    let none = || Value::Null;
    let scope_of = |scope| Value::Text(word(&scope));
    let (kind, scope, number, words, lost) = match &mark.what {
        MarkKind::On(why) => ("on", none(), none(), text(why), none()),
        MarkKind::Step => ("step", none(), none(), none(), none()),
        MarkKind::Begin(begun) => ("begin", scope_of(begun.scope), optional(begun.index), text(&begun.name), none()),
        MarkKind::End(scope) => ("end", scope_of(*scope), none(), none(), none()),
        MarkKind::Off(why) => ("off", none(), none(), text(why), none()),
        MarkKind::Lost(lost) => ("lost", none(), none(), none(), integer(*lost)),
    };
    let unknown = InnerFacts::default();
    let facts = mark.facts.as_ref().unwrap_or(&unknown);
    [
        Value::Real(mark.t_s),
        integer(mark.id.0.into()),
        text(kind),
        scope,
        number,
        words,
        integer(mark.steps),
        lost,
        optional(facts.heap_used),
        optional(facts.heap_free),
        optional(facts.gc_enabled.map(u64::from)),
        optional(facts.gc_full.map(u64::from)),
        optional(facts.gc_objects),
        optional(facts.workers.map(u64::from)),
        optional(facts.compiled.map(u64::from)),
        optional(facts.allocated()),
        optional(facts.reserved()),
    ]
}

//! Logs of dead runs: every message that is known, and what becomes of them.
#![allow(clippy::unwrap_used, missing_docs)]

mod corpus;
mod hostile;
mod joined;
mod later;
mod numbers;
mod variations;

use lowtide_ingest::log::{Family, Incident, Log, read};

pub const KIB: f64 = 1024.0;
pub const MIB: f64 = 1024.0 * KIB;
pub const GIB: f64 = 1024.0 * MIB;

pub fn log(text: &str) -> Log {
    read(text.as_bytes()).unwrap()
}

/// The one incident of a log.
#[track_caller]
pub fn one(text: &str) -> Incident {
    let log = log(text);
    assert_eq!(log.incidents.len(), 1, "{text}\n{:#?}\n{:?}", log.incidents, log.said);
    log.incidents.into_iter().next().unwrap()
}

/// That a log has one incident of this family with these figures, each once and right.
#[track_caller]
pub fn has(text: &str, family: Family, expected: &[(&str, f64)]) {
    let incident = one(text);
    assert_eq!(incident.main().family, family, "{text}\n{incident:#?}");
    let numbers = incident.numbers();
    for (name, value) in expected {
        let found = numbers.get(*name).unwrap_or_else(|| panic!("no {name} in {numbers:#?}\n{text}"));
        // Sizes are whole bytes, shares are as they stand.
        let wanted = if *value >= 1024.0 { value.round() } else { *value };
        assert_eq!(*found, wanted, "{name}: {numbers:#?}\n{text}");
    }
    assert_eq!(numbers.len(), expected.len(), "{numbers:#?}\n{text}");
}

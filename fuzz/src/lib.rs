//! Everything in lowtide that reads foreign bytes, as functions of bytes that must return.
//!
//! `fuzz_targets/` runs them under libFuzzer, `tests/replay.rs` over the seeds and over damaged copies of them, with
//! plain cargo. Parsers that are private to their crates are built into
//! this one from their sources, by links in `src/`.

#![allow(clippy::missing_panics_doc, reason = "a panic is the finding")]

use std::path::Path;

use lowtide_analyse::Analyser;
use lowtide_ingest::Hints;
use lowtide_model::Event;

mod heap;
mod log;
mod marks;
mod python;
mod record;
mod remote;
mod rules;
mod scalars;
mod snapshot;

pub use heap::{heap, heap_objects};
pub use log::log;
pub use marks::marks;
pub use python::python;
pub use record::record;
pub use remote::remote;
pub use rules::{is_python, rules};
pub use scalars::scalars;
pub use snapshot::snapshot;

#[allow(dead_code, missing_docs)]
mod config;
#[allow(dead_code, missing_docs)]
mod duration;
#[allow(dead_code, missing_docs, unused_imports)]
mod expect;
#[allow(dead_code, missing_docs)]
mod fail_on;
#[allow(dead_code, missing_docs)]
mod parse;
#[allow(dead_code, missing_docs)]
mod secrets;

/// A file of another tool; its last line may be a `--column`, so that these are found, too.
pub fn ingest(bytes: &[u8]) {
    let mut hints = Hints { columns: Vec::new(), name: "file".to_owned() };
    read_checked(bytes, &hints);
    if let Some(at) = bytes.iter().rposition(|byte| *byte == b'\n') {
        hints.columns.push(String::from_utf8_lossy(&bytes[at + 1..]).into_owned());
        read_checked(&bytes[..at], &hints);
        hints.columns.push("time=1".to_owned());
        read_checked(&bytes[..at], &hints);
    }
}

fn read_checked(bytes: &[u8], hints: &Hints) -> Vec<Event> {
    match lowtide_ingest::read(bytes, hints) {
        Ok(run) => {
            assert!(matches!(run.events.first(), Some(Event::Start(_))), "a run begins with its start");
            let mut now = 0.0;
            let mut known = 0;
            for event in &run.events {
                match event {
                    Event::Process(process) => known = known.max(process.id.0 + 1),
                    Event::Tick(tick) => {
                        assert!(tick.t_s.is_finite() && tick.t_s >= now, "time goes on");
                        now = tick.t_s;
                        assert!(tick.procs.iter().all(|sample| sample.id.0 < known), "a process is sent before its samples");
                    }
                    _ => {}
                }
            }
            assert!(run.events.len() <= 16 + 2 * bytes.len(), "events are no more than the file has room for");
            run.events
        }
        Err(error) => {
            assert!(error.to_string().len() < 16_384, "a message that can be read");
            Vec::new()
        }
    }
}

/// A file of another tool, all the way to the report.
pub fn verdict(bytes: &[u8]) {
    let events = read_checked(bytes, &Hints::default());
    if events.is_empty() {
        return;
    }
    let mut analyser = Analyser::new();
    for event in &events {
        analyser.push(event);
    }
    let report = analyser.report();
    let finite = |value: f64| value.is_finite();
    assert!(report.findings.iter().filter_map(|finding| finding.growth.as_ref()).all(|growth| finite(growth.bytes_per_second)));
    assert!(finite(report.duration_s) && report.detectable_bytes_per_second.is_none_or(finite));
}

/// The kernel's text files. A container may put any file in their place, and a process gives itself any name.
pub fn kernel(bytes: &[u8]) {
    let _ = (parse::number(bytes), parse::kibibytes(bytes), parse::hex(bytes));
    let _ = parse::stat::Stat::parse(bytes);
    let _ = parse::status::Status::parse(bytes);
    let _ = parse::keyed::rollup(bytes);
    let _ = parse::keyed::psi_full_us(bytes);
    for name in [b"MemTotal".as_slice(), b"anon", b"oom_kill", b""] {
        let _ = parse::keyed::value_of(bytes, name);
    }
    let _ = parse::mounts::cgroup_mounts(bytes);
    let _ = parse::mounts::cgroup_paths(bytes);
    let _ = parse::tcp::socket(bytes);
    let _ = parse::unix_diag::answer(bytes, 7);
    let args = parse::nul_separated(bytes, 64);
    assert!(args.len() <= 64, "as many as asked for");
    assert_eq!(secrets::mask_secrets(&args).len(), args.len(), "as many arguments as before");
}

/// `lowtide.toml`, expectations, conditions and spans of time.
pub fn config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = text.parse::<expect::Expectation>();
    let _ = text.parse::<fail_on::FailOn>();
    if let Ok(span) = duration::parse_duration(text) {
        assert!(span.as_secs_f64() >= 0.0);
    }
    let file = record::Temporary::with(bytes);
    match config::Config::load(Some(file.path()), Path::new("/")) {
        Ok(_) => {}
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

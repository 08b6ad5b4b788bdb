//! What the tests of this crate share.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::PathBuf;

use lowtide_ingest::{Hints, Imported, Problem, read};
use lowtide_model::{Event, ProcSample, Process, Role, RunInfo, Tick};

pub fn import(text: &str) -> Imported {
    read(text.as_bytes(), &Hints::default()).unwrap()
}

pub fn import_with(text: &str, columns: &[&str]) -> Result<Imported, Problem> {
    let hints = Hints { columns: columns.iter().map(|hint| (*hint).to_owned()).collect(), name: String::new() };
    read(text.as_bytes(), &hints).map_err(|error| error.problem)
}

pub fn problem(text: &str) -> Problem {
    read(text.as_bytes(), &Hints::default()).unwrap_err().problem
}

pub fn data(name: &str) -> String {
    std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

pub fn start(run: &Imported) -> &RunInfo {
    match &run.events[0] {
        Event::Start(info) => info,
        event => panic!("{event:?}"),
    }
}

pub fn ticks(run: &Imported) -> Vec<&Tick> {
    run.events.iter().filter_map(|event| if let Event::Tick(tick) = event { Some(tick) } else { None }).collect()
}

pub fn processes(run: &Imported) -> Vec<&Process> {
    run.events.iter().filter_map(|event| if let Event::Process(process) = event { Some(process) } else { None }).collect()
}

pub fn exits(run: &Imported) -> Vec<(u32, f64)> {
    run.events.iter().filter_map(|event| if let Event::Exit(exit) = event { Some((exit.id.0, exit.t_s)) } else { None }).collect()
}

pub fn roles(run: &Imported) -> Vec<Role> {
    processes(run).iter().map(|process| process.role).collect()
}

/// Time and first process of each tick.
pub fn firsts(run: &Imported) -> Vec<(f64, ProcSample)> {
    ticks(run).iter().filter_map(|tick| tick.procs.first().map(|sample| (tick.t_s, *sample))).collect()
}

pub fn anons(run: &Imported) -> Vec<u64> {
    firsts(run).iter().map(|(_, sample)| sample.anon).collect()
}

pub fn said(run: &Imported, part: &str) -> bool {
    run.said.iter().any(|sentence| sentence.contains(part))
}

//! Processes outside of the run that grow are a warning, not a list.

mod common;

use lowtide_analyse::Analyser;
use lowtide_model::{Event, Exit, Note, NoteKind, ProcId, ProcSample, Process, Role, Tick};

const MIB: u64 = 1 << 20;

/// What a level run says of so many strangers, of whom those with an even number end early.
fn said(strangers: u32) -> Vec<String> {
    let mut analyser = Analyser::new();
    common::start(-100.0).iter().for_each(|event| analyser.push(event));
    for id in 1..=strangers {
        let process = common::trainer(id, 100 + id, 1, 0.0, None);
        analyser.push(&Event::Process(Process { role: Role::Outside, ..process }));
        let text = format!("pid {} grows", 100 + id);
        analyser.push(&Event::Note(Note { t_s: 0.0, kind: NoteKind::Outside, text, process: Some(ProcId(id)) }));
    }
    for t in 0..90_u32 {
        let there = |id: &u32| id % 2 == 1 || t < 30;
        if t == 30 {
            (1..=strangers)
                .filter(|id| id % 2 == 0)
                .for_each(|id| analyser.push(&Event::Exit(Exit { t_s: 30.0, id: ProcId(id) })));
        }
        let procs = std::iter::once(0)
            .chain((1..=strangers).filter(there))
            .map(|id| ProcSample { anon: (100 + u64::from(id) * u64::from(t)) * MIB, ..ProcSample::empty(ProcId(id)) });
        analyser.push(&Event::Tick(Tick { t_s: f64::from(t) + 0.1, procs: procs.collect(), ..Tick::default() }));
    }
    analyser.report().warnings
}

#[test]
fn the_largest_that_are_still_there_are_named() {
    assert_eq!(said(0), Vec::<String>::new());
    assert_eq!(said(1), ["pid 101 grows"]);
    assert_eq!(said(3), ["pid 103 grows", "pid 101 grows", "one more process outside of the watched tree grew"]);
    assert_eq!(said(8)[..2], ["pid 107 grows", "pid 105 grows"]);
    assert_eq!(said(8)[2..], ["6 more processes outside of the watched tree grew"]);
}

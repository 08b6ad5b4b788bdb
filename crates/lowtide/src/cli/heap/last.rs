//! `--last`: the process to watch of the newest run, by its recording.

use std::time::{Duration, UNIX_EPOCH};

use lowtide_analyse::Analyser;
use lowtide_model::Event;
use lowtide_record::place;
use lowtide_remote::Process;

use super::look;
use crate::exit::Failure;

/// Start times by the recorder's clock and by the kernel's differ by less.
const SLACK: Duration = Duration::from_secs(2);

/// Opens it, if it is still the same process.
pub fn open() -> Result<Process, Failure> {
    let recording = place::newest()
        .ok_or_else(|| Failure::cannot("there is no run yet; start one with `lowtide run -- CMD`, or name a process"))?;
    let name = recording.display();
    let cannot = |error: &dyn std::fmt::Display| Failure::cannot(format!("{name}: {error}"));
    let mut analyser = Analyser::new();
    let mut started_s = 0.0;
    for event in &mut lowtide_record::stream(&recording).map_err(|error| cannot(&error))? {
        let event = event.map_err(|error| cannot(&error))?;
        match &event {
            Event::Start(info) => started_s = info.started_unix_s,
            Event::End(_) => {
                return Err(Failure::cannot(format!(
                    "the newest run has ended, and its processes with it; `lowtide report {name}` says what looks into it have found"
                )));
            }
            _ => {}
        }
        analyser.push(&event);
    }
    let report = analyser.report();
    let watched = report.processes.iter().find(|process| process.watch && process.end_s.is_none());
    let watched = watched.ok_or_else(|| cannot(&"no process of this run is to be watched"))?;
    let process = look::open(watched.pid)?;
    let expected = UNIX_EPOCH + Duration::try_from_secs_f64(started_s + watched.start_s).unwrap_or_default();
    let is_same = process.started().is_none_or(|started| {
        let apart = started.duration_since(expected).or_else(|_| expected.duration_since(started));
        apart.is_ok_and(|apart| apart <= SLACK)
    });
    if is_same { Ok(process) } else { Err(cannot(&format!("pid {} is another process by now: the run has ended", watched.pid))) }
}

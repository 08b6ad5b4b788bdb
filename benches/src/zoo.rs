//! The zoo's recorded traces with their truth.

use std::path::{Path, PathBuf};

use anyhow::Context;
use lowtide_ingest::Hints;
use lowtide_model::{Event, ProcId, Tick};
use serde::Deserialize;

/// A recorded run and what is known of it.
#[derive(Debug)]
pub struct Trace {
    /// `PROGRAM.VARIANT[.TAG]`.
    pub name: String,
    /// The recorded variant grows without bound.
    pub leaks: bool,
    /// The trace's CSV.
    pub csv: String,
    /// What ingest makes of it.
    pub events: Vec<Event>,
    /// Seconds of the trace's first tick on the clock of the truth log.
    pub origin_s: f64,
    /// The process that trains.
    pub trainer_pid: u32,
    /// The starts of the program's epochs, in seconds of the trace; the end of the last one where it is known.
    pub epochs_s: Vec<f64>,
}

/// What a bench needs of a program's truth file.
#[derive(Deserialize)]
struct Truth {
    leak: bool,
}

/// A line of the truth log.
#[derive(Deserialize)]
struct Line {
    ev: String,
    t: f64,
    #[serde(default)]
    pid: u32,
}

fn zoo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../zoo")
}

/// All traces, by name.
///
/// # Errors
/// The zoo cannot be read; says which file.
pub fn traces() -> anyhow::Result<Vec<Trace>> {
    let folder = zoo().join("traces");
    let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "csv"));
    paths.sort();
    paths.iter().map(|path| Trace::read(path).with_context(|| format!("cannot read {}", path.display()))).collect()
}

impl Trace {
    fn read(path: &Path) -> anyhow::Result<Self> {
        let name = path.file_stem().context("no name")?.to_string_lossy().into_owned();
        let (program, variant) = name.split_once('.').context("is not named PROGRAM.VARIANT.csv")?;
        let truth: Truth = toml::from_str(&std::fs::read_to_string(zoo().join(format!("{program}.toml")))?)?;
        let csv = std::fs::read_to_string(path)?;
        let first = csv.lines().nth(1).and_then(|line| line.split(',').next()).context("no rows")?;
        let origin_s: f64 = first.parse().context("its first column is no time")?;
        // A log torn by a kill is read as far as it goes.
        let log = std::fs::read_to_string(path.with_extension("truth.jsonl")).unwrap_or_default();
        let lines: Vec<Line> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let trainer_pid = lines.iter().find(|line| line.ev == "epoch").map_or(0, |line| line.pid);
        let marks = lines.iter().filter(|line| line.ev == "epoch" || (line.ev == "end" && line.pid == trainer_pid));
        let epochs_s = marks.map(|line| line.t - origin_s).collect();
        let events = lowtide_ingest::read(csv.as_bytes(), &Hints::default())?.events;
        Ok(Self { leaks: truth.leak && variant.starts_with("leak"), name, csv, events, origin_s, trainer_pid, epochs_s })
    }

    /// Its ticks.
    pub fn ticks(&self) -> impl Iterator<Item = &Tick> {
        self.events.iter().filter_map(|event| if let Event::Tick(tick) = event { Some(tick) } else { None })
    }

    /// The process that trains, as ingest calls it.
    #[must_use]
    pub fn trainer(&self) -> Option<ProcId> {
        self.events.iter().find_map(|event| match event {
            Event::Process(process) if process.pid == self.trainer_pid => Some(process.id),
            _ => None,
        })
    }
}

/// A process's own memory over time: seconds, and anonymous plus shared bytes.
#[must_use]
pub fn own_process(trace: &Trace, process: ProcId) -> Vec<(f64, f64)> {
    let sample =
        |tick: &Tick| tick.procs.iter().find(|sample| sample.id == process).map(|s| (tick.t_s, (s.anon + s.shmem) as f64));
    trace.ticks().filter_map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_trace_and_truth_are_the_same() {
        let traces = traces().expect("the zoo");
        assert!(traces.iter().filter(|trace| trace.leaks).count() >= 20);
        for trace in &traces {
            let first = trace.ticks().next().expect("ticks");
            assert!(first.t_s.abs() < 1.0, "{}: the trace's clock starts at {}", trace.name, first.t_s);
            let end = trace.ticks().last().expect("ticks").t_s;
            assert!(trace.epochs_s.windows(2).all(|pair| pair[0] < pair[1]), "{}: {:?}", trace.name, trace.epochs_s);
            assert!(trace.epochs_s.iter().all(|epoch| *epoch < end + 5.0), "{}", trace.name);
            if let Some(trainer) = trace.trainer() {
                assert!(!own_process(trace, trainer).is_empty(), "{}", trace.name);
            }
        }
    }
}

//! The zoo's recorded traces: how long an analysis takes, and how soon a leak is found.
//!
//! A trace goes in tick by tick, with a report after each. The leak is found at the first tick from which on every report
//! says so to the end. Cycles are the program's epochs that were over by then.

use lowtide_analyse::Analyser;
use lowtide_benches::{Answer, Table, Trace, largest, median, milliseconds, traces};
use lowtide_ingest::Hints;
use lowtide_model::{Event, Report, Verdict};

const ROUNDS: usize = 5;

fn main() -> anyhow::Result<()> {
    let traces = traces()?;
    let mut answer = Answer::default();
    speed(&traces, &mut answer);
    soonness(&traces, &mut answer);
    answer.print()
}

fn speed(traces: &[Trace], answer: &mut Answer) {
    let mut times: Vec<(f64, f64, &str)> = Vec::new();
    for trace in traces {
        let (mut reading, mut judging) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            reading.push(milliseconds(|| lowtide_ingest::read(trace.csv.as_bytes(), &Hints::default())).0);
            judging.push(milliseconds(|| judge(trace)).0);
        }
        times.push((median(&judging), median(&reading), &trace.name));
    }
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: Vec<f64> = times.iter().map(|time| time.0).collect();
    let mut table = Table::new(
        &format!(
            "Analysis of each of the {} recorded traces, the median of {ROUNDS} times; reading the CSV apart.",
            traces.len()
        ),
        &["trace", "ticks", "ms to analyse", "ms to read"],
    );
    let medians = [median(&all), median(&times.iter().map(|time| time.1).collect::<Vec<_>>())];
    table.rows.push(["the median".to_owned(), String::new()].into_iter().chain(medians.map(|ms| format!("{ms:.2}"))).collect());
    for (judging, reading, name) in times.iter().rev().take(3) {
        let ticks = traces.iter().find(|trace| trace.name == *name).map_or(0, |trace| trace.ticks().count());
        table.rows.push(vec![(*name).to_owned(), ticks.to_string(), format!("{judging:.2}"), format!("{reading:.2}")]);
    }
    answer.tables.push(table);
    let worst = largest(&all);
    answer.goal(
        "every trace analysed in 5 ms",
        format!("the median {:.2}, the longest {worst:.2} ms", median(&all)),
        worst <= 5.0,
    );
}

fn judge(trace: &Trace) -> Report {
    let mut analyser = Analyser::new();
    trace.events.iter().for_each(|event| analyser.push(event));
    analyser.report()
}

/// When a leak was found.
struct Found {
    seconds: f64,
    cycles: usize,
    /// It had grown by so many bytes since the start of the second cycle, where the report gives a rate in bytes.
    grown: Option<f64>,
}

fn soonness(traces: &[Trace], answer: &mut Answer) {
    let leaks: Vec<&Trace> = traces.iter().filter(|trace| trace.leaks).collect();
    let found: Vec<(&Trace, Option<Found>)> = leaks.iter().map(|trace| (*trace, when_found(trace))).collect();
    let mut table = Table::new(
        "Leaks of the recorded traces, judged after every tick: when the verdict is `leak` or `likely_leak` for good. \
         Start-up counts; cycles are the program's epochs.",
        &["trace", "seconds to the verdict", "of", "cycles to the verdict", "of", "grown by then"],
    );
    let seconds: Vec<f64> = found.iter().filter_map(|(_, found)| found.as_ref().map(|f| f.seconds)).collect();
    let cycles: Vec<f64> = found.iter().filter_map(|(_, found)| found.as_ref().map(|f| f.cycles as f64)).collect();
    for (name, of) in [("the median", median as fn(&[f64]) -> f64), ("the worst", largest)] {
        let empty = String::new();
        table.rows.push(vec![
            name.to_owned(),
            format!("{:.1}", of(&seconds)),
            empty.clone(),
            format!("{:.0}", of(&cycles)),
            empty.clone(),
            empty,
        ]);
    }
    for (trace, found) in &found {
        let length = trace.ticks().last().map_or(0.0, |tick| tick.t_s);
        let epochs = over_by(trace, length);
        let [seconds, cycles, grown] = match found {
            Some(found) => [format!("{:.1}", found.seconds), found.cycles.to_string(), found.grown.map_or(String::new(), mib)],
            None => ["not found".to_owned(), String::new(), String::new()],
        };
        table.rows.push(vec![trace.name.clone(), seconds, format!("{length:.0}"), cycles, epochs.to_string(), grown]);
    }
    answer.tables.push(table);
    let missed = found.len() - seconds.len();
    let within = cycles.iter().filter(|cycles| **cycles <= 5.0).count();
    answer.goal(
        "verdict within 5 cycles",
        format!("{within} of {} leaks, {missed} never found", found.len()),
        median(&cycles) <= 5.0,
    );
}

fn mib(bytes: f64) -> String {
    format!("{:.1} MiB", bytes / f64::from(1 << 20))
}

fn when_found(trace: &Trace) -> Option<Found> {
    let mut analyser = Analyser::new();
    let mut since: Option<(f64, Option<f64>)> = None;
    for event in &trace.events {
        analyser.push(event);
        let Event::Tick(tick) = event else { continue };
        let report = analyser.report();
        if matches!(report.verdict, Verdict::Leak | Verdict::LikelyLeak) {
            since = since.or_else(|| {
                let growth = report.leak().and_then(|finding| finding.growth.as_ref()).filter(|growth| growth.unit == "bytes");
                let from = trace.epochs_s.get(1).copied().unwrap_or(0.0);
                Some((tick.t_s, growth.map(|growth| growth.bytes_per_second * (tick.t_s - from).max(0.0))))
            });
        } else {
            since = None;
        }
    }
    since.map(|(seconds, grown)| Found { seconds, cycles: over_by(trace, seconds), grown })
}

/// Epochs that were over at a moment of the trace: those that another mark follows.
fn over_by(trace: &Trace, t_s: f64) -> usize {
    trace.epochs_s.iter().skip(1).filter(|mark| **mark <= t_s).count()
}

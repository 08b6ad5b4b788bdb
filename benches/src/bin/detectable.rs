//! The detectable rate that a report states, beside that of a reference estimator that is told the true cycles.
//!
//! The reference, for a run without a leak: the minimum of anonymous plus shared memory of the training process in each of
//! the truth log's epochs from the second on, a least-squares line through them, and the same demands that lowtide has of
//! a leak: a slope of [`SIGNIFICANT`] standard errors, growth of [`least`] bytes in all (what a healthy allocator
//! drifts by), and that it is seen not to have stopped before the last quarter (an F statistic of [`STOP_F`]). A leak at
//! the detectable rate shall be found in 95 % of runs, hence [`POWER`] more standard errors. Errors are those of
//! lowtide's own trend, which allow for serial correlation: what is left between the two is what it costs to find the
//! cycles, and not to be told them.
//!
//! Beside it stand two references that ask less. One does not ask whether the growth still goes on: it would call every
//! cache that has just been filled a leak. The other takes, besides, the textbook's errors, for independent tides. Where
//! tides are correlated (a sawtooth that is slower than the epochs) that promises what it cannot keep: it would call some
//! of these runs leaks.

use lowtide_analyse::{Analyser, shape, trend};
use lowtide_benches::{Answer, Table, Trace, largest, median, own_process, traces};
use lowtide_model::Verdict;

/// As in lowtide's own trend.
const SIGNIFICANT: f64 = 5.0;
/// 95 % of a normal distribution.
const POWER: f64 = 1.645;
/// How much worse, as an F statistic, growth that stopped must describe the tides than growth that goes on.
const STOP_F: f64 = 8.0;
/// Least growth that is worth a verdict in half a minute, bytes; it grows with the root of time.
const LEAST: f64 = 1.5 * 1024.0 * 1024.0;
/// Resolution of the values, bytes: a quarter of an allocator's chunk.
const QUANTUM: f64 = 256.0 * 1024.0;
/// Over fewer tides a line has no error to speak of.
const FEWEST: usize = 4;
/// The most that may be stated, in units of the reference's.
const MOST: f64 = 2.0;
const MIB_PER_MINUTE: f64 = 60.0 / (1024.0 * 1024.0);

fn main() -> anyhow::Result<()> {
    let traces = traces()?;
    let mut table = Table::new(
        "Traces without a leak: the smallest growth that the report says it would have found, in MiB/min, and that of a \
         reference that is told the program's epochs (least squares over their minima) and has the same demands of a leak. \
         Beside it one that does not ask whether growth was seen to go on, and one that takes the textbook's errors as well.",
        &["trace", "verdict", "tides", "stated", "reference", "ratio", "asks less", "ratio to it", "textbook", "ratio to it"],
    );
    let (mut same, mut less) = (Ratios::default(), Ratios::default());
    for trace in traces.iter().filter(|trace| !trace.leaks) {
        let mut analyser = Analyser::new();
        trace.events.iter().for_each(|event| analyser.push(event));
        let report = analyser.report();
        let tides = low_tides(trace);
        let Some(reference) = reference(&tides) else { continue };
        let stated = report.detectable_bytes_per_second;
        let verdict = match report.verdict {
            Verdict::NoLeak => "no_leak",
            Verdict::Undecided => "undecided",
            _ => "wrong",
        };
        same.add(&trace.name, stated.map(|stated| stated / reference.rate));
        less.add(&trace.name, stated.map(|stated| stated / reference.asks_less));
        let shown = |rate: Option<f64>| rate.map_or(String::new(), |rate| format!("{:.1}", rate * MIB_PER_MINUTE));
        let ratio = |to: f64| stated.map_or(String::new(), |stated| format!("{:.2}", stated / to));
        table.rows.push(vec![
            trace.name.clone(),
            verdict.to_owned(),
            tides.len().to_string(),
            shown(stated),
            shown(Some(reference.rate)),
            ratio(reference.rate),
            shown(Some(reference.asks_less)),
            ratio(reference.asks_less),
            shown(Some(reference.textbook)) + if reference.false_alarm { ", false alarm" } else { "" },
            ratio(reference.textbook),
        ]);
    }
    let mut answer = Answer { tables: vec![table], ..Answer::default() };
    answer.goal("stated at most twice the reference's", same.said(), same.hold());
    answer.goal("and at most twice that of one that takes growth which may have stopped for a leak", less.said(), less.hold());
    answer.print()
}

/// What was stated, in units of what a reference states, by trace.
#[derive(Default)]
struct Ratios {
    stated: Vec<(f64, String)>,
    unstated: Vec<String>,
}

impl Ratios {
    fn add(&mut self, trace: &str, ratio: Option<f64>) {
        match ratio {
            Some(ratio) => self.stated.push((ratio, trace.to_owned())),
            None => self.unstated.push(trace.to_owned()),
        }
    }

    fn above(&self) -> Vec<String> {
        self.stated.iter().filter(|(ratio, _)| *ratio > MOST).map(|(ratio, name)| format!("{name} {ratio:.1}")).collect()
    }

    fn hold(&self) -> bool {
        self.above().is_empty() && self.unstated.is_empty()
    }

    fn said(&self) -> String {
        let all: Vec<f64> = self.stated.iter().map(|(ratio, _)| *ratio).collect();
        let mut said = format!("the median {:.2}, the largest {:.2}, of {} traces", median(&all), largest(&all), all.len());
        for (what, traces) in [("above", self.above()), ("none stated", self.unstated.clone())] {
            if !traces.is_empty() {
                said.push_str(&format!("; {what}: {}", traces.join(", ")));
            }
        }
        said
    }
}

/// Moment and value of the lowest memory of the training process in each epoch, the first one left out.
fn low_tides(trace: &Trace) -> Vec<(f64, f64)> {
    let Some(trainer) = trace.trainer() else { return Vec::new() };
    let memory = own_process(trace, trainer);
    let mut spans: Vec<(f64, f64)> = trace.epochs_s.windows(2).map(|pair| (pair[0], pair[1])).skip(1).collect();
    // The end of the run cuts the last epoch short.
    if let [.., before, last] = spans[..]
        && last.1 - last.0 < 0.5 * (before.1 - before.0)
    {
        spans.pop();
    }
    let lowest = |(start, end): &(f64, f64)| {
        memory.iter().filter(|(t, _)| (start..end).contains(&t)).min_by(|a, b| a.1.total_cmp(&b.1)).copied()
    };
    spans.iter().filter_map(lowest).collect()
}

/// The least growth worth a verdict over so many seconds, bytes.
fn least(span_s: f64) -> f64 {
    LEAST * (span_s / 30.0).sqrt().max(1.0)
}

/// What the reference makes of a run's true low tides.
struct Reference {
    /// The rate that would be found in 95 % of runs, bytes per second.
    rate: f64,
    /// The same without the demand that growth is seen to go on.
    asks_less: f64,
    /// That with the textbook's errors.
    textbook: f64,
    /// Whether, with those, it would call the run as it is a leak.
    false_alarm: bool,
}

/// `None` over too few tides.
fn reference(tides: &[(f64, f64)]) -> Option<Reference> {
    if tides.len() < FEWEST {
        return None;
    }
    let trend = trend::fit(tides, QUANTUM)?;
    let span = tides[tides.len() - 1].0 - tides[0].0;
    let least = least(span) / span;
    let found_from = |error: f64| ((SIGNIFICANT + POWER) * error).max(least + POWER * error);
    let textbook = textbook_error(tides, trend.residual);
    // What serial correlation does to the error of a slope, it does to that of a bend.
    let wider = (trend.error / textbook).max(1.0);
    let going_on = (STOP_F.sqrt() + POWER) * wider * shape::Stop::of(tides, 0.5 * QUANTUM).per_second();
    Some(Reference {
        rate: found_from(trend.error).max(going_on),
        asks_less: found_from(trend.error),
        textbook: found_from(textbook),
        false_alarm: trend.least_squares >= (SIGNIFICANT * textbook).max(least),
    })
}

/// The error of a slope for independent residuals of that standard deviation.
fn textbook_error(tides: &[(f64, f64)], residual: f64) -> f64 {
    let mean_t = tides.iter().map(|p| p.0).sum::<f64>() / tides.len() as f64;
    residual / tides.iter().map(|p| (p.0 - mean_t).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_run_is_as_good_as_its_least_growth() {
        let tides: Vec<(f64, f64)> = (0..100).map(|i| (f64::from(i), 1e9)).collect();
        let rate = reference(&tides).expect("enough tides").rate;
        assert!((1.0..1.5).contains(&(rate / (least(99.0) / 99.0))), "{rate}");
    }

    #[test]
    fn noise_makes_it_worse_and_time_better() {
        let noisy = |n: i32, size: f64| {
            let tides: Vec<(f64, f64)> = (0..n).map(|i| (f64::from(i), f64::from(i * 7919 % 13) * size)).collect();
            reference(&tides).expect("enough tides").rate
        };
        assert!(noisy(20, 4e6) > 1.5 * noisy(20, 2e6));
        assert!(noisy(40, 4e6) < 0.5 * noisy(20, 4e6));
        assert!(reference(&[(0.0, 1.0), (1.0, 1.0), (2.0, 1.0)]).is_none());
    }
}

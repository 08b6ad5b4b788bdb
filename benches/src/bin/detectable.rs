//! The detectable rate that a report states, beside that of a reference estimator that is told the true cycles.
//!
//! The reference, for a run without a leak: the minimum of anonymous plus shared memory of the training process in each of
//! the truth log's epochs from the second on, a least-squares line through them, and the same demands that lowtide has of
//! a leak: a slope of [`SIGNIFICANT`] standard errors, and growth of [`least`] bytes in all (what a healthy allocator
//! drifts by). A leak at the detectable rate shall be found in 95 % of runs, hence [`POWER`] more
//! standard errors. Errors are those of lowtide's own trend, which allow for serial correlation: what is left between the
//! two is what it costs to find the cycles, and not to be told them.
//!
//! Beside it stands the same with the textbook's errors, for independent tides. Where tides are correlated (a sawtooth that
//! is slower than the epochs) it promises what it cannot keep: it would call some of these runs leaks.

use lowtide_analyse::{Analyser, trend};
use lowtide_benches::{Answer, Table, Trace, largest, median, own_process, traces};
use lowtide_model::Verdict;

/// As in lowtide's own trend.
const SIGNIFICANT: f64 = 5.0;
/// 95 % of a normal distribution.
const POWER: f64 = 1.645;
/// Least growth that is worth a verdict in half a minute, bytes; it grows with the root of time.
const LEAST: f64 = 1.5 * 1024.0 * 1024.0;
/// Resolution of the values, bytes: a quarter of an allocator's chunk.
const QUANTUM: f64 = 256.0 * 1024.0;
/// Over fewer tides a line has no error to speak of.
const FEWEST: usize = 4;
const MIB_PER_MINUTE: f64 = 60.0 / (1024.0 * 1024.0);

fn main() -> anyhow::Result<()> {
    let traces = traces()?;
    let mut table = Table::new(
        "Traces without a leak: the smallest growth that the report says it would have found, and that of a reference that \
         is told the program's epochs (least squares over their minima, the same significance and least growth), also with \
         the textbook's errors.",
        &["trace", "verdict", "tides", "stated, MiB/min", "reference, MiB/min", "ratio", "textbook, MiB/min", "ratio to it"],
    );
    let mut ratios: Vec<(f64, &str)> = Vec::new();
    let mut unstated = Vec::new();
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
        match stated {
            Some(stated) => ratios.push((stated / reference.rate, &trace.name)),
            None => unstated.push(trace.name.as_str()),
        }
        let shown = |rate: Option<f64>| rate.map_or(String::new(), |rate| format!("{:.1}", rate * MIB_PER_MINUTE));
        let ratio = |to: f64| stated.map_or(String::new(), |stated| format!("{:.2}", stated / to));
        table.rows.push(vec![
            trace.name.clone(),
            verdict.to_owned(),
            tides.len().to_string(),
            shown(stated),
            shown(Some(reference.rate)),
            ratio(reference.rate),
            shown(Some(reference.textbook)) + if reference.false_alarm { ", false alarm" } else { "" },
            ratio(reference.textbook),
        ]);
    }
    let all: Vec<f64> = ratios.iter().map(|(ratio, _)| *ratio).collect();
    let above: Vec<String> = ratios.iter().filter(|(r, _)| *r > 2.0).map(|(r, name)| format!("{name} {r:.1}")).collect();
    let mut got = format!("the median {:.2}, the largest {:.2}, of {} traces", median(&all), largest(&all), all.len());
    if !above.is_empty() {
        got.push_str(&format!("; above: {}", above.join(", ")));
    }
    if !unstated.is_empty() {
        got.push_str(&format!("; none stated: {}", unstated.join(", ")));
    }
    let mut answer = Answer { tables: vec![table], ..Answer::default() };
    answer.goal("stated at most twice the reference's", got, above.is_empty() && unstated.is_empty());
    answer.print()
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
    /// The same with the textbook's errors.
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
    Some(Reference {
        rate: found_from(trend.error),
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

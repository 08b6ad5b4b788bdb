//! Numbers that a log says of memory, as findings: each series gets the verdict of the judge that recordings get, as far as such
//! numbers can show it.
//!
//! What they cannot show is said and lowers the certainty: numbers of few digits, of the whole machine, of a counter of maxima,
//! without times. A process's own numbers decide where there are any; the machine's may be somebody else's.

mod ends;
mod judge;
mod stages;
mod summaries;
mod tell;

use lowtide_ingest::log::numbers::{Series, What, Whose};
use lowtide_model::{Class, Finding, Report, SamplingReport, Verdict};
use lowtide_report::{Curve, LoggedCurve};

use judge::Judgement;
pub use stages::findings as of_stages;
pub use summaries::findings as of_summaries;

/// The form of lists of processes.
const PROCESSES: &str = "ps and top";

/// A series and what was made of it.
struct Judged<'a> {
    series: &'a Series,
    judgement: Judgement,
}

/// Adds what the series of a log say to its report, which has what ended the run already.
pub fn add(report: &mut Report, series: &[Series]) {
    if series.is_empty() {
        return;
    }
    let mut all: Vec<Judged<'_>> = series.iter().map(|series| Judged { series, judgement: judge::of(series) }).collect();
    explained_by_others(&mut all);
    report.logged = all.iter().map(|one| tell::row(one.series, &one.judgement)).collect();
    ends::join(report, &all);
    let mut growing: Vec<&Judged<'_>> = all.iter().filter(|one| one.judgement.grows()).collect();
    // What is surest first, then what grows most.
    growing.sort_by(|a, b| {
        (rank(b.judgement.verdict), b.judgement.rise())
            .partial_cmp(&(rank(a.judgement.verdict), a.judgement.rise()))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let findings: Vec<Finding> = growing.iter().map(|one| tell::finding(one.series, &one.judgement)).collect();
    report.findings.splice(0..0, findings);
    report.findings.extend(all.iter().filter_map(|one| tell::beside(one.series, &one.judgement)));
    report.verdict = verdict(&all);
    fill(report, &all);
}

/// The series as a page draws them, in the order of the report's rows.
pub fn curve(report: &Report, series: &[Series]) -> Curve {
    // Clocks become seconds since the first number.
    let timed = series.iter().filter(|series| series.axis.is_time()).filter_map(|series| series.windows.first());
    let begin_s = timed.map(|window| window.start_s).fold(f64::INFINITY, f64::min);
    let blamed = report.leak().map(|leak| leak.text.as_str());
    let drawn = series.iter().map(|series| {
        let name = if series.entity.is_empty() { series.name.clone() } else { format!("{} ({})", series.name, series.entity) };
        let mut one = LoggedCurve {
            blamed: blamed.is_some_and(|text| text.starts_with(&tell::name(series))),
            name,
            resource: tell::resource(series),
            percent: series.percent,
            per: series.axis.one(),
            own: series.what == What::Used && matches!(series.whose, Whose::Process | Whose::Unsaid),
            points: Vec::new(),
        };
        let less = if series.axis.is_time() { begin_s } else { 0.0 };
        for window in &series.windows {
            one.push(
                (window.start_s - less, window.end_s - less),
                (window.low_at_s - less, window.low),
                window.high,
                window.last,
            );
        }
        one
    });
    let mut drawn: Vec<LoggedCurve> = drawn.collect();
    // What the verdict is about is shown first.
    drawn.sort_by_key(|one| !one.blamed);
    Curve::of_logged(drawn)
}

/// From the least to the most certain.
fn rank(verdict: Option<Verdict>) -> u8 {
    match verdict {
        None => 0,
        Some(Verdict::Undecided) => 1,
        Some(Verdict::NoLeak) => 2,
        Some(Verdict::LikelyLeak) => 3,
        Some(Verdict::Leak) => 4,
    }
}

/// Takes back what another series explains: what PyTorch holds follows what lives, and the machine has other programs.
fn explained_by_others(all: &mut [Judged<'_>]) {
    // A list of processes has many that come and go.
    let most = all.iter().map(|one| one.series.points).max().unwrap_or(0);
    for one in all.iter_mut().filter(|one| one.series.form == PROCESSES && one.series.points * 2 < most && one.judgement.grows())
    {
        one.judgement.explained("rises, but was there for less than half of the time");
    }
    let seen = |wanted: &dyn Fn(&Judged<'_>) -> bool| all.iter().any(wanted);
    let allocated = |one: &Judged<'_>| one.series.whose == Whose::Allocator && one.series.what == What::Used;
    let allocated_grows = seen(&|one| allocated(one) && one.judgement.grows());
    let allocated_level = seen(&|one| allocated(one) && one.judgement.verdict == Some(Verdict::NoLeak));
    let own = |one: &Judged<'_>| one.series.whose == Whose::Process && one.series.what == What::Used;
    let own_grows = seen(&|one| own(one) && one.judgement.grows());
    let own_level = seen(&|one| own(one) && one.judgement.verdict == Some(Verdict::NoLeak));
    for one in all.iter_mut().filter(|one| one.judgement.grows()) {
        let held = one.series.what == What::Reserved || one.series.whose == Whose::Card;
        if held && allocated_grows {
            one.judgement.explained("follows what lives in it");
        } else if held && allocated_level {
            one.judgement.explained("rises, while what lives in it does not: a larger batch, or fragments");
        } else if one.series.whose == Whose::Machine && own_grows {
            one.judgement.explained("rises with the process's own");
        } else if one.series.whose == Whose::Machine && own_level {
            one.judgement
                .explained("rises, while the process that is measured does not: its workers, /dev/shm, or another program");
        }
    }
}

/// The worst that is established; else what the process's own numbers say.
fn verdict(all: &[Judged<'_>]) -> Verdict {
    let worst = all.iter().max_by_key(|one| rank(one.judgement.verdict)).and_then(|one| one.judgement.verdict);
    let own = all.iter().any(|one| one.series.whose == Whose::Process && one.judgement.verdict == Some(Verdict::NoLeak));
    match worst {
        Some(verdict @ (Verdict::Leak | Verdict::LikelyLeak)) => verdict,
        // Level is what is level in all that was judged: one that cannot be told yet leaves it open, but for the machine's
        // where the process's own is known.
        Some(Verdict::NoLeak)
            if all
                .iter()
                .all(|one| one.judgement.verdict != Some(Verdict::Undecided) || (own && one.series.whose == Whose::Machine)) =>
        {
            Verdict::NoLeak
        }
        _ => Verdict::Undecided,
    }
}

/// How long, how often, what could have been seen, and what not.
fn fill(report: &mut Report, all: &[Judged<'_>]) {
    let timed = || all.iter().filter(|one| one.series.axis.is_time());
    report.duration_s = timed().map(|one| tell::span(one.series)).fold(0.0, f64::max);
    let most = all.iter().map(|one| one.series.points).max().unwrap_or(0);
    report.sampling = SamplingReport {
        ticks: most,
        interval_s: if most > 1 { report.duration_s / (most - 1) as f64 } else { 0.0 },
        ..SamplingReport::default()
    };
    if report.verdict == Verdict::NoLeak {
        // What would have been seen in all of them.
        let worst = timed().filter(|one| !one.series.percent).filter_map(|one| one.judgement.detectable()).reduce(f64::max);
        report.detectable_bytes_per_second = worst.filter(|rate| rate.is_finite());
    }
    if report.verdict == Verdict::Undecided {
        report.more_seconds_needed = timed().map(|one| one.judgement.more_s()).fold(0.0, f64::max);
    }
    let has = |gpu: bool| all.iter().any(|one| matches!(one.series.whose, Whose::Card | Whose::Allocator) == gpu);
    report.blind_spots.clear();
    if !has(false) {
        report.blind_spots.push("host RAM: the file has no number of it".to_owned());
    }
    if !has(true) {
        report.blind_spots.push("GPU memory: the file has no number of it".to_owned());
    }
    report.blind_spots.push("which objects grow, and which line adds them: `lowtide run` tells".to_owned());
    report.summary = summary(report, all);
}

fn summary(report: &Report, all: &[Judged<'_>]) -> String {
    let by = |wanted: &dyn Fn(&&Judged<'_>) -> bool| {
        all.iter().filter(wanted).max_by(|a, b| a.judgement.rise().total_cmp(&b.judgement.rise()))
    };
    let judged = match report.verdict {
        Verdict::Leak | Verdict::LikelyLeak => by(&|one| one.judgement.verdict == Some(report.verdict)),
        Verdict::NoLeak => by(&|one| one.judgement.verdict == Some(Verdict::NoLeak)),
        Verdict::Undecided => by(&|one| one.judgement.verdict == Some(Verdict::Undecided)).or_else(|| by(&|_| true)),
    };
    let Some(one) = judged else { return String::new() };
    let told = tell::sentence(one.series, &one.judgement);
    match report.findings.iter().find(|finding| finding.class == Class::Oom && finding.ran_out()) {
        Some(end) => format!("{told}; how it ended: {}", end.text),
        None => told,
    }
}

//! What was made of a series in words, as a finding, and as a row.

use lowtide_analyse::judge::Outcome;
use lowtide_ingest::log::numbers::{Axis, Series, What, Whose};
use lowtide_model::{Bytes, Class, Finding, Growth, Kind, LoggedReport, ProcessRef, Rate, Role, Seconds, Verdict};

use super::judge::Judgement;

/// Spikes below this are not worth a line, bytes.
const WORTH_A_LINE: f64 = 64.0 * 1_048_576.0;

/// From its first to its last point, in units of its axis.
pub fn span(series: &Series) -> f64 {
    series.windows.first().zip(series.windows.last()).map_or(0.0, |(first, last)| last.end_s - first.start_s)
}

/// An amount in the series' unit.
pub fn amount(series: &Series, value: f64) -> String {
    if series.percent { format!("{value:.1} %") } else { Bytes(value.max(0.0) as u64).to_string() }
}

/// `+12 MiB per minute`, `+3 MiB per step`.
pub fn rate(series: &Series, per_one: f64) -> String {
    let change = |value: f64| if series.percent { format!("{value:+.2} %") } else { Rate(value).to_string() };
    match series.axis {
        Axis::Time | Axis::Bars if per_one.abs() * 60.0 >= 100.0 * 1024.0 => format!("{} per minute", change(60.0 * per_one)),
        Axis::Time | Axis::Bars => format!("{} per hour", change(3600.0 * per_one)),
        axis => format!("{} per {}", change(per_one), axis.one()),
    }
}

/// How far it goes: `in 1 min 30 s`, `over 400 steps`.
fn over(series: &Series, length: f64) -> String {
    match series.axis {
        Axis::Time | Axis::Bars => format!("in {}", Seconds(length)),
        axis => format!("over {length:.0} {}s", axis.one()),
    }
}

/// What its places count.
pub fn places(series: &Series) -> &'static str {
    if matches!(series.form, "TensorBoard" | "W&B history" | "W&B system metrics") { "records" } else { "lines" }
}

/// What the series is called: `ram`, `allocated (gpu 0)`.
pub fn name(series: &Series) -> String {
    if series.entity.is_empty() { format!("`{}`", series.name) } else { format!("`{}` ({})", series.name, series.entity) }
}

/// What its low tide did, in a sentence.
pub fn sentence(series: &Series, judgement: &Judgement) -> String {
    format!("{} {}", name(series), did(series, judgement))
}

/// The same without its name.
fn did(series: &Series, judgement: &Judgement) -> String {
    let Some(judged) = judgement.judged() else { return judgement.why.join("; ") };
    let length = span(series);
    match judgement.verdict {
        Some(Verdict::Leak | Verdict::LikelyLeak) => {
            let since = over(series, length - judgement.since());
            let low = (judged.floor - judged.rise).max(0.0);
            let (per_one, _) = judgement.rate();
            format!(
                "rose at its low tide from {} to {} {since}, {}",
                amount(series, low),
                amount(series, judged.floor),
                rate(series, per_one)
            )
        }
        Some(Verdict::NoLeak) if judged.outcome == Outcome::Stopped => {
            format!("rose by {} and has stopped at {}", amount(series, judged.rose_before), amount(series, judgement.floor()))
        }
        Some(Verdict::NoLeak) => format!("is level at {} {}", amount(series, judgement.floor()), over(series, length)),
        Some(Verdict::Undecided) => format!("cannot be told yet: {}", judgement.why.join("; ")),
        None => judgement.why.join("; "),
    }
}

/// `gpu0`, `ram`.
pub fn resource(series: &Series) -> String {
    match series.whose {
        Whose::Card | Whose::Allocator => format!("gpu{}", series.device.unwrap_or(0)),
        _ => "ram".to_owned(),
    }
}

/// Growth as a finding.
pub fn finding(series: &Series, judgement: &Judgement) -> Finding {
    let class = if series.what == What::Reserved || series.whose == Whose::Card { Class::GpuReservedGrowth } else { Class::Leak };
    let mut finding = Finding::new(class, &resource(series), sentence(series, judgement));
    finding.kind = match (series.whose, series.what) {
        (Whose::Allocator, What::Used) => Some(Kind::GpuAllocated),
        (Whose::Allocator | Whose::Card, _) => Some(Kind::GpuReserved),
        _ => None,
    };
    finding.confidence = if judgement.verdict == Some(Verdict::Leak) { 0.99 } else { 0.8 };
    let (per_one, ci95) = judgement.rate();
    if series.axis.is_time() && !series.percent {
        finding.growth = Some(Growth::per_second(per_one, ci95));
    }
    if series.rank.is_some() || series.pid.is_some() || series.whose == Whose::Process {
        let mut process = ProcessRef::of_role(Role::Other, "the process that is measured".to_owned(), String::new());
        (process.rank, process.pid) = (series.rank, series.pid.unwrap_or(0));
        finding.process = Some(process);
    }
    finding.evidence = evidence(series, judgement);
    finding
}

fn evidence(series: &Series, judgement: &Judgement) -> Vec<String> {
    let (from, to) = series.lines;
    let mut lines = Vec::new();
    if let Some(judged) = judgement.judged() {
        lines.push(format!(
            "{} numbers ({}), {} {from} to {to}: {} low tides, {:.0} standard errors from level",
            series.points,
            series.form,
            places(series),
            judged.tides,
            judged.t
        ));
        let excursions = &judged.excursions;
        if !series.percent && excursions.count > 0 && excursions.height > WORTH_A_LINE {
            lines.push(format!(
                "{} spikes up to {} came back and do not count",
                excursions.count,
                amount(series, excursions.height)
            ));
        }
    }
    lines.extend(judgement.why.iter().map(|why| format!("no more than likely: {why}")));
    let digit = series.quantum;
    if digit > 1_048_576.0 || series.percent {
        lines.push(format!("its last digit is {}: less does not show", amount(series, digit)));
    }
    match series.axis {
        Axis::Bars => {
            lines.push("times are those of its progress bars; what went by between two of them is not counted".to_owned());
        }
        Axis::Steps | Axis::Epochs | Axis::Lines => {
            lines.push(format!("ordered by {}s: there is no rate per time", series.axis.one()));
        }
        Axis::Time => {}
    }
    lines.extend(series.said.clone());
    lines
}

/// What is worth a word although it is no growth: a ceiling, spikes, a rise that something else explains.
pub fn beside(series: &Series, judgement: &Judgement) -> Option<Finding> {
    if series.percent || series.what == What::Peak || judgement.grows() {
        return None;
    }
    let judged = judgement.judged()?;
    if judgement.verdict.is_none() {
        let finding = Finding::new(Class::BoundedGrowth, &resource(series), sentence(series, judgement));
        return Some(Finding { bytes: Some(judged.rise.max(0.0) as u64), confidence: 0.5, ..finding });
    }
    if judged.outcome == Outcome::Stopped && judged.rose_before >= WORTH_A_LINE {
        let text = format!("{}: bounded, no leak", sentence(series, judgement));
        let finding = Finding::new(Class::BoundedGrowth, &resource(series), text);
        return Some(Finding { bytes: Some(judged.rose_before as u64), confidence: 0.9, ..finding });
    }
    let excursions = &judged.excursions;
    if excursions.height >= WORTH_A_LINE.max(0.1 * judgement.floor()) && excursions.count > 0 {
        let text = format!(
            "{}: {} spikes of up to {} came back: harmless while there is room for them",
            name(series),
            excursions.count,
            amount(series, excursions.height)
        );
        let finding = Finding::new(Class::Spikes, &resource(series), text);
        return Some(Finding { bytes: Some(excursions.height as u64), ..finding });
    }
    None
}

/// The series as a row.
pub fn row(series: &Series, judgement: &Judgement) -> LoggedReport {
    let growth = judgement.grows().then(|| judgement.rate());
    let windows = &series.windows;
    LoggedReport {
        name: series.name.clone(),
        entity: series.entity.clone(),
        form: series.form.to_owned(),
        whose: match series.whose {
            Whose::Process => "process",
            Whose::Machine => "machine",
            Whose::Card => "card",
            Whose::Allocator => "allocator",
            Whose::Unsaid => "unsaid",
        },
        what: match series.what {
            What::Used => "used",
            What::Reserved => "reserved",
            What::Peak => "peak",
        },
        unit: if series.percent { "percent" } else { "bytes" },
        axis: match series.axis {
            Axis::Time => "seconds",
            Axis::Bars => "seconds of progress bars",
            Axis::Steps => "steps",
            Axis::Epochs => "epochs",
            Axis::Lines => "lines",
        },
        points: series.points,
        first_line: series.lines.0,
        last_line: series.lines.1,
        first: series.first,
        last: windows.last().map_or(series.first, |window| window.last),
        floor: judgement.floor(),
        peak: windows.iter().map(|window| window.high).fold(0.0, f64::max),
        limit: series.limit,
        resolution: series.quantum,
        verdict: judgement.verdict,
        growth: growth.map(|(per_one, _)| per_one),
        growth_ci95: growth.map(|(_, ci95)| ci95),
        says: did(series, judgement),
    }
}

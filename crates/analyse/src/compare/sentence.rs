//! What became of the memory, and of the speed, in a sentence each.

use lowtide_model::{Bytes, Change, Finding, Measured, Seconds, Unit, Verdict};

use super::estimate::{PLAIN, SENTENCE};
use super::facts::Facts;
use super::rows::{Compared, Table};

/// What the runs of a side say of themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Leaks,
    Level,
    Open,
}

fn standing(side: &[Facts]) -> Standing {
    let leaking = side.iter().filter(|run| leaks(run)).count();
    match leaking {
        n if 2 * n >= side.len() && n > 0 => Standing::Leaks,
        0 if side.iter().all(|run| run.report.verdict == Verdict::NoLeak) => Standing::Level,
        _ => Standing::Open,
    }
}

fn leaks(run: &Facts) -> bool {
    matches!(run.report.verdict, Verdict::Leak | Verdict::LikelyLeak)
}

/// What became of it, and the sentence.
pub(super) fn of(before: &[Facts], after: &[Facts], table: &Table) -> (Change, String) {
    let standings = (standing(before), standing(after));
    let need = need(table);
    match growth(before, after, table, standings) {
        Some((change, text)) => (change, format!("{}: {text}{}", word(change), also(need.as_ref()))),
        None => match need {
            Some((change, text)) => (change, format!("{}: {text}{}", word(change), still(standings))),
            None => (Change::NoDifference, format!("no difference seen{}{}", still(standings), smallest(table))),
        },
    }
}

fn word(change: Change) -> &'static str {
    match change {
        Change::Fixed => "fixed",
        Change::Better => "better",
        Change::NoDifference => "no difference seen",
        Change::Worse => "worse",
    }
}

/// What became of the growth; `None` where no difference can be told.
fn growth(before: &[Facts], after: &[Facts], table: &Table, standings: (Standing, Standing)) -> Option<(Change, String)> {
    use Standing::{Leaks, Level, Open};
    let told = |side: &[Facts]| side.iter().find(|run| leaks(run)).and_then(|run| run.report.leak().cloned());
    let (left, had) = (told(after), told(before));
    // What grows outside of the tree's own memory shows in no series of it: then the verdicts stand.
    let elsewhere = |side: &[Facts]| side.iter().filter(|run| leaks(run)).all(|run| !run.tree_grows());
    let seen = table.growth.seen(SENTENCE);
    let (now, was) = (value(&table.growth, false), value(&table.growth, true));
    match standings {
        (Leaks, Level) if seen.is_some_and(|change| change < 0.0) || elsewhere(before) => {
            let limit = table.growth.after.map(|side| side.measured()).and_then(|after| after.ci95);
            let below = limit
                .map_or(String::new(), |[_, high]| format!("; what may be left is less than {}", show(table.growth.unit, high)));
            let below = if elsewhere(before) { String::new() } else { below };
            Some((
                Change::Fixed,
                format!("the leak of {} is gone{below}", had.map_or(was, |finding| leak(&finding, table, true))),
            ))
        }
        (Level, Leaks) if seen.is_some_and(|change| change > 0.0) || elsewhere(after) => {
            Some((Change::Worse, format!("it leaks now: {}", left.map_or(now, |finding| leak(&finding, table, false)))))
        }
        (Leaks, Leaks | Open) | (Open, Leaks) => {
            let change = seen?;
            let (outcome, verb) = if change < 0.0 { (Change::Better, "more slowly") } else { (Change::Worse, "faster") };
            let (still, open) = match standings {
                (Leaks, Leaks) => ("it still leaks, but ", ""),
                (Leaks, _) => ("it grows ", "; whether what is left is a leak cannot be told yet"),
                _ => ("it grows ", ""),
            };
            let still = if standings == (Leaks, Leaks) && outcome == Change::Worse { "it leaks " } else { still };
            Some((outcome, format!("{still}{verb}: {now} instead of {was}{}{open}", share(&table.growth))))
        }
        (Open, Open | Level) | (Level, Open) => {
            let change = table.growth.seen(PLAIN)?;
            let outcome = if change < 0.0 { Change::Better } else { Change::Worse };
            Some((outcome, format!("it grows by {now} instead of {was}; whether that is a leak cannot be told yet")))
        }
        _ => None,
    }
}

/// A leak by its rate: of the tree's memory as the table has it, else as its finding has it.
fn leak(finding: &Finding, table: &Table, before: bool) -> String {
    let growth = finding.growth.as_ref();
    if let Some(growth) = growth.filter(|growth| growth.unit == "count") {
        return format!("{:.2} {} per second", growth.bytes_per_second, finding.resource);
    }
    let side = if before { table.growth.before } else { table.growth.after };
    match growth {
        Some(growth) if side.is_none_or(|side| side.mean <= 0.0) => show(Unit::BytesPerSecond, growth.bytes_per_second),
        _ => value(&table.growth, before),
    }
}

/// What became of what it needs: the peak kills, so that it comes first.
fn need(table: &Table) -> Option<(Change, String)> {
    let said = [(&table.peak, "peak"), (&table.floor, "floor")].map(|(compared, name)| {
        let change = compared.seen(SENTENCE)?;
        let direction = if change < 0.0 { "lower" } else { "higher" };
        let size = show(Unit::Bytes, change.abs());
        Some((
            change,
            format!(
                "the {name} is {size} {direction}{}: {} instead of {}",
                share(compared),
                value(compared, false),
                value(compared, true)
            ),
        ))
    });
    // Where one rose and the other fell, by the one that moved further.
    let sum: f64 = said.iter().flatten().map(|(change, _)| *change).sum();
    let outcome = if sum > 0.0 { Change::Worse } else { Change::Better };
    let texts: Vec<String> = said.into_iter().flatten().map(|(_, text)| text).collect();
    (!texts.is_empty()).then(|| (outcome, texts.join("; ")))
}

fn also(need: Option<&(Change, String)>) -> String {
    need.map_or(String::new(), |(_, text)| format!("; {text}"))
}

fn still(standings: (Standing, Standing)) -> &'static str {
    match standings {
        (Standing::Leaks, Standing::Leaks) => "; it leaks before and after",
        (Standing::Leaks, _) => "; it leaked before, and whether it still does cannot be told from these runs",
        (_, Standing::Leaks) => "; it leaks now, and whether it did before cannot be told from these runs",
        _ => "",
    }
}

/// What would have been seen.
fn smallest(table: &Table) -> String {
    let of = |compared: &Compared, what: &str| {
        let smallest = compared.difference?.smallest(SENTENCE)?;
        Some(format!("{} of {what}", show(compared.unit, smallest)))
    };
    let told: Vec<String> =
        [of(&table.growth, "growth"), of(&table.floor, "floor"), of(&table.peak, "peak")].into_iter().flatten().collect();
    if told.is_empty() { String::new() } else { format!("; would have been seen: {}", told.join(", ")) }
}

/// What it costs in time.
pub(super) fn price(table: &Table) -> String {
    let time = &table.step_time;
    let (Some(before), Some(difference)) = (time.before, time.difference) else {
        return "time per step: not known on both sides".to_owned();
    };
    let percent = |seconds: f64| 100.0 * seconds / before.mean;
    let interval = |Measured { ci95, .. }: Measured| {
        ci95.map_or(String::new(), |[low, high]| format!(" (95 %: {:+.1} to {:+.1} %)", percent(low), percent(high)))
    };
    let change = percent(difference.value);
    let interval = interval(difference.measured());
    let direction = if change > 0.0 { "longer" } else { "shorter" };
    let took =
        format!("a step is {:.1} % {direction}{interval}: {} instead of {}", change.abs(), value(time, false), value(time, true));
    match (difference.differs(SENTENCE), difference.smallest(SENTENCE)) {
        (Some(true), _) => took,
        (Some(false), Some(smallest)) => {
            format!(
                "time per step: no difference seen, {change:+.1} %{interval}; {:.1} % would have been seen",
                percent(smallest)
            )
        }
        _ => format!("{took}; one run a side does not tell whether that is the program or what else the machine did"),
    }
}

fn share(compared: &Compared) -> String {
    let Some((before, difference)) = compared.before.zip(compared.difference).filter(|(before, _)| before.mean > 0.0) else {
        return String::new();
    };
    let percent = (100.0 * difference.value / before.mean).clamp(-999.0, 9999.0);
    // What is left is not nothing.
    let digits = usize::from(percent > -100.0 && percent < -99.5);
    format!(" ({percent:+.digits$} %)")
}

fn value(compared: &Compared, before: bool) -> String {
    let side = if before { compared.before } else { compared.after };
    side.map_or_else(|| "an unknown amount".to_owned(), |side| show(compared.unit, side.mean))
}

/// A value with its unit.
fn show(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Bytes => size(value),
        Unit::BytesPerSecond => format!("{} per minute", size(60.0 * value)),
        Unit::BytesPerStep => format!("{} per step", size(value)),
        Unit::Seconds => step(value),
    }
}

fn size(bytes: f64) -> String {
    let sign = if bytes <= -0.5 { "-" } else { "" };
    format!("{sign}{}", Bytes(bytes.abs().round() as u64))
}

/// A step's time: mostly milliseconds.
fn step(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.1} ms", 1000.0 * seconds) } else { Seconds(seconds).to_string() }
}

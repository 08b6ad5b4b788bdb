//! Two runs, or several a side, held against each other: did the memory get better, and what did it cost in time?
//!
//! What each run says of itself stands in its [`Facts`]. How long a run was must not make a difference: growth is a rate; floor,
//! peak and spike of what grows are taken up to the same step, or second where steps are not known on both sides (`rows`). A difference
//! counts where it is larger than what the runs' own noise allows and what two runs of one program differ by
//! (`estimate`), and large enough to be worth a word; three of them make the sentence (`sentence`). Where processes were looked into,
//! what memory is for is compared, too (`budget`).

mod budget;
mod cards;
mod estimate;
mod facts;
mod notes;
mod rows;
mod sentence;

use lowtide_model::{COMPARISON_SCHEMA, ComparedRun, Comparison, Matched, Verdict};

pub use facts::Facts;

/// Holds runs against each other. Both sides have at least one.
#[must_use]
pub fn compare(before: &[Facts], after: &[Facts]) -> Comparison {
    let matched = matched(before, after);
    let mut table = rows::Table::of(before, after, matched);
    let budget = budget::of([before, after], &table.growth);
    table.rows.extend(budget.rows);
    let (outcome, summary) = sentence::of(before, after, &table);
    Comparison {
        schema: COMPARISON_SCHEMA,
        outcome,
        summary,
        price: sentence::price(&table),
        budget: budget.sentence,
        matched,
        before: before.iter().map(run).collect(),
        after: after.iter().map(run).collect(),
        notes: notes::of(before, after, matched).into_iter().chain(budget.notes).collect(),
        rows: table.rows,
    }
}

/// By steps where all runs have them. What still grows at its end is compared up to where all runs go; a run that has become
/// level needs what it needs then, and no matter after how long.
fn matched(before: &[Facts], after: &[Facts]) -> Matched {
    let all = || before.iter().chain(after);
    let fewest = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
    let level = all().all(|run| run.report.verdict == Verdict::NoLeak);
    let steps: Option<Vec<f64>> = all().map(Facts::steps).collect();
    match steps {
        Some(steps) => Matched { by: "step", until: (!level).then(|| fewest(&mut steps.into_iter())) },
        None => Matched { by: "second", until: (!level).then(|| fewest(&mut all().map(|run| run.report.duration_s))) },
    }
}

fn run(facts: &Facts) -> ComparedRun {
    ComparedRun {
        file: facts.file.clone(),
        command: facts.report.run.command.clone(),
        verdict: facts.report.verdict,
        duration_s: facts.report.duration_s,
        steps: facts.steps().map(|steps| steps as u64),
        processes: facts.processes(),
        ended: facts.report.run.ended.clone(),
    }
}

#[cfg(test)]
mod tests;

//! What stages of a run took by HF Trainer's own table, as findings: a budget of one number each, no growth.

use lowtide_ingest::log::numbers::Stage;
use lowtide_model::{Bytes, Class, Finding};

/// A finding for each memory that the table is about.
pub fn findings(stages: &[Stage]) -> Vec<Finding> {
    [true, false].into_iter().filter_map(|gpu| finding(stages, gpu)).collect()
}

fn finding(all: &[Stage], gpu: bool) -> Option<Finding> {
    let stages: Vec<&Stage> = all.iter().filter(|stage| stage.gpu == gpu).collect();
    let moved = |stage: &&&Stage| stage.kept.is_some_and(|kept| kept != 0) || stage.above.is_some_and(|above| above > 0);
    // Without a card its numbers are not there, or all zero.
    stages.iter().find(moved)?;
    // What is there when a stage begins is what came before it, as far as the table says it all.
    let mut there = stages.iter().find_map(|stage| stage.before).and_then(|before| i64::try_from(before).ok());
    let mut peak = None;
    for stage in &stages {
        there = there.zip(stage.kept).map(|(there, kept)| there.saturating_add(kept));
        let most = there.zip(stage.above).map(|(there, above)| there.saturating_add_unsigned(above));
        peak = peak.max(most);
    }
    let parts: Vec<String> = stages.iter().filter(moved).map(|stage| told(stage)).collect();
    let most = peak.and_then(|peak| u64::try_from(peak).ok());
    let most_text = most.map_or(String::new(), |most| format!("{} at most; ", Bytes(most)));
    let (resource, name) = if gpu { ("gpu0", "GPU") } else { ("ram", "host RAM") };
    let text = format!("{name} by stages, as HF Trainer tells: {most_text}{}", parts.join("; "));
    let mut found = Finding::new(Class::Overhead, resource, text);
    found.bytes = most;
    let first = stages.iter().map(|stage| stage.lines.0).min().unwrap_or(0);
    let last = stages.iter().map(|stage| stage.lines.1).max().unwrap_or(0);
    found.evidence.push(format!("lines {first} to {last}: one number of each, so that growth does not show"));
    Some(found)
}

/// `train kept 693 MiB more and took 7.93 GiB above that`.
fn told(stage: &Stage) -> String {
    let kept = stage.kept.map(|kept| match kept {
        0 => "kept nothing".to_owned(),
        1.. => format!("kept {} more", Bytes(kept.unsigned_abs())),
        _ => format!("gave {} back", Bytes(kept.unsigned_abs())),
    });
    let above = stage.above.map(|above| match above {
        0 => "took nothing above that".to_owned(),
        _ => format!("took {} above that", Bytes(above)),
    });
    let both: Vec<String> = kept.into_iter().chain(above).collect();
    format!("{} {}", stage.name, both.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(name: &str, gpu: bool, before: Option<u64>, kept: i64, above: u64) -> Stage {
        Stage { name: name.to_owned(), gpu, before, kept: Some(kept << 20), above: Some(above << 20), lines: (3, 9) }
    }

    #[test]
    fn a_budget_by_stages() {
        let all =
            [stage("init", true, Some(0), 230, 0), stage("train", true, None, 700, 8000), stage("eval", true, None, -100, 10)];
        let found = findings(&all);
        assert_eq!(found.len(), 1, "nothing of the host");
        assert_eq!(found[0].bytes, Some((230 + 700 + 8000) << 20), "the peak is that of the largest stage");
        assert!(found[0].text.contains("eval gave 100 MiB back"), "{}", found[0].text);
    }

    #[test]
    fn what_was_there_before_is_not_made_up() {
        let found = findings(&[stage("train", true, None, 700, 8000)]);
        assert_eq!(found[0].bytes, None, "the table has no begin");
        assert!(findings(&[stage("train", true, Some(0), 0, 0)]).is_empty(), "a run without a card");
    }
}

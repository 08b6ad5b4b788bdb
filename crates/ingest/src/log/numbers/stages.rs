//! What stages of a run took, by the table that HF Trainer writes at their ends (`skip_memory_metrics=False`).
//!
//! `train_mem_gpu_alloc_delta` is what is there at a stage's end and was not at its begin, `train_mem_gpu_peaked_delta` what was
//! needed above that in between, `before_init_mem_cpu` what was there before the first (transformers/trainer_utils.py,
//! `TrainerMemoryTracker`). In its tables `MB` are of 2^20 bytes (`v >> 20`); in dictionaries and JSON files they are bytes.
//! They are one number each, so that no growth can be told by them: what they say is a budget.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

/// Stages that are kept.
const MOST: usize = 32;

/// What a stage took of one memory. Bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// `init`, `train`, `eval`, ...
    pub name: String,
    /// Of a card; else of the host.
    pub gpu: bool,
    /// What was there before the first stage, where that is said.
    pub before: Option<u64>,
    /// What it left behind; below zero where it gave back.
    pub kept: Option<i64>,
    /// What it needed above that in between.
    pub above: Option<u64>,
    /// The first and the last line that says so, counted from 1.
    pub lines: (u64, u64),
}

/// The stages of a log, while it is read.
#[derive(Debug, Default)]
pub struct Stages {
    all: BTreeMap<(bool, String), (usize, Stage)>,
}

static METRIC: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?-u:\b)(before_init|[a-z]{2,12})_mem_(cpu|gpu)(_alloc_delta|_peaked_delta)?['"]? *[=:|] *(-?[0-9]{1,16})(MB)?(?:[^0-9.A-Za-z]|$)"#)
        .expect("a correct pattern")
});

impl Stages {
    /// Takes a line that has such numbers.
    pub(super) fn line(&mut self, text: &str, number: u64) -> bool {
        if !(text.contains("_mem_gpu") || text.contains("_mem_cpu")) {
            return false;
        }
        let mut any = false;
        for metric in METRIC.captures_iter(text) {
            let Ok(value) = metric[4].parse::<i64>() else { continue };
            let scale = if metric.get(5).is_some() { 1 << 20 } else { 1 };
            let Some(bytes) = value.checked_mul(scale) else { continue };
            let what = metric.get(3).map(|what| what.as_str());
            // `before_init` stands before the stage `init`, and has no further part.
            let name = if &metric[1] == "before_init" { "init" } else { &metric[1] };
            let place = self.all.len();
            let key = (&metric[2] == "gpu", name.to_owned());
            if place >= MOST && !self.all.contains_key(&key) {
                continue;
            }
            let new = Stage { name: key.1.clone(), gpu: key.0, lines: (number, number), ..Stage::default() };
            let (_, stage) = self.all.entry(key).or_insert((place, new));
            match what {
                None if &metric[1] == "before_init" => stage.before = u64::try_from(bytes).ok(),
                Some("_alloc_delta") => stage.kept = Some(bytes),
                Some("_peaked_delta") => stage.above = u64::try_from(bytes).ok(),
                _ => continue,
            }
            stage.lines.1 = number;
            any = true;
        }
        any
    }

    /// Those that say something, in the order of the log.
    pub(super) fn finish(self) -> Vec<Stage> {
        let mut all: Vec<(usize, Stage)> = self.all.into_values().collect();
        all.sort_by_key(|(place, _)| *place);
        let said = |stage: &Stage| stage.before.is_some() || stage.kept.is_some() || stage.above.is_some();
        all.into_iter().map(|(_, stage)| stage).filter(said).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Stage> {
        let mut stages = Stages::default();
        for (line, number) in text.lines().zip(1..) {
            stages.line(line, number);
        }
        stages.finish()
    }

    fn stage(name: &str, gpu: bool, before: Option<u64>, kept: i64, above: u64, lines: (u64, u64)) -> Stage {
        Stage { name: name.to_owned(), gpu, before, kept: Some(kept), above: Some(above), lines }
    }

    #[test]
    fn tables_are_in_mib_and_all_else_in_bytes() {
        let table = "  before_init_mem_gpu        =        0MB\n  init_mem_gpu_alloc_delta   =      230MB\n  \
                     init_mem_gpu_peaked_delta  =        0MB\n  train_mem_gpu_alloc_delta  =      693MB\n  train_mem_gpu_peaked_delta =     8123MB\n";
        let expected =
            [stage("init", true, Some(0), 230 << 20, 0, (1, 3)), stage("train", true, None, 693 << 20, 8123 << 20, (4, 5))];
        assert_eq!(read(table), expected);
        let one = [stage("train", true, None, 3_330_195_456, 8_287_144_960, (1, 1))];
        assert_eq!(
            read("{'train_mem_gpu_alloc_delta': 3330195456, 'train_mem_gpu_peaked_delta': 8287144960, 'epoch': 3.0}"),
            one
        );
        let two = [stage("train", false, None, -5, 7, (1, 2))];
        assert_eq!(read("    \"train_mem_cpu_alloc_delta\": -5,\n    \"train_mem_cpu_peaked_delta\": 7"), two);
        assert_eq!(read("| train_mem_cpu_alloc_delta | -5 |\n| train_mem_cpu_peaked_delta | 7 |"), two);
    }

    #[test]
    fn what_only_looks_like_it_says_nothing() {
        for text in [
            "'train_mem_gpu_alloc_delta' \\",
            "train_mem_gpu_alloc_delta = 1.5GB",
            "max_mem_gpu: 12",
            "train_mem_gpu_alloc_delta = 99999999999999999999",
            "train_mem_gpu_alloc_delta = 12 of",
        ] {
            let told = read(text);
            assert!(told.iter().all(|stage| stage.kept == Some(12)), "{text}: {told:?}");
        }
    }
}

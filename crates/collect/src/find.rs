//! Which processes of this machine look like training, for those who do not know the pid.

use std::path::Path;

use lowtide_model::{Bytes, Role};

use crate::error::CollectError;
use crate::facts::{self, Facts};
use crate::members::Counters;
use crate::parse::stat::Stat;
use crate::parse::status::Status;
use crate::roles::{self, Part, View};
use crate::root::{Root, Scratch};
use crate::sys;

/// A Python without a training library counts only above this much memory and this part of a core over its life.
const BUSY_ANON: u64 = 64 << 20;
const BUSY_SHARE: f64 = 0.3;
/// `maps` is searched only where a training library could be: torch alone maps more than this.
const LIBRARY_RSS: u64 = 24 << 20;

/// A process that could be a training run.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its pid.
    pub pid: u32,
    /// Its command line, secrets masked.
    pub command: String,
    /// Why it is here, in words.
    pub reason: String,
    /// Its anonymous memory in bytes.
    pub anon: u64,
    /// Seconds since it started.
    pub started_s_ago: f64,
}

/// One process of the machine, as far as it matters here.
struct Found {
    stat: Stat,
    facts: Facts,
    counters: Counters,
    part: Part,
}

/// The likely training processes of this machine, the best first.
///
/// # Errors
/// /proc cannot be listed.
pub fn find_candidates(root: &Path) -> Result<Vec<Candidate>, CollectError> {
    let root = Root::new(root);
    let mut scratch = Scratch::default();
    let found = all_processes(&root, &mut scratch)?;
    let uptime_s = root.uptime_s(&mut scratch).unwrap_or(0.0);
    let views: Vec<View<'_>> = found
        .iter()
        .enumerate()
        .map(|(index, process)| View {
            facts: &process.facts,
            counters: process.counters,
            cpu_then: 0,
            cpu_above_then: Vec::new(),
            parent: found[..index].iter().position(|parent| parent.stat.pid == process.stat.ppid),
            part: &process.part,
            only_waited: false,
        })
        .collect();
    let parts = roles::prove(&views);
    let ticks = sys::ticks_per_second();
    let age_s = |stat: &Stat| (uptime_s - stat.start_ticks as f64 / ticks).max(0.01);
    let busy = |process: &Found| process.stat.cpu_ticks as f64 / ticks / age_s(&process.stat);
    let possible: Vec<usize> = (0..views.len())
        .filter(|index| parts[*index].is_none() && !views[*index].facts.forked)
        .filter(|index| {
            let process = &found[*index];
            process.facts.library.is_some()
                || (process.facts.is_python() && process.counters.anon >= BUSY_ANON && busy(process) >= BUSY_SHARE)
        })
        .collect();
    let waits = |index: usize| {
        possible.iter().any(|other| roles::is_ancestor(&views, index, *other) && roles::outdoes(&views, *other, index))
    };
    let mut ranked: Vec<(bool, bool, Candidate)> = possible
        .iter()
        .filter(|index| !waits(**index))
        .map(|index| {
            let process = &found[*index];
            let workers = (0..views.len())
                .filter(|other| parts[*other].as_ref().is_some_and(|part| part.role == Role::DataloaderWorker))
                .filter(|other| roles::is_ancestor(&views, *index, *other))
                .count();
            let named = process.facts.args.iter().skip(1).take(4).any(|arg| names_training(arg));
            let candidate = Candidate {
                pid: process.stat.pid,
                command: process.facts.command(),
                reason: reason(process, workers, busy(process)),
                anon: process.counters.anon,
                started_s_ago: age_s(&process.stat),
            };
            (process.facts.library.is_some() && (workers > 0 || named), process.facts.library.is_some(), candidate)
        })
        .collect();
    ranked.sort_by_key(|entry| std::cmp::Reverse((entry.0, entry.1, entry.2.anon)));
    Ok(ranked.into_iter().map(|(_, _, candidate)| candidate).collect())
}

fn reason(process: &Found, workers: usize, busy: f64) -> String {
    let mut reason = match process.facts.library {
        Some(library) => format!("has {library} in memory"),
        None => "a busy Python".to_owned(),
    };
    if workers > 0 {
        let plural = if workers == 1 { "" } else { "s" };
        reason.push_str(&format!(", {workers} DataLoader worker{plural}"));
    }
    if let Some((name, value)) = process.facts.rank {
        reason.push_str(&format!(", {name}={value}"));
    }
    reason.push_str(&format!(", {} of anonymous memory, {:.0} % of a core so far", Bytes(process.counters.anon), busy * 100.0));
    reason
}

/// Whether a script or module is named as training scripts are.
fn names_training(arg: &str) -> bool {
    let name = facts::base_name(arg).to_lowercase();
    !arg.starts_with('-')
        && ["train", "finetune", "fine_tune", "pretrain", "fit", "sft", "dpo"].iter().any(|word| name.contains(word))
}

/// All user processes but our own, in order of their start.
fn all_processes(root: &Root, scratch: &mut Scratch) -> Result<Vec<Found>, CollectError> {
    let mut pids = Vec::new();
    root.pids(&mut pids).map_err(|source| CollectError::NoProc { path: root.path("proc"), source })?;
    let mut stats: Vec<Stat> = pids.iter().filter_map(|pid| root.stat(*pid, scratch)).filter(|stat| !stat.ended()).collect();
    stats.sort_by_key(|stat| (stat.start_ticks, stat.pid));
    let mut found: Vec<Found> = Vec::with_capacity(stats.len());
    for stat in stats.into_iter().filter(|stat| stat.pid != std::process::id()) {
        let Ok(bytes) = scratch.read(&root.of(stat.pid, "status")) else { continue };
        let status = Status::parse(bytes);
        let Some(rss) = status.rss else { continue };
        let counters = Counters {
            pid: stat.pid,
            anon: status.anon.unwrap_or(rss),
            rss,
            high_water: status.high_water,
            caught: status.caught,
            cpu_ticks: stat.cpu_ticks,
        };
        let parent = found.iter().find(|parent| parent.stat.pid == stat.ppid);
        let mut facts = Facts::read(root, &stat, parent.map(|parent| (&parent.stat, &parent.facts)), scratch);
        if rss >= LIBRARY_RSS {
            facts.library = facts::library(root, stat.pid);
        }
        found.push(Found { stat, facts, counters, part: Part::default() });
    }
    Ok(found)
}

//! What part each process plays in the run, and the reason in words.
//!
//! Proofs first: names that only one thing has, signal handlers that torch installs in its DataLoader workers, a memory
//! layout that is the parent's (forked, no exec). What proofs leave open is told from structure: the trainer is what does
//! the work below the launchers. So roles survive where all names are blank, only coarser. A role is a label; whether a
//! process's memory is counted never depends on it.

mod patterns;

use lowtide_model::Role;

use crate::facts::Facts;
use crate::members::Counters;

/// What a process is in the run, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub role: Role,
    pub reason: String,
    pub rank: Option<u32>,
}

/// What the roles are told from.
pub struct View<'a> {
    pub facts: &'a Facts,
    pub counters: Counters,
    /// Its CPU time in clock ticks when it was first seen.
    pub cpu_then: u64,
    /// That of the processes above it at that moment, by their places in the list of views.
    pub cpu_above_then: Vec<(usize, u64)>,
    /// Its parent's place in the list of views.
    pub parent: Option<usize>,
    /// Its part so far: proofs are kept until it execs, and the trainer changes only on clear evidence.
    pub part: &'a Part,
    /// It was a launcher, and has done nothing of note since: it stays one, also when what it waited for has ended.
    pub only_waited: bool,
}

/// Growth of a child over its parent that shows which of them does the work.
const MORE_MEMORY: u64 = 2;
const MORE_CPU: u64 = 4;
/// CPU time in clock ticks, a second on Linux, that is work and no waking up.
pub const WORK_TICKS: u64 = 100;
/// A lead in bytes below which twice the memory means nothing.
const CLEAR_LEAD: u64 = 16 << 20;

/// SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV by signal(7), as bits of SigCgt.
const ILL: u64 = 1 << 3;
const ABRT: u64 = 1 << 5;
const BUS: u64 = 1 << 6;
const FPE: u64 = 1 << 7;
const SEGV: u64 = 1 << 10;

impl Default for Part {
    fn default() -> Self {
        Self { role: Role::Other, reason: String::new(), rank: None }
    }
}

impl Part {
    fn new(role: Role, reason: impl Into<String>) -> Self {
        Self { role, reason: reason.into(), rank: None }
    }
}

/// The part of every process. Parents stand before their children.
pub fn decide(views: &[View<'_>]) -> Vec<Part> {
    let mut parts = prove(views);
    let candidates: Vec<usize> = (0..views.len()).filter(|index| parts[*index].is_none()).collect();
    choose_trainers(views, &candidates, &mut parts);
    let settled: Vec<Part> = parts.iter().map(|part| part.clone().unwrap_or_default()).collect();
    (0..views.len()).map(|index| parts[index].clone().unwrap_or_else(|| rest(views, &settled, index))).collect()
}

/// The parts that can be proven without comparing processes by what they use.
pub fn prove(views: &[View<'_>]) -> Vec<Option<Part>> {
    let mut parts: Vec<Option<Part>> = Vec::with_capacity(views.len());
    for (index, view) in views.iter().enumerate() {
        let parent = view.parent.filter(|parent| *parent < index);
        let part = proven(view, parent.map(|parent| (&views[parent], parts[parent].as_ref())));
        parts.push(part);
    }
    parts
}

/// The part that can be proven by the process itself and its parent.
fn proven(view: &View<'_>, parent: Option<(&View<'_>, Option<&Part>)>) -> Option<Part> {
    let parent_part = parent.and_then(|(_, part)| part);
    if let Some((role, reason)) = patterns::by_name(view.facts) {
        // A forked child has its parent's command line: what that says is true of the parent only.
        let of_parent = view.facts.forked && matches!(role, Role::Launcher | Role::ResourceTracker);
        if !of_parent || !view.facts.is_python() {
            return Some(Part::new(role, reason));
        }
    }
    if let Some((parent, _)) = parent
        && catches_as_workers_do(view.counters.caught)
        && parent.counters.caught & BUS == 0
    {
        let how = if view.facts.forked { "forked by its parent" } else { "started by its parent" };
        return Some(Part::new(
            Role::DataloaderWorker,
            format!("{how} and catches SIGBUS, SIGSEGV and SIGFPE, which its parent does not: torch's workers do"),
        ));
    }
    if view.facts.forked && parent_part.is_some_and(|part| part.role == Role::CompileWorker) {
        return Some(Part::new(Role::CompileWorker, "forked by a compile worker"));
    }
    // Proofs by signals stay when the process is about to leave and restores them.
    (view.part.role == Role::DataloaderWorker || view.only_waited).then(|| view.part.clone())
}

/// torch's worker loop sets C handlers for SIGBUS, SIGFPE and SIGSEGV (torch/csrc/DataLoader.cpp); Python's faulthandler
/// sets those and SIGABRT and SIGILL; the usual program sets none.
fn catches_as_workers_do(caught: u64) -> bool {
    let all = BUS | FPE | SEGV;
    caught & all == all && caught & (ILL | ABRT) == 0
}

/// Among the processes without a proven part: those that do the work, and those that wait for them.
fn choose_trainers(views: &[View<'_>], candidates: &[usize], parts: &mut [Option<Part>]) {
    let candidates: Vec<usize> = candidates.iter().copied().filter(|index| !views[*index].facts.forked).collect();
    let with = |wanted: &dyn Fn(&View<'_>) -> bool| -> Vec<usize> {
        candidates.iter().copied().filter(|index| wanted(&views[*index])).collect()
    };
    let (mut field, sign) = match (with(&|view| view.facts.library.is_some()), with(&|view| view.facts.is_python())) {
        (with_library, _) if !with_library.is_empty() => (with_library, Sign::Library),
        (_, pythons) if !pythons.is_empty() => (pythons, Sign::Python),
        _ => (candidates.clone(), Sign::Memory),
    };
    // Whoever waits for a descendant that does the work only started it.
    let waiting: Vec<(usize, usize)> = field
        .iter()
        .filter_map(|index| {
            field
                .iter()
                .find(|other| is_ancestor(views, *index, **other) && outdoes(views, **other, *index))
                .map(|other| (*index, *other))
        })
        .collect();
    for (waiter, worker) in &waiting {
        parts[*waiter] = Some(Part::new(
            Role::Launcher,
            format!("started pid {} below it, which does the work: it has more memory or uses more CPU", views[*worker].pid()),
        ));
    }
    field.retain(|index| !waiting.iter().any(|(waiter, _)| waiter == index));
    for index in trainers_of(views, &field, sign) {
        let view = &views[index];
        let rank = view.facts.rank;
        let mut reason = match sign {
            Sign::Library => {
                format!("has {} in memory and does the work below the launchers", view.facts.library.unwrap_or("its library"))
            }
            Sign::Python => "the Python with the most memory below the launchers".to_owned(),
            Sign::Memory => "has the most memory below the launchers".to_owned(),
        };
        if let Some((name, value)) = rank {
            reason.push_str(&format!("; {name}={value} in its environment"));
        }
        parts[index] = Some(Part { role: Role::Trainer, reason, rank: rank.map(|(_, value)| value) });
    }
    // What stands between the top and a trainer only leads to it.
    for index in candidates {
        let leads = (0..views.len()).find(|other| {
            is_ancestor(views, index, *other) && parts[*other].as_ref().is_some_and(|part| part.role == Role::Trainer)
        });
        if let (None, Some(trainer)) = (&parts[index], leads) {
            parts[index] = Some(Part::new(Role::Launcher, format!("started the trainer, pid {}", views[trainer].pid())));
        }
    }
}

/// By what sign trainers are told in this run.
#[derive(Clone, Copy, PartialEq)]
enum Sign {
    Library,
    Python,
    Memory,
}

/// Several with a training library side by side are all trainers (ranks, a sweep); without that sign only the biggest.
fn trainers_of(views: &[View<'_>], field: &[usize], sign: Sign) -> Vec<usize> {
    let anon = |index: usize| views[index].counters.anon;
    let most = field.iter().copied().max_by_key(|index| {
        // The present trainer stays until another has clearly more.
        let bonus = if views[*index].part.role == Role::Trainer { anon(*index) / 2 } else { 0 };
        anon(*index) + bonus
    });
    let Some(most) = most else { return Vec::new() };
    if sign != Sign::Library {
        return vec![most];
    }
    // Who has less than its own descendant more likely started it than is helped by it.
    let top = |index: usize| !field.iter().any(|other| is_ancestor(views, *other, index)) && !is_ancestor(views, index, most);
    field.iter().copied().filter(|index| *index == most || (top(*index) && anon(*index) >= anon(most) / 4)).collect()
}

/// Whether a descendant shows by memory or by CPU that it does its ancestor's work.
pub fn outdoes(views: &[View<'_>], child: usize, ancestor: usize) -> bool {
    let (now, above) = (&views[child].counters, &views[ancestor].counters);
    let by_memory = now.anon > above.anon.saturating_mul(MORE_MEMORY).saturating_add(CLEAR_LEAD);
    let by_cpu = does_more(now.cpu_ticks, above.cpu_ticks);
    by_memory || ((by_cpu || waits(views, ancestor, child)) && now.anon >= above.anon / 2)
}

/// Whether an ancestor has done next to nothing since a descendant came, and the descendant more than it ever did: a
/// wrapper that imports torch itself is as big as the trainer it waits for. A trainer that waits for a short helper has
/// done more before.
fn waits(views: &[View<'_>], ancestor: usize, child: usize) -> bool {
    let (child, above) = (&views[child], views[ancestor].counters.cpu_ticks);
    let then = child.cpu_above_then.iter().find(|(place, _)| *place == ancestor).map(|(_, ticks)| *ticks);
    then.is_some_and(|then| {
        let since = child.counters.cpu_ticks.saturating_sub(child.cpu_then);
        does_more(since, above.saturating_sub(then)) && child.counters.cpu_ticks > above
    })
}

/// In clock ticks.
fn does_more(child: u64, ancestor: u64) -> bool {
    child > ancestor.saturating_mul(MORE_CPU).max(WORK_TICKS)
}

/// Whether one process is above another.
pub fn is_ancestor(views: &[View<'_>], ancestor: usize, of: usize) -> bool {
    let mut at = of;
    // Parents stand before their children, so this ends.
    while let Some(parent) = views[at].parent.filter(|parent| *parent < at) {
        if parent == ancestor {
            return true;
        }
        at = parent;
    }
    false
}

/// What is left: copies of others, and programs of their own.
fn rest(views: &[View<'_>], settled: &[Part], index: usize) -> Part {
    let view = &views[index];
    let Some(parent) = view.parent.filter(|parent| *parent < index) else { return Part::default() };
    if !view.facts.forked {
        return Part::default();
    }
    // Forked from a forked child of the trainer is its copy as well.
    let mut origin = parent;
    while settled[origin].role == Role::Other && views[origin].facts.forked {
        match views[origin].parent.filter(|next| *next < origin) {
            Some(next) => origin = next,
            None => break,
        }
    }
    let pid = views[origin].pid();
    match settled[origin].role {
        Role::Trainer => Part::new(
            Role::ForkedChild,
            format!("forked from the trainer (pid {pid}) without exec: its command line is its parent's"),
        ),
        role => Part::new(Role::Other, format!("forked from pid {pid} ({}) without exec", role.label())),
    }
}

impl View<'_> {
    fn pid(&self) -> u32 {
        self.counters.pid
    }
}

#[cfg(test)]
mod tests;

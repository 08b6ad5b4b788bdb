//! The process tree as rows: parents above children, equal children folded, ended ones folded.

use std::collections::HashMap;

use lowtide_model::{ProcessReport, Role};

/// One row of the tree.
pub struct TreeRow {
    /// Branches in front of the label.
    pub branch: String,
    /// What it is: `trainer, rank 0`, `20 × compile worker, each`.
    pub label: String,
    /// The process; of a fold its first one.
    pub first: usize,
    /// How many processes the row stands for, those below folded ones included.
    pub count: usize,
    /// Last measured memory, bytes; of a fold the largest of one process.
    pub bytes: u64,
    /// The most that one had.
    pub peak_bytes: u64,
    /// Memory of all that the row stands for.
    pub total_bytes: u64,
    /// All of them ended before the run did.
    pub ended: bool,
    /// The row of its parent.
    parent: Option<usize>,
}

/// Levels whose branches are drawn; deeper ones stand at the last one.
const DEEPEST: usize = 8;
/// Equal live siblings are one row from this number on.
const FOLD: usize = 3;

/// The rows of all processes; with `verbose` one for each. Where the whole run has ended, a process counts as
/// ended only if it did so more than `slack_s` seconds before the last one: the others lived to the end.
pub fn rows(processes: &[ProcessReport], slack_s: f64, verbose: bool) -> Vec<TreeRow> {
    let forest = Forest::new(processes, slack_s);
    let mut rows: Vec<TreeRow> = Vec::with_capacity(processes.len());
    // Depth first without recursion: a hostile tree may be as deep as it likes.
    let mut todo: Vec<(Group, String, String, Option<usize>)> = Vec::new();
    push_groups(&mut todo, forest.groups(&forest.roots, verbose), "", true, None);
    while let Some((group, branch, below, parent)) = todo.pop() {
        let at = rows.len();
        rows.push(forest.row(&group, branch, parent));
        if !group.folded {
            let children = forest.groups(&forest.children[group.members[0]], verbose);
            push_groups(&mut todo, children, &below, false, Some(at));
        }
    }
    rows
}

/// Keeps at most `most` rows: what is watched or grows and its ancestors, then the biggest. Returns the rest.
pub fn shorten(rows: Vec<TreeRow>, processes: &[ProcessReport], most: usize) -> (Vec<TreeRow>, Vec<TreeRow>) {
    if rows.len() <= most {
        return (rows, Vec::new());
    }
    let mut keep = vec![false; rows.len()];
    let mut kept = 0;
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|at| {
        let process = &processes[rows[*at].first];
        (!process.watch, process.growth <= 0.0, rows[*at].ended, std::cmp::Reverse(rows[*at].total_bytes), *at)
    });
    for at in order {
        let mut up = Some(at);
        while let Some(row) = up.filter(|row| !keep[*row] && kept < most) {
            keep[row] = true;
            kept += 1;
            up = rows[row].parent;
        }
    }
    let mut flags = keep.into_iter();
    rows.into_iter().partition(|_| flags.next().unwrap_or(false))
}

/// Siblings that one row stands for.
struct Group {
    members: Vec<usize>,
    folded: bool,
}

fn push_groups(
    todo: &mut Vec<(Group, String, String, Option<usize>)>,
    groups: Vec<Group>,
    above: &str,
    root: bool,
    parent: Option<usize>,
) {
    let last = groups.len().saturating_sub(1);
    for (at, group) in groups.into_iter().enumerate().rev() {
        let deep = above.chars().count() >= 2 * DEEPEST;
        let (branch, below) = if root {
            (String::new(), String::new())
        } else if deep {
            (above.to_owned(), above.to_owned())
        } else if at == last {
            (format!("{above}└ "), format!("{above}  "))
        } else {
            (format!("{above}├ "), format!("{above}│ "))
        };
        todo.push((group, branch, below, parent));
    }
}

struct Forest<'a> {
    processes: &'a [ProcessReport],
    children: Vec<Vec<usize>>,
    roots: Vec<usize>,
    ended: Vec<bool>,
    /// For each process: it and all below it have ended, and none of them is watched or grows.
    settled: Vec<bool>,
    /// For each process: how many stand in its subtree, itself included.
    size: Vec<usize>,
}

impl<'a> Forest<'a> {
    fn new(processes: &'a [ProcessReport], slack_s: f64) -> Self {
        let places: HashMap<_, _> = processes.iter().enumerate().map(|(at, process)| (process.id, at)).collect();
        let mut children = vec![Vec::new(); processes.len()];
        let mut roots = Vec::new();
        let mut size = vec![1; processes.len()];
        let over = processes.iter().map(|process| process.end_s.unwrap_or(f64::INFINITY)).fold(0.0, f64::max);
        let ended: Vec<bool> = processes.iter().map(|process| process.end_s.is_some_and(|end| end < over - slack_s)).collect();
        let mut settled: Vec<bool> =
            processes.iter().zip(&ended).map(|(process, ended)| *ended && !process.watch && process.growth <= 0.0).collect();
        for (at, process) in processes.iter().enumerate() {
            // Parents stand before their children; a link that breaks this could close a ring and is not followed.
            match process.parent.and_then(|parent| places.get(&parent)).filter(|parent| **parent < at) {
                Some(parent) => children[*parent].push(at),
                None => roots.push(at),
            }
        }
        for at in (0..processes.len()).rev() {
            for child in &children[at] {
                size[at] += size[*child];
                settled[at] &= settled[*child];
            }
        }
        Self { processes, children, roots, ended, settled, size }
    }

    /// Siblings, equal ones together.
    fn groups(&self, siblings: &[usize], verbose: bool) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        let mut open: HashMap<(Role, bool), usize> = HashMap::new();
        for at in siblings.iter().copied() {
            let process = &self.processes[at];
            let leaf = self.children[at].is_empty();
            let quiet = leaf && !process.watch && process.growth <= 0.0 && process.rank.is_none() && !self.ended[at];
            let key = (process.role, self.settled[at]);
            if verbose || !(quiet || self.settled[at]) {
                groups.push(Group { members: vec![at], folded: false });
            } else if let Some(group) = open.get(&key) {
                groups[*group].members.push(at);
            } else {
                open.insert(key, groups.len());
                groups.push(Group { members: vec![at], folded: true });
            }
        }
        // Too few to be worth folding: one row each again, where they stood.
        groups.into_iter().flat_map(|group| self.unfold(group)).collect()
    }

    fn unfold(&self, group: Group) -> Vec<Group> {
        let settled = self.settled[group.members[0]];
        let least = if settled { 2 } else { FOLD };
        let subtree = settled && self.size[group.members[0]] > 1;
        if !group.folded || group.members.len() >= least || subtree {
            return vec![group];
        }
        group.members.into_iter().map(|at| Group { members: vec![at], folded: false }).collect()
    }

    fn row(&self, group: &Group, branch: String, parent: Option<usize>) -> TreeRow {
        let members = || group.members.iter().map(|at| &self.processes[*at]);
        let first = &self.processes[group.members[0]];
        let count = if group.folded { group.members.iter().map(|at| self.size[*at]).sum() } else { 1 };
        let bytes = members().map(|process| process.bytes).max().unwrap_or(0);
        let least = members().map(|process| process.bytes).min().unwrap_or(0);
        let ended = self.ended[group.members[0]];
        let role = role_name(first.role);
        let mut label = match group.members.len() {
            1 => role.to_owned(),
            n if ended => format!("{n} × {role}"),
            // A fifth apart is still "each" to a person.
            n if bytes <= least + least / 5 => format!("{n} × {role}, each"),
            n => format!("{n} × {role}, up to"),
        };
        if let Some(rank) = first.rank {
            label.push_str(&format!(", rank {rank}"));
        }
        if ended {
            label.push_str(", ended");
        }
        if count > group.members.len() {
            label.push_str(&format!(" (with {} below)", count - group.members.len()));
        }
        TreeRow {
            branch,
            label,
            first: group.members[0],
            count,
            bytes,
            peak_bytes: members().map(|process| process.peak_bytes).max().unwrap_or(0),
            total_bytes: members()
                .filter(|process| process.end_s.is_none())
                .map(|process| process.bytes)
                .fold(0, u64::saturating_add),
            ended,
            parent,
        }
    }
}

/// Shorter than [`Role::label`]: the tree itself says whose child it is.
fn role_name(role: Role) -> &'static str {
    match role {
        Role::ForkedChild => "forked child",
        Role::Outside => "outside the tree",
        _ => role.label(),
    }
}

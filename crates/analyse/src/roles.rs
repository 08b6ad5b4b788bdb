//! The tables of the report: the process tree and memory by role.

use lowtide_model::{Kind, ProcId, ProcessReport, Role, RoleReport};

use crate::analyser::Analyser;
use crate::excursion;
use crate::floor::envelope;
use crate::growth::Assessment;
use crate::pyramid::{Pyramid, Window};
use crate::series::Group;

/// The process tree, parents before children.
pub fn processes(run: &Analyser, assessment: &Assessment) -> Vec<ProcessReport> {
    let tracks = &run.store().tracks;
    let mut order: Vec<ProcId> = Vec::with_capacity(tracks.len());
    let mut todo: Vec<ProcId> = tracks
        .iter()
        .rev()
        .filter(|(_, t)| t.process.parent.is_none_or(|p| !tracks.contains_key(&p)))
        .map(|(id, _)| *id)
        .collect();
    while let Some(id) = todo.pop() {
        if order.len() > tracks.len() {
            break; // A hostile recording can name a process as its own ancestor.
        }
        order.push(id);
        todo.extend(
            tracks.iter().rev().filter(|(child, t)| t.process.parent == Some(id) && **child != id).map(|(child, _)| *child),
        );
    }
    order
        .into_iter()
        .filter_map(|id| Some((id, tracks.get(&id)?)))
        .filter(|(id, track)| track.process.role != Role::Outside || run.store().linked.contains_key(id))
        .map(|(id, track)| {
            let growth: f64 = assessment
                .series
                .iter()
                .filter(|s| {
                    s.process == Some(id) && !s.copied && matches!(s.kind, Kind::Anonymous | Kind::Shmem) && s.judged.grows()
                })
                .map(|s| s.judged.rate)
                .sum();
            ProcessReport {
                id,
                parent: track.process.parent,
                pid: track.process.pid,
                ppid: track.process.ppid,
                role: track.process.role,
                role_reason: track.process.role_reason.clone(),
                rank: track.process.rank,
                name: if track.process.command.is_empty() { track.process.name.clone() } else { track.process.command.clone() },
                watch: assessment.watch == Some(id),
                start_s: track.process.start_s,
                end_s: track.ended_s,
                bytes: track.bytes(),
                peak_bytes: track.peak() as u64,
                growth,
            }
        })
        .collect()
}

/// Memory by role, the whole tree first.
pub fn roles(run: &Analyser, assessment: &Assessment) -> Vec<RoleReport> {
    let store = run.store();
    let mut rows = Vec::new();
    if store.tree.most > 0 {
        let mut tree = row(run, assessment, None, &store.tree);
        tree.shm_bytes = tree.shm_bytes.max(run.dev_shm().peak() as u64);
        rows.push(tree);
    }
    // A process may have been something else until more was known of it: a role that nobody has now says nothing.
    let held = |role: Role| store.tracks.values().any(|t| t.process.role == role);
    // What lies outside stands in the tree above; strangers that are only watched do not belong to any sum.
    let shown = |role: &&Role| held(**role) && **role != Role::Outside;
    rows.extend(
        Role::ALL.iter().filter(shown).filter_map(|role| Some(row(run, assessment, Some(*role), store.roles.get(role)?))),
    );
    rows
}

fn row(run: &Analyser, assessment: &Assessment, role: Option<Role>, group: &Group) -> RoleReport {
    let memory_of = group.memory();
    let (floor, mut spike) = floor_and_spike(run, memory_of);
    if let Some(role) = role {
        // Of a role the highest spike of one process: births and deaths among many are none.
        let own = assessment.series.iter().filter(|s| s.role == Some(role) && s.kind == Kind::Anonymous && !s.copied);
        let came_back = own.map(|s| &s.judged.excursions).filter(|found| found.longest_s > 0.0).map(|found| found.height);
        spike = came_back.fold(0.0, f64::max);
    }
    let of_role = |wanted: &Option<Role>| role.is_none() && *wanted != Some(Role::Outside) || role.is_some() && *wanted == role;
    let memory = assessment.series.iter().filter(|s| of_role(&s.role) && matches!(s.kind, Kind::Anonymous | Kind::Shmem));
    let grown: Vec<_> = memory.clone().filter(|s| s.judged.grows() && !s.copied && s.role.is_some()).collect();
    let growth: f64 = grown.iter().map(|s| s.judged.rate).sum();
    let upper: f64 =
        memory.filter(|s| s.process.is_some() && !s.copied && s.judged.tides > 0).map(|s| s.judged.ci95[1].max(0.0)).sum();
    RoleReport {
        role: role.map_or(String::new(), |role| role.schema_name().to_owned()),
        label: role.map_or_else(|| "whole tree".to_owned(), |role| role.label().to_owned()),
        count: group.most,
        floor_bytes: floor as u64,
        peak_bytes: memory_of.peak() as u64,
        spike_bytes: spike as u64,
        end_bytes: memory_of.last().unwrap_or(0.0) as u64,
        shm_bytes: group.shm_peak,
        growth: (!grown.is_empty()).then_some(growth),
        growth_upper: assessment.watched().filter(|judged| judged.tides > 0).map(|_| upper),
    }
}

/// The low-water mark at the end, and the highest rise above it that came back. Bytes.
pub fn floor_and_spike(run: &Analyser, total: &Pyramid) -> (f64, f64) {
    let windows = lived(total.windows(), run.over());
    let points = envelope(windows);
    let found = excursion::find(windows, &points, excursion::tolerance(windows, WIGGLE));
    // The low tide of the last cycle: the very last value may be a spike that has not come back yet.
    let end_s = windows.last().map_or(0.0, |w| w.end_s);
    let recent = windows.iter().rev().take_while(|w| w.end_s >= end_s - 1.25 * found.longest_s);
    let floor = recent.map(|w| w.low).fold(f64::INFINITY, f64::min);
    (if floor.is_finite() { floor } else { 0.0 }, if found.longest_s > 0.0 { found.height } else { 0.0 })
}

/// What is left of a series without the tear-down of a run that is over.
pub fn lived(all: &[Window], over: bool) -> &[Window] {
    if over { &all[..crate::floor::without_teardown(all, WIGGLE)] } else { all }
}

/// Changes below this are no spike and no tear-down. Bytes.
pub const WIGGLE: f64 = 3.0 * 1024.0 * 1024.0;

//! What each card held at the end, by whom and for what.

use lowtide_model::{GpuHolder, GpuReport, ProcId};

use super::budget::{budget, phases};
use super::{Card, Inner, User};
use crate::analyser::Analyser;

/// A row for each card that the run was seen on; for all of them where it was seen on none.
pub fn rows(run: &Analyser) -> Vec<GpuReport> {
    let gpus = run.gpus();
    let mut rows: Vec<GpuReport> = gpus.cards.values().filter_map(|card| row(run, card)).collect();
    if rows.iter().any(|row| !row.processes.is_empty()) {
        rows.retain(|row| !row.processes.is_empty());
    }
    // No driver answers, and PyTorch tells of a device: then that is what there is.
    for ((process, device), inner) in &gpus.inner {
        if gpus.card_of(*process, *device).is_some() {
            continue;
        }
        let resource = format!("gpu{device}");
        let mut holder = holder(run, *process, None);
        inside(run, (*process, *device), &mut holder, inner);
        match rows.iter_mut().find(|row| row.resource == resource) {
            Some(row) => row.processes.push(holder),
            None => rows.push(GpuReport {
                resource,
                name: String::new(),
                emulated: false,
                total_bytes: None,
                used_bytes: None,
                peak_bytes: inner.reserved.peak() as u64,
                others_bytes: None,
                processes: vec![holder],
            }),
        }
    }
    rows
}

fn row(run: &Analyser, card: &Card) -> Option<GpuReport> {
    let gpus = run.gpus();
    let last = card.last?;
    let id = card.gpu.id;
    let mut processes = Vec::new();
    for user in gpus.users.values().filter(|user| user.who.gpu == id) {
        let Some(process) = user.who.process else { continue };
        let newest = gpus.users_of(process).get(&id).is_some_and(|newest| newest.who.id == user.who.id);
        if newest {
            let mut holder = holder(run, process, user.last);
            if let Some((key, inner)) = gpus.inner_on(id).find(|((other, _), _)| *other == process) {
                inside(run, key, &mut holder, inner);
            }
            processes.push(holder);
        }
    }
    // Allocators of processes that the driver does not list.
    for (key, inner) in gpus.inner_on(id) {
        if !gpus.users_of(key.0).contains_key(&id) {
            let mut holder = holder(run, key.0, None);
            inside(run, key, &mut holder, inner);
            processes.push(holder);
        }
    }
    let others = gpus.others_on(id).filter_map(|user: &User| user.last).reduce(u64::saturating_add);
    Some(GpuReport {
        resource: card.gpu.resource.clone(),
        name: card.gpu.name.clone(),
        emulated: card.gpu.emulated,
        total_bytes: (last.total > 0).then_some(last.total),
        used_bytes: Some(last.used),
        peak_bytes: card.used.peak() as u64,
        others_bytes: others,
        processes,
    })
}

fn holder(run: &Analyser, process: ProcId, used: Option<u64>) -> GpuHolder {
    let track = run.store().tracks.get(&process);
    GpuHolder {
        pid: track.map_or(0, |track| track.process.pid),
        rank: track.and_then(|track| track.process.rank),
        used_bytes: used,
        ..GpuHolder::default()
    }
}

fn inside(run: &Analyser, (process, device): (ProcId, u32), holder: &mut GpuHolder, inner: &Inner) {
    let last = inner.last;
    holder.allocated_bytes = Some(last.allocated);
    holder.reserved_bytes = Some(last.reserved);
    holder.peak_allocated_bytes = Some(last.peak);
    holder.fragments_bytes = last.inactive_split;
    holder.private_pools_bytes = last.private_pools;
    holder.outside_bytes = holder.used_bytes.map(|used| used.saturating_sub(last.reserved));
    holder.outside_at_start_bytes = inner.outside.windows().first().map(|window| window.low as u64);
    holder.pinned_host_bytes = last.pinned;
    holder.retries = last.retries;
    holder.failures = last.ooms;
    let looks = run.looks();
    let at_rest = looks.on_devices(process, "").unwrap_or_default();
    holder.budget = budget(device, inner, holder.used_bytes, at_rest);
    holder.phases = phases(device, inner, |phase| looks.on_devices(process, phase).unwrap_or(at_rest));
}

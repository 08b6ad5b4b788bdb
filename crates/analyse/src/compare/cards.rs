//! What memory on GPUs is for, before and after: each part of what a process has of a card at the end, and at the peak of each phase.

use std::collections::BTreeSet;

use lowtide_model::{ComparedRow, GpuPart, Quantity, Role, Unit};

use super::budget::{ALL, USUAL};
use super::estimate::{Estimate, ROW, Side};
use super::facts::Facts;
use super::rows::Compared;
use crate::gpu::{coarse, is_looked_into};

/// A card, a role, and a phase or rest.
pub(super) type Key = (String, Role, Option<String>);

/// The rows of each moment that both sides know.
pub(super) fn of(sides: [&[Facts]; 2], by_step: bool) -> Vec<(Key, Vec<ComparedRow>)> {
    let moments = sides.map(|side| side.iter().map(moments).collect::<Vec<_>>());
    let [before, after] =
        moments.each_ref().map(|runs| runs.iter().flatten().map(|one| one.0.clone()).collect::<BTreeSet<Key>>());
    let rows = |key: &Key| {
        let of_key = |runs: &Vec<Vec<(Key, Vec<GpuPart>)>>| -> Vec<Vec<Vec<GpuPart>>> {
            let of_run =
                |run: &Vec<(Key, Vec<GpuPart>)>| run.iter().filter(|one| one.0 == *key).map(|one| one.1.clone()).collect();
            runs.iter().map(of_run).filter(|run: &Vec<Vec<GpuPart>>| !run.is_empty()).collect()
        };
        let runs = [of_key(&moments[0]), of_key(&moments[1])];
        let drift = drift(sides, &key.0, by_step);
        // Where one of them was not looked into, it is not known what its tensors were for.
        let fine = runs.iter().flatten().flatten().all(|parts| is_looked_into(parts));
        let runs: [Vec<Vec<Parts>>; 2] =
            runs.map(|side| side.into_iter().map(|run| run.iter().map(|parts| named(parts, fine)).collect()).collect());
        let mut names: Vec<&str> = vec![ALL];
        for (name, _) in runs.iter().flatten().flatten().flatten() {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names.into_iter().map(|name| row(key, name, &runs, drift)).collect::<Vec<_>>()
    };
    before.intersection(&after).map(|key| (key.clone(), rows(key))).collect()
}

/// The parts of a process at one moment.
type Parts = Vec<(String, u64)>;

fn named(parts: &[GpuPart], fine: bool) -> Parts {
    parts.iter().map(|part| (if fine { part.name.clone() } else { coarse(part).to_owned() }, part.bytes)).collect()
}

/// Each process of a run on each card: what it has at rest, and in each phase whose most is known for sure.
fn moments(run: &Facts) -> Vec<(Key, Vec<GpuPart>)> {
    let mut moments = Vec::new();
    for gpu in &run.report.gpus {
        for holder in &gpu.processes {
            let Some(process) = run.report.processes.iter().find(|process| process.pid == holder.pid) else { continue };
            let mut put = |phase: Option<&str>, parts: &mut dyn Iterator<Item = &GpuPart>| {
                let parts: Vec<GpuPart> = parts.cloned().collect();
                if !parts.is_empty() {
                    moments.push(((gpu.resource.clone(), process.role, phase.map(str::to_owned)), parts));
                }
            };
            put(None, &mut holder.budget.iter().filter(|part| !part.at_peak));
            // What is the least that it may have been is no measurement.
            for phase in holder.phases.iter().filter(|phase| !phase.at_least) {
                put(Some(&phase.phase), &mut phase.parts.iter());
            }
        }
    }
    moments
}

fn row((resource, role, phase): &Key, name: &str, runs: &[Vec<Vec<Parts>>; 2], drift: f64) -> ComparedRow {
    let bytes = |parts: &Parts| {
        let named = parts.iter().filter(|part| name == ALL || part.0 == name);
        named.map(|part| part.1).fold(0, u64::saturating_add) as f64
    };
    let side = |side: &Vec<Vec<Parts>>| -> Vec<Option<Estimate>> {
        let run = |run: &Vec<Parts>| {
            Side::of(run.iter().map(|parts| Some(Estimate::new(bytes(parts), 0.0)))).map(|processes| processes.as_one())
        };
        side.iter().map(run).collect()
    };
    let compared = Compared::of(Quantity::Budget, Unit::Bytes, [side(&runs[0]), side(&runs[1])], &USUAL, drift);
    let row = compared.row(Some(*role), phase.as_deref(), ROW);
    ComparedRow { part: Some(name.to_owned()), resource: Some(resource.clone()), ..row }
}

/// What the card's memory grew by between the ends of two runs of different lengths: no difference of their parts.
fn drift(sides: [&[Facts]; 2], resource: &str, by_step: bool) -> f64 {
    let rate = |run: &Facts| {
        let grow = run.report.findings.iter().filter(|finding| finding.resource == resource && finding.class.grows());
        let rates = grow.filter_map(|finding| {
            let growth = finding.growth.as_ref()?;
            if by_step { growth.bytes_per_step } else { Some(growth.bytes_per_second) }
        });
        rates.fold(0.0, f64::max)
    };
    let mean = |side: &[Facts]| side.iter().map(|run| run.end(by_step)).sum::<f64>() / side.len().max(1) as f64;
    let rate = sides.iter().flat_map(|side| side.iter()).map(rate).fold(0.0, f64::max);
    let apart = (mean(sides[0]) - mean(sides[1])).abs();
    if apart.is_finite() { rate * apart } else { 0.0 }
}

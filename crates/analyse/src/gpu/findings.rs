//! From what GPU memory does to findings.

use std::collections::BTreeMap;

use lowtide_model::{
    Bytes, Class, Finding, Growth, Hypothesis, HypothesisState, Kind, OomForecast, ProcId, ProcessRef, Rate, Role, Seconds,
    Verdict as Answer,
};

use super::judge::{Reason, Verdict, before_the_end};
use super::{Card, Inner, User};
use crate::analyser::Analyser;
use crate::explain::{WORTH_A_LINE, WORTH_A_SHARE, reference};
use crate::judge::{Ask, Judged, Outcome, judge};
use crate::looks;

/// What the card itself says of the verdict; `None` where no GPU memory of the run was seen.
pub fn verdict(all: &[Verdict]) -> Option<(Answer, f64)> {
    all.first()?;
    if all.iter().any(|v| v.counts() && v.judged.outcome == Outcome::Leaking && v.reason != Some(Reason::Unseen)) {
        return Some((Answer::Leak, 0.0));
    }
    if all.iter().any(Verdict::counts) {
        return Some((Answer::LikelyLeak, 0.0));
    }
    let open = |v: &&Verdict| matches!(v.judged.outcome, Outcome::Unclear) || v.unsure && v.judged.grows();
    let more_s = all.iter().filter(open).map(|v| v.judged.more_s.max(1.0)).reduce(f64::max);
    Some(more_s.map_or((Answer::NoLeak, 0.0), |more_s| (Answer::Undecided, more_s)))
}

/// Whether GPU memory of the run grows, where any was seen.
pub fn hypothesis(all: &[Verdict]) -> Option<Hypothesis> {
    let (verdict, _) = verdict(all)?;
    let fastest = all.iter().filter(|v| v.counts()).max_by(|a, b| a.judged.rate.total_cmp(&b.judged.rate));
    let (state, evidence, action) = match (verdict, fastest) {
        (Answer::Leak | Answer::LikelyLeak, Some(v)) => {
            let evidence =
                format!("low tide of {} rises by {}/s over {} low tides", v.resource, Rate(v.judged.rate), v.judged.tides);
            (
                HypothesisState::Holds,
                evidence,
                "see the finding: tensors, the allocator and what lies outside it have other cures",
            )
        }
        (Answer::NoLeak, _) => (HypothesisState::RuledOut, "every part of it that was seen is level or bounded".to_owned(), ""),
        _ => {
            let open = all.iter().find(|v| !v.judged.doubt.is_empty());
            let why = open.map_or("too little was seen", |v| v.judged.doubt);
            (HypothesisState::Open, why.to_owned(), "watch for longer")
        }
    };
    Some(Hypothesis { name: "growing GPU memory".to_owned(), state, evidence, action: action.to_owned() })
}

/// All findings about GPUs, what grows first.
pub fn findings(run: &Analyser, all: &[Verdict]) -> Vec<Finding> {
    let mut growing: Vec<&Verdict> = all.iter().filter(|v| v.counts()).collect();
    growing.sort_by(|a, b| b.judged.rate.total_cmp(&a.judged.rate));
    let mut findings: Vec<Finding> = growing.into_iter().map(|v| growth(run, all, v)).collect();
    findings.extend(all.iter().filter(|v| v.judged.grows() && !v.counts()).filter_map(|v| beside(run, v)));
    findings.extend(all.iter().filter_map(|v| stopped(run, v)));
    findings.extend(run.gpus().inner.iter().filter_map(|((process, device), inner)| raised(run, *process, *device, inner)));
    findings.extend(others(run));
    findings
}

fn growth(run: &Analyser, all: &[Verdict], v: &Verdict) -> Finding {
    let judged = &v.judged;
    let span = Seconds(judged.until_s - judged.since_s);
    let (low, high) = (Bytes((judged.floor - judged.rise).max(0.0) as u64), Bytes(judged.floor as u64));
    let (class, text, fix) = match (v.kind, v.reason) {
        (Kind::GpuReserved, Some(reason @ Reason::Unseen)) => (Class::Leak, reserved_text(reason), reserved_fix(reason)),
        (Kind::GpuReserved, Some(reason)) => (Class::GpuReservedGrowth, reserved_text(reason), reserved_fix(reason)),
        (Kind::GpuOutside, _) => (
            Class::Leak,
            "what it has outside PyTorch's allocator grows",
            "look for what libraries beside PyTorch keep: communicators and streams that are made anew, handles of cuBLAS and cuDNN by \
             thread and stream, CUDA graphs, another framework's allocator",
        ),
        _ => (
            Class::Leak,
            "more tensors stay alive",
            "find who keeps them: `torch.cuda.empty_cache()` gives back only what nobody uses, and cures no leak",
        ),
    };
    let mut finding = Finding::new(class, &v.resource, format!("{text}: its low-water mark rose from {low} to {high} in {span}"));
    finding.kind = Some(v.kind);
    finding.confidence = if judged.outcome == Outcome::Leaking && v.reason != Some(Reason::Unseen) { 0.99 } else { 0.9 };
    finding.process = reference(run, Some(v.process));
    finding.fix = Some(fix.to_owned());
    let half = (judged.ci95[1] - judged.ci95[0]) / 2.0;
    let line = run.marks().of(v.process);
    let per_step = line.and_then(|line| line.rate(judged.since_s, judged.until_s)).filter(|steps| *steps > 0.0);
    finding.growth = Some(Growth {
        bytes_per_step: per_step.map(|steps| judged.rate / steps),
        bytes_per_epoch: line.and_then(|line| line.epoch_s(judged.since_s, judged.until_s)).map(|s| judged.rate * s),
        bytes_per_round: line.and_then(|line| line.round_s(judged.since_s, judged.until_s)).map(|s| judged.rate * s),
        ..Growth::per_second(judged.rate, [(judged.rate - half).max(0.0), judged.rate + half])
    });
    finding.evidence = evidence(run, all, v);
    if v.kind == Kind::GpuAllocated {
        looks::complete_on_gpu(run, v.process, judged.rate, &mut finding);
        if let Some(device) = v.device {
            looks::complete_by_history(run, v.process, device, judged.rate, &mut finding);
        }
    }
    finding.oom = forecast(run, v, half, per_step);
    finding
}

fn reserved_text(reason: Reason) -> &'static str {
    match reason {
        Reason::LargestBatch => "PyTorch's allocator follows the largest batch so far",
        Reason::Fragments => {
            "PyTorch's allocator holds more and more that nobody uses, in pieces of blocks that are in use (fragmentation)"
        }
        Reason::PrivatePools => "private pools of PyTorch's allocator (CUDA graphs, pools of the program's own) grow",
        Reason::Unused => "PyTorch's allocator holds more and more free blocks that are not used again",
        Reason::Unseen => "what the process has of the card grows",
    }
}

fn reserved_fix(reason: Reason) -> &'static str {
    match reason {
        Reason::LargestBatch => {
            "the largest batch sets it: make auxiliary batches smaller, cap the longest sample, or use gradient checkpointing; run the \
             largest batch first to see at once whether it fits"
        }
        Reason::Fragments => {
            "pad batches to a few shapes and run the largest first; PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128 keeps large blocks whole; \
             expandable_segments:True avoids most fragments, but also hides a leak for a while: look at what is allocated, too"
        }
        Reason::PrivatePools => {
            "capture CUDA graphs once and keep them: each capture, and each pool, holds its own memory as long as it lives"
        }
        Reason::Unused => {
            "each stream has a pool of its own: make streams once and use them again; sizes that never come again are kept, too: pad \
             batches to a few shapes"
        }
        Reason::Unseen => "run it under `lowtide run` with its marks: then tensors are told from what the allocator only keeps",
    }
}

fn evidence(run: &Analyser, all: &[Verdict], v: &Verdict) -> Vec<String> {
    let judged = &v.judged;
    let mut seen = vec![format!(
        "{} low tides from {} to {}, {:.0} standard errors from level",
        judged.tides,
        Seconds(judged.since_s),
        Seconds(judged.until_s),
        judged.t
    )];
    if judged.outcome == Outcome::Rising {
        seen.push(format!(
            "only {} of it were seen: that it stops by itself is not ruled out",
            Seconds(judged.until_s - judged.since_s)
        ));
    }
    let inner = v.device.and_then(|device| run.gpus().inner.get(&(v.process, device)));
    let Some(inner) = inner else {
        seen.push("from outside only what the process has of the card is seen, not what of it is tensors".to_owned());
        return seen;
    };
    let level = |kind| all.iter().any(|o| (o.process, o.device, o.kind) == (v.process, v.device, kind) && !o.judged.grows());
    if v.kind != Kind::GpuAllocated && level(Kind::GpuAllocated) {
        seen.push(format!("tensors that live are level at {}", Bytes(inner.last.allocated)));
    }
    if v.kind == Kind::GpuOutside {
        let first = inner.outside.windows().first().map_or(0.0, |window| window.low);
        seen.push(format!(
            "of {} outside the allocator {} were there from the start (CUDA context, libraries), the rest came since",
            Bytes(judged.floor as u64),
            Bytes(first as u64)
        ));
    }
    if v.kind == Kind::GpuReserved {
        let split = inner.last.inactive_split.map_or(String::new(), |split| format!(", {} of it in pieces", Bytes(split)));
        let unused = inner.last.reserved.saturating_sub(inner.last.allocated);
        seen.push(format!("{} of {} that it holds are not in use{split}", Bytes(unused), Bytes(inner.last.reserved)));
    }
    if let Some(retries) = inner.last.retries.filter(|retries| *retries > 0) {
        seen.push(format!("{retries} times it gave free blocks back to satisfy a request"));
    }
    if let Some(ooms) = inner.last.ooms.filter(|ooms| *ooms > 0) {
        seen.push(format!("{ooms} requests failed for lack of memory"));
    }
    if run.gpus().card_of_verdict(v).is_some_and(|card| card.gpu.emulated) {
        seen.push("this GPU is emulated: its numbers are made up".to_owned());
    }
    seen
}

impl super::Gpus {
    fn card_of_verdict(&self, v: &Verdict) -> Option<&Card> {
        self.cards.get(&v.gpu?)
    }
}

/// What grows and is no leak of the run: bounded by the data, or perhaps somebody else's.
fn beside(run: &Analyser, v: &Verdict) -> Option<Finding> {
    let judged = &v.judged;
    let risen = Bytes(judged.rise as u64);
    let span = Seconds(judged.until_s - judged.since_s);
    if v.reason == Some(Reason::LargestBatch) {
        let text = format!(
            "{}: {} ({risen} more in {span}): bounded by the largest batch there is",
            v.resource,
            reserved_text(Reason::LargestBatch)
        );
        let mut finding = Finding::new(Class::GpuReservedGrowth, &v.resource, text);
        finding.kind = Some(Kind::GpuReserved);
        finding.confidence = 0.8;
        finding.bytes = Some(judged.rise as u64);
        finding.process = reference(run, Some(v.process));
        finding.fix = Some(reserved_fix(Reason::LargestBatch).to_owned());
        finding.evidence = vec!["the most that was ever in use rose with it, and what lives at low tide did not".to_owned()];
        return Some(finding);
    }
    let text = format!(
        "{}: {risen} more in {span} are used beyond what PyTorch's allocators of this run hold: by this run outside of them, or by another \
         process; the driver does not tell whose it is",
        v.resource
    );
    let mut finding = Finding::new(Class::Overhead, &v.resource, text);
    finding.bytes = Some(judged.rise as u64);
    finding.confidence = 0.5;
    Some(finding)
}

/// Growth that ended at a ceiling.
fn stopped(run: &Analyser, v: &Verdict) -> Option<Finding> {
    let judged = &v.judged;
    let worth = WORTH_A_LINE.max(WORTH_A_SHARE * judged.floor);
    if judged.outcome != Outcome::Stopped || judged.rose_before < worth {
        return None;
    }
    let (from, to) = judged.rose_from_to;
    let what = match v.kind {
        Kind::GpuAllocated => "tensors that live",
        Kind::GpuReserved => "what PyTorch's allocator holds",
        _ => "what it has outside PyTorch's allocator",
    };
    let text = format!(
        "{}: {what} rose by {} from {} to {}, then level for {}: bounded, no leak",
        v.resource,
        Bytes(judged.rose_before as u64),
        Seconds(from),
        Seconds(to),
        Seconds(judged.until_s - judged.since_s)
    );
    let mut finding = Finding::new(Class::BoundedGrowth, &v.resource, text);
    finding.kind = Some(v.kind);
    finding.bytes = Some(judged.rose_before as u64);
    finding.confidence = 0.9;
    finding.process = reference(run, Some(v.process));
    Some(finding)
}

/// A phase other than training that raises the peak.
fn raised(run: &Analyser, process: ProcId, device: u32, inner: &Inner) -> Option<Finding> {
    let phases = inner.phases.all();
    let other = phases.iter().filter(|(name, _)| **name != "train");
    let (phase, bytes) = other.map(|(name, peak)| (name, peak.raised)).max_by_key(|(_, bytes)| *bytes)?;
    let (height, peak) = (bytes as f64, inner.peak.peak());
    // What raises the peak first is simply what comes first.
    let trained = phases.contains_key("train") || run.marks().of(process).is_some_and(|line| line.steps() > 0);
    if !trained || height < WORTH_A_LINE.max(WORTH_A_SHARE * peak) {
        return None;
    }
    let resource = run.gpus().resource_of(process, device);
    let text = format!(
        "{phase} needs {} more of {resource} than anything before it, {} in all: harmless while there is room for it",
        Bytes(bytes),
        Bytes(peak as u64)
    );
    let mut finding = Finding::new(Class::Spikes, &resource, text);
    finding.kind = Some(Kind::GpuAllocated);
    finding.bytes = Some(bytes);
    finding.phase = Some((*phase).to_owned());
    finding.process = reference(run, Some(process));
    if matches!(*phase, "validation" | "test") {
        finding.fix = Some(
            "run it under torch.no_grad() or torch.inference_mode(): without, every output keeps what its gradient would need; else \
             take smaller batches for it"
                .to_owned(),
        );
    }
    Some(finding)
}

/// Who else is on a card that the run uses.
fn others(run: &Analyser) -> Vec<Finding> {
    let gpus = run.gpus();
    let mut found = Vec::new();
    for card in gpus.cards.values() {
        let run_is_here = gpus.inner_on(card.gpu.id).next().is_some()
            || gpus.users.values().any(|user| user.who.gpu == card.gpu.id && user.who.process.is_some());
        if !run_is_here {
            continue;
        }
        let largest = gpus.others_on(card.gpu.id).max_by_key(|user| user.last);
        let Some(user) = largest else { continue };
        let grows = judge_other(run, user);
        let name =
            if user.who.name.is_empty() { "another process".to_owned() } else { format!("another process, {}", user.who.name) };
        let has = user.last.map_or("is there, too".to_owned(), |used| format!("has {} of it", Bytes(used)));
        let growing = if grows.grows() { format!(" and grows by {}/s", Rate(grows.rate)) } else { String::new() };
        let full = card.last.filter(|last| grows.grows() && last.total > 0);
        let full =
            full.map_or(String::new(), |last| format!(", which fills the card in {}", Seconds(last.free as f64 / grows.rate)));
        let text = format!("{}: {name} (pid {}), {has}{growing}{full}; it is none of this run", card.gpu.resource, user.who.pid);
        let mut finding = Finding::new(Class::Overhead, &card.gpu.resource, text);
        finding.bytes = user.last;
        let mut process = ProcessRef::of_role(Role::Outside, Role::Outside.label().to_owned(), run.host());
        (process.pid, process.name) = (user.who.pid, user.who.name.clone());
        finding.process = Some(process);
        let more = gpus.others_on(card.gpu.id).count() - 1;
        if more > 0 {
            finding.evidence.push(format!("{more} more are there"));
        }
        found.push(finding);
    }
    found
}

/// What somebody else has on a card.
fn judge_other(run: &Analyser, user: &User) -> Judged {
    judge(before_the_end(run, None, user.used.windows()), Ask::bytes(false, false))
}

/// When the card is full, or the share of it that the process may have: the floor, and on top of it the most that is in use at one
/// time. What the allocator holds and nobody uses is room.
fn forecast(run: &Analyser, v: &Verdict, half: f64, steps_per_second: Option<f64>) -> Option<OomForecast> {
    let gpus = run.gpus();
    let card = gpus.card_of_verdict(v)?;
    let last = card.last.filter(|last| last.total > 0)?;
    let inner = v.device.and_then(|device| gpus.inner.get(&(v.process, device)));
    let facts = inner.map(|inner| inner.last).unwrap_or_default();
    let in_use = facts.peak.max(facts.allocated) as f64;
    let cached = if v.kind == Kind::GpuAllocated { (facts.reserved as f64 - in_use).max(0.0) } else { 0.0 };
    let (mut limit_bytes, mut room) = (last.total.saturating_sub(last.reserved), last.free as f64 + cached);
    if let Some(ppm) = facts.share_ppm.filter(|ppm| *ppm < 1_000_000) {
        let share = (last.total as f64 * f64::from(ppm) * 1e-6) as u64;
        let left = share as f64 - if v.kind == Kind::GpuAllocated { in_use } else { facts.reserved as f64 };
        if left < room && v.kind != Kind::GpuOutside {
            (limit_bytes, room) = (share, left.max(0.0));
        }
    }
    // Others' growth eats the same room.
    let growth = |user: &User| Some(judge_other(run, user)).filter(Judged::grows).map_or(0.0, |j| j.rate);
    let others: f64 = gpus.others_on(card.gpu.id).map(growth).sum();
    let until = |rate: f64| if rate + others > 0.0 { room.max(0.0) / (rate + others) } else { f64::INFINITY };
    let rate = v.judged.rate;
    let seconds = [until(rate + half), until(rate), until((rate - half).max(0.0))];
    let floor = v.judged.floor;
    let mut numbers = BTreeMap::from([("used".to_owned(), last.used as f64), ("floor".to_owned(), floor)]);
    if inner.is_some() {
        numbers.insert("spike".to_owned(), (in_use - facts.allocated as f64).max(0.0));
        numbers.insert("reserved".to_owned(), facts.reserved as f64);
    }
    let steps = steps_per_second.map(|rate| seconds.map(|s| s * rate));
    Some(OomForecast { limit: v.resource.clone(), limit_bytes, seconds: Some(seconds), steps, epoch: None, round: None, numbers })
}

//! Hand-made reports, one for each verdict and what stands around it.

use lowtide_model::{
    Beside, BudgetReport, Class, CostReport, Cycle, EpochReport, ExpectationReport, ExpectationState, Finding, Growth, Holder,
    Hypothesis, HypothesisState, Kind, LimitReport, NodeReport, ObjectGrown, OomForecast, PartOfBudget, PhaseReport, ProcId,
    ProcessRef, ProcessReport, ProgressReport, Report, Role, RoleReport, RunSummary, SamplingReport, Site, Verdict,
};

pub const MIB: f64 = 1_048_576.0;
pub const GIB: u64 = 1 << 30;

pub fn empty(verdict: Verdict) -> Report {
    Report { summary: "Nothing is known.".into(), ..Report::empty(verdict) }
}

pub fn process(id: u32, parent: Option<u32>, role: Role, name: &str, bytes: u64) -> ProcessReport {
    ProcessReport {
        id: ProcId(id),
        parent: parent.map(ProcId),
        pid: 4240 + id,
        ppid: parent.map_or(1, |parent| 4240 + parent),
        role,
        role_reason: "it runs python".into(),
        rank: None,
        name: name.into(),
        watch: false,
        start_s: 0.0,
        end_s: None,
        bytes,
        peak_bytes: bytes + bytes / 8,
        growth: 0.0,
    }
}

pub fn role(role: &str, label: &str, count: u32, floor: u64, growth: Option<f64>) -> RoleReport {
    RoleReport {
        role: role.into(),
        label: label.into(),
        count,
        floor_bytes: floor,
        peak_bytes: floor + floor / 4,
        spike_bytes: floor / 4,
        end_bytes: floor + floor / 16,
        shm_bytes: floor / 32,
        growth,
        growth_upper: Some(growth.unwrap_or(900.0) * 1.05),
    }
}

fn hypothesis(name: &str, state: HypothesisState, evidence: &str, action: &str) -> Hypothesis {
    Hypothesis { name: name.into(), state, evidence: evidence.into(), action: action.into() }
}

/// The same, looked into.
pub fn held() -> Report {
    let mut report = leak();
    let finding = &mut report.findings[0];
    finding.kind = Some(Kind::AutogradGraph);
    finding.objects = vec![ObjectGrown {
        kind: "torch.Tensor".into(),
        shape: vec![64, 512],
        dtype: "float32".into(),
        device: "cpu".into(),
        grad_fn: true,
        count_delta: 250,
        bytes_delta: 109 << 20,
    }];
    finding.holder = Some(Holder {
        path: vec!["frame main() train.py:131".into(), "trainer: Trainer".into(), ".outputs: list".into()],
        name: "trainer.outputs".into(),
        file: "/home/me/train.py".into(),
        line: Some(131),
        kind: "list".into(),
        length: Some([500, 750]),
        bytes_delta: 109 << 20,
        seconds: 145.0,
        explains: 0.97,
        also: Vec::new(),
    });
    finding.site = Some(Site { file: "train.py".into(), line: 88, column: None, text: "self.outputs.append(out)".into() });
    finding.cause = Some("LT103".into());
    finding.why = Some("adds an element each time, and nothing in the source takes it away".into());
    finding.fix = Some("Detach before keeping; move to the CPU what is only looked at later.".into());
    (report.cost.looks, report.cost.held_seconds) = (2, 0.21);
    report
}

/// The same, where two lines add to it, and somebody else grows beside it.
pub fn held_by_two() -> Report {
    let mut report = held();
    report.findings[0].beside = vec![Beside {
        holder: Holder {
            path: vec!["module eval".into(), "meter: Meter".into(), ".seen: dict".into()],
            name: "meter.seen".into(),
            file: "/home/me/eval.py".into(),
            kind: "dict".into(),
            bytes_delta: 20 << 20,
            seconds: 145.0,
            explains: 0.18,
            ..Holder::default()
        },
        site: Some(Site { file: "/home/me/eval.py".into(), line: 7, column: None, text: "self.seen[step] = value".into() }),
        cause: Some("LT301".into()),
    }];
    report.findings[0].sites =
        vec![Site { file: "/home/me/evaluate.py".into(), line: 12, column: None, text: "trainer.outputs.append(logits)".into() }];
    report
}

/// The leak of the design's example, as far as it is seen from outside.
pub fn leak() -> Report {
    let rate = 446.0 * 1024.0;
    let mut finding = Finding::new(Class::Leak, "ram", "its low-water mark rises in every cycle, in a line");
    finding.confidence = 0.99;
    finding.kind = Some(Kind::Anonymous);
    finding.growth =
        Some(Growth { bytes_per_cycle: Some(rate * 145.0), ..Growth::per_second(rate, [441.0 * 1024.0, 452.0 * 1024.0]) });
    finding.process = Some(ProcessRef {
        node: None,
        pid: 4242,
        role: "trainer",
        role_label: "trainer".into(),
        name: "python train.py --config configs/base.yaml".into(),
        rank: Some(0),
        host: "gpu-node-3".into(),
    });
    finding.evidence = vec![
        "the low-water mark rose in 13 of 13 cycles, from 8.1 GiB to 14.2 GiB".into(),
        "a line explains it 40 times better than a curve that saturates".into(),
        "the rest of the tree is constant: 7.6 GiB".into(),
        "file pages do not grow".into(),
        "the number of processes does not grow".into(),
    ];
    finding.oom = Some(OomForecast {
        limit: "cgroup".into(),
        limit_bytes: 24 * GIB,
        seconds: Some([7680.0, 7800.0, 7980.0]),
        steps: None,
        epoch: None,
        round: None,
        numbers: [("floor".into(), 14.2 * GIB as f64), ("spike".into(), 4.1 * GIB as f64)].into(),
    });
    let mut report = empty(Verdict::Leak);
    report.summary = "The trainer's anonymous memory grows by 26.1 MiB per minute without bound.".into();
    report.findings = vec![
        finding,
        Finding::new(Class::Spikes, "ram", "spikes of up to 4.1 GiB come back: harmless"),
        Finding::new(Class::Overhead, "ram", "20 compile workers hold 7.6 GiB, constant"),
    ];
    report.processes = vec![process(0, None, Role::Launcher, "uv run train.py", 3_500_000)];
    let mut trainer = process(2, Some(0), Role::Trainer, "python train.py --config configs/base.yaml", 14 * GIB);
    (trainer.watch, trainer.growth, trainer.rank) = (true, rate, Some(0));
    report.processes.push(trainer);
    for id in 3..23 {
        report.processes.push(process(
            id,
            Some(2),
            Role::CompileWorker,
            "python -c from torch._inductor.compile_worker.__main__ import main; main()",
            380 << 20,
        ));
    }
    for id in 23..29 {
        let mut worker = process(id, Some(2), Role::DataloaderWorker, "python train.py --config configs/base.yaml", 0);
        (worker.end_s, worker.peak_bytes) = (Some(40.0), 210 << 20);
        report.processes.push(worker);
    }
    report.processes.push(process(
        29,
        Some(2),
        Role::ResourceTracker,
        "python -c from multiprocessing.resource_tracker",
        9 << 20,
    ));
    report.roles = vec![
        role("", "whole tree", 24, 14 * GIB, Some(rate)),
        role("trainer", "trainer", 1, 7 * GIB, Some(rate)),
        role("compile_worker", "compile worker", 20, 7 * GIB, None),
        role("dataloader_worker", "DataLoader worker", 4, GIB, None),
    ];
    report.limits = vec![
        LimitReport { name: "cgroup".into(), bytes: 24 * GIB, used: 15 * GIB, path: "/kubepods/pod1/trainer".into() },
        LimitReport { name: "system".into(), bytes: 64 * GIB, used: 31 * GIB, path: String::new() },
    ];
    (report.cycles, report.duration_s) = (14, 2040.0);
    report.detectable_bytes_per_second = Some(9_000.0);
    report.hypotheses = vec![
        hypothesis("spikes only", HypothesisState::RuledOut, "the low-water mark between the spikes rises", ""),
        hypothesis(
            "a slow leak in the trainer",
            HypothesisState::Holds,
            "26.1 MiB per minute over 14 cycles",
            "look at what is kept from one epoch to the next",
        ),
        hypothesis("workers leak", HypothesisState::RuledOut, "their private pages are constant", ""),
    ];
    report.cost = CostReport {
        core_share: 0.003,
        stops_ms: vec![41.0, 38.5],
        recorder_rss_bytes: 9 << 20,
        longest_read_ms: 3.2,
        ..CostReport::default()
    };
    report.sampling = SamplingReport { ticks: 2040, interval_s: 1.0, rollup_reads: 204, rollup_skipped: 1 };
    report.blind_spots = vec!["GPU: no driver".into()];
    report.run = RunSummary {
        command: "uv run train.py".into(),
        host: "gpu-node-3".into(),
        started_unix_s: 1.7e9,
        source: "attach".into(),
        ended: "still running".into(),
        recording: Some("runs/train.lowtide".into()),
    };
    report
}

/// Growth that may yet stop, in two ranks of a job that has ended; one expectation broken, one kept, one not checked.
pub fn likely() -> Report {
    let mut report = leak();
    report.verdict = Verdict::LikelyLeak;
    report.more_seconds_needed = 430.0;
    report.cycles = 0;
    report.duration_s = 190.0;
    report.run.ended = "exit 0".into();
    report.run.source = "run".into();
    report.findings.truncate(1);
    report.findings[0].evidence.truncate(2);
    report.processes.truncate(2);
    report.roles.truncate(2);
    report.hypotheses[1].state = HypothesisState::Open;
    report.blind_spots.clear();
    let expectation = |text: &str, state, reason: &str| ExpectationReport { text: text.into(), state, reason: reason.into() };
    report.expectations = vec![
        expectation("ram < 16 GiB", ExpectationState::Broken, "the tree reached 17.5 GiB"),
        expectation("gpu < 70 GiB", ExpectationState::Unknown, "GPU memory was not measured"),
        expectation("spike <= 5 GB", ExpectationState::Kept, "the highest was 3.5 GiB"),
    ];
    report.warnings = vec!["the machine slept for 3 min 20 s: these samples are missing".into()];
    report
}

/// A healthy run.
pub fn no_leak() -> Report {
    let mut report = leak();
    report.verdict = Verdict::NoLeak;
    report.findings.remove(0);
    report
        .findings
        .insert(0, Finding::new(Class::BoundedGrowth, "ram", "a rise of 1.2 GiB ended after 9 min: a cache that filled"));
    for process in &mut report.processes {
        process.growth = 0.0;
    }
    for role in &mut report.roles {
        (role.growth, role.growth_upper) = (None, Some(800.0));
    }
    report.hypotheses.truncate(1);
    report.hypotheses[0].state = HypothesisState::Holds;
    report.hypotheses[0].evidence = "the low-water mark is flat".into();
    report.run.ended = "exit 0".into();
    // The run is over: what lived to its end is not called ended.
    for process in &mut report.processes {
        process.end_s = process.end_s.or(Some(2039.5));
    }
    report
}

/// Watched for too short a time.
pub fn undecided() -> Report {
    let mut report = empty(Verdict::Undecided);
    report.duration_s = 42.0;
    report.more_seconds_needed = 570.0;
    report.detectable_bytes_per_second = Some(4.0 * MIB);
    report.processes = vec![process(0, None, Role::Trainer, "python train.py", GIB)];
    report.processes[0].watch = true;
    report.roles = vec![role("", "whole tree", 1, GIB, None), role("trainer", "trainer", 1, GIB, None)];
    report.roles[0].growth_upper = None;
    report.sampling = SamplingReport { ticks: 84, interval_s: 0.5, rollup_reads: 0, rollup_skipped: 0 };
    report.run.command = "python train.py".into();
    report
}

/// A number of processes that rises at low tide.
pub fn processes() -> Report {
    let mut report = undecided();
    report.verdict = Verdict::Leak;
    report.more_seconds_needed = 0.0;
    let mut finding = Finding::new(Class::Leak, "processes", "one more is alive after every epoch");
    finding.kind = Some(Kind::Processes);
    finding.growth = Some(Growth { bytes_per_cycle: Some(1.0), unit: "count", ..Growth::per_second(0.05, [0.049, 0.051]) });
    report.findings = vec![finding];
    report
}

/// Killed by its cgroup.
pub fn killed() -> Report {
    let mut report = leak();
    report.run.ended = "signal 9".into();
    let mut kill =
        Finding::new(Class::Oom, "ram", "the cgroup's limit of 24 GiB killed it at 23.9 GiB; the trainer held 16.2 GiB of that");
    kill.oom = Some(OomForecast {
        limit: "cgroup".into(),
        limit_bytes: 24 * GIB,
        seconds: None,
        steps: None,
        epoch: None,
        round: None,
        numbers: [("oom_kills".into(), 1.0)].into(),
    });
    kill.evidence = vec!["the forecast ten minutes before said 9 min 30 s".into()];
    report.findings.insert(1, kill);
    report
}

/// One process with nothing around it, as an imported file gives it.
pub fn imported() -> Report {
    let mut report = empty(Verdict::NoLeak);
    report.duration_s = 3600.0;
    report.detectable_bytes_per_second = Some(200.0);
    report.sampling = SamplingReport { ticks: 720, interval_s: 5.0, rollup_reads: 0, rollup_skipped: 0 };
    report.run.source = "mprof".into();
    report
}

/// Eight ranks with four workers each, one of which grows; shells that came and went; a server outside.
pub fn ranks() -> Report {
    let mut report = leak();
    report.processes = vec![process(0, None, Role::Launcher, "torchrun --nproc-per-node 8 train.py", 40 << 20)];
    for rank in 0..8 {
        let mut trainer = process(10 + rank, Some(0), Role::Trainer, "python -u train.py", 3 * GIB);
        trainer.rank = Some(rank);
        report.processes.push(trainer);
        for worker in 0..4 {
            let name = "python -u train.py";
            let mut worker =
                process(100 + 4 * rank + worker, Some(10 + rank), Role::DataloaderWorker, name, (worker as u64 + 1) << 27);
            if worker.id == ProcId(110) {
                (worker.watch, worker.growth) = (true, 2.0 * MIB);
            }
            report.processes.push(worker);
        }
        for shell in [200 + 2 * rank, 201 + 2 * rank] {
            let mut shell = process(shell, Some(10 + rank), Role::Other, "sh -c nvidia-smi", 0);
            shell.end_s = Some(1.0);
            let mut child = process(shell.id.0 + 100, Some(shell.id.0), Role::Other, "nvidia-smi", 0);
            child.end_s = Some(1.0);
            report.processes.extend([shell, child]);
        }
    }
    report.processes.push(process(500, None, Role::Outside, "postgres: writer process", 2 * GIB));
    report
}

/// What the memory of a process was for, at three moments.
pub fn budgeted() -> Report {
    let mut report = marked();
    report.progress.truncate(1);
    type Parts<'a> = &'a [(&'a str, u64)];
    let moments: [(Option<&str>, Parts); 3] = [
        (None, &[("parameters", 400), ("optimizer state", 800), ("native heap", 90), ("not explained", 1)]),
        (Some("train"), &[("parameters", 400), ("gradients", 400), ("optimizer state", 800), ("native heap", 95)]),
        (Some("validation"), &[("parameters", 400), ("optimizer state", 800), ("numpy arrays", 4000), ("native heap", 90)]),
    ];
    for (phase, parts) in moments {
        let parts: Vec<PartOfBudget> =
            parts.iter().map(|(name, mib)| PartOfBudget { name: (*name).into(), bytes: mib << 20 }).collect();
        let bytes = parts.iter().map(|part| part.bytes).sum();
        report.budgets.push(BudgetReport {
            id: ProcId(2),
            pid: 4242,
            rank: Some(0),
            phase: phase.map(Into::into),
            t_s: 61.5,
            bytes,
            most_bytes: phase.map(|_| bytes + (64 << 20)),
            parts,
        });
    }
    report
}

/// Two ranks with marks: the leak per step and epoch, in training, and what phases and epochs took.
pub fn marked() -> Report {
    let mut report = leak();
    let per_step = 446.0 * 1024.0;
    let leak = &mut report.findings[0];
    leak.phase = Some("train".into());
    leak.evidence.insert(1, "train leaves 109 MiB of live memory behind each time (median of 14)".into());
    leak.evidence.insert(2, "validation adds nothing (13 times)".into());
    if let Some(growth) = &mut leak.growth {
        growth.bytes_per_second = 8.0 * per_step;
        (growth.bytes_per_step, growth.bytes_per_epoch) = (Some(per_step), Some(250.0 * per_step));
        (growth.ci95, growth.per) = ([441.0 * 1024.0, 452.0 * 1024.0], Cycle::Step);
        growth.live_bytes_per_step = Some(0.97 * per_step);
    }
    if let Some(oom) = &mut leak.oom {
        (oom.steps, oom.epoch) = (Some([61_000.0, 62_400.0, 63_800.0]), Some(67));
    }
    for rank in 0..2 {
        let (id, pid, grown) = (ProcId(2 + rank), 4242 + rank, u64::from(1 - rank) * (109 << 20));
        report.progress.push(ProgressReport {
            id,
            pid,
            rank: Some(rank),
            steps: 3500,
            steps_per_second: Some(8.0),
            counts: "torch.optim post-step hook".into(),
            phase: Some("train".into()),
            epochs: 14,
            seconds_per_epoch: Some(31.2),
            lost_marks: 0,
            gc_disabled: false,
        });
        for (name, seconds, steps, spike) in [("train", 380.0, 3500, 0), ("validation", 61.0, 0, 4 * GIB), ("between", 2.0, 0, 0)]
        {
            report.phases.push(PhaseReport {
                id,
                pid,
                rank: Some(rank),
                name: name.into(),
                count: 14,
                seconds,
                steps,
                floor_bytes: Some(8 * GIB),
                peak_bytes: Some(10 * GIB + spike),
                tree_floor_bytes: Some(15 * GIB),
                tree_peak_bytes: Some(17 * GIB + spike),
                spike_bytes: Some(spike).filter(|_| name != "between"),
                live_left_bytes: Some(if name == "train" { grown as f64 } else { 0.0 }),
                scatter_bytes: [None; 3],
            });
        }
        for epoch in 0..14_u64 {
            let floor = 8 * GIB + epoch * grown;
            report.epochs.push(EpochReport {
                id,
                pid,
                rank: Some(rank),
                round: None,
                node: None,
                epoch: Some(epoch),
                start_s: epoch as f64 * 31.2,
                end_s: (epoch < 13).then_some((epoch + 1) as f64 * 31.2),
                start_bytes: Some(floor),
                end_bytes: Some(floor + grown),
                floor_bytes: Some(floor),
                delta_bytes: (epoch > 0).then_some(grown as f64),
                peak_bytes: Some(floor + 4 * GIB),
                live_delta_bytes: Some(grown as f64),
                allocated_bytes: None,
                reserved_bytes: None,
                steps: 250,
                mean_step_s: Some(0.125),
                loss: (epoch < 13).then(|| 2.5 / (epoch + 1) as f64),
            });
        }
    }
    report
}

/// A federated run: a node that leaks among three.
pub fn federated() -> Report {
    let mut report = marked();
    report.progress.truncate(1);
    report.phases.clear();
    report.epochs.clear();
    let leak = &mut report.findings[0];
    leak.evidence
        .insert(1, "node north leaves 12 MiB of live memory behind per round (mean of 4 rounds, without its first)".into());
    leak.process.as_mut().unwrap().node = Some("north".into());
    let growth = leak.growth.as_mut().unwrap();
    (growth.bytes_per_epoch, growth.bytes_per_round) = (None, Some(12.5 * MIB));
    growth.node_bytes_per_round = Some(12.0 * MIB);
    for (name, live) in [("north", Some(12.0 * MIB)), ("south", Some(-4096.0)), ("east", None)] {
        report.nodes.push(NodeReport {
            id: ProcId(2),
            pid: 4242,
            rank: Some(0),
            name: name.into(),
            rounds: 5,
            visits: 5,
            steps: 300,
            live_bytes_per_round: live,
            allocated_bytes_per_round: None,
        });
    }
    report
}

pub fn all() -> Vec<(&'static str, Report)> {
    vec![
        ("leak", leak()),
        ("held", held()),
        ("held_by_two", held_by_two()),
        ("likely", likely()),
        ("no_leak", no_leak()),
        ("undecided", undecided()),
        ("processes", processes()),
        ("killed", killed()),
        ("ranks", ranks()),
        ("marked", marked()),
        ("federated", federated()),
        ("imported", imported()),
        ("empty", empty(Verdict::Undecided)),
    ]
}

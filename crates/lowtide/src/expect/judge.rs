//! Holding a report to the expectations.

use std::collections::BTreeSet;

use lowtide_model::{
    Bytes, Class, ExpectationReport, ExpectationState, Finding, Growth, PhaseReport, ProcessRef, ProgressReport, Rate, Report,
    Role, RoleReport, Seconds,
};

use super::{Bound, Check, Expectation, Metric, PERS, Per, Scope};
use crate::fail_on::out_of_memory;

/// What became of one expectation, and the numbers or the reason.
type Outcome = (ExpectationState, String);

/// Writes into the report what became of each expectation, broken ones first, and adds a finding for each
/// broken one: behind what the verdict rests on, before what is harmless.
pub fn judge(expectations: &[Expectation], report: &mut Report) {
    let mut outcomes: Vec<(&Expectation, Outcome)> = expectations.iter().map(|one| (one, one.outcome(report))).collect();
    outcomes.sort_by_key(|(_, (state, _))| match state {
        ExpectationState::Broken => 0,
        ExpectationState::Unknown => 1,
        ExpectationState::Kept => 2,
    });
    let broken: Vec<Finding> = outcomes
        .iter()
        .filter(|(_, (state, _))| *state == ExpectationState::Broken)
        .map(|(one, (_, reason))| one.finding(reason))
        .collect();
    let place =
        report.findings.iter().rposition(|finding| finding.class.grows() || finding.class == Class::Oom).map_or(0, |at| at + 1);
    report.findings.splice(place..place, broken);
    report.expectations =
        outcomes.into_iter().map(|(one, (state, reason))| ExpectationReport { text: one.text.clone(), state, reason }).collect();
}

impl Expectation {
    fn outcome(&self, report: &Report) -> Outcome {
        match &self.check {
            Check::NoOom => no_oom(report),
            Check::Bound(bound) => bound.outcome(report),
        }
    }

    fn finding(&self, reason: &str) -> Finding {
        let mut finding = Finding::new(Class::Expectation, "ram", format!("expected `{}`, but {reason}", self.text));
        if let Check::Bound(bound) = &self.check {
            if bound.metric == Metric::Shm {
                finding.resource = "shm".to_owned();
            }
            if let Scope::Role(role) = bound.scope {
                finding.process = Some(ProcessRef::of_role(role, role.label().to_owned(), String::new()));
            }
        }
        finding
    }
}

fn no_oom(report: &Report) -> Outcome {
    if report.findings.iter().any(Finding::is_kill) {
        return (ExpectationState::Broken, "it was killed for memory".to_owned());
    }
    if report.findings.iter().any(Finding::ran_out) {
        return (ExpectationState::Broken, "it was refused memory".to_owned());
    }
    match report.forecast().and_then(|oom| Some((oom, oom.seconds?))).filter(|_| out_of_memory(report)) {
        Some((oom, [_, middle, _])) => (
            ExpectationState::Broken,
            format!("memory ends in {}, at the limit of {} ({})", Seconds(middle), Bytes(oom.limit_bytes), oom.limit),
        ),
        None => (ExpectationState::Kept, "it was not killed for memory, and nothing says that it would be".to_owned()),
    }
}

impl Bound {
    fn outcome(&self, report: &Report) -> Outcome {
        if let Scope::Phase(phase) = self.scope {
            return self.in_phase(report, phase).unwrap_or_else(|reason| (ExpectationState::Unknown, reason));
        }
        let row = match self.row(report) {
            Ok(row) => row,
            Err(reason) => return (ExpectationState::Unknown, reason),
        };
        let who = if row.role.is_empty() { "the whole tree" } else { row.label.as_str() };
        match self.metric {
            Metric::Growth => self.growth(row, who, report),
            Metric::Gpu => self.gpu(report).unwrap_or_else(|reason| (ExpectationState::Unknown, reason)),
            Metric::Ram | Metric::Peak => self.size(row.peak_bytes, &format!("the most that {who} had was")),
            Metric::Floor => self.size(row.floor_bytes, &format!("the low-water mark of {who} at the end was")),
            Metric::Spike => self.size(row.spike_bytes, &format!("the highest spike of {who} was")),
            Metric::Shm => self.size(row.shm_bytes, &format!("the most shared memory of {who} was")),
        }
    }

    /// Sizes of the whole tree while a process with marks was in a phase.
    fn in_phase(&self, report: &Report, phase: &str) -> Result<Outcome, String> {
        let rows: Vec<&PhaseReport> = report.phases.iter().filter(|row| row.name == phase).collect();
        if rows.is_empty() {
            let seen: BTreeSet<&str> = report.phases.iter().map(|row| row.name.as_str()).collect();
            return Err(if seen.is_empty() {
                format!("when the phase `{phase}` was cannot be told without marks of phases")
            } else {
                let seen: Vec<&str> = seen.into_iter().collect();
                format!("no phase `{phase}` was marked; there were: {}", seen.join(", "))
            });
        }
        let most = |of: fn(&PhaseReport) -> Option<u64>| {
            let missed = || format!("no measurement fell into the phase `{phase}`; measure more often (--interval)");
            rows.iter().filter_map(|row| of(row)).max().ok_or_else(missed)
        };
        match self.metric {
            Metric::Ram | Metric::Peak => {
                Ok(self.size(most(|row| row.tree_peak_bytes)?, &format!("the most that the whole tree had in {phase} was")))
            }
            Metric::Spike => Ok(self.size(most(|row| row.spike_bytes)?, &format!("the highest spike in {phase} was"))),
            Metric::Gpu => Err("GPU memory is not checked by phase; `gpu` without a phase is".to_owned()),
            Metric::Floor | Metric::Growth | Metric::Shm => Err(format!(
                "of a phase only `ram`, `peak` and `spike` are checked; what {phase} leaves behind stands in the report's table of phases"
            )),
        }
    }

    /// The most that was used of any GPU that the run was on.
    fn gpu(&self, report: &Report) -> Result<Outcome, String> {
        if !matches!(self.scope, Scope::Tree) {
            return Err("GPU memory is checked for the whole run only".to_owned());
        }
        let on = report.gpus.iter().filter(|gpu| !gpu.processes.is_empty());
        let most = on.max_by_key(|gpu| gpu.peak_bytes).ok_or("GPU memory of the run was not seen")?;
        let emulated = if most.emulated { " (emulated)" } else { "" };
        Ok(self.size(most.peak_bytes, &format!("the most that was used of {}{emulated} was", most.resource)))
    }

    fn row<'a>(&self, report: &'a Report) -> Result<&'a RoleReport, String> {
        match self.scope {
            Scope::Phase(_) | Scope::Tree => {
                report.roles.iter().find(|row| row.role.is_empty()).ok_or_else(|| "no memory was measured".to_owned())
            }
            Scope::Role(role) => report.roles.iter().find(|row| is_of(row, role)).ok_or_else(|| {
                let seen: Vec<&str> =
                    report.roles.iter().filter(|row| !row.role.is_empty()).map(|row| row.label.as_str()).collect();
                format!(
                    "no process was known as {}; there were: {}",
                    role.label(),
                    if seen.is_empty() { "none".to_owned() } else { seen.join(", ") }
                )
            }),
        }
    }

    fn too_much(&self, value: f64, bound: f64) -> bool {
        if self.strict { value >= bound } else { value > bound }
    }

    fn size(&self, bytes: u64, what: &str) -> Outcome {
        if self.too_much(bytes as f64, self.bytes) {
            let over = Bytes((bytes as f64 - self.bytes) as u64);
            (ExpectationState::Broken, format!("{what} {}, {over} more than allowed", Bytes(bytes)))
        } else {
            (ExpectationState::Kept, format!("{what} {}", Bytes(bytes)))
        }
    }

    /// Broken where established growth is too much, kept where even the most that was possible is not; what lies
    /// between is not decided.
    fn growth(&self, row: &RoleReport, who: &str, report: &Report) -> Outcome {
        let (seconds, unit) = match self.span(report) {
            Ok(span) => span,
            Err(reason) => return (ExpectationState::Unknown, reason),
        };
        let shown = |rate: f64| format!("{}{unit}", Rate(rate * seconds));
        match (row.growth, row.growth_upper) {
            (Some(rate), _) if self.too_much(rate * seconds, self.bytes) => {
                (ExpectationState::Broken, format!("{who} grows by {}", shown(rate)))
            }
            (rate, Some(upper)) if upper.is_finite() && !self.too_much(upper * seconds, self.bytes) => {
                let known = rate.map_or(String::new(), |rate| format!("{who} grows by {}; ", shown(rate)));
                (ExpectationState::Kept, format!("{known}more than {} can be ruled out for {who}", shown(upper)))
            }
            (_, upper) => {
                let possible = upper.filter(|upper| upper.is_finite()).map_or_else(
                    || format!("too little was seen to bound the growth of {who}"),
                    |upper| format!("{who} may grow by up to {}", shown(upper)),
                );
                let wait = if report.more_seconds_needed > 0.0 {
                    format!(" ({} more)", Seconds(report.more_seconds_needed))
                } else {
                    String::new()
                };
                (ExpectationState::Unknown, format!("{possible}; watch for longer{wait} to tell"))
            }
        }
    }

    /// Seconds in what the growth is per, and its name.
    fn span(&self, report: &Report) -> Result<(f64, String), String> {
        let seconds = match self.per {
            None => return Ok((report.duration_s, format!(" over the {} watched", Seconds(report.duration_s)))),
            Some(Per::Second) => 1.0,
            Some(Per::Minute) => 60.0,
            Some(Per::Hour) => 3600.0,
            Some(Per::Step) => step_seconds(report).ok_or("how many steps were made is not known without marks of steps")?,
            Some(Per::Epoch) => epoch_seconds(report).ok_or("how many epochs were made is not known without marks of epochs")?,
        };
        let name = PERS.iter().find(|(_, per)| Some(*per) == self.per).map_or("", |(name, _)| name);
        Ok((seconds, format!(" per {name}")))
    }
}

/// Seconds of a step: of the growth that was found, else of the fastest process with marks.
fn step_seconds(report: &Report) -> Option<f64> {
    seconds(report, |growth| growth.bytes_per_step, |line| line.steps_per_second.map(|rate| 1.0 / rate))
}

/// Seconds of an epoch, likewise.
fn epoch_seconds(report: &Report) -> Option<f64> {
    seconds(report, |growth| growth.bytes_per_epoch, |line| line.seconds_per_epoch)
}

fn seconds(report: &Report, grown: fn(&Growth) -> Option<f64>, passed: fn(&ProgressReport) -> Option<f64>) -> Option<f64> {
    let sound = |seconds: &f64| seconds.is_finite() && *seconds > 0.0;
    let growths = report.findings.iter().filter_map(|finding| finding.growth.as_ref());
    let by_growth = growths.filter_map(|growth| Some(grown(growth)? / growth.bytes_per_second)).find(sound);
    by_growth.or_else(|| report.progress.iter().filter_map(passed).filter(sound).min_by(f64::total_cmp))
}

/// The schema calls several roles `other`; their label tells them apart.
fn is_of(row: &RoleReport, role: Role) -> bool {
    let finer = [Role::ForkedChild, Role::Outside].map(Role::label);
    match role {
        Role::Other => row.role == "other" && !finer.contains(&row.label.as_str()),
        Role::ForkedChild => row.label == role.label(),
        _ => row.role == role.schema_name(),
    }
}

#[cfg(test)]
mod tests {
    use lowtide_model::{GpuHolder, GpuReport, Verdict};

    use super::*;
    use crate::fail_on::tests::{oom, report};

    const GIB: u64 = 1 << 30;
    const MIB: f64 = 1_048_576.0;

    fn row(role: &str, label: &str, growth: Option<f64>, growth_upper: Option<f64>) -> RoleReport {
        RoleReport {
            role: role.into(),
            label: label.into(),
            count: 1,
            floor_bytes: 10 * GIB,
            peak_bytes: 16 * GIB,
            spike_bytes: 4 * GIB,
            end_bytes: 12 * GIB,
            shm_bytes: GIB,
            growth,
            growth_upper,
        }
    }

    fn outcome(text: &str, report: &mut Report) -> (ExpectationState, String) {
        judge(&[text.parse().expect(text)], report);
        let one = report.expectations[0].clone();
        (one.state, one.reason)
    }

    #[test]
    fn sizes_are_held_to_the_byte() {
        for (text, state) in [
            ("ram < 16 GiB", ExpectationState::Broken),
            ("ram <= 16 GiB", ExpectationState::Kept),
            ("ram < 17 GB", ExpectationState::Broken),
            ("ram < 18 GB", ExpectationState::Kept),
            ("peak <= 15.9 GiB", ExpectationState::Broken),
            ("floor < 11 GiB", ExpectationState::Kept),
            ("floor < 10 GiB", ExpectationState::Broken),
            ("spike <= 4 GiB", ExpectationState::Kept),
            ("spike < 4 GB", ExpectationState::Broken),
            ("shm < 2 GiB", ExpectationState::Kept),
            ("trainer.ram < 1 GiB", ExpectationState::Broken),
            ("other.ram < 1 TiB", ExpectationState::Unknown),
            ("forked_child.ram < 1 TiB", ExpectationState::Kept),
            ("launcher.ram < 1 TiB", ExpectationState::Unknown),
            ("gpu < 1 TiB", ExpectationState::Unknown),
            ("validation.spike < 1 TiB", ExpectationState::Unknown),
        ] {
            let mut report = report(Verdict::NoLeak);
            report.roles = vec![
                row("", "", None, None),
                row("trainer", "trainer", None, None),
                row("other", Role::ForkedChild.label(), None, None),
            ];
            let (found, reason) = outcome(text, &mut report);
            assert_eq!(found, state, "{text}: {reason}");
            assert_eq!(report.findings.len(), usize::from(state == ExpectationState::Broken), "{text}");
        }
    }

    #[test]
    fn gpus_are_held_to_the_most_that_was_used_of_any() {
        let mut report = report(Verdict::NoLeak);
        report.roles = vec![row("", "", None, None)];
        let gpu = |resource: &str, peak_bytes, here: bool| GpuReport {
            resource: resource.to_owned(),
            peak_bytes,
            processes: if here { vec![GpuHolder::default()] } else { Vec::new() },
            ..GpuReport::default()
        };
        report.gpus = vec![gpu("gpu0", 90 * GIB, false), gpu("gpu1", 30 * GIB, true), gpu("gpu2", 20 * GIB, true)];
        assert_eq!(outcome("gpu < 31 GiB", &mut report).0, ExpectationState::Kept, "nothing of the run is on gpu0");
        let (state, reason) = outcome("gpu < 30 GiB", &mut report);
        assert_eq!(state, ExpectationState::Broken);
        assert!(reason.contains("gpu1"), "{reason}");
        assert_eq!(outcome("trainer.gpu < 31 GiB", &mut report).0, ExpectationState::Unknown);
    }

    #[test]
    fn growth_between_what_is_known_and_what_is_possible_is_not_decided() {
        let rate = |mib_per_minute: f64| Some(mib_per_minute * MIB / 60.0);
        for (growth, upper, state) in [
            (rate(12.0), rate(13.0), ExpectationState::Broken),
            (rate(8.0), rate(9.0), ExpectationState::Kept),
            (rate(8.0), rate(11.0), ExpectationState::Unknown),
            (None, rate(9.0), ExpectationState::Kept),
            (None, rate(11.0), ExpectationState::Unknown),
            (None, None, ExpectationState::Unknown),
            (None, Some(f64::INFINITY), ExpectationState::Unknown),
        ] {
            for text in ["growth < 10 MiB/minute", "growth < 600 MiB/hour", "growth < 600 MiB"] {
                let mut report = report(Verdict::Undecided);
                report.roles = vec![row("", "", growth, upper)];
                let (found, reason) = outcome(text, &mut report);
                assert_eq!(found, state, "{text} at {growth:?} to {upper:?}: {reason}");
            }
        }
    }

    #[test]
    fn growth_per_step_needs_steps() {
        let mut report = report(Verdict::Leak);
        report.roles = vec![row("", "", Some(1024.0), Some(1100.0))];
        assert_eq!(outcome("growth < 1 MiB/step", &mut report).0, ExpectationState::Unknown);
        assert_eq!(outcome("growth < 1 MiB/epoch", &mut report).0, ExpectationState::Unknown);
        let mut finding = Finding::new(Class::Leak, "ram", "");
        finding.growth = Some(Growth { bytes_per_step: Some(512.0), ..Growth::per_second(1024.0, [0.0, 0.0]) });
        report.findings = vec![finding];
        assert_eq!(outcome("growth < 513 B/step", &mut report).0, ExpectationState::Unknown);
        assert_eq!(outcome("growth < 512 B/step", &mut report).0, ExpectationState::Broken);
    }

    #[test]
    fn steps_and_epochs_are_known_by_marks_where_nothing_grows() {
        let mut report = report(Verdict::NoLeak);
        report.roles = vec![row("", "", None, Some(1000.0))];
        report.progress.push(ProgressReport {
            id: lowtide_model::ProcId(0),
            pid: 1,
            rank: None,
            steps: 900,
            steps_per_second: Some(10.0),
            counts: String::new(),
            phase: None,
            epochs: 9,
            seconds_per_epoch: Some(8.0),
            lost_marks: 0,
            gc_disabled: false,
        });
        for (text, state) in [
            ("growth < 101 B/step", ExpectationState::Kept),
            ("growth < 99 B/step", ExpectationState::Unknown),
            ("growth < 8001 B/epoch", ExpectationState::Kept),
            ("growth < 7999 B/epoch", ExpectationState::Unknown),
        ] {
            let (found, reason) = outcome(text, &mut report);
            assert_eq!(found, state, "{text}: {reason}");
        }
    }

    #[test]
    fn a_phase_is_held_to_what_the_tree_had_in_it() {
        let phase = |name: &str, peak: u64, spike: Option<u64>| PhaseReport {
            id: lowtide_model::ProcId(0),
            pid: 1,
            rank: None,
            name: name.into(),
            count: 3,
            seconds: 9.0,
            steps: 0,
            floor_bytes: Some(GIB),
            peak_bytes: Some(GIB),
            tree_floor_bytes: Some(GIB),
            tree_peak_bytes: Some(peak * GIB),
            spike_bytes: spike.map(|gib| gib * GIB),
            live_left_bytes: None,
            scatter_bytes: [None; 3],
        };
        for (text, state) in [
            ("validation.spike < 4 GiB", ExpectationState::Broken),
            ("validation.spike <= 4 GiB", ExpectationState::Kept),
            ("validation.ram < 15 GiB", ExpectationState::Kept),
            ("validation.peak < 14 GiB", ExpectationState::Broken),
            ("train.peak < 11 GiB", ExpectationState::Kept),
            ("train.spike < 1 GiB", ExpectationState::Unknown),
            ("test.peak < 1 TiB", ExpectationState::Unknown),
            ("validation.growth < 1 TiB/step", ExpectationState::Unknown),
        ] {
            let mut report = report(Verdict::NoLeak);
            // Two ranks: the worst one counts.
            report.phases = vec![phase("train", 10, None), phase("validation", 12, Some(2)), phase("validation", 14, Some(4))];
            let (found, reason) = outcome(text, &mut report);
            assert_eq!(found, state, "{text}: {reason}");
        }
    }

    #[test]
    fn no_oom_is_broken_by_a_kill_and_by_a_near_forecast() {
        for (finding, state) in [
            (None, ExpectationState::Kept),
            (Some(oom(Class::Oom, "cgroup", None, 1.0)), ExpectationState::Broken),
            (Some(oom(Class::Leak, "system", Some(7200.0), 0.0)), ExpectationState::Broken),
            (Some(oom(Class::Leak, "system", Some(1e9), 0.0)), ExpectationState::Kept),
        ] {
            let mut report = report(Verdict::NoLeak);
            report.findings.extend(finding);
            assert_eq!(outcome("no-oom", &mut report).0, state);
        }
    }

    #[test]
    fn broken_ones_stand_first_and_behind_the_leak() {
        let mut report = report(Verdict::Leak);
        report.roles = vec![row("", "", Some(1e6), Some(1.1e6))];
        report.findings = vec![Finding::new(Class::Leak, "ram", "leak"), Finding::new(Class::Spikes, "ram", "spikes")];
        let all: Vec<Expectation> =
            ["ram < 1 TB", "gpu < 1 GB", "ram < 1 GB"].iter().map(|text| text.parse().expect(text)).collect();
        judge(&all, &mut report);
        let texts: Vec<&str> = report.expectations.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts, ["ram < 1 GB", "gpu < 1 GB", "ram < 1 TB"]);
        let classes: Vec<Class> = report.findings.iter().map(|finding| finding.class).collect();
        assert_eq!(classes, [Class::Leak, Class::Expectation, Class::Spikes]);
        assert_eq!(
            report.findings[1].text,
            "expected `ram < 1 GB`, but the most that the whole tree had was 16 GiB, 15.1 GiB more than allowed"
        );
    }
}

//! A report full of nonsense and of names that want to do harm is laid out all the same.

use lowtide_model::{ProcId, Report, Role, Verdict};
use lowtide_report::{TextOptions, json, redact, text};
use proptest::prelude::*;

use super::samples;

/// Text as a process may call itself: mostly words, with everything in between.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,8}( [a-z./-]{1,12}){0,9}",
        proptest::collection::vec(any::<char>(), 0..30).prop_map(|chars| chars.into_iter().collect()),
        Just("\x1b[2J\x07\r\n\u{202e}\u{200b}\u{301}日本語".to_owned()),
    ]
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), -1e6..1e9_f64, Just(0.0), Just(f64::NAN), Just(f64::INFINITY), Just(f64::MAX),]
}

fn report() -> impl Strategy<Value = Report> {
    let bases = proptest::sample::select(samples::all().into_iter().map(|(_, report)| report).collect::<Vec<_>>());
    let verdict = proptest::sample::select(vec![Verdict::Leak, Verdict::LikelyLeak, Verdict::NoLeak, Verdict::Undecided]);
    let role = proptest::sample::select(Role::ALL.to_vec());
    let process =
        (0..40_u32, proptest::option::of(0..40_u32), role, name(), any::<u64>(), any::<bool>(), number(), any::<bool>());
    let processes = proptest::collection::vec(process, 0..60);
    (bases, verdict, processes, proptest::collection::vec(name(), 8), proptest::collection::vec(number(), 12)).prop_map(
        |(mut report, verdict, processes, names, numbers)| {
            report.verdict = verdict;
            for (id, parent, role, name, bytes, ended, growth, watch) in processes {
                let mut process = samples::process(id, parent, role, &name, bytes / 2);
                (process.end_s, process.growth, process.watch) = (ended.then_some(1.0), growth, watch);
                process.id = ProcId(id);
                report.processes.push(process);
            }
            report.run.command.clone_from(&names[0]);
            report.run.host.clone_from(&names[1]);
            report.blind_spots.push(names[2].clone());
            report.warnings.push(names[3].clone());
            report.duration_s = numbers[0];
            report.more_seconds_needed = numbers[1];
            report.detectable_bytes_per_second = Some(numbers[2]);
            for finding in &mut report.findings {
                finding.text.clone_from(&names[4]);
                finding.evidence.push(names[5].clone());
                if let Some(process) = &mut finding.process {
                    process.name.clone_from(&names[6]);
                }
                if let Some(growth) = &mut finding.growth {
                    growth.bytes_per_second = numbers[3];
                    growth.bytes_per_step = Some(numbers[4]).filter(|n| n.is_finite());
                    growth.ci95 = [numbers[5], numbers[6]];
                }
                if let Some(oom) = &mut finding.oom {
                    oom.seconds = Some([numbers[7], numbers[8], numbers[9]]);
                    oom.numbers.insert("spike".into(), numbers[10]);
                }
            }
            for row in &mut report.phases {
                row.name.clone_from(&names[6]);
                (row.seconds, row.live_left_bytes, row.count) = (numbers[8], Some(numbers[9]), u64::MAX);
                row.spike_bytes = Some(u64::MAX);
            }
            for row in &mut report.epochs {
                row.node = Some(names[7].clone());
                (row.delta_bytes, row.mean_step_s, row.loss) = (Some(numbers[10]), Some(numbers[11]), Some(numbers[9]));
            }
            for role in &mut report.roles {
                role.label.clone_from(&names[7]);
                role.growth_upper = Some(numbers[11]);
            }
            report
        },
    )
}

fn columns(line: &str) -> usize {
    line.chars().map(|c| unicode_width::UnicodeWidthChar::width(c).unwrap_or(0)).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn lines_fit_and_names_do_no_harm(mut report in report(), width in 0..200_usize, verbose: bool) {
        let options = TextOptions { color: false, width, verbose };
        let out = text(&report, &options);
        prop_assert!(out.chars().all(|c| c == '\n' || !c.is_control()), "{out:?}");
        prop_assert!(!out.contains(['\u{202e}', '\u{200b}']), "{out:?}");
        let room = width.max(40);
        for line in out.lines() {
            // Only a line of one word, behind its label, may stick out.
            let words = line.get(7..).unwrap_or("").split_whitespace().count();
            prop_assert!(columns(line) <= room || words <= 2, "{} > {room}: {line:?}", columns(line));
        }
        let coloured = TextOptions { color: true, ..options };
        prop_assert!(text(&report, &coloured).len() >= out.len());
        prop_assert!(serde_json::from_str::<serde_json::Value>(&json(&report)).is_ok());
        redact(&mut report);
        prop_assert!(!text(&report, &options).is_empty());
    }
}

#[test]
fn ten_thousand_processes_one_below_the_other_are_laid_out() {
    let mut report = samples::undecided();
    report.processes = (0..10_000).map(|id| samples::process(id, id.checked_sub(1), Role::Other, "sh", 1)).collect();
    report.processes[9_999].watch = true;
    let out = text(&report, &TextOptions::default());
    assert!(out.lines().count() < 40, "{out}");
    assert!(text(&report, &TextOptions { verbose: true, ..TextOptions::default() }).lines().count() > 10_000);
}

#[test]
fn a_ring_of_parents_is_cut() {
    let mut report = samples::undecided();
    report.processes = vec![
        samples::process(1, Some(2), Role::Trainer, "first", 1),
        samples::process(2, Some(1), Role::Trainer, "second", 1),
        samples::process(3, Some(3), Role::Trainer, "third", 1),
    ];
    let out = text(&report, &TextOptions::default());
    for name in ["first", "second", "third"] {
        assert!(out.contains(name), "{out}");
    }
}

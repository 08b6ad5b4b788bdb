//! What `--redact` takes out, and what it leaves.

use lowtide_report::{TextOptions, json, redact, text};

use super::samples;

#[test]
fn nothing_secret_is_left_in_text_or_json() {
    let mut report = samples::held_by_two();
    report.warnings = vec!["cannot write /home/annabel/secret project/x.csv: on gpu-node-3, ~/runs is full (5 MiB/min)".into()];
    report.findings[0].evidence.push("seen in `python train.py --config configs/base.yaml`, see data/labels.csv.".into());
    report.processes[0].role_reason = "its command is `uv run train.py`".into();
    redact(&mut report);
    let all = format!("{}{}", json(&report), text(&report, &TextOptions { verbose: true, ..TextOptions::default() }));
    for secret in [
        "train.py",
        "configs",
        "gpu-node-3",
        "kubepods",
        "train.lowtide",
        "annabel",
        "~/runs",
        "labels",
        "append",
        "evaluate",
        "eval.py",
        "seen[step]",
    ] {
        assert!(!all.contains(secret), "{secret} is in {all}");
    }
    // The file is the same in a field and in a sentence.
    assert!(all.contains("\"file\": \"[file 1]\"") && all.contains("[file 1]:88"), "{all}");
    for kept in ["5 MiB/min", "python [arguments ", "4242", "trainer.outputs", "the low-water mark rose in 13 of 13 cycles"] {
        assert!(all.contains(kept), "{kept} is not in {all}");
    }
}

#[test]
fn a_short_host_name_does_not_eat_words() {
    let mut report = samples::no_leak();
    report.run.host = "a".into();
    report.findings[0].text = "a rise of a cache, read from /proc/1/status and /dev/shm".into();
    redact(&mut report);
    assert_eq!(report.findings[0].text, "a rise of a cache, read from /proc/1/status and /dev/shm");
}

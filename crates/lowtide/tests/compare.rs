//! `compare` on recordings whose truth is known, and on what is none.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::{Path, PathBuf};

use common::{lowtide, output, text};

fn trace(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../zoo/traces").join(name)
}

fn said(arguments: &[&str]) -> (i32, serde_json::Value) {
    let folder = tempfile::tempdir().unwrap();
    let done = output(lowtide(folder.path()).args(["compare", "--format", "json"]).args(arguments));
    let value = serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&done.stderr)));
    (done.status.code().unwrap(), value)
}

#[test]
fn a_fix_is_told_and_the_way_back_fails_where_that_is_asked_for() {
    let (leak, fixed) = (trace("10_val_lists.leak.csv"), trace("10_val_lists.fixed.csv"));
    let (leak, fixed) = (leak.to_str().unwrap(), fixed.to_str().unwrap());
    let (code, value) = said(&[leak, fixed, "--fail-on", "worse"]);
    assert_eq!((code, value["schema"].as_str(), value["outcome"].as_str()), (0, Some("lowtide.compare/1"), Some("fixed")));
    let (code, value) = said(&[fixed, leak, "--fail-on", "worse"]);
    assert_eq!((code, value["outcome"].as_str()), (1, Some("worse")));
    let (code, _) = said(&[fixed, leak]);
    assert_eq!(code, 0);
    let (code, value) = said(&["--before", leak, leak, "--after", fixed]);
    assert_eq!((code, value["outcome"].as_str(), value["before"].as_array().map(Vec::len)), (0, Some("fixed"), Some(2)));
}

#[test]
fn a_run_is_no_different_from_itself() {
    let leak = trace("10_val_lists.leak.csv");
    let leak = leak.to_str().unwrap();
    let (code, value) = said(&[leak, leak, "--fail-on", "worse"]);
    assert_eq!((code, value["outcome"].as_str()), (0, Some("no_difference")));
    assert!(value["rows"].as_array().unwrap().iter().all(|row| row["differs"] != true));
}

#[test]
fn what_a_stranger_should_not_read_is_left_out() {
    let (leak, fixed) = (trace("10_val_lists.leak.csv"), trace("10_val_lists.fixed.csv"));
    let (_, open) = said(&[leak.to_str().unwrap(), fixed.to_str().unwrap()]);
    assert!(open.to_string().contains("/zoo/traces/"), "{open}");
    let (_, value) = said(&[leak.to_str().unwrap(), fixed.to_str().unwrap(), "--redact"]);
    assert!(!value.to_string().contains("/traces/") && !value.to_string().contains("10_val_lists"), "{value}");
    assert_eq!((value["before"][0]["file"].as_str(), value["outcome"].as_str()), (Some("[recording 1]"), Some("fixed")));
}

#[test]
fn logs_are_compared_by_the_numbers_in_them() {
    let folder = tempfile::tempdir().unwrap();
    let log = |name: &str, per_step: f64| {
        let line = |i: u32| {
            let (minute, second, wiggle) = (i / 60, i % 60, f64::from(i % 3) * 0.01);
            format!("2026-11-28 10:{minute:02}:{second:02} INFO step {i} RAM: {:.2}GB\n", 12.0 + f64::from(i) * per_step + wiggle)
        };
        let path = folder.path().join(name);
        std::fs::write(&path, (0..300).map(line).collect::<String>()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (leak, fixed) = (log("leak.log", 0.01), log("fixed.log", 0.0));
    let (_, value) = said(&[&leak, &fixed]);
    assert_eq!(value["outcome"], "fixed", "{value}");
    let growth = value["rows"][0]["before"]["value"].as_f64().unwrap();
    assert!((9.0e6..11.0e6).contains(&growth), "10 MB a second, and not {growth}");
    let (_, value) = said(&[&leak, &leak]);
    assert_eq!(value["outcome"], "no_difference", "{value}");
}

#[test]
fn a_snapshot_is_sent_to_where_two_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let snapshot = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ingest/tests/snapshots/2.1.pickle");
    let done = output(lowtide(folder.path()).arg("compare").args([&snapshot, &snapshot]));
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("lowtide report EARLIER LATER"), "{}", text(&done.stderr));
}

#[test]
fn the_ending_tells_the_form_and_wrong_usage_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (leak, fixed) = (trace("19_val_spike.leak.csv"), trace("19_val_spike.fixed.csv"));
    let file = folder.path().join("c.md");
    let done = output(lowtide(folder.path()).arg("compare").args([&leak, &fixed]).arg("-o").arg(&file));
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let markdown = std::fs::read_to_string(&file).unwrap();
    assert!(
        markdown.starts_with("**lowtide compare: better: the peak is ") && markdown.contains("| peak | 529 MiB |"),
        "{markdown}"
    );
    let done = output(lowtide(folder.path()).arg("compare").args([&leak, &fixed]));
    assert!(text(&done.stdout).starts_with("better: the peak is "), "{}", text(&done.stdout));
    for wrong in [vec!["a"], vec!["a", "b", "c"], vec!["--before", "a"], vec!["-", "-"], vec!["a", "b", "-o", "c.pdf"]] {
        let done = output(lowtide(folder.path()).arg("compare").args(&wrong));
        assert_eq!(done.status.code(), Some(2), "{wrong:?}: {}", text(&done.stderr));
    }
    let done = output(lowtide(folder.path()).arg("compare").arg(&leak).arg("nowhere.lowtide"));
    assert_eq!(done.status.code(), Some(3));
    assert!(text(&done.stderr).contains("nowhere.lowtide"), "{}", text(&done.stderr));
}

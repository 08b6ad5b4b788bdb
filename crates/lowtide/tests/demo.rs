//! `demo` and `doctor`: what a newcomer tries first.
#![allow(clippy::unwrap_used)]

mod common;

use common::{lowtide, output, text};

#[test]
fn the_demo_trains_judges_and_cleans_up() {
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let output = output(lowtide(folder.path()).env("TMPDIR", &temporary).args(["demo", "--seconds", "2"]));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // Two seconds are too short for a verdict: none may be made up.
    assert!(text(&output.stdout).starts_with("UNDECIDED"), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("planted"), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_dir(temporary).unwrap().count(), 0);
}

#[test]
fn without_python_the_demo_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let output = output(lowtide(folder.path()).env("PYTHON", "/no/such/python").arg("demo"));
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("PYTHON"), "{}", text(&output.stderr));
}

#[test]
fn the_doctor_answers() {
    let folder = tempfile::tempdir().unwrap();
    let output = output(lowtide(folder.path()).arg("doctor"));
    assert_eq!(output.status.code(), Some(0));
    let table = text(&output.stdout);
    for name in ["/proc", "cgroup", "GPU"] {
        assert!(table.contains(name), "{table}");
    }
}

//! `report` reads what is there, tells it by its content, and says what is wrong with the rest.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use common::{lowtide, output, run, text};

/// A run of a moment, recorded.
fn recorded(folder: &Path) -> PathBuf {
    output(&mut run(folder, &["sh", "-c", "sleep 0.3; exit 2"]));
    let mut entries = std::fs::read_dir(folder.join("runs")).unwrap();
    entries.next().unwrap().unwrap().path()
}

fn json(bytes: &[u8]) -> serde_json::Value {
    serde_json::from_slice(bytes).unwrap_or_else(|error| panic!("{error}: {}", text(bytes)))
}

const CSV: &str = "time_s,rss_mb\n0,100\n1,101\n2,102\n3,103\n4,104\n";

#[test]
fn the_newest_run_a_named_one_and_standard_input_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let recording = recorded(folder.path());
    let newest = output(lowtide(folder.path()).args(["report", "--format", "json"]));
    let named = output(lowtide(folder.path()).args(["report", "--format", "json"]).arg(&recording));
    let piped = output(lowtide(folder.path()).args(["report", "--format", "json", "-"]).stdin(File::open(&recording).unwrap()));
    for output in [&newest, &named, &piped] {
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let report = json(&output.stdout);
        assert_eq!(report["schema"], "lowtide.report/1");
        assert_eq!(report["run"]["ended"], "exit 2");
        assert_eq!(report["duration_s"], json(&newest.stdout)["duration_s"]);
    }
    assert_eq!(newest.stdout, named.stdout);
}

#[test]
fn a_file_is_told_by_its_content() {
    let folder = tempfile::tempdir().unwrap();
    let recording = recorded(folder.path());
    let disguised = folder.path().join("some.csv");
    std::fs::copy(recording, &disguised).unwrap();
    let csv = folder.path().join("other.lowtide");
    std::fs::write(&csv, CSV).unwrap();
    let output = output(lowtide(folder.path()).args(["report"]).args([&disguised, &csv]));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let stdout = text(&output.stdout);
    assert!(stdout.contains("== ") && stdout.contains("some.csv") && stdout.contains("other.lowtide"), "{stdout}");
}

#[test]
fn one_bad_file_does_not_hide_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let (good, bad) = (folder.path().join("good.csv"), folder.path().join("bad.csv"));
    std::fs::write(&good, CSV).unwrap();
    std::fs::write(&bad, "{\"nothing\": \"of use\"}\n").unwrap();
    let output = output(lowtide(folder.path()).arg("report").args([&bad, &good]));
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("bad.csv"), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("good.csv"));
}

#[test]
fn what_cannot_be_read_is_3() {
    let folder = tempfile::tempdir().unwrap();
    let missing = output(lowtide(folder.path()).args(["report", "/no/such/file"]));
    assert_eq!(missing.status.code(), Some(3));
    assert!(text(&missing.stderr).contains("/no/such/file"));
    let none = output(lowtide(folder.path()).arg("report"));
    assert_eq!(none.status.code(), Some(3));
    assert!(text(&none.stderr).contains("lowtide run"), "{}", text(&none.stderr));
    assert_eq!(output(lowtide(folder.path()).args(["report", "/"])).status.code(), Some(3));
}

#[test]
fn a_recording_that_breaks_off_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let recording = recorded(folder.path());
    let bytes = std::fs::read(&recording).unwrap();
    let cut = folder.path().join("cut");
    std::fs::write(&cut, &bytes[..bytes.len() - 40]).unwrap();
    // As if written long ago: nobody writes it any more.
    File::options().write(true).open(&cut).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    let output = output(lowtide(folder.path()).args(["report", "--format", "json"]).arg(&cut));
    let report = json(&output.stdout);
    assert_eq!(report["run"]["ended"], "broke off");
    let warning = report["warnings"][0].as_str().unwrap();
    assert!(warning.contains("breaks off") && warning.contains("limit"), "{warning}");
}

#[test]
fn measurements_go_to_other_tools() {
    let folder = tempfile::tempdir().unwrap();
    let recording = recorded(folder.path());
    for (name, start) in [("x.csv", &b"t_s"[..]), ("x.sqlite", b"SQLite format 3"), ("x.parquet", b"PAR1")] {
        let file = folder.path().join(name);
        let output = output(lowtide(folder.path()).arg("report").arg(&recording).arg("-o").arg(&file));
        assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stderr));
        let bytes = std::fs::read(&file).unwrap();
        assert!(bytes.len() > 100, "{name}");
        if name != "x.csv" {
            assert!(bytes.starts_with(start), "{name}");
        }
    }
}

#[test]
fn a_reader_that_has_enough_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let recording = recorded(folder.path());
    let mut command = lowtide(folder.path());
    let mut child = command.arg("report").arg(recording).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_expectation_from_the_projects_file_fails() {
    let folder = tempfile::tempdir().unwrap();
    let recording = recorded(folder.path());
    std::fs::write(folder.path().join("lowtide.toml"), "expect = ['peak < 1 KiB']\n").unwrap();
    let output_of = |options: &[&str]| {
        output(lowtide(folder.path()).current_dir(folder.path()).arg("report").args(options).arg(&recording)).status.code()
    };
    assert_eq!(output_of(&[]), Some(1));
    assert_eq!(output_of(&["--fail-on", "none"]), Some(0));
    std::fs::write(folder.path().join("lowtide.toml"), "expect = ['peek < 1 KiB']\n").unwrap();
    assert_eq!(output_of(&[]), Some(2));
}

const OOM: &str = "step 7: loss 0.31\n[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of \
                   79.19 GiB of which 267.00 MiB is free. Including non-PyTorch memory, this process has 78.92 GiB memory in use. Of the allocated memory \
                   67.92 GiB is allocated by PyTorch, and 10.26 GiB is reserved by PyTorch but unallocated.\n";

#[test]
fn a_log_says_what_ended_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("train.log");
    std::fs::write(&log, OOM).unwrap();
    let told = output(lowtide(folder.path()).args(["report", "--format", "json", "--fail-on", "oom"]).arg(&log));
    assert_eq!(told.status.code(), Some(1), "{}", text(&told.stderr));
    let report = json(&told.stdout);
    let finding = &report["findings"][0];
    assert_eq!((&report["verdict"], &finding["class"]), (&"undecided".into(), &"oom".into()));
    assert_eq!((&finding["resource"], &finding["cause"]), (&"gpu1".into(), &"LT507".into()));
    assert_eq!(finding["oom"]["numbers"]["allocated"], (67.92 * 1_073_741_824.0_f64).round());
    assert_eq!(finding["process"]["rank"], 1);
    let shown = output(lowtide(folder.path()).arg("report").arg("-").stdin(File::open(&log).unwrap()));
    assert_eq!(shown.status.code(), Some(0), "{}", text(&shown.stderr));
    assert!(text(&shown.stdout).contains("fragmentation: PyTorch had 10.26 GiB"), "{}", text(&shown.stdout));
}

#[test]
fn a_log_of_a_healthy_run_says_what_was_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("train.log");
    std::fs::write(&log, "epoch 1 done\nepoch 2 done\n").unwrap();
    let told = output(lowtide(folder.path()).args(["report", "--fail-on", "oom"]).arg(&log));
    assert_eq!(told.status.code(), Some(0));
    assert!(text(&told.stderr).contains("Looked for: messages of memory"), "{}", text(&told.stderr));
}

/// Snapshots that were made without a GPU: the fixtures of the crate that reads them, and the script that makes more.
fn snapshots() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ingest/tests/snapshots")
}

#[test]
fn two_memory_snapshots_show_what_grew_and_claim_no_leak() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| snapshots().join(format!("{name}.pickle"));
    // In the wrong order: their traces tell.
    let files = [of("2.9-later"), of("2.9")];
    let output = output(lowtide(folder.path()).args(["report", "--format", "json"]).args(&files));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report = json(&output.stdout);
    assert_eq!(report["verdict"], "undecided");
    let grew = &report["findings"][0];
    assert_eq!((&grew["kind"], &grew["resource"]), (&"gpu_allocated".into(), &"gpu0".into()));
    assert_eq!((&grew["site"]["file"], &grew["site"]["line"]), (&"/home/user/train.py".into(), &12.into()));
    let lines = report["snapshots"][0]["lines"].as_array().unwrap();
    let step = lines.iter().find(|line| line["line"] == 55).unwrap();
    assert_eq!((&step["blocks_delta"], &step["bytes_delta"]), (&6.into(), &(6 * (300 * 1024 + 1)).into()));
    let redacted = self::output(lowtide(folder.path()).args(["report", "--redact", "-v"]).args(&files));
    assert!(!text(&redacted.stdout).contains("train.py"), "{}", text(&redacted.stdout));
}

#[test]
fn an_out_of_memory_error_of_a_snapshot_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let output = output(lowtide(folder.path()).args(["report", "--format", "json"]).arg(snapshots().join("2.15-oom.pickle")));
    let report = json(&output.stdout);
    let oom = report["findings"].as_array().unwrap().iter().find(|finding| finding["class"] == "oom").unwrap();
    let numbers = &oom["oom"]["numbers"];
    assert_eq!(
        (numbers["requested"].as_f64(), numbers["reserved"].as_f64()),
        (Some(5.0 * 1_048_576.0), Some(160.0 * 1_048_576.0))
    );
    assert!(oom["text"].as_str().unwrap().contains("fragmentation"), "{oom}");
}

#[test]
fn the_trace_of_a_snapshot_is_judged_by_its_low_tides() {
    let folder = tempfile::tempdir().unwrap();
    for (leak, verdict) in [("600000", "leak"), ("0", "no_leak")] {
        let file = folder.path().join("trace.pickle");
        let made = std::process::Command::new("python3")
            .arg(snapshots().join("generate.py"))
            .args(["--steps", "120", "--leak", leak, "--steady"])
            .arg(&file)
            .status();
        if !made.is_ok_and(|made| made.success()) {
            eprintln!("SKIPPED: no python3 that makes snapshots");
            return;
        }
        let output = output(lowtide(folder.path()).args(["report", "--format", "json"]).arg(&file));
        let report = json(&output.stdout);
        assert_eq!(report["verdict"], verdict);
        if verdict == "leak" {
            assert_eq!(report["findings"][0]["site"]["line"], 55);
            let rate = report["findings"][0]["growth"]["bytes_per_second"].as_f64().unwrap();
            assert!((550_000.0..610_000.0).contains(&rate), "{rate}");
        }
    }
}

#[test]
fn a_snapshot_that_would_run_code_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("snapshot.pickle");
    std::fs::write(&file, b"\x80\x02cposix\nsystem\nX\x04\x00\x00\x00true\x85R.").unwrap();
    let output = output(lowtide(folder.path()).arg("report").arg(&file));
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("would import posix.system"), "{}", text(&output.stderr));
}

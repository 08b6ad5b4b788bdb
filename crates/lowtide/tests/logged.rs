//! Numbers that logs say of memory: real logs of programs that leak and of programs that do not (`ingest/tests/logs`), and what
//! such numbers cannot show.
#![allow(clippy::unwrap_used)]

mod common;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use common::{lowtide, output, text};

fn logs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ingest/tests/logs")
}

fn report(log: &Path) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    let told = output(lowtide(folder.path()).args(["report", "--format", "json"]).arg(log));
    assert_eq!(told.status.code(), Some(0), "{}", text(&told.stderr));
    serde_json::from_slice(&told.stdout).unwrap()
}

fn of_text(log: &str) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("train.log");
    std::fs::write(&path, log).unwrap();
    report(&path)
}

/// A line every second, with what a function says of it.
fn every_second(count: u32, line: impl Fn(u32) -> String) -> String {
    (0..count).fold(String::new(), |mut log, at| {
        writeln!(log, "2026-01-01 {:02}:{:02}:{:02} {}", 10 + at / 3600, at / 60 % 60, at % 60, line(at)).unwrap();
        log
    })
}

#[test]
fn real_logs_get_the_verdict_that_their_programs_deserve() {
    for (name, verdict) in [
        ("logging-leak.log", "leak"),
        ("logging-cache.log", "no_leak"),
        ("logging-spikes.log", "no_leak"),
        ("tqdm-leak.log", "likely_leak"),
        ("tqdm-none.log", "no_leak"),
        ("tqdm-spikes.log", "no_leak"),
        ("json-leak.log", "leak"),
        ("json-none.log", "no_leak"),
        ("pmem-leak.log", "likely_leak"),
        ("plain-leak.log", "likely_leak"),
        ("loguru-leak.log", "likely_leak"),
        ("peak-leak.log", "undecided"),
        ("metrics-leak.csv", "likely_leak"),
        ("system-none.log", "undecided"),
    ] {
        let report = report(&logs().join(name));
        assert_eq!(report["verdict"], verdict, "{name}: {}", report["logged"]);
    }
}

#[test]
fn an_event_file_of_tensorboard_gets_its_verdict() {
    let folder = logs().join("../scalars");
    for (name, verdict) in [("leak.tfevents", "leak"), ("none.tfevents", "no_leak")] {
        let report = report(&folder.join(name));
        assert_eq!(report["verdict"], verdict, "{name}: {}", report["logged"]);
        assert_eq!(report["run"]["source"], "TensorBoard event file of 1200 scalars");
    }
}

#[test]
fn the_rate_is_that_of_the_program() {
    // 1 MiB for each step of 0.12 s and a little.
    let report = report(&logs().join("logging-leak.log"));
    let rate = report["findings"][0]["growth"]["bytes_per_second"].as_f64().unwrap();
    let true_rate = 686.0 * 1_048_576.0 / report["duration_s"].as_f64().unwrap();
    assert!((rate / true_rate - 1.0).abs() < 0.05, "{rate} {true_rate}");
    let report = self::report(&logs().join("pmem-leak.log"));
    let per_step = report["logged"][0]["growth"].as_f64().unwrap();
    assert!((per_step / 1_048_576.0 - 1.0).abs() < 0.05, "{per_step}");
    assert!(report["findings"][0]["growth"].is_null(), "without times there is no rate per time");
}

#[test]
fn a_peak_of_one_name_is_no_low_tide_whatever_it_does() {
    for name in ["max mem: {} MiB", "Max RSS: {} MiB", "peak GPU memory {} MiB", "max_allocated={}MiB"] {
        let report = of_text(&every_second(200, |at| name.replace("{}", &(100 + 5 * at).to_string())));
        assert_eq!((&report["verdict"], &report["logged"][0]["what"]), (&"undecided".into(), &"peak".into()), "{name}");
    }
}

#[test]
fn few_digits_need_a_rise_over_several_of_the_last_one() {
    let log = |per_second: f64| every_second(300, |at| format!("rss: {:.1} GiB", 3.04 + per_second * f64::from(at)));
    let little = of_text(&log(0.0005));
    let shows = little["detectable_bytes_per_second"].as_f64().unwrap();
    assert_eq!(little["verdict"], "no_leak", "0.15 GiB in steps of 0.1");
    assert!(shows > 0.0005 * 1024.0 * 1_048_576.0, "nothing smaller is claimed to show: {shows}");
    assert_eq!(of_text(&log(0.01))["verdict"], "leak", "3 GiB in steps of 0.1");
    assert_eq!(of_text(&log(0.0))["verdict"], "no_leak");
}

#[test]
fn who_else_can_be_in_it_lowers_the_certainty() {
    for (name, verdict) in
        [("rss", "leak"), ("RAM", "likely_leak"), ("system memory used", "likely_leak"), ("GPU mem", "likely_leak")]
    {
        let report = of_text(&every_second(300, |at| format!("step {at} {name}: {} MiB", 1000 + 3 * at)));
        assert_eq!(report["verdict"], verdict, "{name}");
    }
    let report = of_text(&every_second(300, |at| format!("rss=900.5MiB system memory used: {} MiB", 1000 + 3 * at)));
    assert_eq!(report["verdict"], "no_leak", "{}", report["logged"]);
    assert!(report["findings"][0]["text"].as_str().unwrap().contains("while the process that is measured does not"));
}

#[test]
fn what_is_reserved_follows_what_lives_in_it() {
    let line = |allocated: u32, reserved: u32| format!("cuda:0 allocated {allocated} MiB, cuda:0 reserved {reserved} MiB");
    let level = of_text(&every_second(300, |at| line(500 + at % 3, 1000 + 3 * at)));
    assert_eq!(level["verdict"], "no_leak", "{}", level["logged"]);
    let grows = of_text(&every_second(300, |at| line(500 + 3 * at, 1000 + 3 * at)));
    assert_eq!(grows["verdict"], "leak", "{}", grows["logged"]);
    assert_eq!(grows["findings"][0]["resource"], "gpu0");
}

#[test]
fn ranks_workers_and_cards_are_apart() {
    let report = of_text(&every_second(400, |at| match at % 2 {
        0 => "[rank0]: rss 1000.0 MiB".to_owned(),
        _ => format!("[rank1]: rss {}.5 MiB", 1000 + 3 * at),
    }));
    assert_eq!(report["logged"].as_array().unwrap().len(), 2, "{}", report["logged"]);
    assert_eq!((&report["verdict"], &report["findings"][0]["process"]["rank"]), (&"leak".into(), &1.into()));
    let report =
        of_text(&every_second(300, |at| format!("GPU 0: {} MiB / 24576 MiB, GPU 1: 2000 MiB / 24576 MiB", 500 + 3 * at)));
    let growing: Vec<_> = report["findings"].as_array().unwrap().iter().filter(|finding| !finding["growth"].is_null()).collect();
    assert_eq!((growing.len(), &growing[0]["resource"]), (1, &"gpu0".into()), "{}", report["logged"]);
}

#[test]
fn a_unit_that_is_not_said_is_refused_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("train.log");
    std::fs::write(&path, every_second(100, |at| format!("step {at} memory: {}", 100 + at))).unwrap();
    let told = output(lowtide(folder.path()).arg("report").arg(&path));
    let stdout = text(&told.stdout);
    assert!(stdout.contains("UNDECIDED") && stdout.contains("its unit is not said"), "{stdout}");
}

#[test]
fn an_end_and_the_numbers_before_it_are_joined() {
    const END: &str = "Out of memory: Killed process 4242 (python) total-vm:55518724kB, anon-rss:23902876kB, file-rss:154436kB, shmem-rss:0kB\n";
    let log = every_second(300, |at| format!("step {at} rss: {} MiB", 1000 + 10 * at)) + END;
    let report = of_text(&log);
    assert_eq!(report["verdict"], "leak");
    let end = report["findings"].as_array().unwrap().iter().find(|finding| finding["class"] == "oom").unwrap();
    assert!(end["evidence"][0].as_str().unwrap().contains("until the kill"), "{end}");
    let level = every_second(300, |_| "step 5 rss: 1000 MiB".to_owned()) + END;
    let end = of_text(&level)["findings"].as_array().unwrap().iter().find(|finding| finding["class"] == "oom").cloned().unwrap();
    assert!(end["evidence"][0].as_str().unwrap().contains("not what had grown"), "{end}");
}

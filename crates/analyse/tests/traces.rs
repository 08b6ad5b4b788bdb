//! Every recorded trace of the zoo against its known truth: whole, first half, resampled to one second, and with all names
//! blanked.
//!
//! `cargo test -p lowtide-analyse --test traces -- --nocapture` prints the table.
#![allow(clippy::print_stdout, reason = "the table is what the test is for")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lowtide_analyse::Analyser;
use lowtide_analyse::trend::theil_sen;
use lowtide_ingest::{Hints, read};
use lowtide_model::{Class, Event, Kind, Report, Verdict};

const MIB: f64 = 1024.0 * 1024.0;

/// One trace with its truth.
struct Trace {
    name: String,
    /// The variant that was recorded leaks without bound.
    leaks: bool,
    /// `spike`, `bounded`, ...; empty for the repaired program.
    problem: String,
    kind: String,
    process: String,
    csv: String,
    truth: Vec<serde_json::Value>,
}

fn zoo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../zoo")
}

fn traces() -> Vec<Trace> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(zoo().join("traces")).expect("zoo/traces").map(|entry| entry.expect("entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "csv"));
    paths.sort();
    paths.iter().map(|path| trace(path)).collect()
}

fn trace(path: &Path) -> Trace {
    let name = path.file_stem().expect("name").to_string_lossy().into_owned();
    let (program, variant) = name.split_once('.').expect("PROGRAM.VARIANT");
    let text = std::fs::read_to_string(zoo().join(format!("{program}.toml"))).expect("truth file");
    let table: toml::Table = text.parse().expect("truth is TOML");
    let word = |key: &str| table[key].as_str().unwrap_or_default().to_owned();
    let planted = variant.starts_with("leak");
    let log = std::fs::read_to_string(path.with_extension("truth.jsonl")).unwrap_or_default();
    Trace {
        leaks: planted && table["leak"].as_bool().expect("leak"),
        problem: if planted { word("problem") } else { String::new() },
        kind: word("kind"),
        process: word("process"),
        csv: std::fs::read_to_string(path).expect("trace"),
        truth: log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
        name,
    }
}

/// What is done to a trace before it is judged.
#[derive(Clone, Copy, PartialEq)]
enum View {
    Whole,
    FirstHalf,
    EverySecond,
    NamesBlanked,
}

fn judged(trace: &Trace, view: View) -> Report {
    let csv = match view {
        View::Whole => trace.csv.clone(),
        View::FirstHalf => rows(&trace.csv, |t, first, last| t < f64::midpoint(first, last)),
        View::EverySecond => {
            let mut next = f64::NEG_INFINITY;
            let mut kept = f64::NAN;
            rows(&trace.csv, |t, _, _| {
                if t >= next && t != kept {
                    next = t + 0.95;
                    kept = t;
                }
                t == kept
            })
        }
        View::NamesBlanked => blanked(&trace.csv),
    };
    let mut analyser = Analyser::new();
    for event in &read(csv.as_bytes(), &Hints::default()).unwrap_or_else(|error| panic!("{}: {error}", trace.name)).events {
        analyser.push(event);
    }
    analyser.report()
}

fn rows(csv: &str, mut keep: impl FnMut(f64, f64, f64) -> bool) -> String {
    let time = |line: &str| line.split(',').next().and_then(|t| t.parse::<f64>().ok()).expect("time");
    let body: Vec<&str> = csv.lines().skip(1).collect();
    let (first, last) = (time(body[0]), time(body[body.len() - 1]));
    let kept = body.into_iter().filter(|line| keep(time(line), first, last));
    csv.lines().take(1).chain(kept).fold(String::new(), |all, line| all + line + "\n")
}

fn blanked(csv: &str) -> String {
    let blank = |line: &str| {
        let mut cells: Vec<&str> = line.split(',').collect();
        if cells[1] != "0" && cells[1] != "pid" {
            cells[4] = "";
        }
        cells.join(",")
    };
    csv.lines().map(blank).fold(String::new(), |all, line| all + &line + "\n")
}

/// Slope of the run's own low tides, bytes per second: over the minima of the truth log's cycles from the second on.
/// For one process anonymous plus shared memory; for all (`None`) Pss_Anon + Pss_Shmem + /dev/shm.
fn own_rate(trace: &Trace, pid: Option<u32>) -> Option<f64> {
    let number = |value: &serde_json::Value, key: &str| value.get(key).and_then(serde_json::Value::as_f64);
    let mut starts: Vec<f64> = trace.truth.iter().filter(|e| e["ev"] == "epoch").filter_map(|e| number(e, "t")).collect();
    starts.extend(trace.truth.iter().filter(|e| e["ev"] == "end").filter_map(|e| number(e, "t")));
    let mut sums: BTreeMap<u64, f64> = BTreeMap::new();
    for line in trace.csv.lines().skip(1) {
        let cell: Vec<f64> =
            line.split(',').enumerate().map(|(i, c)| if i == 4 { 0.0 } else { c.parse().expect("number") }).collect();
        let value = match pid {
            Some(pid) if cell[1] as u32 == pid => cell[8] + cell[13],
            None if cell[1] == 0.0 => cell[7],
            None => cell[9] + cell[11],
            Some(_) => continue,
        };
        *sums.entry((cell[0] * 1000.0) as u64).or_default() += value;
    }
    let mut minima = Vec::new();
    for cycle in starts.windows(2).skip(1) {
        let inside = sums.iter().map(|(t, v)| (*t as f64 / 1000.0, *v)).filter(|(t, _)| (cycle[0]..cycle[1]).contains(t));
        minima.extend(inside.min_by(|a, b| a.1.total_cmp(&b.1)));
    }
    (minima.len() >= 3).then(|| theil_sen(&minima))
}

fn alarm(report: &Report) -> bool {
    matches!(report.verdict, Verdict::Leak | Verdict::LikelyLeak)
}

fn first_growth(report: &Report) -> Option<f64> {
    report.leak()?.growth.as_ref().map(|growth| growth.bytes_per_second)
}

/// zoo/README: this trace ran starved of processor time; its spikes take half of it.
const STARVED: &str = "21_slow_under_spikes.leak";

#[test]
fn whole_traces() {
    let mut wrong = Vec::new();
    let mut slowest = 0.0_f64;
    println!("{:30} {:12} {:>10} {:>10}  class", "trace", "verdict", "MiB/min", "own");
    for trace in traces() {
        let begin = std::time::Instant::now();
        let report = judged(&trace, View::Whole);
        slowest = slowest.max(begin.elapsed().as_secs_f64());
        let first = report.findings.first();
        let pid = report.leak().and_then(|f| f.process.as_ref()).map(|p| p.pid).filter(|pid| *pid > 0);
        let own = own_rate(&trace, pid);
        let per_minute = |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{:.1}", rate * 60.0 / MIB));
        println!(
            "{:30} {:12} {:>10} {:>10}  {} | {}",
            trace.name,
            format!("{:?}", report.verdict),
            per_minute(first_growth(&report)),
            per_minute(own),
            first.map_or("none".to_owned(), |f| format!(
                "{:?} {:?} {}",
                f.class,
                f.kind,
                f.process.as_ref().map_or("-", |p| p.role)
            )),
            trace.problem,
        );
        if trace.leaks != alarm(&report) && trace.name != STARVED {
            wrong.push(format!("{}: {:?}", trace.name, report.verdict));
        }
        if trace.leaks && alarm(&report) {
            wrong.extend(wrong_blame(&trace, &report));
            if let (Some(rate), Some(own)) = (first_growth(&report), own)
                && report.leak().and_then(|f| f.growth.as_ref()).is_some_and(|g| g.unit == "bytes")
                && (rate / own - 1.0).abs() > 0.15
            {
                wrong.push(format!("{}: rate {:.0} KiB/s, own {:.0}", trace.name, rate / 1024.0, own / 1024.0));
            }
        }
        wrong.extend(wrong_class(&trace, &report));
    }
    println!("slowest {:.1} ms", slowest * 1000.0);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn wrong_blame(trace: &Trace, report: &Report) -> Option<String> {
    let leak = report.leak()?;
    let kinds: &[Kind] = match trace.kind.as_str() {
        "host_shm" => &[Kind::Shmem],
        "child_process" => &[Kind::Processes],
        "fds_threads" => &[Kind::Fds, Kind::Threads],
        _ => &[Kind::Anonymous, Kind::NativeHeap],
    };
    let role = leak.process.as_ref().map_or("none", |p| p.role);
    // Without names and signals a worker cannot be proven to be one: then it is "other".
    let roles: &[&str] = match trace.process.as_str() {
        "main" | "child:training" => &["trainer"],
        process if process.starts_with("child:dataloader_worker") => &["dataloader_worker", "other"],
        _ => &["other", "compile_worker"],
    };
    let right = leak.kind.is_some_and(|kind| kinds.contains(&kind)) && roles.contains(&role);
    (!right).then(|| format!("{}: blamed {:?} in {role}", trace.name, leak.kind))
}

fn wrong_class(trace: &Trace, report: &Report) -> Option<String> {
    if report.verdict != Verdict::NoLeak {
        return None;
    }
    let first = report.findings.first().map(|f| f.class);
    let right = match (trace.problem.as_str(), first) {
        ("floor", class) => matches!(class, None | Some(Class::Overhead)),
        ("spike", class) => class == Some(Class::Spikes),
        ("sawtooth", class) => matches!(class, Some(Class::Sawtooth | Class::BoundedGrowth | Class::AllocatorRetention)),
        // Copied pages that came within the first second or two of minutes are told as constant cost.
        ("bounded", class) if trace.kind == "child_process" => matches!(class, Some(Class::BoundedGrowth | Class::Overhead)),
        ("bounded", class) => class == Some(Class::BoundedGrowth),
        ("overhead", class) => class == Some(Class::Overhead),
        ("none", class) if trace.kind == "child_process" => matches!(class, None | Some(Class::Overhead)),
        ("none", class) => matches!(class, None | Some(Class::FileCache)),
        _ => true,
    };
    (!right).then(|| format!("{}: class {first:?}", trace.name))
}

#[test]
fn first_halves_are_never_wrong() {
    let mut wrong = Vec::new();
    for trace in traces() {
        let report = judged(&trace, View::FirstHalf);
        let cannot_tell = ["13_frame_lru.leak", "22_warmup_plateau.leak"].contains(&trace.name.as_str());
        let bad = match report.verdict {
            Verdict::Leak | Verdict::LikelyLeak => !trace.leaks,
            Verdict::NoLeak => trace.leaks || cannot_tell,
            Verdict::Undecided => false,
        };
        if bad {
            wrong.push(format!("{}: {:?} {}", trace.name, report.verdict, report.summary));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn sampled_every_second() {
    let mut wrong = Vec::new();
    for trace in traces() {
        let report = judged(&trace, View::EverySecond);
        if trace.leaks != alarm(&report) && trace.name != STARVED {
            wrong.push(format!("{}: {:?} {}", trace.name, report.verdict, report.summary));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn names_do_not_change_a_verdict() {
    for trace in traces() {
        let (with, without) = (judged(&trace, View::Whole), judged(&trace, View::NamesBlanked));
        assert_eq!(with.verdict, without.verdict, "{}", trace.name);
        assert_eq!(with.leak().map(|f| f.kind), without.leak().map(|f| f.kind), "{}", trace.name);
        let pid = |report: &Report| report.leak().and_then(|f| f.process.as_ref()).map(|p| p.pid);
        assert_eq!(pid(&with), pid(&without), "{}", trace.name);
    }
}

#[test]
fn a_leak_reversed_in_time_is_none() {
    for trace in traces().iter().filter(|trace| trace.leaks) {
        let events = read(trace.csv.as_bytes(), &Hints::default()).expect("trace").events;
        let end = events.iter().rev().find_map(|e| if let Event::Tick(tick) = e { Some(tick.t_s) } else { None }).expect("ticks");
        let mut analyser = Analyser::new();
        // Processes are known from the start; only the ticks run backwards.
        events.iter().filter(|e| !matches!(e, Event::Tick(_) | Event::Exit(_))).for_each(|e| analyser.push(e));
        for event in events.iter().rev() {
            if let Event::Tick(tick) = event {
                let mut tick = tick.clone();
                tick.t_s = end - tick.t_s;
                analyser.push(&Event::Tick(tick));
            }
        }
        let report = analyser.report();
        assert!(!alarm(&report), "{}: {}", trace.name, report.summary);
    }
}

/// Grows the first process of a trace by `rate` bytes per second, from its start.
fn with_leak(csv: &str, rate: f64) -> String {
    let mut first: Option<(f64, String)> = None;
    let mut grow = |line: &str| {
        let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
        let Ok(t) = cells[0].parse::<f64>() else { return line.to_owned() };
        if cells[1] != "0" {
            let (start, pid) = first.get_or_insert_with(|| (t, cells[1].clone()));
            if *pid == cells[1] {
                // rss, pss, uss, anon and pss_anon, by whole pages as a heap grows.
                let more = (((t - *start) * rate) as u64) & !4095;
                for cell in &mut cells[5..=9] {
                    *cell = (cell.parse::<u64>().expect("bytes") + more).to_string();
                }
            }
        }
        cells.join(",")
    };
    csv.lines().map(&mut grow).fold(String::new(), |all, line| all + &line + "\n")
}

#[test]
fn slow_leaks_are_found_in_quiet_runs() {
    let (mut tried, mut missed) = (0, Vec::new());
    for mut trace in traces() {
        let quiet = judged(&trace, View::Whole);
        // Where it swings, the report says what it could have seen; that is another test's matter.
        let rate = 6.0 * MIB / 60.0;
        let sees = quiet.verdict == Verdict::NoLeak && quiet.detectable_bytes_per_second.is_some_and(|least| least <= rate);
        if !sees {
            continue;
        }
        tried += 1;
        trace.csv = with_leak(&trace.csv, rate);
        let report = judged(&trace, View::Whole);
        if !alarm(&report) {
            missed.push(format!("{}: {:?} {}", trace.name, report.verdict, report.summary));
        }
    }
    println!("a leak of 6 MiB/min found in {} of {tried} quiet traces: missed {missed:#?}", tried - missed.len());
    assert!(tried >= 15 && missed.len() * 10 <= tried, "{missed:#?}");
}

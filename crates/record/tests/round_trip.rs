//! What was written is what is read.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::path::Path;

use common::{any_event, cost, end, process, start, tick};
use lowtide_model::{Event, Exit, ProcId, ProcSample, Role, Rollup, Tick};
use lowtide_record::format::VERSION;
use lowtide_record::{RecordError, Writer, is_recording, read, stream};
use proptest::prelude::*;

fn record(path: &Path, events: &[Event]) {
    let mut writer = Writer::create(path).unwrap();
    for event in events {
        writer.append(event);
        writer.tick_done();
    }
    let health = writer.finish();
    assert_eq!((health.dropped, health.error), (0, None));
    assert_eq!(health.bytes, fs::metadata(path).unwrap().len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn every_event_comes_back(mut events in prop::collection::vec(any_event(), 0..40)) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.lowtide");
        events.push(end(5.0));
        record(&path, &events);
        let recording = read(&path).unwrap();
        prop_assert_eq!(&recording.events, &events);
        prop_assert_eq!(recording.broke_off, None);
        prop_assert_eq!((recording.damage, recording.thinned), Default::default());
        let streamed: Vec<Event> = stream(&path).unwrap().map(Result::unwrap).collect();
        prop_assert_eq!(streamed, events);
    }
}

#[test]
fn ticks_come_back_over_key_ticks_and_changing_sets_of_processes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.lowtide");
    let mut events = vec![start()];
    for n in 0..500u32 {
        let mut tick = tick(f64::from(n * 1_000_123) / 1e6, 3 + n / 7 % 5, |id| u64::from(n * id % 97) * 4096);
        if let Event::Tick(Tick { procs, .. }) = &mut tick {
            for sample in procs.iter_mut().filter(|sample| (sample.id.0 + n) % 10 == 0) {
                sample.rollup = Some(Rollup { pss: u64::from(n) * 1024, ..Rollup::default() });
            }
        }
        events.push(tick);
    }
    events.push(end(501.0));
    record(&path, &events);
    assert!(is_recording(&fs::read(&path).unwrap()));
    assert!(read(&path).unwrap().events == events);
}

#[test]
fn times_that_are_equal_or_in_order_stay_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.lowtide");
    let t_s = 1.0 / 3.0;
    record(&path, &[tick(t_s, 0, |_| 0), Event::Exit(Exit { id: ProcId(0), t_s }), tick(f64::NAN, 0, |_| 0)]);
    let events = read(&path).unwrap().events;
    let (Event::Tick(tick), Event::Exit(exit)) = (&events[0], &events[1]) else { panic!("{events:?}") };
    assert_eq!(tick.t_s.to_bits(), exit.t_s.to_bits());
}

#[test]
fn of_the_costs_the_last_one_is_there_and_few_others() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.lowtide");
    let mut events: Vec<Event> = (0..600).map(|t| cost(f64::from(t))).collect();
    events.push(end(600.0));
    record(&path, &events);
    let read = read(&path).unwrap().events;
    assert_eq!(read[read.len() - 2..], [cost(599.0), end(600.0)]);
    assert!(read.len() < 15, "{}", read.len());
}

#[test]
fn a_tick_or_a_text_beyond_all_bounds_harms_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.lowtide");
    let Event::Process(mut long) = process(1, Role::Other) else { unreachable!() };
    long.command = "\u{e4}".repeat(1 << 20);
    let procs = vec![ProcSample { anon: u64::MAX / 3, ..ProcSample::empty(ProcId(7)) }; 20_000];
    let events =
        [start(), Event::Process(long), Event::Tick(Tick { t_s: 1.0, procs, ..Tick::default() }), tick(2.0, 3, |_| 4096)];
    let mut writer = Writer::create(&path).unwrap();
    events.iter().for_each(|event| writer.append(event));
    let health = writer.finish();
    let recording = read(&path).unwrap();
    assert_eq!(recording.events.last(), events.last());
    assert_eq!(recording.events.len() as u64 + health.dropped, 4);
    let Event::Process(cut) = &recording.events[1] else { panic!("no process") };
    assert!(cut.command.len() < 20_000 && cut.command.starts_with("\u{e4}\u{e4}"));
}

#[test]
fn what_is_no_recording_is_said_to_be_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    assert!(matches!(read(&path), Err(RecordError::Io { .. })));
    for (bytes, empty) in [(&b""[..], true), (b"\x89LOW", true), (b"t,pid\n", false), (&[0; 100], false)] {
        fs::write(&path, bytes).unwrap();
        let error = read(&path).unwrap_err();
        assert_eq!(matches!(error, RecordError::Empty { .. }), empty, "{error}");
        assert_eq!(matches!(error, RecordError::NotARecording { .. }), !empty, "{error}");
    }
    record_then_raise_version(&path);
    let error = read(&path).unwrap_err();
    assert!(matches!(error, RecordError::Newer { found, .. } if found == VERSION + 1), "{error}");
    assert!(error.to_string().contains("update lowtide"));
}

fn record_then_raise_version(path: &Path) {
    fs::remove_file(path).unwrap();
    record(path, &[start()]);
    let mut bytes = fs::read(path).unwrap();
    bytes[8..10].copy_from_slice(&(VERSION + 1).to_le_bytes());
    let crc = crc32fast::hash(&bytes[..20]);
    bytes[20..24].copy_from_slice(&crc.to_le_bytes());
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_foreign_file_is_not_overwritten_and_a_recording_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    fs::write(&path, "my thesis").unwrap();
    assert!(matches!(Writer::create(&path), Err(RecordError::Exists { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"my thesis");
    fs::remove_file(&path).unwrap();
    record(&path, &[start(), end(1.0)]);
    record(&path, &[start(), end(2.0)]);
    assert_eq!(read(&path).unwrap().events, [start(), end(2.0)]);
}

//! Compaction loses no minimum and no maximum, keeps the budget, and can be cut short anywhere.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use lowtide_model::{Event, Exit, Mark, MarkKind, ProcId, ProcSample, Role, Rollup, Scope, ScopeMark, SystemSample, Tick};
use proptest::prelude::*;

use super::plan::{RUNGS, Rung};
use super::series::{Roles, Series, series_of};
use super::{Budget, Plan, write};
use crate::common::{end, process, start, tick, ticks};
use crate::disk::FileDisk;
use crate::format::{HEADER_LEN, Header, to_us};
use crate::{Follower, Recording, Writer, read};

fn record(path: &Path, events: &[Event]) {
    let mut writer = Writer::create(path).unwrap();
    for (n, event) in events.iter().enumerate() {
        append(&mut writer, n, event);
    }
    assert_eq!(writer.finish().dropped, 0);
}

/// Appends the `n`th event, and now and then waits for the disk, so that nothing is dropped.
fn append(writer: &mut Writer, n: usize, event: &Event) {
    writer.append(event);
    if n.is_multiple_of(100) {
        writer.tick_done();
        while writer.health().events <= n as u64 {
            std::thread::yield_now();
        }
    }
}

/// Writes `events`, thins them, and reads what is left.
fn thinned(events: &[Event], rung: Rung) -> Recording {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from.lowtide"), dir.path().join("to.lowtide"));
    record(&from, events);
    let last_us = ticks(events).last().map_or(0, |tick| to_us(tick.t_s));
    let plan = Plan::make(&from, rung, last_us).unwrap();
    let (file, size) = write(&from, &to, &Header::encode(1), &plan).unwrap();
    drop(file);
    assert_eq!(fs::metadata(&to).unwrap().len(), size);
    read(&to).unwrap()
}

type Extremes = BTreeMap<(i64, String), (u64, u64)>;

/// Of each series its lowest and highest value in windows of `window_s` seconds.
fn extremes(events: &[Event], window_s: i64, wanted: impl Fn(Series) -> bool) -> Extremes {
    let mut roles = Roles::default();
    let mut found = Extremes::new();
    for event in events {
        roles.event(event);
        let Event::Tick(tick) = event else { continue };
        let window = to_us(tick.t_s).div_euclid(window_s * 1_000_000);
        series_of(tick, &roles, |series, value| {
            if wanted(series) {
                let entry = found.entry((window, format!("{series:?}"))).or_insert((value, value));
                *entry = (entry.0.min(value), entry.1.max(value));
            }
        });
    }
    found
}

/// A run of `count` ticks, one a second: values from `numbers`, processes that come and go, rollups now and then.
fn made_up(count: usize, numbers: &[u64]) -> Vec<Event> {
    let mut events = vec![start(), process(0, Role::Trainer)];
    let number = |n: usize| numbers[n % numbers.len()].wrapping_mul(n as u64 + 1) % 1000;
    let mut alive = 1;
    for n in 0..count {
        if number(n) < 4 {
            let role = Role::ALL[n % Role::ALL.len()];
            events.push(process(alive, role));
            alive += 1;
        }
        let sample = |id: u32| ProcSample {
            anon: number(n * 3 + id as usize) * 4096,
            threads: 1 + number(n + 5) as u32,
            rollup: (n % 10 == 0).then(|| Rollup { private_dirty: number(n * 7) * 4096, ..Rollup::default() }),
            ..ProcSample::empty(ProcId(id))
        };
        let procs = (0..alive.min(6)).map(|back| sample(alive - 1 - back)).collect();
        let system = Some(SystemSample { available: number(n + 9), dev_shm_used: number(n * 11), ..SystemSample::default() });
        events.push(Event::Tick(Tick { t_s: n as f64, procs, system, ..Tick::default() }));
    }
    events.push(end(count as f64));
    events
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn keeps_every_minimum_and_maximum(
        count in 1000usize..4000,
        numbers in prop::collection::vec(1u64..10_000, 1..50),
        rung in 0usize..6,
    ) {
        let events = made_up(count, &numbers);
        let recording = thinned(&events, RUNGS[rung]);
        let kept = recording.events;
        // All that is kept was there, in this order, and all that is no tick is kept.
        let mut rest = events.iter();
        prop_assert!(kept.iter().all(|event| rest.any(|original| original == event)));
        let others = |events: &[Event]| events.iter().filter(|event| !matches!(event, Event::Tick(_))).count();
        prop_assert_eq!(others(&kept), others(&events));
        prop_assert_eq!((events.len() - kept.len()) as u64, recording.thinned);
        // The largest windows that any rung may use for a run of this length are whole multiples of all smaller ones.
        prop_assert!(extremes(&kept, 4096, |_| true) == extremes(&events, 4096, |_| true));
        let per_age = [256, 128, 64, 32, 16, 8][rung];
        let most = 1i64 << (count as i64 / per_age).max(1).ilog2();
        prop_assert!(extremes(&kept, most, |_| true) == extremes(&events, most, |_| true));
        // The last ten minutes are whole.
        let fresh = |events: &[Event]| ticks(events).filter(|tick| tick.t_s > count as f64 - 601.0).count();
        prop_assert_eq!(fresh(&kept), fresh(&events));
    }

    #[test]
    fn again_and_again_is_as_good_as_once(numbers in prop::collection::vec(1u64..10_000, 1..50)) {
        let events = made_up(8000, &numbers);
        let mut so_far: Vec<Event> = Vec::new();
        for chunk in events.chunks(1000) {
            so_far.extend_from_slice(chunk);
            so_far = thinned(&so_far, RUNGS[5]).events;
        }
        let most = 1i64 << (8000 / 8_i64).ilog2();
        prop_assert!(extremes(&so_far, most, |_| true) == extremes(&events, most, |_| true));
        prop_assert!(so_far.len() < events.len());
    }
}

#[test]
fn marks_of_steps_are_thinned_and_those_of_epochs_stay() {
    let mut events = made_up(4000, &[7, 5]);
    let mark = |n: usize| {
        let begin = || MarkKind::Begin(ScopeMark { scope: Scope::Epoch, index: Some(n as u64), name: String::new() });
        let what = if n.is_multiple_of(100) { begin() } else { MarkKind::Step };
        Event::Mark(Mark { t_s: n as f64, id: ProcId(0), what, steps: n as u64, facts: None })
    };
    let last = events.pop().unwrap();
    events.extend((0..4000).map(mark).chain([last]));
    let count = |events: &[Event], steps: bool| {
        let of = |event: &&Event| matches!(event, Event::Mark(mark) if steps == (mark.what == MarkKind::Step));
        events.iter().filter(of).count()
    };
    let kept = thinned(&events, RUNGS[5]).events;
    assert_eq!((count(&events, true), count(&events, false)), (3960, 40));
    assert_eq!(count(&kept, false), 40);
    // The last ten minutes whole.
    assert!((594..800).contains(&count(&kept, true)), "{}", count(&kept, true));
}

#[test]
fn a_series_that_does_not_move_keeps_few_ticks() {
    let mut events = vec![start(), process(0, Role::Trainer)];
    events.extend((0..20_000).map(|t| tick(t.into(), 10, |_| 1 << 30)));
    let kept = thinned(&events, RUNGS[2]).events;
    assert!(ticks(&kept).count() < 1500, "{}", ticks(&kept).count());
}

#[test]
fn brief_processes_are_forgotten_only_on_the_last_rungs_and_count_for_their_role_still() {
    let mut events = vec![start(), process(0, Role::Trainer)];
    for t in 0..5000u32 {
        let brief = process(t + 1, Role::Other);
        let sample = |id: u32, anon: u64| ProcSample { anon, ..ProcSample::empty(ProcId(id)) };
        events.push(brief);
        let procs = vec![sample(0, 1 << 30), sample(t + 1, u64::from(t * 37 % 101) * 4096)];
        events.push(Event::Tick(Tick { t_s: t.into(), procs, ..Tick::default() }));
        events.push(Event::Exit(Exit { id: ProcId(t + 1), t_s: f64::from(t) + 0.5 }));
    }
    assert_eq!(thinned(&events, RUNGS[5]).thinned, 0, "each tick has a process's minimum");
    let recording = thinned(&events, RUNGS[6]);
    let kept = recording.events;
    assert!(kept.len() < 3500, "{}", kept.len());
    let roles = |series| matches!(series, Series::Tree | Series::Role(_));
    assert!(extremes(&kept, 512, roles) == extremes(&events, 512, roles));
    // Nobody in a tick is unknown.
    let mut known: HashMap<ProcId, bool> = HashMap::new();
    for event in &kept {
        match event {
            Event::Process(process) => _ = known.insert(process.id, true),
            Event::Tick(tick) => assert!(tick.procs.iter().all(|sample| known.contains_key(&sample.id))),
            _ => {}
        }
    }
}

/// Writes `events` with a small budget, following all the while.
fn record_small(path: &Path, budget: u64, events: impl Iterator<Item = Event>) -> (Vec<Event>, u64) {
    let disk = FileDisk::with_budget(path, Budget::of(budget)).unwrap();
    let mut writer = Writer::start(Box::new(disk), path).unwrap();
    let mut follower = Follower::open(path).unwrap();
    let mut followed = Vec::new();
    let mut largest = 0;
    for (n, event) in events.enumerate() {
        append(&mut writer, n, &event);
        if n.is_multiple_of(100) {
            largest = largest.max(fs::metadata(path).unwrap().len());
            // Sometimes behind by several compactions.
            if n % 700 == 0 || n < 5000 {
                followed.extend(follower.poll().unwrap());
            }
        }
    }
    let health = writer.finish();
    assert_eq!((health.dropped, &health.error), (0, &None));
    assert!(health.compactions > 2, "{health:?}");
    loop {
        let more = follower.poll().unwrap();
        if more.is_empty() {
            break;
        }
        followed.extend(more);
    }
    (followed, largest)
}

#[test]
fn a_long_run_stays_small_and_a_follower_sees_each_event_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.lowtide");
    let events = made_up(30_000, &[3, 5001, 77, 912, 4444, 9]);
    let budget = 400 << 10;
    let (followed, largest) = record_small(&path, budget, events.iter().cloned());
    assert!(largest < budget * 5 / 4, "{largest}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside it");

    let mut rest = events.iter();
    assert!(followed.iter().all(|event| rest.any(|original| original == event)), "in order, and none twice");
    let others = |events: &[Event]| events.iter().filter(|event| !matches!(event, Event::Tick(_))).count();
    assert_eq!(others(&followed), others(&events), "of what is no tick nothing is missed");
    assert!(followed.len() > events.len() / 2, "{} of {}", followed.len(), events.len());

    let kept = read(&path).unwrap();
    assert_eq!(kept.broke_off, None);
    assert_eq!(kept.events.len() as u64 + kept.thinned, events.len() as u64);
    assert!(extremes(&kept.events, 1 << 15, |_| true) == extremes(&events, 1 << 15, |_| true));
}

#[test]
fn what_a_crash_leaves_beside_the_recording_harms_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.lowtide");
    let left = dir.path().join(format!(".run.lowtide.{}.tmp", std::process::id()));
    fs::write(&left, "half a file").unwrap();
    let events = made_up(15_000, &[3, 5001, 77, 912, 4444, 9]);
    record_small(&path, 250 << 10, events.iter().cloned());
    assert!(!left.exists(), "used and gone");
}

#[test]
fn a_recording_that_was_moved_away_is_not_written_over_what_took_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let (path, away) = (dir.path().join("run.lowtide"), dir.path().join("away.lowtide"));
    let disk = FileDisk::with_budget(&path, Budget::of(4096)).unwrap();
    let mut writer = Writer::start(Box::new(disk), &path).unwrap();
    fs::rename(&path, &away).unwrap();
    fs::write(&path, "mine").unwrap();
    let events = made_up(2_000, &[3, 5001]);
    events.iter().enumerate().for_each(|(n, event)| append(&mut writer, n, event));
    assert_eq!(writer.finish().compactions, 0);
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    assert_eq!(read(&away).unwrap().events.len(), events.len());
}

#[test]
fn windows_are_aligned_and_grow_with_age() {
    let day = 86_400_000_000;
    let window = |t_s: i64| RUNGS[2].window(t_s * 1_000_000, day);
    assert_eq!(window(86_000), None, "fresh");
    let (start, end) = window(0).unwrap();
    assert_eq!((start, end), (0, 1_024_000_000), "1350 s is a 64th of a day");
    let mut at = 0;
    let mut before = i64::MAX;
    while let Some((start, end)) = RUNGS[2].window(at, day) {
        assert!(start == at && end - start <= before, "no overlap, no hole, never larger");
        before = end - start;
        at = end;
    }
    assert_eq!(before, 8_000_000, "the fresh ten minutes end it");
    assert_eq!(HEADER_LEN, 24);
}

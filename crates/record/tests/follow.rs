//! Reading a recording while it is written.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs::{self, OpenOptions};
use std::io::Write;

use common::{end, process, start, tick};
use lowtide_model::{Event, Role};
use lowtide_record::{Follower, RecordError, Writer, read};

fn drain(follower: &mut Follower) -> Vec<Event> {
    let mut all = Vec::new();
    loop {
        let some = follower.poll().unwrap();
        if some.is_empty() {
            return all;
        }
        all.extend(some);
    }
}

#[test]
fn events_come_as_they_are_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.lowtide");
    let mut writer = Writer::create(&path).unwrap();
    let mut follower = Follower::open(&path).unwrap();
    assert_eq!(follower.poll().unwrap(), []);
    let mut all = vec![start(), process(0, Role::Trainer)];
    all.extend((0..300).map(|t| tick(t.into(), 4, |id| u64::from(t * 7 + id) << 12)));
    all.push(end(300.0));
    for (n, event) in all.iter().enumerate() {
        writer.append(event);
        writer.tick_done();
        while writer.health().events <= n as u64 {
            std::thread::yield_now();
        }
        assert_eq!(follower.poll().unwrap(), std::slice::from_ref(event));
    }
    assert_eq!(writer.finish().dropped, 0);
    assert_eq!(drain(&mut follower), []);
    assert_eq!(drain(&mut Follower::open(&path).unwrap()), all);
}

#[test]
fn a_frame_that_arrives_byte_by_byte_or_as_zeros_first_comes_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (path, copy) = (dir.path().join("run.lowtide"), dir.path().join("copy.lowtide"));
    let mut writer = Writer::create(&path).unwrap();
    let all: Vec<Event> = [start()].into_iter().chain((0..20).map(|t| tick(t.into(), 4, |id| u64::from(t + id) << 12))).collect();
    all.iter().for_each(|event| writer.append(event));
    let _ = writer.finish();
    let bytes = fs::read(&path).unwrap();

    fs::write(&copy, &bytes[..24]).unwrap();
    let mut follower = Follower::open(&copy).unwrap();
    let mut followed = Vec::new();
    let mut file = OpenOptions::new().append(true).open(&copy).unwrap();
    for byte in &bytes[24..] {
        file.write_all(&[*byte]).unwrap();
        followed.extend(follower.poll().unwrap());
    }
    assert_eq!(followed, all);

    // Over a network a page may be there before the one in front of it.
    let mut holed = bytes.clone();
    let middle = bytes.len() / 2;
    holed[middle - 50..middle].fill(0);
    fs::write(&copy, &holed).unwrap();
    let mut follower = Follower::open(&copy).unwrap();
    let mut followed = drain(&mut follower);
    assert!(followed.len() < all.len());
    fs::write(&copy, &bytes).unwrap();
    followed.extend(drain(&mut follower));
    assert_eq!(followed, all);
}

#[test]
fn damage_that_lasts_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.lowtide");
    let mut writer = Writer::create(&path).unwrap();
    (0..200).for_each(|t| writer.append(&tick(t.into(), 4, |id| u64::from(t + id) << 12)));
    writer.append(&end(200.0));
    let _ = writer.finish();
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(&path, bytes).unwrap();
    let mut follower = Follower::open(&path).unwrap();
    let followed: Vec<Event> = (0..30).flat_map(|_| follower.poll().unwrap()).collect();
    let whole = read(&path).unwrap().events;
    assert_eq!(followed.last(), Some(&end(200.0)));
    // The reader of the whole file adds a note about the damage.
    assert_eq!(followed.len() + 1, whole.len());
}

#[test]
fn a_file_that_goes_away_or_becomes_another_run_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.lowtide");
    let mut writer = Writer::create(&path).unwrap();
    let mut follower = Follower::open(&path).unwrap();
    fs::rename(&path, dir.path().join("moved")).unwrap();
    writer.append(&start());
    let _ = writer.finish();
    assert_eq!(follower.poll().unwrap(), [start()], "moved while it was written");
    let mut other = Writer::create(&path).unwrap();
    other.append(&end(1.0));
    let _ = other.finish();
    assert!(matches!(follower.poll(), Err(RecordError::Replaced { .. })));
}

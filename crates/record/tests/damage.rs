//! Recordings cut, bent and made up.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;

use common::{end, process, start, tick, ticks};
use lowtide_model::{Event, Note, NoteKind, Role};
use lowtide_record::{Follower, RecordError, Recording, Writer, read};
use proptest::prelude::*;

const HEADER: usize = 24;

/// A recording of `count` ticks, with something rare now and then, as bytes.
fn recording(count: u32) -> (Vec<Event>, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.lowtide");
    let mut writer = Writer::create(&path).unwrap();
    let mut events = vec![start()];
    for n in 0..count {
        if n % 50 == 0 {
            events.push(process(n / 50, Role::DataloaderWorker));
        }
        events.push(tick(n.into(), 4, |id| u64::from(n * 31 + id * 7) % 100 * 4096));
    }
    events.push(end(count.into()));
    events.iter().for_each(|event| writer.append(event));
    assert_eq!(writer.finish().dropped, 0);
    (events, fs::read(path).unwrap())
}

fn read_bytes(bytes: &[u8]) -> Result<Recording, RecordError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.lowtide");
    fs::write(&path, bytes).unwrap();
    read(&path)
}

/// Whatever a reader can take, a follower must bear, and both must see the same.
fn read_and_follow(bytes: &[u8]) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.lowtide");
    fs::write(&path, bytes).unwrap();
    let read: Vec<Event> = read(&path).map_or(Vec::new(), |recording| recording.events);
    let Ok(mut follower) = Follower::open(&path) else { return };
    let followed: Vec<Event> = (0..15).flat_map(|_| follower.poll().unwrap()).collect();
    assert!(followed.len() <= read.len());
}

#[test]
fn cut_at_any_byte_all_whole_frames_are_there() {
    let (events, bytes) = recording(130);
    let mut before = 0;
    for cut in HEADER..bytes.len() {
        let recording = read_bytes(&bytes[..cut]).unwrap();
        let broke_off = recording.broke_off.unwrap();
        let count = recording.events.len();
        assert!(recording.events == events[..count], "cut at {cut}");
        assert_eq!(recording.damage.places, 0, "a torn tail is no damage, cut at {cut}");
        assert!(count == before || count == before + 1, "cut at {cut}");
        if let Some(torn_at) = broke_off.torn_at {
            assert!((HEADER..cut).contains(&(torn_at as usize)));
            assert_eq!(read_bytes(&bytes[..torn_at as usize]).unwrap().broke_off.unwrap().torn_at, None);
        }
        let last = ticks(&recording.events).last().map_or(0.0, |tick| tick.t_s);
        assert_eq!(broke_off.last_t_s, last);
        assert!(broke_off.silent_s.unwrap() < 600.0);
        before = count;
    }
    assert_eq!(before, events.len() - 1);
    assert_eq!(read_bytes(&bytes).unwrap().broke_off, None);
}

#[test]
fn a_flipped_bit_costs_its_frame_and_ticks_until_the_next_key_tick_and_never_shows_a_wrong_number() {
    let (events, bytes) = recording(200);
    for at in (HEADER * 8..bytes.len() * 8).step_by(13) {
        let mut bent = bytes.clone();
        bent[at / 8] ^= 1 << (at % 8);
        let recording = read_bytes(&bent).unwrap();
        let damaged = recording.damage.places > 0;
        let (kept, notes): (Vec<Event>, Vec<Event>) =
            recording.events.iter().cloned().partition(|event| !matches!(event, Event::Note(Note { kind: NoteKind::Gap, .. })));
        assert_eq!(notes.len(), usize::from(damaged));
        let mut rest = events.iter();
        assert!(kept.iter().all(|event| rest.any(|original| original == event)), "bit {at}: an event that was never written");
        assert!(kept.len() + 70 > events.len(), "bit {at}: {} of {} left", kept.len(), events.len());
        assert!(damaged || recording.broke_off.is_some(), "bit {at}");
    }
}

#[test]
fn a_hole_of_zeros_is_passed_over() {
    let (events, mut bytes) = recording(300);
    let middle = bytes.len() / 2;
    bytes[middle..middle + 600].fill(0);
    let recording = read_bytes(&bytes).unwrap();
    assert!(recording.damage.places >= 1 && recording.damage.bytes >= 600, "{:?}", recording.damage);
    assert_eq!(recording.events.last(), events.last());
    assert!(ticks(&recording.events).count() > 130);
}

fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let crc = crc32fast::hash(&[&[kind], payload].concat()).to_le_bytes();
    [&[kind, payload.len() as u8], crc.as_slice(), payload].concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>, with_header: bool) {
        let (_, good) = recording(2);
        let head: &[u8] = if with_header { &good } else { &[] };
        read_and_follow(&[head, &bytes].concat());
    }

    /// Frames whose checksums fit and whose payloads are anything: they reach the decoders.
    #[test]
    fn arbitrary_payloads_never_panic(frames in prop::collection::vec((0u8..12, any::<Vec<u8>>()), 0..20)) {
        let (_, mut bytes) = recording(1);
        for (kind, payload) in frames.iter().filter(|(_, payload)| payload.len() < 128) {
            bytes.extend(frame(*kind, payload));
        }
        read_and_follow(&bytes);
    }
}

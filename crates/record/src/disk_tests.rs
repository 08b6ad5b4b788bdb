//! Disks that fail, and what is left of a recording then.

#![allow(clippy::unwrap_used)]

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lowtide_model::{Event, NoteKind};

use crate::common::{end, start, tick, ticks};
use crate::disk::Disk;
use crate::format::Header;
use crate::{RecordError, Writer, read};

/// What the disk does with a write.
#[derive(Clone, Copy)]
enum Mood {
    /// Takes at most so many bytes at a time.
    Takes(usize),
    Full,
}

/// A disk that does as it is told and keeps what it took.
#[derive(Clone)]
struct Moody {
    mood: Arc<Mutex<Mood>>,
    bytes: Arc<Mutex<Vec<u8>>>,
    tried: Sender<()>,
}

impl Moody {
    fn new(mood: Mood) -> (Self, Receiver<()>) {
        let (tried, was_tried) = channel();
        let bytes = Arc::new(Mutex::new(Header::encode(1).to_vec()));
        (Self { mood: Arc::new(Mutex::new(mood)), bytes, tried }, was_tried)
    }

    fn events(&self) -> Vec<Event> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.lowtide");
        fs::write(&path, &*self.bytes.lock().unwrap()).unwrap();
        read(&path).unwrap().events
    }
}

impl Disk for Moody {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.tried.send(());
        match *self.mood.lock().unwrap() {
            Mood::Takes(most) => {
                let count = bytes.len().min(most);
                self.bytes.lock().unwrap().extend_from_slice(&bytes[..count]);
                Ok(count)
            }
            Mood::Full => Err(io::ErrorKind::StorageFull.into()),
        }
    }

    fn size(&self) -> u64 {
        self.bytes.lock().unwrap().len() as u64
    }
}

/// A disk on which nothing ever ends, until its sender is dropped.
struct Hanging(Receiver<()>);

impl Disk for Hanging {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.recv();
        Err(io::ErrorKind::TimedOut.into())
    }

    fn size(&self) -> u64 {
        0
    }
}

fn writer(disk: impl Disk + 'static) -> Writer {
    Writer::start(Box::new(disk), Path::new("test")).unwrap()
}

#[test]
fn a_disk_that_takes_a_byte_at_a_time_gets_all() {
    let (disk, _tried) = Moody::new(Mood::Takes(1));
    let mut writer = writer(disk.clone());
    let events: Vec<Event> =
        [start()].into_iter().chain((0..200).map(|t| tick(t.into(), 3, |_| 8192))).chain([end(200.0)]).collect();
    events.iter().for_each(|event| writer.append(event));
    assert_eq!(writer.finish().dropped, 0);
    assert_eq!(disk.events(), events);
}

#[test]
fn a_full_disk_keeps_what_is_there_and_goes_on_when_there_is_room_with_the_gap_marked() {
    let (disk, tried) = Moody::new(Mood::Takes(usize::MAX));
    let mut writer = writer(disk.clone());
    writer.append(&start());
    writer.append(&tick(0.0, 500, |id| u64::from(id) << 20));
    writer.tick_done();
    tried.recv().unwrap();
    while writer.health().events < 2 {
        std::thread::yield_now();
    }
    *disk.mood.lock().unwrap() = Mood::Full;
    let next = |writer: &mut Writer, t: u32| {
        writer.append(&tick(t.into(), 500, |id| u64::from(id) << 20));
        writer.tick_done();
    };
    next(&mut writer, 1);
    // From here on the disk owes bytes, so that nothing is taken from the queue.
    while writer.health().error.is_none() {
        std::thread::yield_now();
    }
    (2..400).for_each(|t| next(&mut writer, t));
    let dropped = writer.health().dropped;
    assert!(dropped > 100, "the queue is bounded: {dropped}");
    assert_eq!(disk.events().len(), 2, "what is there stays");

    *disk.mood.lock().unwrap() = Mood::Takes(7);
    writer.tick_done();
    while writer.health().error.is_some() {
        writer.tick_done();
        std::thread::yield_now();
    }
    // The queue is taken after the bytes that were owed.
    while writer.health().events + dropped < 401 {
        writer.tick_done();
        std::thread::yield_now();
    }
    writer.append(&tick(400.0, 500, |id| u64::from(id) << 20));
    writer.append(&end(401.0));
    assert_eq!(writer.finish().dropped, dropped);

    let events = disk.events();
    let notes: Vec<_> = events.iter().filter_map(|event| if let Event::Note(note) = event { Some(note) } else { None }).collect();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!(notes[0].kind, NoteKind::Gap);
    assert_eq!(notes[0].t_s, 400.0 - dropped as f64);
    assert!(notes[0].text.starts_with(&format!("{dropped} ticks from")), "{}", notes[0].text);
    assert_eq!(ticks(&events).count() as u64, 401 - dropped);
    assert_eq!(ticks(&events).last().unwrap().t_s, 400.0);
}

#[test]
fn a_full_disk_at_the_end_is_said_at_once() {
    let (disk, _tried) = Moody::new(Mood::Full);
    let mut writer = writer(disk);
    writer.append(&start());
    let health = writer.finish();
    assert_eq!(health.dropped, 1);
    assert!(health.error.is_some());
}

#[test]
fn a_disk_that_hangs_holds_up_neither_ticks_nor_the_end() {
    let (alive, hang) = channel();
    let mut writer = writer(Hanging(hang));
    writer.append(&start());
    writer.tick_done();
    let mut slowest = Duration::ZERO;
    for t in 0..5000 {
        let event = tick(t.into(), 30, |_| 4096);
        let begun = Instant::now();
        writer.append(&event);
        writer.tick_done();
        slowest = slowest.max(begun.elapsed());
    }
    // Against a write that never ends any bound would do; this one is far above what a busy machine needs.
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    let begun = Instant::now();
    let health = writer.finish();
    assert!(begun.elapsed() < Duration::from_secs(4));
    assert_eq!(health.dropped, 5001, "all of them, as none was written");
    assert!(health.error.is_some());
    drop(alive);
}

#[test]
fn a_folder_that_is_missing_or_read_only_is_said_at_once_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let error = Writer::create(&dir.path().join("none/run.lowtide")).unwrap_err();
    assert!(error.to_string().contains("none/run.lowtide"), "{error}");
    fs::set_permissions(dir.path(), Permissions::from_mode(0o500)).unwrap();
    // root may write anywhere but here.
    let read_only = if fs::write(dir.path().join("x"), "").is_ok() { Path::new("/proc") } else { dir.path() };
    let error = Writer::create(&read_only.join("run.lowtide")).unwrap_err();
    assert!(matches!(error, RecordError::Io { .. }), "{error}");
    let (made, errors) =
        crate::place::create(&[read_only.to_owned(), dir.path().join("new")], &run(), 7).unwrap_or_else(|errors| {
            // Not root: the second folder cannot be made either.
            assert_eq!(errors.len(), 2);
            let fresh = tempfile::tempdir().unwrap();
            (Writer::create(&fresh.path().join("new-7.lowtide")).unwrap(), vec![errors.into_iter().next().unwrap()])
        });
    assert_eq!(errors.len(), 1);
    assert!(made.path().to_string_lossy().contains("new"));
}

fn run() -> lowtide_model::RunInfo {
    let Event::Start(run) = start() else { unreachable!() };
    run
}

//! A real file system that is full. Needs the right to mount one; without it the injected disks of the unit tests have to do.

#![allow(clippy::unwrap_used)]

mod common;

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use common::{end, start, tick, ticks};
use lowtide_model::{Event, NoteKind};
use lowtide_record::{RecordError, Writer, read};

/// A tmpfs, unmounted when dropped.
struct Mount(CString);

impl Mount {
    fn small(path: &Path, options: &str) -> Option<Self> {
        let target = CString::new(path.as_os_str().as_bytes()).unwrap();
        let options = CString::new(options).unwrap();
        // SAFETY: all pointers are to strings that outlive the call.
        let result = unsafe { libc::mount(c"tmpfs".as_ptr(), target.as_ptr(), c"tmpfs".as_ptr(), 0, options.as_ptr().cast()) };
        (result == 0).then_some(Self(target))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // SAFETY: the pointer is to a string that outlives the call.
        unsafe { libc::umount2(self.0.as_ptr(), libc::MNT_DETACH) };
    }
}

#[test]
fn a_full_file_system_keeps_what_is_there_and_takes_more_when_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::small(dir.path(), "size=128k") else { return };
    let (path, ballast) = (dir.path().join("run.lowtide"), dir.path().join("ballast"));
    fs::write(&ballast, vec![1; 64 << 10]).unwrap();
    let mut writer = Writer::create(&path).unwrap();
    writer.append(&start());
    let noise = |t: u32| tick(t.into(), 100, |id| u64::from((t * 7919 + id * 104_729) % 65_536) << 12);
    let mut t = 0;
    while writer.health().error.is_none() {
        writer.append(&noise(t));
        writer.tick_done();
        t += 1;
        while writer.health().events + 50 < t.into() && writer.health().error.is_none() {
            std::thread::yield_now();
        }
    }
    assert!(writer.health().error.unwrap().contains("space"));
    let so_far = read(&path).unwrap();
    assert!(so_far.events.len() > 10 && so_far.damage.places == 0);
    assert!(
        matches!(Writer::create(&dir.path().join("second.lowtide")), Err(RecordError::Io { .. })),
        "nothing begins on a full disk"
    );

    fs::remove_file(&ballast).unwrap();
    writer.append(&end(t.into()));
    writer.tick_done();
    while writer.health().error.is_some() {
        writer.tick_done();
        std::thread::yield_now();
    }
    let health = writer.finish();
    assert_eq!(health.dropped, 0, "the queue had room for all of it");
    let recording = read(&path).unwrap();
    assert_eq!(recording.damage.places, 0, "the torn frame was made whole");
    assert!(!recording.events.iter().any(|event| matches!(event, Event::Note(note) if note.kind == NoteKind::Gap)));
    assert_eq!(ticks(&recording.events).count(), t as usize);
    assert_eq!(recording.broke_off, None);
}

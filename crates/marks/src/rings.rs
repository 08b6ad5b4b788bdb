//! All rings of a run, read again and again from where they were.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use lowtide_model::{InnerFacts, MarkKind, Request};

use crate::parse::{MOST, NAME};
use crate::ring::Ring;

/// The most processes that are listened to; each costs an open file.
const MOST_RINGS: usize = 256;
/// The most entries of the folder that are looked at.
const MOST_ENTRIES: usize = 4096;
/// A ring whose process is not known yet waits for so many looks: a process may write before it is first seen.
const MOST_WAITS: u32 = 30;
/// `O_NOFOLLOW` and `O_NONBLOCK` of Linux, to open what lies in the folder with: it is not trusted to be a plain file.
pub const CAREFULLY: i32 = 0o400_000 | 0o4000;

/// A mark as its process wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct RawMark {
    /// The process, as it calls itself.
    pub pid: u32,
    /// When, nanoseconds of `CLOCK_MONOTONIC`.
    pub t_ns: u64,
    /// What it says.
    pub what: MarkKind,
    /// Optimizer steps by then.
    pub steps: u64,
    /// Facts, where they were taken.
    pub facts: Option<InnerFacts>,
}

/// Why a process could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// It has said nothing of itself, so that there is no place to leave a request.
    #[error("process {0} writes no marks")]
    NoRing(u32),
    /// Its ring cannot be written to.
    #[error("the request could not be left for process {0}: {1}")]
    Io(u32, std::io::Error),
    /// There is no room for it.
    #[error("the request could not be left for process {0}: {1} is longer than {most} bytes", most = NAME.len() - 1)]
    Long(u32, String),
}

/// The rings in a folder.
#[derive(Debug)]
pub struct Rings {
    folder: PathBuf,
    rings: BTreeMap<OsString, Ring>,
    /// Processes that were given up on before they became known, and their steps.
    unseen: (u64, u64),
}

impl Rings {
    /// Those that are in the folder, and those that will be.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, rings: BTreeMap::new(), unseen: (0, 0) }
    }

    /// What is new from the processes that are known, in order of time. Those of others stay where they are for a while.
    pub fn poll(&mut self, known: impl Fn(u32) -> bool) -> Vec<RawMark> {
        self.find();
        let mut marks = Vec::new();
        for ring in self.rings.values_mut() {
            if known(ring.pid) {
                ring.waited = 0;
                ring.read_on(&mut marks);
            } else {
                ring.waited += 1;
            }
        }
        for ring in self.rings.values().filter(|ring| ring.waited > MOST_WAITS) {
            self.unseen = plus(self.unseen, ring.taken());
        }
        self.remove(|ring| ring.waited > MOST_WAITS);
        marks.sort_by_key(|mark| mark.t_ns);
        marks
    }

    /// Pids, as their processes know them, that nobody of the run has.
    pub fn strangers(&self) -> impl Iterator<Item = u32> {
        self.rings.values().filter(|ring| ring.waited > 0).map(|ring| ring.pid)
    }

    /// A process that calls itself `inner` is known here as `outer`: in a pid namespace of its own it has two names.
    pub fn rename(&mut self, inner: u32, outer: u32) {
        for ring in self.rings.values_mut().filter(|ring| ring.waited > 0 && ring.pid == inner) {
            ring.pid = outer;
        }
    }

    /// How many processes wrote marks and were gone before they became known, and how many steps they took.
    #[must_use]
    pub fn unseen(&self) -> (u64, u64) {
        self.rings.values().filter(|ring| ring.waited > 0).map(Ring::taken).fold(self.unseen, plus)
    }

    /// Whether a process has a ring in which it calls itself by the pid that it has here: in a pid namespace of its own it does not.
    #[must_use]
    pub fn is_reachable(&self, pid: u32) -> bool {
        let named = |name: &OsString| name.to_str().is_some_and(|name| name.starts_with(&format!("{pid}-")));
        self.rings.iter().any(|(name, ring)| ring.pid == pid && named(name))
    }

    /// Leaves a request that the process finds at its next mark; its number, which the answer has too. A request that was not
    /// answered yet is replaced.
    ///
    /// # Errors
    /// [`AskError`], where there is no ring of such a process, or it cannot be written to.
    pub fn ask(&mut self, pid: u32, request: Request) -> Result<u64, AskError> {
        self.ring(pid)?.ask(request)
    }

    /// The same for what it is to write to a new file of this name among the rings, of so many bytes at most.
    ///
    /// # Errors
    /// As [`Self::ask`], and where the name is too long for the ring.
    pub fn ask_for_file(&mut self, pid: u32, request: Request, name: &str, most: u64) -> Result<u64, AskError> {
        if name.len() >= NAME.len() {
            return Err(AskError::Long(pid, name.to_owned()));
        }
        self.allow(pid, most)?;
        let ring = self.ring(pid)?;
        let left = ring.file.write_all_at(&[name.as_bytes(), &[0]].concat(), NAME.start as u64);
        left.map_err(|error| AskError::Io(pid, error))?;
        ring.ask(request)
    }

    /// A file that a process was asked for and has not written yet may have so many bytes by now; with 0 it is not written.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn allow(&mut self, pid: u32, most: u64) -> Result<(), AskError> {
        let left = self.ring(pid)?.file.write_all_at(&most.to_le_bytes(), MOST);
        left.map_err(|error| AskError::Io(pid, error))
    }

    /// Where the rings are.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The newest, by its name: a process that execed has two.
    fn ring(&mut self, pid: u32) -> Result<&mut Ring, AskError> {
        self.rings.values_mut().rfind(|ring| ring.pid == pid).ok_or(AskError::NoRing(pid))
    }

    /// The process is gone, and its marks are read: its ring takes memory for nothing.
    pub fn forget(&mut self, pid: u32) {
        self.remove(|ring| ring.pid == pid);
    }

    fn remove(&mut self, which: impl Fn(&Ring) -> bool) {
        let folder = &self.folder;
        self.rings.retain(|name, ring| {
            let goes = which(ring);
            if goes {
                // Where it cannot be removed it goes with the folder.
                let _ = std::fs::remove_file(folder.join(name));
            }
            !goes
        });
    }

    fn find(&mut self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        for entry in entries.take(MOST_ENTRIES).flatten() {
            let name = entry.file_name();
            if self.rings.len() >= MOST_RINGS || self.rings.contains_key(&name) || !name.as_encoded_bytes().ends_with(b".marks") {
                continue;
            }
            let open = |write| File::options().read(true).write(write).custom_flags(CAREFULLY).open(entry.path());
            // Where it may only be read, its process can be listened to all the same.
            let Ok(file) = open(true).or_else(|_| open(false)) else { continue };
            // One that is not whole yet will be at the next look.
            if let Some(ring) = Ring::new(file) {
                self.rings.insert(name, ring);
            }
        }
    }
}

fn plus(sum: (u64, u64), steps: u64) -> (u64, u64) {
    (sum.0 + 1, sum.1.saturating_add(steps))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{HEADER_LEN, SLOT_LEN, TEXT};
    use lowtide_model::{Answer, Scope, ScopeMark};

    /// A ring of 4 slots, written as a process does.
    struct Writer {
        file: File,
        written: u64,
    }

    impl Writer {
        fn new(folder: &Path, pid: u32) -> Self {
            let file = File::create(folder.join(format!("{pid}-1.marks"))).expect("a file");
            file.set_len((HEADER_LEN + 4 * SLOT_LEN) as u64).expect("room");
            let mut start = b"LTMARKS1".to_vec();
            for number in [SLOT_LEN as u32, 4, pid, 1] {
                start.extend(number.to_le_bytes());
            }
            file.write_all_at(&start, 0).expect("written");
            Self { file, written: 0 }
        }

        fn write(&mut self, t_ns: u64, kind: u8, steps: u64) {
            let mut bytes = [0; SLOT_LEN];
            let seq = (self.written + 1).to_le_bytes();
            bytes[..8].copy_from_slice(&seq);
            bytes[8..16].copy_from_slice(&t_ns.to_le_bytes());
            bytes[16] = kind;
            bytes[17] = 4;
            bytes[18] = 5;
            bytes[24..32].copy_from_slice(&steps.to_le_bytes());
            bytes[80..85].copy_from_slice(b"train");
            bytes[SLOT_LEN - 8..].copy_from_slice(&seq);
            let at = HEADER_LEN as u64 + self.written % 4 * SLOT_LEN as u64;
            self.file.write_all_at(&bytes, at).expect("written");
            self.written += 1;
            self.file.write_all_at(&self.written.to_le_bytes(), 32).expect("written");
        }

        fn stepped(&self, steps: u64, t_ns: u64) {
            self.file.write_all_at(&[steps.to_le_bytes(), t_ns.to_le_bytes()].concat(), 40).expect("written");
        }
    }

    #[test]
    fn marks_come_once_and_in_order_of_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut one, mut two) = (Writer::new(folder.path(), 11), Writer::new(folder.path(), 12));
        one.write(300, 3, 0);
        two.write(100, 2, 5);
        let mut rings = Rings::new(folder.path().to_owned());
        let marks = rings.poll(|_| true);
        assert_eq!(marks.iter().map(|m| (m.pid, m.t_ns, m.steps)).collect::<Vec<_>>(), [(12, 100, 5), (11, 300, 0)]);
        let begin = MarkKind::Begin(ScopeMark { scope: Scope::Phase, index: None, name: "train".to_owned() });
        assert_eq!(marks[1].what, begin);
        assert_eq!(rings.poll(|_| true), []);
        one.stepped(9, 400);
        assert_eq!(rings.poll(|_| true).iter().map(|m| (m.t_ns, m.steps)).collect::<Vec<_>>(), [(400, 9)]);
        assert_eq!(rings.poll(|_| true), []);
    }

    #[test]
    fn what_is_told_of_a_device_comes_together() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut writer = Writer::new(folder.path(), 11);
        writer.write(100, 2, 5);
        writer.write(100, 7, 5);
        writer.write(100, 10, 5);
        let marks = Rings::new(folder.path().to_owned()).poll(|_| true);
        let devices = &marks[0].facts.as_ref().expect("facts").devices;
        assert_eq!((devices.len(), devices[0].active, devices[0].pinned), (1, Some(0), None), "`train` is no number");
    }

    #[test]
    fn what_was_overwritten_is_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut writer = Writer::new(folder.path(), 11);
        for step in 1..=10 {
            writer.write(step * 100, 2, step);
        }
        let marks = Rings::new(folder.path().to_owned()).poll(|_| true);
        assert!(marks.iter().any(|mark| mark.what == MarkKind::Lost(6)), "{marks:?}");
        assert_eq!(marks.iter().filter(|mark| mark.what == MarkKind::Step).count(), 4);
    }

    #[test]
    fn what_was_written_before_its_process_is_known_waits_for_it() {
        let folder = tempfile::tempdir().expect("a folder");
        for pid in [11, 12] {
            Writer::new(folder.path(), pid).write(1, 2, 1);
        }
        let mut rings = Rings::new(folder.path().to_owned());
        assert_eq!((rings.poll(|_| false), rings.strangers().count()), (Vec::new(), 2));
        assert_eq!(rings.poll(|pid| pid == 11).len(), 1);
        for _ in 0..MOST_WAITS {
            assert_eq!(rings.poll(|pid| pid == 11), []);
        }
        assert_eq!(rings.unseen(), (1, 0));
        assert!(folder.path().join("11-1.marks").exists() && !folder.path().join("12-1.marks").exists());
    }

    #[test]
    fn a_process_of_another_namespace_is_known_by_its_outer_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut writer = Writer::new(folder.path(), 7);
        writer.write(100, 2, 1);
        writer.stepped(1, 100);
        let mut rings = Rings::new(folder.path().to_owned());
        assert_eq!(rings.poll(|pid| pid == 4711), []);
        assert_eq!((rings.strangers().collect::<Vec<_>>(), rings.unseen()), (vec![7], (1, 1)));
        rings.rename(7, 4711);
        assert_eq!(rings.poll(|pid| pid == 4711).iter().map(|mark| mark.pid).collect::<Vec<_>>(), [4711]);
        assert_eq!((rings.strangers().count(), rings.unseen()), (0, (0, 0)));
    }

    #[test]
    fn a_request_is_left_where_the_process_looks_and_its_answer_comes_as_a_mark() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut writer = Writer::new(folder.path(), 11);
        writer.write(100, 2, 1);
        let mut rings = Rings::new(folder.path().to_owned());
        assert!(matches!(rings.ask(11, Request::Trim), Err(AskError::NoRing(11))), "not found yet");
        rings.poll(|_| true);
        assert_eq!((rings.ask(11, Request::Snapshot).ok(), rings.ask(11, Request::Trim).ok()), (Some(1), Some(2)));
        let bytes = std::fs::read(folder.path().join("11-1.marks")).expect("read");
        assert_eq!(bytes[256..268], [2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0]);

        let mut answer = [0; SLOT_LEN];
        for (at, value) in [(0, 2_u64), (8, 300), (32, 5 << 20), (40, 2), (48, 7_000_000), (56, 9 << 20), (SLOT_LEN - 8, 2)] {
            answer[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        answer[16..18].copy_from_slice(&[8, 2]);
        writer.file.write_all_at(&answer, (HEADER_LEN + SLOT_LEN) as u64).expect("written");
        writer.file.write_all_at(&2_u64.to_le_bytes(), 32).expect("written");
        let expected = Answer {
            request: Request::Trim,
            number: 2,
            value: Some(5 << 20),
            pause_us: 7000,
            free: Some(9 << 20),
            why: String::new(),
        };
        assert_eq!(rings.poll(|_| true)[0].what, MarkKind::Answer(expected));
    }

    #[test]
    fn a_file_is_asked_for_by_its_name_and_its_most_bytes_can_change() {
        let folder = tempfile::tempdir().expect("a folder");
        Writer::new(folder.path(), 11).write(100, 2, 1);
        let mut rings = Rings::new(folder.path().to_owned());
        rings.poll(|_| true);
        let long = "x".repeat(NAME.len());
        assert!(matches!(rings.ask_for_file(11, Request::History, &long, 1), Err(AskError::Long(11, _))));
        let bytes = || std::fs::read(folder.path().join("11-1.marks")).expect("read");
        for name in ["a file that is longer", "short"] {
            assert!(rings.ask_for_file(11, Request::History, name, 1 << 26).is_ok());
            assert_eq!(bytes()[264..268], [3, 0, 0, 0]);
            assert_eq!(bytes()[NAME.start..][..=name.len()], *format!("{name}\0").as_bytes());
            assert_eq!(bytes()[512..520], (1_u64 << 26).to_le_bytes());
        }
        assert!(rings.allow(11, 0).is_ok() && bytes()[512..520] == [0; 8]);
    }

    #[test]
    fn what_counts_is_told_in_full() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut writer = Writer::new(folder.path(), 11);
        writer.file.write_all_at(b"train is all that a slot has room for\0", TEXT.start as u64).expect("written");
        writer.write(1, 1, 0);
        let mut rings = Rings::new(folder.path().to_owned());
        assert_eq!(rings.poll(|_| true)[0].what, MarkKind::On("train is all that a slot has room for".to_owned()));
        writer.file.write_all_at(b"something else", TEXT.start as u64).expect("written");
        writer.write(2, 6, 0);
        assert_eq!(rings.poll(|_| true)[0].what, MarkKind::Off("train".to_owned()));
    }

    #[test]
    fn what_is_no_ring_is_left_alone_and_a_dead_ones_ring_goes() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("x.marks"), "LTMARKS1 but short").expect("written");
        std::fs::create_dir(folder.path().join("y.marks")).expect("made");
        let mut writer = Writer::new(folder.path(), 11);
        writer.write(1, 2, 1);
        let mut rings = Rings::new(folder.path().to_owned());
        assert_eq!(rings.poll(|_| true).len(), 1);
        rings.forget(11);
        assert!(!folder.path().join("11-1.marks").exists());
        assert_eq!(rings.poll(|_| true), []);
    }
}

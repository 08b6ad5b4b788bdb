//! One ring: what its process has said since the last look, and requests to it.

use std::fs::File;
use std::os::unix::fs::FileExt;

use lowtide_model::{MarkKind, Request};

use crate::parse::{HEADER_LEN, SLOT_LEN, Slot, TEXT, header, request_number, slot, text, u64_at};
use crate::rings::{AskError, RawMark};

#[derive(Debug)]
pub(crate) struct Ring {
    pub(crate) file: File,
    pub(crate) pid: u32,
    slots: u64,
    /// Slots read, or given up.
    read: u64,
    /// Steps told.
    steps: u64,
    /// Looks at which its process was not known.
    pub(crate) waited: u32,
    /// Requests left so far.
    asked: u64,
}

impl Ring {
    /// The ring that a file holds; `None`: none, or not whole yet.
    pub(crate) fn new(file: File) -> Option<Self> {
        let mut start = [0; 64];
        file.read_exact_at(&mut start, 0).ok()?;
        let found = header(&start)?;
        Some(Self { file, pid: found.pid, slots: found.slots, read: 0, steps: 0, waited: 0, asked: 0 })
    }

    /// Leaves a request; its number.
    pub(crate) fn ask(&mut self, request: Request) -> Result<u64, AskError> {
        let number = self.asked + 1;
        // The number last: it is what the process looks at.
        let kind = request_number(request).to_le_bytes();
        let left = self.file.write_all_at(&kind, 264).and_then(|()| self.file.write_all_at(&number.to_le_bytes(), 256));
        left.map_err(|error| AskError::Io(self.pid, error))?;
        self.asked = number;
        Ok(number)
    }

    /// Its steps by the count in its header.
    pub(crate) fn taken(&self) -> u64 {
        let mut count = [0; 8];
        self.file.read_exact_at(&mut count, 40).map_or(0, |()| u64::from_le_bytes(count))
    }

    /// With the text that a slot has no room for.
    fn in_full(&self, what: MarkKind) -> MarkKind {
        let full = |short: String| {
            let mut bytes = [0; TEXT.end - TEXT.start];
            let read = self.file.read_exact_at(&mut bytes, TEXT.start as u64);
            // What it says by now may be something else.
            read.ok().map(|()| text(&bytes)).filter(|full| full.starts_with(&short)).unwrap_or(short)
        };
        match what {
            MarkKind::On(short) => MarkKind::On(full(short)),
            MarkKind::Off(short) => MarkKind::Off(full(short)),
            other => other,
        }
    }

    /// Adds what is new, in the order in which it was written.
    pub(crate) fn read_on(&mut self, marks: &mut Vec<RawMark>) {
        let mut counts = [0; 24];
        if self.file.read_exact_at(&mut counts, 32).is_err() {
            return;
        }
        let number = |at| u64_at(&counts, at).unwrap_or(0);
        let (written, steps, stepped_ns) = (number(0), number(8), number(16));
        let first = self.read.max(written.saturating_sub(self.slots));
        let mut lost = first - self.read.min(first);
        let from = marks.len();
        self.read = written.max(self.read);
        for n in first..written {
            let mut bytes = [0; SLOT_LEN];
            let at = HEADER_LEN as u64 + n % self.slots * SLOT_LEN as u64;
            let whole = self.file.read_exact_at(&mut bytes, at).is_ok();
            match slot(&bytes, n).filter(|_| whole) {
                Some(Slot::Mark(t_ns, what, steps, facts)) => {
                    marks.push(RawMark { pid: self.pid, t_ns, what: self.in_full(what), steps, facts });
                }
                Some(Slot::Device(device)) => {
                    if let Some(mark) = marks.get_mut(from..).and_then(<[RawMark]>::last_mut) {
                        let facts = mark.facts.get_or_insert_default();
                        facts.devices.push(device);
                    }
                }
                Some(Slot::DeviceMore(more)) => {
                    let last = marks.get_mut(from..).and_then(<[RawMark]>::last_mut);
                    let device = last.and_then(|mark| mark.facts.as_mut()?.devices.last_mut());
                    if let Some(device) = device.filter(|device| device.index == more.index) {
                        *device = device.with(more);
                    }
                }
                Some(Slot::Other) => {}
                // Its count came before its bytes, as another processor may see it: they are there at the next look.
                None if whole && u64_at(&bytes, SLOT_LEN - 8).is_some_and(|seq| seq <= n) => {
                    self.read = n;
                    break;
                }
                // Overwritten while we read: the writer is faster than we are.
                None => lost += 1,
            }
        }
        // Steps come too fast for a slot each; the count is exact, and the last one's moment is known.
        let told = marks[from..].iter().map(|mark| mark.steps).max().unwrap_or(0).max(self.steps);
        if steps > told {
            marks.push(RawMark { pid: self.pid, t_ns: stepped_ns, what: MarkKind::Step, steps, facts: None });
        }
        self.steps = steps.max(told);
        if lost > 0 {
            let t_ns = marks.get(from).map_or(stepped_ns, |mark| mark.t_ns);
            marks.push(RawMark { pid: self.pid, t_ns, what: MarkKind::Lost(lost), steps: self.steps, facts: None });
        }
    }
}

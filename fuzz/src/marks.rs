//! A ring of marks, as a process of the run may leave it.

use lowtide_marks::{HEADER_LEN, Rings, SLOT_LEN};

use crate::record::Temporary;

/// Slots of a ring that is made whole.
const SLOTS: usize = 4;

/// A ring of marks, listened to twice. In the first byte 0 means that the header and the slots' numbers are made right, so that what
/// they say is read.
pub fn marks(bytes: &[u8]) {
    let Some((mode, rest)) = bytes.split_first() else { return };
    let file = if *mode == 0 { whole(rest) } else { rest.to_vec() };
    for n in 0..4 {
        let at = file.len().min(HEADER_LEN + n as usize * SLOT_LEN);
        let _ = lowtide_marks::slot(&file[at..], n);
    }
    let slots = lowtide_marks::header(&file).map_or(0, |header| header.slots);
    let folder = Temporary::folder();
    std::fs::write(folder.path().join("7-1.marks"), &file).expect("room in memory for a small file");
    let mut rings = Rings::new(folder.path().to_owned());
    let marks = rings.poll(|_| true);
    assert!(marks.len() as u64 <= slots + 2, "as many as there is room for, a count of steps and one of what is lost");
    assert!(marks.is_sorted_by_key(|mark| mark.t_ns), "in order of time");
    assert_eq!(rings.poll(|_| true), [], "each is told once");
}

/// Slots of these bytes, in a ring that says so.
fn whole(bytes: &[u8]) -> Vec<u8> {
    let (counts, slots) = bytes.split_at(bytes.len().min(24));
    let mut file = vec![0; HEADER_LEN + SLOTS * SLOT_LEN];
    file[..8].copy_from_slice(b"LTMARKS1");
    for (at, number) in [(8, SLOT_LEN as u32), (12, SLOTS as u32), (16, 7)] {
        file[at..at + 4].copy_from_slice(&number.to_le_bytes());
    }
    file[32..32 + counts.len()].copy_from_slice(counts);
    // At most two rounds, so that the slots are the newest.
    let written = u64::from(file[32]) % (2 * SLOTS as u64 + 1);
    file[32..40].copy_from_slice(&written.to_le_bytes());
    for n in written.saturating_sub(SLOTS as u64)..written {
        let place = n as usize % SLOTS;
        let slot = &mut file[HEADER_LEN + place * SLOT_LEN..][..SLOT_LEN];
        let inner = slots.chunks(SLOT_LEN - 16).nth(place).unwrap_or_default();
        slot[8..8 + inner.len()].copy_from_slice(inner);
        for at in [0, SLOT_LEN - 8] {
            slot[at..at + 8].copy_from_slice(&(n + 1).to_le_bytes());
        }
    }
    file
}

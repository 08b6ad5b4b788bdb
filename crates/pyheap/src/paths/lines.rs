//! The line that a frame is at: three formats of the table that leads from an instruction to a line.

use crate::offsets::{Frames, Lines};
use crate::read::Reader;
use crate::visit::Frame;

/// Longest table that is read: the largest modules have some 100 KiB.
const TABLE_LIMIT: usize = 1 << 20;

/// The line, 1 for the first; `None` where the table does not say.
pub fn line(read: Reader<'_>, frame: &Frame) -> Option<u32> {
    let offset = instruction(read, frame)?;
    let first = read.image.u32(frame.code.checked_add(read.layout.code_first_line)?)?;
    let (Lines::Lnotab(at) | Lines::Table310(at) | Lines::Table311(at)) = read.layout.lines;
    let table = read.byte_string(read.pointer(frame.code.checked_add(at)?)?, TABLE_LIMIT)?;
    match read.layout.lines {
        Lines::Lnotab(_) => lnotab(&table, first, offset),
        Lines::Table310(_) => table_310(&table, first, offset),
        Lines::Table311(_) => table_311(&table, first, offset),
    }
}

/// Bytes from the start of the code to the instruction.
fn instruction(read: Reader<'_>, frame: &Frame) -> Option<u64> {
    match read.layout.frame {
        Frames::Object { last_instruction, stackdepth, .. } => {
            let last = u64::try_from(read.image.i32(frame.address.checked_add(last_instruction)?)?).ok()?;
            // 3.10 counts in code units; it is the one that has a stack depth.
            Some(if stackdepth.is_some() { last * 2 } else { last })
        }
        Frames::Interpreter { instruction, .. } => {
            let at = read.image.u64(frame.address.checked_add(instruction)?)?;
            at.checked_sub(frame.code.checked_add(read.layout.code_adaptive?)?)
        }
    }
}

/// 3.8, 3.9 (Objects/lnotab_notes.txt): pairs of a step in bytes and a step in lines.
fn lnotab(table: &[u8], first: u32, offset: u64) -> Option<u32> {
    let (mut address, mut line) = (0, i64::from(first));
    for pair in table.chunks_exact(2) {
        address += u64::from(pair[0]);
        if address > offset {
            break;
        }
        line += i64::from(pair[1] as i8);
    }
    u32::try_from(line).ok()
}

/// 3.10: pairs of a length in bytes and a step in lines, -128 where there is no line.
fn table_310(table: &[u8], first: u32, offset: u64) -> Option<u32> {
    let (mut end, mut line) = (0, i64::from(first));
    for pair in table.chunks_exact(2) {
        let step = pair[1] as i8;
        end += u64::from(pair[0]);
        if step != -128 {
            line += i64::from(step);
        }
        if end > offset {
            return (step != -128).then_some(line).and_then(|line| u32::try_from(line).ok());
        }
    }
    None
}

/// 3.11 and newer (Objects/locations.md): entries of a head, a length in code units, and steps of lines and columns.
fn table_311(table: &[u8], first: u32, offset: u64) -> Option<u32> {
    let (mut end, mut line) = (0, i64::from(first));
    let mut bytes = table.iter().copied().peekable();
    while let Some(head) = bytes.next() {
        let form = (head >> 3) & 15;
        end += (u64::from(head & 7) + 1) * 2;
        let step = match form {
            15 => None,
            13 | 14 => Some(signed(&mut bytes)),
            10..=12 => Some(i64::from(form) - 10),
            _ => Some(0),
        };
        line = line.saturating_add(step.unwrap_or(0));
        if end > offset {
            return step.and_then(|_| u32::try_from(line).ok());
        }
        // Only the first byte of an entry has the highest bit.
        while bytes.next_if(|byte| byte & 0x80 == 0).is_some() {}
    }
    None
}

/// A signed number, in pieces of six bits, the lowest first; the lowest bit of all is its sign.
fn signed(bytes: &mut impl Iterator<Item = u8>) -> i64 {
    let (mut value, mut shift) = (0_u64, 0);
    for byte in bytes {
        value |= u64::from(byte & 0x3f).checked_shl(shift).unwrap_or(0);
        shift += 6;
        if byte & 0x40 == 0 {
            break;
        }
    }
    let half = (value >> 1) as i64;
    if value & 1 == 1 { -half } else { half }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tables_lead_to_lines() {
        // A function at line 10 whose second statement, two lines on, begins at byte 4.
        assert_eq!(lnotab(&[0, 1, 4, 2], 10, 0), Some(11));
        assert_eq!(lnotab(&[0, 1, 4, 2], 10, 4), Some(13));
        assert_eq!(table_310(&[4, 1, 6, 2, 2, 0x80], 10, 2), Some(11));
        assert_eq!(table_310(&[4, 1, 6, 2, 2, 0x80], 10, 4), Some(13));
        assert_eq!(table_310(&[4, 1, 6, 2, 2, 0x80], 10, 10), None);
        // One unit without a step, two units two lines on (form 12), two units one line back (form 13, -1 is 3).
        let table = [0x80, 0x12, 0x80 | 12 << 3 | 1, 1, 2, 0x80 | 13 << 3 | 1, 3];
        assert_eq!(table_311(&table, 10, 0), Some(10));
        assert_eq!(table_311(&table, 10, 2), Some(12));
        assert_eq!(table_311(&table, 10, 6), Some(11));
        assert_eq!(table_311(&table, 10, 100), None);
    }

    proptest! {
        #[test]
        fn no_table_makes_it_panic(table: Vec<u8>, first: u32, offset: u64) {
            let _ = lnotab(&table, first, offset);
            let _ = table_310(&table, first, offset);
            let _ = table_311(&table, first, offset);
        }
    }
}

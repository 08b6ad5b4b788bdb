//! The message of PyTorch's caching allocators, in all its generations: CUDA, HIP, XPU and NPU say the same.
//!
//! Every generation names the same few amounts in other words and another order. Each amount is told by the words behind
//! it, else by those before it.

use std::ops::Range;

use regex::bytes::Regex;

use super::super::amount;
use super::super::stream::{LINE, Text};
use super::{At, Family, Message, patterns};

patterns! {
    AMOUNTS = "AMOUNT";
    BEGIN = r"(?:cuda|hip|xpu|npu)?outofmemory\W{0,3}";
    DEVICE = r"[gn]pu:?(?P<gpu>\d{1,3})(?:;|hasatotal|\))";
    PROCESS = r"process(?P<pid>\d{1,9})has$";
    OF_TOTAL = r"totalcapac(?:i?ty)?(?:of)?$";
    FREE_BEFORE = r"ofwhich$";
    REQUEST = r"triedtoallocate$";
    IN_USE = r"^(?:of)?memoryinuse|^inuse";
    ALLOWED = r"^allowed";
    THIS = r"thisprocesshas$";
}

/// What stands behind an amount, and what it is then. The first that fits counts.
const BEHIND: [(&str, &str); 12] = [
    ("totalcapacity", "total_capacity"),
    ("totalcapacty", "total_capacity"),
    ("total", "total_capacity"),
    ("alreadyallocated", "allocated"),
    ("isallocatedbypytorch", "allocated"),
    ("allocatedbypytorch", "allocated"),
    ("allocatedinprivatepools", "private_pools"),
    // Up to torch 1.3 what was cached beyond what was allocated (CUDACachingAllocator.cpp of 1.0: `amount_cached - amount_allocated`).
    ("cached", "reserved_unallocated"),
    ("reservedintotal", "reserved"),
    ("isreservedbypytorchbutunallocated", "reserved_unallocated"),
    ("reservedbypytorchbutunallocated", "reserved_unallocated"),
    ("reservedbutunallocated", "reserved_unallocated"),
];
/// The same where those above did not fit: a user has shortened the text.
const BEHIND_SHORT: [(&str, &str); 3] = [("isfree", "free"), ("free", "free"), ("allocated", "allocated")];

/// Words of these messages. A line end is crossed only where nothing else stands between two amounts: what follows a
/// message that was cut must not be taken for its rest.
const VOCABULARY: [&str; 48] = [
    "isreservedbypytorchbutunallocated",
    "reservedintotalbypytorch",
    "isallocatedbypytorch",
    "allocatedinprivatepools",
    "alreadyallocated",
    "totalcapacity",
    "totalcapacty",
    "includingnon-pytorchmemory",
    "thisprocesshas",
    "triedtoallocate",
    "memoryinuse",
    "oftheallocatedmemory",
    "cudagraphs",
    "hipgraphs",
    "xpugraphs",
    "ofwhich",
    "isfree",
    "outofmemory",
    "hasatotalcapacityof",
    "hasatotalcapactyof",
    "process",
    "allowed",
    "cached",
    "pytorch",
    "allocated",
    "unallocated",
    "reserved",
    "total",
    "capacity",
    "memory",
    "cuda",
    "current",
    "active",
    "hip",
    "xpu",
    "npu",
    "free",
    "gpu",
    "e.g.",
    "inuse",
    "with",
    "and",
    "has",
    "by",
    "but",
    "of",
    "is",
    "in",
];

/// Reads the message around these words, if they are of this device.
pub(super) fn read(at: &At, family: Family, device: &str) -> Option<Message> {
    let text = &at.text;
    let shortened = text.chars[at.start..at.end].eq_ignore_ascii_case(b"triedtoallocate");
    if shortened {
        // Without its first words only CUDA's own terms tell whose message it is.
        let near = &text.chars[at.start..text.chars.len().min(at.start + 400)];
        let named = |word: &[u8]| near.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word));
        if family != Family::Cuda || !(named(b"(GPU") || named(b".GPU") || named(b"totalcapac") || named(b"byPyTorch")) {
            return None;
        }
    } else if !at.before_ends_with(device) {
        return None;
    }
    let begin = if shortened { at.start } else { at.start - device.len() };
    let end = end(text, at.end);
    let mut message = Message::new(family, text, begin..end);
    // The request stands right behind its words, which are the first ones where the text is shortened.
    let mut last = if shortened { at.start } else { at.end };
    for found in AMOUNTS.find_iter(&text.chars[at.end..end]) {
        let range = at.end + found.start()..at.end + found.end();
        let crossed = crosses(text, last..range.start);
        let torn = text.flags_within(range.clone()) & LINE != 0;
        if (crossed && !all_known(&text.chars[last..range.start])) || ((crossed || torn) && !goes_on(text, &range)) {
            break;
        }
        if let Some((name, behind)) = name(text, last, &range, end) {
            match amount::bytes(text, range.clone()) {
                Ok(value) => message.set(&name, value),
                Err(why) => message.refuse(text, range.clone(), &name, &why),
            }
            last = behind;
        } else {
            last = range.end;
        }
    }
    if let Some(caps) = DEVICE.captures(&text.chars[at.end..end]) {
        let digits = caps.name("gpu").map(|gpu| at.end + gpu.start()..at.end + gpu.end());
        if let Some(gpu) = digits.and_then(|digits| amount::count(text, digits, true)) {
            message.set("gpu", gpu);
        }
    }
    if message.numbers.is_empty() {
        if shortened {
            return None;
        }
        missing(&mut message, text, at.end..end);
    }
    message.excerpt = super::excerpt(text, begin..last.max(at.end));
    message.end = last.max(at.end);
    Some(message)
}

/// A request is announced, but no amount follows.
fn missing(message: &mut Message, text: &Text, range: Range<usize>) {
    let announced = b"triedtoallocate";
    let chars = &text.chars[range.clone()];
    if chars.len() >= announced.len()
        && chars.windows(announced.len()).take(40).any(|window| window.eq_ignore_ascii_case(announced))
    {
        let line = message.line;
        message.refused.push(format!("line {line}: the amount behind `Tried to allocate` is cut or cannot be read"));
    }
}

/// Where the message can reach at most: before the next one.
fn end(text: &Text, from: usize) -> usize {
    const LONGEST: usize = 5 << 10;
    let end = text.chars.len().min(from + LONGEST);
    BEGIN.find(&text.chars[from..end]).map_or(end, |next| from + next.start())
}

/// Whether a line ends between what is before a range and what is behind it.
fn crosses(text: &Text, range: Range<usize>) -> bool {
    (range.start..=range.end).any(|at| text.flags_at(at) & LINE != 0)
}

/// Whether a text has nothing but words of these messages, numbers of devices and pids, and punctuation.
fn all_known(chars: &[u8]) -> bool {
    let mut rest = chars;
    while let Some(first) = rest.first() {
        if !first.is_ascii_alphabetic() && first.is_ascii() {
            rest = &rest[1..];
            continue;
        }
        let known =
            VOCABULARY.iter().find(|word| rest.len() >= word.len() && rest[..word.len()].eq_ignore_ascii_case(word.as_bytes()));
        match known {
            Some(word) => rest = &rest[word.len()..],
            None => return false,
        }
    }
    true
}

/// Whether an amount in or into the next line can be of such a message: `5 GiB of data` is not by what stands behind it, and all
/// but bytes are printed with two decimals and a large letter.
fn goes_on(text: &Text, range: &Range<usize>) -> bool {
    let at = range.end;
    let amount = &text.chars[range.clone()];
    let digits = amount.iter().rposition(u8::is_ascii_digit).map_or(0, |last| last + 1);
    let (number, unit) = amount.split_at(digits);
    let decimals = number.iter().rposition(|c| matches!(c, b'.' | b',')).map(|point| digits - point - 1);
    let printed = decimals == Some(2) && unit.first().is_some_and(u8::is_ascii_uppercase);
    if !printed && !unit.eq_ignore_ascii_case(b"bytes") {
        return false;
    }
    let rest = &text.chars[at..];
    let known =
        |word: &&str| word.len() >= 4 && rest.len() >= word.len() && rest[..word.len()].eq_ignore_ascii_case(word.as_bytes());
    text.flags_at(at) & LINE != 0 || rest.first().is_none_or(|next| !next.is_ascii_alphanumeric()) || VOCABULARY.iter().any(known)
}

/// What an amount is, and where the words end that say so.
fn name(text: &Text, last: usize, range: &Range<usize>, end: usize) -> Option<(String, usize)> {
    const REACH: usize = 48;
    let before = &text.chars[last..range.start];
    let behind = &text.chars[range.end..end.min(range.end + REACH)];
    let starts = |word: &str| behind.len() >= word.len() && behind[..word.len()].eq_ignore_ascii_case(word.as_bytes());
    let ends = |pattern: &Regex| pattern.is_match(before);
    if ends(&REQUEST) {
        return Some(("tried_to_allocate".to_owned(), range.end));
    }
    if ends(&OF_TOTAL) {
        return Some(("total_capacity".to_owned(), range.end));
    }
    if let Some(words) = IN_USE.find(behind) {
        let behind = range.end + words.end();
        if let Some(caps) = PROCESS.captures(before) {
            let pid = String::from_utf8_lossy(&caps["pid"]).into_owned();
            return Some((format!("process_{pid}_in_use"), behind));
        }
        let own = ends(&THIS) || !before.windows(7).any(|window| window.eq_ignore_ascii_case(b"process"));
        return own.then(|| ("process_in_use".to_owned(), behind));
    }
    if let Some(words) = ALLOWED.find(behind) {
        return Some(("allowed".to_owned(), range.end + words.end()));
    }
    if let Some((word, name)) = BEHIND.iter().find(|(word, _)| starts(word)) {
        return Some(((*name).to_owned(), range.end + word.len()));
    }
    if ends(&FREE_BEFORE) {
        return Some(("free".to_owned(), range.end));
    }
    BEHIND_SHORT.iter().find(|(word, _)| starts(word)).map(|(word, name)| ((*name).to_owned(), range.end + word.len()))
}

//! Chunk after chunk through one span of a heap.
//!
//! A chunk says its own size; whether it is free says the one behind it. Lists of chunks that are free but do not look it
//! (fast bins, thread caches) are known beforehand or told afterwards.

use super::find::Span;
use crate::native::window::Window;

/// The previous chunk is in use.
const PREVIOUS_IN_USE: u64 = 1;
/// The chunk has a map of its own; never set inside an arena.
const MAPPED: u64 = 2;
/// Flag bits of a size.
const FLAGS: u64 = 7;
/// The smallest chunk.
const SMALLEST: u64 = 32;
/// Chunks that must follow each other before a place is taken for a chunk after a gap.
const SURE: u32 = 24;

/// What a chunk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// The program has it (or a thread's cache: told apart afterwards).
    Used,
    /// Free, in one of the arena's lists.
    Free,
    /// Free, in a fast bin.
    Fast,
    /// Free, at the end of the heap.
    Top,
    /// A mark of malloc's own at a heap's end.
    Fence,
}

/// One chunk, its head included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Address of its head; what the program got lies 16 bytes behind.
    pub start: u64,
    /// Bytes.
    pub size: u64,
    /// What it is.
    pub state: State,
}

/// Walks `span`, telling each chunk. `fast` holds the sorted addresses of the chunks in fast bins. Returns the bytes that
/// could not be told: foreign memory between two pieces of the break, or a heap that changed while it was read.
pub fn span(window: &mut Window<'_>, span: &Span, fast: &[u64], tell: &mut dyn FnMut(&mut Window<'_>, Chunk)) -> u64 {
    let mut lost = 0;
    let mut at = span.start;
    let mut fences = 0;
    while at < span.end && span.end - at >= 16 {
        if Some(at) == span.top {
            tell(window, Chunk { start: at, size: span.end - at, state: State::Top });
            return lost;
        }
        let Some(head) = window.u64(at + 8) else { break };
        match head & !FLAGS {
            16 => {
                tell(window, Chunk { start: at, size: 16, state: State::Fence });
                at += 16;
                fences += 1;
                if fences < 2 {
                    continue;
                }
            }
            // The end of a heap that was full.
            0 if fences > 0 => {
                tell(window, Chunk { start: at, size: span.end - at, state: State::Fence });
                return lost;
            }
            size if valid(head, at, span) => {
                let state = state(window, at, size, fast);
                tell(window, Chunk { start: at, size, state });
                at += size;
                fences = 0;
                continue;
            }
            _ => {}
        }
        // Two fences in a row, or no chunk at all: what follows is not malloc's.
        let from = at;
        at = resume(window, span, at);
        lost += at - from;
        fences = 0;
    }
    lost + span.end.saturating_sub(at)
}

fn valid(head: u64, at: u64, span: &Span) -> bool {
    let size = head & !FLAGS;
    size >= SMALLEST && size.is_multiple_of(16) && head & MAPPED == 0 && size <= span.end - at
}

fn state(window: &mut Window<'_>, at: u64, size: u64, fast: &[u64]) -> State {
    let after = window.u64(at.wrapping_add(size + 8)).unwrap_or(PREVIOUS_IN_USE);
    // A free chunk also repeats its size at its end: both must say so.
    if after & PREVIOUS_IN_USE == 0 && window.u64(at.wrapping_add(size)) == Some(size) {
        return State::Free;
    }
    if fast.binary_search(&at).is_ok() { State::Fast } else { State::Used }
}

/// The next place from which chunks follow each other, else the span's end.
fn resume(window: &mut Window<'_>, span: &Span, from: u64) -> u64 {
    let mut at = from;
    while at < span.end && span.end - at >= 16 {
        if Some(at) == span.top || follows(window, span, at) {
            return at;
        }
        at += 16;
    }
    span.end
}

fn follows(window: &mut Window<'_>, span: &Span, from: u64) -> bool {
    let mut at = from;
    for step in 0..SURE {
        if Some(at) == span.top {
            return true;
        }
        match window.u64(at + 8) {
            Some(head) if valid(head, at, span) => at += head & !FLAGS,
            // A piece may be shorter than what makes it sure, if it ends as a piece does.
            Some(head) => return step > 0 && head & !FLAGS == 16,
            None => return false,
        }
        if at > span.end || span.end - at < 16 {
            return false;
        }
    }
    true
}

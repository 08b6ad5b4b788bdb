//! Growth that only fills what had been asked for before.
//!
//! An array that is made whole and written bit by bit (a replay buffer, a table of results) costs pages as it is written: its process
//! grows evenly, for minutes or hours, and ends at a size that it had from the beginning. What is asked for anew (a list that gets
//! longer, tensors that are kept) makes the private writable memory of the process larger as well, touched or not: the kernel counts
//! that as VmData (proc(5) status). So growth of pages without growth of that is held back, for as long as there is room for it, and
//! where nothing else shows that more is alive: neither malloc's heap nor Python's own allocator, nor somebody whom looks name. Shared
//! memory likewise, by VmSize.

use lowtide_model::{Bytes, Kind, Seconds};

use crate::analyser::Analyser;
use crate::growth::Series;
use crate::looks;
use crate::marks::Line;
use crate::marks::spread::LARGEST_BLOCK;
use crate::pyramid::Window;

/// Why such growth is open.
pub const ASKED: &str =
    "it fills memory that it had asked for before: an array that is made whole and written bit by bit looks like this";
/// The share of the growth of pages from which on what is asked for, or alive, grows with them.
const WITH_IT: f64 = 0.25;
/// The share of the growth of /dev/shm from which on processes that fill theirs explain it.
const MOST_OF_IT: f64 = 0.75;
/// Growth by less, bytes, is too little to be compared with what is asked for, which is told in such steps.
const LEAST: f64 = 3.0 * STEP;
const STEP: f64 = 1024.0 * 1024.0;
/// Room for so many seconds of the same growth is asked for at least, and no less than this. Bytes.
const ROOM_S: f64 = 60.0;
const ROOM: f64 = 64.0 * 1024.0 * 1024.0;
/// It is watched for so long at least, seconds, until more is said.
const MORE_S: f64 = 60.0;

/// Holds back growth of pages that were asked for before.
pub fn hold_back(run: &Analyser, series: &mut [Series]) {
    for series in series.iter_mut().filter(|series| series.judged.grows()) {
        if let Some(room) = room(run, series) {
            let (span_s, left_s) = (series.judged.until_s - series.judged.since_s, room / series.judged.rate);
            series.judged.hold_back(ASKED, left_s.min(span_s.max(MORE_S)));
        }
    }
    // What /dev/shm has more of is theirs.
    let shared = |s: &&Series| s.kind == Kind::Shmem && s.process.is_some() && s.judged.doubt == ASKED;
    let filled: Vec<(f64, f64)> = series.iter().filter(shared).map(|s| (s.judged.rate, s.judged.more_s)).collect();
    let (rate, more_s) = filled.iter().fold((0.0, 0.0), |all: (f64, f64), one| (all.0 + one.0, all.1.max(one.1)));
    let of_all = |s: &&mut Series| s.kind == Kind::Shmem && s.process.is_none() && s.judged.grows();
    for series in series.iter_mut().filter(of_all).filter(|s| rate >= MOST_OF_IT * s.judged.rate) {
        series.judged.hold_back(ASKED, more_s);
    }
}

/// What it fills, how much is left of it, and what to do.
pub fn told(run: &Analyser, series: &Series) -> Option<(String, &'static str)> {
    Some((words(run, series)?, "watch on: it must stop growing where that is full"))
}

fn words(run: &Analyser, series: &Series) -> Option<String> {
    let room = room(run, series)?;
    let (rise, span_s) = (series.judged.rise.max(0.0), series.judged.until_s - series.judged.since_s);
    let left = run.limits().left();
    let short = if (left as f64) < room { format!(", and only {} of memory are left", Bytes(left)) } else { String::new() };
    let named = series.process.and_then(|id| run.looks().untouched(id)).map_or_else(String::new, |(t_s, data)| {
        let (all, there) = (Bytes(data.bytes), Bytes(data.resident));
        format!(": {} ({}, {all}) had {there} in memory at {}", data.name, data.kind, Seconds(t_s))
    });
    if series.kind == Kind::Shmem {
        return Some(format!(
            "its shared memory rose by {} in {}, and it mapped no more: it fills what it had mapped before, as a buffer that is made whole and \
             written bit by bit{short}",
            Bytes(rise as u64),
            Seconds(span_s)
        ));
    }
    Some(format!(
        "its pages rose by {} in {}, and it asked for no more memory: it fills what it had asked for before, as an array that is made whole \
         and written bit by bit{named}; up to {} of all that it asked for are untouched{short}",
        Bytes(rise as u64),
        Seconds(span_s),
        Bytes(room as u64)
    ))
}

/// Bytes that it has asked for and not touched yet, where its growth fills them and nothing shows that anything else grows.
fn room(run: &Analyser, series: &Series) -> Option<f64> {
    let id = series.process.filter(|_| !series.copied)?;
    let track = run.store().tracks.get(&id)?;
    // Shared memory is asked for by mapping it.
    let (asked, pages) = match series.kind {
        Kind::Anonymous => (track.data.windows(), track.anon.windows()),
        Kind::Shmem => (track.size.windows(), track.shmem.windows()),
        _ => return None,
    };
    // What we had it give back comes again where it was.
    if !track.anon.before().is_empty() {
        return None;
    }
    let judged = &series.judged;
    let third = (judged.until_s - judged.since_s) / 3.0;
    let low = |from_s: f64, to_s: f64| {
        let inside = asked.iter().filter(|window| window.end_s >= from_s && window.start_s <= to_s);
        inside.map(|window| window.low).reduce(f64::min)
    };
    // In the first third it may still have asked for what it fills since.
    let middle_s = judged.until_s - third;
    let more = low(middle_s, judged.until_s)? - low(judged.since_s + third, middle_s)?;
    // The low tides of two thirds that rise evenly are a third of it apart.
    let rise = third * judged.rate;
    let room = last_before(asked, judged.until_s)? - last_before(pages, judged.until_s)?;
    let fills = rise >= LEAST && more - STEP < WITH_IT * rise && room >= (ROOM_S * judged.rate).max(ROOM);
    let more_lives = run.marks().of(id).is_some_and(|line| lives(line, judged.since_s, judged.until_s) >= WITH_IT * judged.rate);
    (fills && !more_lives && !looks::is_held(run, series)).then_some(room)
}

fn last_before(windows: &[Window], t_s: f64) -> Option<f64> {
    windows.iter().rfind(|window| window.start_s <= t_s).map(|window| window.last)
}

/// Bytes a second that more is alive, as far as that is known.
fn lives(line: &Line, since_s: f64, until_s: f64) -> f64 {
    let heap = line.live_growth(since_s, until_s).unwrap_or(0.0).max(0.0);
    let blocks = line.block_growth(since_s, until_s).unwrap_or(0.0).max(0.0);
    heap + LARGEST_BLOCK * blocks
}

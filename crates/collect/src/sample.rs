//! One pass over the processes of a run.
//!
//! What is read in one pass must belong together: a process that ends in the middle leaves a sum that never was, and
//! methods that look for minima find exactly that. So whoever ended during a pass is found afterwards, and the pass is
//! made again.

use lowtide_model::ProcSample;

use crate::members::{Announced, Counters, Members};
use crate::parse::status::Status;
use crate::root::{Root, Scratch};
use crate::sys;

const MIB: u64 = 1 << 20;

/// A process that ended in the middle of a pass tears it only if it had more than this part of all memory.
const TEARS_FROM: f64 = 1.0 / 256.0;

/// What a pass found.
#[derive(Debug, Default)]
pub struct Pass {
    pub samples: Vec<ProcSample>,
    /// Pids that have ended.
    pub ended: Vec<u32>,
    /// Whether somebody ended in the middle whose memory matters.
    pub torn: bool,
}

/// Reads all processes that the recording knows.
pub fn pass(members: &mut Members, root: &Root, scratch: &mut Scratch, polls: &mut Vec<libc::pollfd>) -> Pass {
    let mut pass = Pass::default();
    let mut sampled = Vec::new();
    for (pid, process) in members.announced_mut() {
        match read_one(pid, process, root, scratch) {
            Look::Sample(sample) => {
                pass.samples.push(sample);
                sampled.push(pid);
            }
            Look::NoMemory => {}
            Look::Ended => pass.ended.push(pid),
        }
    }
    let died = ended_since(members, &sampled, root, scratch, polls);
    if !died.is_empty() {
        let weight = |sample: &ProcSample| (sample.anon + sample.shmem) as f64;
        let all: f64 = pass.samples.iter().map(weight).sum();
        let mut lost = 0.0;
        let mut index = 0;
        pass.samples.retain(|sample| {
            let gone = died.contains(&sampled[index]);
            index += 1;
            if gone {
                lost += weight(sample);
            }
            !gone
        });
        pass.torn = lost > all * TEARS_FROM;
        pass.ended.extend(died);
    }
    pass
}

/// What one process looks like.
pub enum Look {
    Sample(ProcSample),
    /// It is alive and has no memory just now: it is about to exec or to end.
    NoMemory,
    Ended,
}

/// Reads the cheap counters of one process.
pub fn read_one(pid: u32, process: &mut Announced, root: &Root, scratch: &mut Scratch) -> Look {
    let Ok(bytes) = process.handle.read_status(root, scratch) else { return Look::Ended };
    let status = Status::parse(bytes);
    if status.ended() {
        return Look::Ended;
    }
    // A new name, a lower high-water mark, forgotten handlers: each shows an exec. The facts are read anew later.
    let before = process.counters;
    let renamed = status.name != process.facts.comm.as_bytes();
    let fresh = status.rss.is_some() && status.high_water < before.high_water;
    process.stale |= renamed || fresh || status.caught != before.caught;
    if status.state == b'Z' {
        // Its first thread has ended, others work on: they have the memory, and their own files show it.
        return thread_of(pid, root, scratch).map_or(Look::NoMemory, |status| finish(pid, process, &status, root));
    }
    let copy = Status { name: b"", ..status };
    finish(pid, process, &copy, root)
}

fn finish(pid: u32, process: &mut Announced, status: &Status<'_>, root: &Root) -> Look {
    let Some(rss) = status.rss else { return Look::NoMemory };
    process.lacks_parts = status.anon.is_none();
    // Without RssAnon (old kernels, sandboxes) all of RSS counts: too much is better than nothing, and it is noted.
    let anon = status.anon.unwrap_or(rss.saturating_sub(status.file).saturating_sub(status.shmem));
    process.counters = Counters { pid, anon, rss, high_water: status.high_water, caught: status.caught, ..process.counters };
    Look::Sample(ProcSample {
        anon,
        file: status.file,
        shmem: status.shmem,
        swap: status.swap,
        data: status.data.map(|bytes| bytes & !(MIB - 1)),
        size: status.size.map(|bytes| bytes & !(MIB - 1)),
        threads: status.threads,
        fds: process.handle.open_files(root),
        ..ProcSample::empty(process.id)
    })
}

/// The status of a thread that lives on after the first one has ended.
fn thread_of<'a>(pid: u32, root: &Root, scratch: &'a mut Scratch) -> Option<Status<'a>> {
    let threads = std::fs::read_dir(root.of(pid, "task")).ok()?;
    let other = threads.flatten().find(|entry| entry.file_name().to_str() != Some(&pid.to_string()))?;
    let bytes = scratch.read(&other.path().join("status")).ok()?;
    Some(Status::parse(bytes)).filter(|status| status.rss.is_some())
}

/// Which of these have ended by now.
fn ended_since(members: &Members, pids: &[u32], root: &Root, scratch: &mut Scratch, polls: &mut Vec<libc::pollfd>) -> Vec<u32> {
    polls.clear();
    let mut polled = Vec::with_capacity(pids.len());
    let mut ended = Vec::new();
    for pid in pids {
        let Some(process) = members.alive.get(pid).and_then(|member| member.announced.as_ref()) else { continue };
        match &process.handle.pidfd {
            Some(pidfd) => {
                polls.push(sys::poll_entry(pidfd));
                polled.push(*pid);
            }
            None if process.handle.has_ended(root, scratch) => ended.push(*pid),
            None => {}
        }
    }
    sys::poll_now(polls);
    ended.extend(polls.iter().zip(&polled).filter(|(entry, _)| entry.revents & libc::POLLIN != 0).map(|(_, pid)| *pid));
    ended
}

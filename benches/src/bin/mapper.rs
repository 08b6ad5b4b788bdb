//! A target that maps and unmaps a page over and over and says how long it had to wait: `mapper GIB memfd|anonymous`.
//!
//! Whoever reads `smaps_rollup` of a process holds the lock that its mmap and munmap need, for as long as it walks the
//! page tables. How long that is depends on their size, not on what they point to, so `memfd` maps 64 MiB of memory as
//! often as it takes to make GIB of page tables. The kernel lets go of the lock between two mappings, therefore
//! `anonymous` makes one mapping of real memory, as a large tensor or heap is.
//!
//! Prints `ready`, then for each line with a number of seconds on standard input a JSON object. Pairs of mmap and munmap
//! are due every [`PERIOD`] and their waits are counted from when they were due: a pair that is held up for long holds up
//! those behind it, as it would in a program that has work to do.

use std::io::{BufRead, Write};
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use lowtide_benches::sleeps;
use serde_json::{Value, json};

const PERIOD: Duration = Duration::from_micros(100);
const PAGE: usize = 4096;
const PIECE: usize = 64 << 20;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [gib, kind] = &args[..] else { bail!("usage: mapper GIB memfd|anonymous") };
    let bytes = gib.parse::<usize>().context("GIB is a whole number")? << 30;
    match kind.as_str() {
        "memfd" => map_one_file_often(bytes)?,
        "anonymous" => drop(map(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, -1)?),
        other => bail!("{other}: is neither memfd nor anonymous"),
    }
    say("ready")?;
    for line in std::io::stdin().lock().lines() {
        let seconds: f64 = line?.trim().parse().context("a line is a number of seconds")?;
        say(&measure(Duration::from_secs_f64(seconds))?.to_string())?;
    }
    Ok(())
}

fn say(line: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

fn map_one_file_often(bytes: usize) -> anyhow::Result<()> {
    // SAFETY: the name is a C string; the result is checked.
    let file = unsafe { libc::memfd_create(c"mapper".as_ptr(), 0) };
    // SAFETY: plain numbers.
    if file < 0 || unsafe { libc::ftruncate(file, PIECE as libc::off_t) } != 0 {
        bail!("cannot make a file of 64 MiB in memory: {}", std::io::Error::last_os_error());
    }
    for _ in 0..bytes / PIECE {
        map(PIECE, libc::MAP_SHARED | libc::MAP_POPULATE, file)?;
    }
    Ok(())
}

/// A mapping that stays until the end, unless the caller unmaps it.
fn map(len: usize, flags: i32, file: i32) -> anyhow::Result<*mut libc::c_void> {
    // SAFETY: a new mapping at a place of the kernel's choice touches nothing that exists.
    let at = unsafe { libc::mmap(null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, flags, file, 0) };
    if at == libc::MAP_FAILED {
        bail!("cannot map {len} bytes: {}", std::io::Error::last_os_error());
    }
    Ok(at)
}

fn measure(length: Duration) -> anyhow::Result<Value> {
    // All memory is taken before the clock runs: growing a vector maps and unmaps too.
    let mut waits_us: Vec<f32> = Vec::with_capacity((length.as_nanos() / PERIOD.as_nanos()) as usize + 1);
    let (mut held_up_ms, mut held_up): (f64, u32) = (0.0, 0);
    let start = Instant::now();
    let mut slept = sleeps();
    for turn in 0..waits_us.capacity() - 1 {
        let due = start + PERIOD * turn as u32;
        while Instant::now() < due {
            std::hint::spin_loop();
        }
        let begun = Instant::now();
        let page = map(PAGE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
        // SAFETY: it was mapped just now and nobody else knows it.
        unsafe {
            libc::munmap(page, PAGE);
        }
        let (took, waited) = (begun.elapsed(), due.elapsed());
        waits_us.push(waited.as_secs_f32() * 1e6);
        let slept_now = sleeps();
        if slept_now != slept {
            held_up += 1;
            held_up_ms = held_up_ms.max(took.as_secs_f64() * 1e3);
            slept = slept_now;
        }
    }
    waits_us.sort_by(f32::total_cmp);
    let at = |share: f64| waits_us[((waits_us.len() - 1) as f64 * share) as usize];
    Ok(json!({"n": waits_us.len(), "p50_us": at(0.5), "p99_us": at(0.99), "p999_us": at(0.999), "max_us": at(1.0),
        "held_up": held_up, "held_up_ms": held_up_ms}))
}

//! How fast a process's memory is read: `cargo run --release -p lowtide-remote --example speed -- PID`.
//!
//! Stops it, reads all of its anonymous memory through the page store, then looks words up that are there already, and
//! prints what each took.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use lowtide_remote::{Error, Process};

fn main() -> Result<(), Error> {
    let pid = std::env::args().nth(1).and_then(|pid| pid.parse().ok()).unwrap_or_else(std::process::id);
    let process = Process::open(Path::new("/"), pid)?;
    let begun = Instant::now();
    let stopped = process.stop(Duration::from_secs(20))?;
    println!("stopped {} threads in {:?}", stopped.threads(), begun.elapsed());
    let begun = Instant::now();
    let image = stopped.image()?;
    println!("{} maps in {:?}", image.maps().len(), begun.elapsed());
    let begun = Instant::now();
    let mut places = Vec::new();
    for map in image.maps().iter().filter(|map| map.is_anonymous() && map.is_readable() && map.len() < 4 << 30) {
        for at in map.range().step_by(1 << 16) {
            if image.u8(at).is_some() {
                places.push(at);
            }
        }
    }
    let took = begun.elapsed();
    let read = image.bytes_read();
    println!("read {} MiB in {took:?}: {:.2} GiB/s", read >> 20, read as f64 / took.as_secs_f64() / (1 << 30) as f64);
    println!("paused for {:?}", stopped.release());
    if places.is_empty() {
        return Ok(());
    }
    // Everywhere, in an order that the processor cannot foresee; then one after the other.
    let rounds = 20_000_000_u64;
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let begun = Instant::now();
    for _ in 0..rounds {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let place = places[random as usize % places.len()] + (random >> 40) % 4096 * 8;
        black_box(image.u64(place));
    }
    println!("a word anywhere: {:.1} ns", begun.elapsed().as_secs_f64() * 1e9 / rounds as f64);
    let begun = Instant::now();
    for at in 0..rounds {
        black_box(image.u64(places[(at >> 13) as usize % places.len()] + at % 8192 * 8));
    }
    println!("a word after another: {:.1} ns", begun.elapsed().as_secs_f64() * 1e9 / rounds as f64);
    Ok(())
}

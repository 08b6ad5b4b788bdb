//! Prints the objects of a running Python by type: `census PID`.
#![allow(clippy::print_stdout)]

use lowtide_pyheap::{Census, Python};
use lowtide_remote::Process;
use std::path::Path;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pid = std::env::args().nth(1).ok_or("usage: census PID [THREADS]")?.parse()?;
    let threads = std::env::args().nth(2).map_or(Ok(1), |text| text.parse())?;
    let process = Process::open(Path::new("/"), pid)?;
    let runtime = Python::runtime(&process, &process.image()?)?;
    let stopped = process.stop(Duration::from_secs(20))?;
    let image = stopped.image()?;
    let start = Instant::now();
    let python = Python::at(&image, runtime)?;
    println!("CPython {}", python.version);
    let census = Census::take(image, python, threads)?;
    let walked = start.elapsed();
    let pause = stopped.release();
    println!(
        "{} objects, {} tracked, read {} MiB, walk {walked:?}, pause {pause:?}",
        census.objects().len(),
        census.tracked(),
        census.image().bytes_read() >> 20
    );
    for (id, total) in census.by_type().into_iter().take(25) {
        println!("{:>10} {:>12} {}", total.count, total.bytes, census.types().get(id).map_or("?", |kind| &kind.name));
    }
    Ok(())
}

//! Prints what the memory of a running Python is for: `memory PID`.
#![allow(clippy::print_stdout)]

use lowtide_pyheap::memory::Memory;
use lowtide_pyheap::torch::{dtype, find, groups};
use lowtide_pyheap::{Census, Python, budget};
use lowtide_remote::Process;
use std::path::Path;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pid = std::env::args().nth(1).ok_or("usage: memory PID")?.parse()?;
    let process = Process::open(Path::new("/"), pid)?;
    let runtime = Python::runtime(&process, &process.image()?)?;
    let stopped = process.stop(Duration::from_secs(30))?;
    let image = stopped.image()?;
    let start = Instant::now();
    let mut memory = Memory::look(&process, &image, &find::shipped())?;
    println!("memory: {:?}, {} MiB read", start.elapsed(), memory.bytes_read >> 20);
    let census = Census::take(stopped.image()?, Python::at(&image, runtime)?, 2)?;
    println!("census: {} objects, held {:?}", census.objects().len(), stopped.release());

    let budget = budget::budget(&mut memory, Some(&census));
    println!("{:>14} bytes resident and private; {:?} in all in the account", budget.total, budget.ram.values().sum::<u64>());
    for (part, bytes) in &budget.ram {
        println!("{bytes:>14} {}", part.name());
    }
    println!("{:?}; of tensors elsewhere: {}", budget.devices, budget.elsewhere);
    match &memory.account.glibc {
        Some(Ok(heap)) => println!("glibc {}: {} arenas, {} caches", heap.version, heap.arenas.len(), heap.caches),
        Some(Err(error)) => println!("{error}"),
        None => {}
    }
    println!("not claimed: {:x?}", &memory.account.unclaimed[..memory.account.unclaimed.len().min(5)]);
    match &memory.torch {
        Err(error) => println!("{error}"),
        Ok(torch) => {
            println!("layout of torch {}; {} tensors, {} nodes", torch.layout.torch, torch.tensors.len(), torch.nodes.len());
            for group in groups::groups(torch).iter().take(15) {
                println!("{:>14} {:>6} x {:?}", group.bytes, group.count, group.kind);
            }
            for held in memory.graphs.held.iter().take(8) {
                let shape = torch.at(held.tensor).map(|tensor| (&tensor.shape, dtype::name(tensor.dtype)));
                println!("graph of {shape:?}: {} nodes keep {} tensors, {} bytes", held.nodes, held.tensors, held.bytes);
            }
            println!("other nodes: {}, {} bytes", memory.graphs.other_nodes, memory.graphs.other_bytes);
        }
    }
    let mut classes: Vec<_> = memory.classes.iter().collect();
    classes.sort_by_key(|class| std::cmp::Reverse(class.tally.bytes));
    for class in classes.iter().take(12) {
        println!("{:>14} {:>8} x {}", class.tally.bytes, class.tally.count, class.name());
    }
    Ok(())
}

//! Watches a process tree and prints what the collector sees: `cargo run -p lowtide-collect --example watch -- PID [SECONDS [INTERVAL]]`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to a person")]

use std::time::{Duration, Instant};

use lowtide_collect::{Collector, Options};
use lowtide_model::{Bytes, Event};

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<f64>().unwrap_or(1.0));
    let pid = args.next().unwrap_or(0.0) as u32;
    let (seconds, interval_s) = (args.next().unwrap_or(10.0), args.next().unwrap_or(1.0));
    let options =
        Options { root: "/".into(), interval_s, own_child: false, rollup: true, gpu: lowtide_collect::GpuSource::default() };
    let mut collector = match Collector::new(pid, options) {
        Ok(collector) => collector,
        Err(error) => return eprintln!("{error}"),
    };
    let start = Instant::now();
    let mut next_s = 0.0;
    while collector.target_alive() && next_s <= seconds {
        let mut events = Vec::new();
        collector.tick(start.elapsed().as_secs_f64(), &mut events);
        for event in events {
            match event {
                Event::Tick(tick) => {
                    let anon: u64 = tick.procs.iter().map(|sample| sample.anon).sum();
                    let pss: Vec<_> = tick.procs.iter().filter_map(|sample| sample.rollup).collect();
                    println!("{:7.2} s  {} processes, anon {}, {} rollups", tick.t_s, tick.procs.len(), Bytes(anon), pss.len());
                    if next_s == 0.0 {
                        println!("{:#?}\n{:#?}", tick.system, tick.cgroups);
                    }
                }
                other => println!("{other:?}"),
            }
        }
        next_s += interval_s;
        std::thread::sleep(Duration::from_secs_f64((next_s - start.elapsed().as_secs_f64()).max(0.0)));
    }
    let cost = collector.cost(start.elapsed().as_secs_f64());
    println!("{cost:?}\n{:.3} % of a core, kills {}", cost.cpu_s / cost.t_s * 100.0, collector.oom_kills());
}

//! What a tick costs: `cargo run --release -p lowtide-collect --example cost -- PID [TICKS]`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to a person")]

use lowtide_collect::{Collector, Options};
use lowtide_model::Event;

fn main() {
    let mut args = std::env::args().skip(1);
    let pid = args.next().and_then(|arg| arg.parse().ok()).unwrap_or(1);
    let ticks: u32 = args.next().and_then(|arg| arg.parse().ok()).unwrap_or(500);
    for rollup in [false, true] {
        let options =
            Options { root: "/".into(), interval_s: 1.0, own_child: false, rollup, gpu: lowtide_collect::GpuSource::default() };
        let mut collector = match Collector::new(pid, options) {
            Ok(collector) => collector,
            Err(error) => return eprintln!("{error}"),
        };
        let mut events = Vec::new();
        collector.tick(0.0, &mut events);
        let before = collector.cost(0.0).cpu_s;
        let mut processes = 0;
        for tick in 1..=ticks {
            events.clear();
            collector.tick(f64::from(tick), &mut events);
            processes = events
                .iter()
                .find_map(|event| if let Event::Tick(tick) = event { Some(tick.procs.len()) } else { None })
                .unwrap_or(0);
        }
        let cost = collector.cost(f64::from(ticks));
        println!(
            "{processes} processes, rollup {rollup}: {:.1} us of CPU a tick, {} rollups, longest {:.1} ms, RSS {} KiB",
            (cost.cpu_s - before) * 1e6 / f64::from(ticks),
            cost.rollup_reads,
            cost.longest_rollup_ms,
            cost.rss_bytes / 1024,
        );
    }
}

//! The collector alone, once a second, and what each tick costs: `collector PID SECONDS OFFSET counters|all`.
//!
//! `counters` reads no `smaps_rollup`; `all` reads as many as the budget allows, which is more where there are fewer.
//! `OFFSET` is the fraction of a second after each full second at which to tick, so that several loops that watch the
//! same processes take turns. `benches/cost.py` runs it beside psutil.

use std::collections::HashSet;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use lowtide_benches::process_cpu_s;
use lowtide_collect::{Collector, Options};
use lowtide_model::{Event, Role};
use serde_json::json;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [pid, seconds, offset, what] = &args[..] else { anyhow::bail!("usage: collector PID SECONDS OFFSET counters|all") };
    let (pid, seconds, offset): (u32, f64, f64) = (pid.parse()?, seconds.parse()?, offset.parse()?);
    let options = Options {
        root: "/".into(),
        interval_s: 1.0,
        own_child: false,
        rollup: what == "all",
        gpu: lowtide_collect::GpuSource::default(),
    };
    let mut collector = Collector::new(pid, options)?;
    let start = Instant::now();
    let (mut cpu_ms, mut processes, mut events) = (Vec::new(), 0, Vec::new());
    // Whatever else grows on the machine is measured too, but is none of those asked for.
    let mut outside = HashSet::new();
    while start.elapsed().as_secs_f64() < seconds {
        wait_for(offset)?;
        let now_s = start.elapsed().as_secs_f64();
        let before_s = process_cpu_s();
        collector.tick(now_s, &mut events);
        cpu_ms.push((process_cpu_s() - before_s) * 1e3);
        for event in events.drain(..) {
            match event {
                Event::Process(process) if process.role == Role::Outside => drop(outside.insert(process.id)),
                Event::Tick(tick) => processes = tick.procs.iter().filter(|sample| !outside.contains(&sample.id)).count(),
                _ => {}
            }
        }
    }
    let cost = collector.cost(start.elapsed().as_secs_f64());
    let answer = json!({"cpu_ms": cpu_ms, "rss": cost.rss_bytes, "processes": processes, "rollups": cost.rollup_reads,
        "longest_rollup_ms": cost.longest_rollup_ms});
    use std::io::Write;
    writeln!(std::io::stdout(), "{answer}").context("nobody reads")
}

/// Sleeps until the next second's offset.
fn wait_for(offset: f64) -> anyhow::Result<()> {
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64();
    let wait_s = (offset - now_s.fract()).rem_euclid(1.0);
    std::thread::sleep(Duration::from_secs_f64(if wait_s < 0.05 { wait_s + 1.0 } else { wait_s }));
    Ok(())
}

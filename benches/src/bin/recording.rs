//! A day of 30 busy processes once a second: how large its recording is, and how long it takes to judge it.

use std::path::Path;

use lowtide_analyse::Analyser;
use lowtide_benches::{Answer, Table, busy_process, busy_start, median, milliseconds, process_cpu_s};
use lowtide_model::{Event, ExitStatus, RunEnd};
use lowtide_record::{Health, Writer, stream};
use lowtide_testkit::BusyRun;

const DAY_S: u32 = 86_400;
const PROCESSES: u32 = 30;
const ROUNDS: usize = 5;

fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("day.lowtide");
    let (writing_ms, recorded) = milliseconds(|| record(&path));
    let (largest, health) = recorded?;
    let (mut reading, mut judging, mut judging_cpu) = (Vec::new(), Vec::new(), Vec::new());
    let mut kept = 0;
    for _ in 0..ROUNDS {
        let (read_ms, count) = milliseconds(|| stream(&path).map(|events| events.filter(Result::is_ok).count()));
        kept = count?;
        reading.push(read_ms);
        let before_s = process_cpu_s();
        let (judged_ms, report) = milliseconds(|| judge(&path));
        report?;
        judging.push(judged_ms);
        judging_cpu.push((process_cpu_s() - before_s) * 1e3);
    }
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let mut table = Table::new(
        "A day of 30 processes whose memory changes every second, through the real writer, and `report` on it.",
        &[
            "ticks",
            "kept",
            "MiB at the end",
            "MiB at most",
            "thinned",
            "us per tick to write",
            "ms to read",
            "ms to read and judge",
            "CPU ms for that",
        ],
    );
    table.rows.push(vec![
        DAY_S.to_string(),
        kept.to_string(),
        format!("{:.2}", mib(health.bytes)),
        format!("{:.2}", mib(largest)),
        format!("{} times", health.compactions),
        format!("{:.0}", writing_ms * 1e3 / f64::from(DAY_S)),
        format!("{:.0}", median(&reading)),
        format!("{:.0}", median(&judging)),
        format!("{:.0}", median(&judging_cpu)),
    ]);
    let mut answer = Answer { tables: vec![table], ..Answer::default() };
    answer.goal("a day of 30 processes in 10 MiB", format!("{:.2} MiB", mib(largest)), largest < 10 << 20);
    answer.goal("a day's recording judged in 200 ms", format!("{:.0} ms", median(&judging)), median(&judging) <= 200.0);
    let dropped = health.dropped;
    answer.gate("the writer drops nothing", format!("{dropped} dropped"), dropped == 0);
    answer.print()
}

/// Writes the day; the largest that the file was, and how the writer was doing at the end.
fn record(path: &Path) -> anyhow::Result<(u64, Health)> {
    let mut writer = Writer::create(path)?;
    writer.append(&Event::Start(busy_start(1.0)));
    for id in 0..PROCESSES {
        writer.append(&Event::Process(busy_process(id)));
    }
    let (mut run, mut largest) = (BusyRun::new(PROCESSES), 0);
    for second in 0..DAY_S {
        writer.append(&Event::Tick(run.tick()));
        if second % 500 == 499 {
            writer.tick_done();
            // A real run gives it 500 seconds for this.
            while writer.health().events < u64::from(second) {
                std::thread::sleep(std::time::Duration::from_micros(200));
            }
            largest = largest.max(writer.health().bytes);
        }
    }
    let t_s = f64::from(DAY_S);
    writer.append(&Event::End(RunEnd { t_s, status: ExitStatus::Code(0), reason: String::new(), oom_kills: 0 }));
    let health = writer.finish();
    Ok((largest.max(health.bytes), health))
}

/// What `lowtide report` does with a recording.
fn judge(path: &Path) -> anyhow::Result<lowtide_model::Report> {
    let mut analyser = Analyser::new();
    for event in stream(path)? {
        analyser.push(&event?);
    }
    Ok(analyser.report())
}

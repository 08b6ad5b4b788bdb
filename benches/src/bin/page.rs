//! Seven days of 200 processes, some of which come and go: how large the page is that `report` makes of the recording, and
//! how long making it takes. With a path as its argument it leaves the recording there.

use std::path::{Path, PathBuf};

use lowtide_analyse::Analyser;
use lowtide_benches::{Answer, Table, busy_process, busy_start, milliseconds};
use lowtide_model::{Event, Exit, ExitStatus, Mark, MarkKind, ProcId, RunEnd, Scope, ScopeMark};
use lowtide_record::{Writer, stream};
use lowtide_report::{Gather, html};
use lowtide_testkit::BusyRun;

const MINUTES: u32 = 7 * 24 * 60;
const PROCESSES: u32 = 200;
/// So many of them are started anew each hour.
const FLEETING: u32 = 16;

fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = std::env::args_os().nth(1).map_or_else(|| folder.path().join("week.lowtide"), PathBuf::from);
    record(&path)?;
    let (ms, page) = milliseconds(|| page(&path));
    let page = page?;
    let mut table = Table::new(
        "A page of seven days of 200 processes measured once a minute, 16 of them started anew each hour, with a phase every ten minutes.",
        &["recording, MiB", "page, MB", "ms to read, judge and write"],
    );
    let recording = std::fs::metadata(&path)?.len();
    table.rows.push(vec![
        format!("{:.2}", recording as f64 / f64::from(1 << 20)),
        format!("{:.2}", page.len() as f64 / 1e6),
        format!("{ms:.0}"),
    ]);
    let mut answer = Answer { tables: vec![table], ..Answer::default() };
    answer.gate("the page is below 5 MB", format!("{:.2} MB", page.len() as f64 / 1e6), page.len() < 5_000_000);
    answer.print()
}

fn record(path: &Path) -> anyhow::Result<()> {
    let mut writer = Writer::create(path)?;
    writer.append(&Event::Start(busy_start(60.0)));
    let mut ids: Vec<u32> = (0..PROCESSES).collect();
    for id in &ids {
        writer.append(&Event::Process(busy_process(*id)));
    }
    let (mut run, mut next, mut appended) = (BusyRun::new(PROCESSES), PROCESSES, u64::from(PROCESSES) + 1);
    for minute in 0..MINUTES {
        let t_s = 60.0 * f64::from(minute);
        if minute % 60 == 59 {
            for id in ids.iter_mut().rev().take(FLEETING as usize) {
                writer.append(&Event::Exit(Exit { id: ProcId(*id), t_s }));
                *id = next;
                next += 1;
                let born = lowtide_model::Process { start_s: t_s, ..busy_process(*id) };
                writer.append(&Event::Process(born));
                appended += 2;
            }
        }
        if minute % 10 == 0 {
            let name = if minute % 60 == 0 { "validation" } else { "train" };
            let begin = ScopeMark { scope: Scope::Phase, index: None, name: name.to_owned() };
            let what = MarkKind::Begin(begin);
            writer.append(&Event::Mark(Mark { t_s, id: ProcId(0), what, steps: u64::from(minute) * 100, facts: None }));
            appended += 1;
        }
        let mut tick = run.tick();
        tick.t_s = t_s;
        for (sample, id) in tick.procs.iter_mut().zip(&ids) {
            sample.id = ProcId(*id);
        }
        writer.append(&Event::Tick(tick));
        appended += 1;
        writer.tick_done();
        // A real run gives it minutes for this.
        while writer.health().events < appended {
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
    }
    let t_s = 60.0 * f64::from(MINUTES);
    writer.append(&Event::End(RunEnd { t_s, status: ExitStatus::Code(0), reason: String::new(), oom_kills: 0 }));
    anyhow::ensure!(writer.finish().dropped == 0, "the recording is not complete");
    Ok(())
}

/// What `lowtide report -o week.html` does with a recording.
fn page(path: &Path) -> anyhow::Result<String> {
    let (mut analyser, mut gather) = (Analyser::new(), Gather::default());
    for event in stream(path)? {
        let event = event?;
        analyser.push(&event);
        gather.push(&event);
    }
    Ok(html(&analyser.report(), &gather.finish(), &[]))
}

//! The live verdict costs the same after a week as after a day: what taking in a tick of 30 busy processes and making a
//! report cost after a minute, a day and a week.
//!
//! Analyses of the three ages are kept side by side and asked in turns, so that whatever else the machine does hits all
//! three alike.

use lowtide_analyse::Analyser;
use lowtide_benches::{Answer, Table, busy_process, median, milliseconds};
use lowtide_model::Event;
use lowtide_testkit::BusyRun;

const PROCESSES: u32 = 30;
const AGES: [(&str, u32); 3] = [("a minute", 60), ("a day", 86_400), ("a week", 604_800)];
const ROUNDS: usize = 40;
/// Ticks pushed in a round; few against a minute, which shall stay one.
const TICKS: u32 = 1;
/// The most that a week may cost against a day. Both are past every size that is bounded, so that 1 is expected; the
/// rest is noise.
const MOST: f64 = 1.5;

/// An analysis of a certain age.
struct Old {
    run: BusyRun,
    analyser: Analyser,
    push_us: Vec<f64>,
    report_ms: Vec<f64>,
}

impl Old {
    fn new(seconds: u32) -> Self {
        let mut old =
            Self { run: BusyRun::new(PROCESSES), analyser: Analyser::new(), push_us: Vec::new(), report_ms: Vec::new() };
        for id in 0..PROCESSES {
            old.analyser.push(&Event::Process(busy_process(id)));
        }
        for _ in 0..seconds {
            old.analyser.push(&Event::Tick(old.run.tick()));
        }
        old
    }

    fn round(&mut self) {
        for _ in 0..TICKS {
            let tick = Event::Tick(self.run.tick());
            self.push_us.push(milliseconds(|| self.analyser.push(&tick)).0 * 1e3);
        }
        self.report_ms.push(milliseconds(|| self.analyser.report()).0);
    }
}

fn main() -> anyhow::Result<()> {
    let (ages_ms, mut olds): (Vec<f64>, Vec<Old>) = AGES.iter().map(|(_, seconds)| milliseconds(|| Old::new(*seconds))).unzip();
    for _ in 0..ROUNDS {
        olds.iter_mut().for_each(Old::round);
    }
    let mut table = Table::new(
        "30 busy processes, one tick a second. `push` takes in a tick (the mean over all, the median of the last ones), \
         `report` makes the whole report.",
        &["after", "us per push, mean so far", "us per push", "ms per report", "ms, longest"],
    );
    for (((name, seconds), total_ms), old) in AGES.iter().zip(&ages_ms).zip(&olds) {
        table.rows.push(vec![
            (*name).to_owned(),
            format!("{:.1}", total_ms * 1e3 / f64::from(*seconds)),
            format!("{:.1}", median(&old.push_us)),
            format!("{:.2}", median(&old.report_ms)),
            format!("{:.2}", lowtide_benches::largest(&old.report_ms)),
        ]);
    }
    let mut answer = Answer { tables: vec![table], ..Answer::default() };
    let [minute, day, week] = &olds[..] else { anyhow::bail!("three ages") };
    for (what, of) in
        [("push", |old: &Old| median(&old.push_us)), ("report", |old: &Old| median(&old.report_ms))] as [(_, fn(&Old) -> f64); 2]
    {
        let ratio = of(week) / of(day);
        answer.gate(
            &format!("{what} after a week at most {MOST} times that after a day"),
            format!("{ratio:.2} times"),
            ratio <= MOST,
        );
    }
    let ratio = median(&week.report_ms) / median(&minute.report_ms);
    answer.goal("report after a week costs at most twice that after a minute", format!("{ratio:.1} times"), ratio <= 2.0);
    answer.print()
}

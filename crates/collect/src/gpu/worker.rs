//! The drivers, on a thread of their own: one that hangs must not keep the rest of the run from being measured.
//!
//! A call into a driver in trouble may take for ever, and nothing can end it. So it is waited for a little; what comes later is of no
//! use, since numbers are kept with the time at which they were asked for. The thread ends when nobody asks any more, or with us.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use lowtide_model::GpuDriver;

use super::{Card, Driver, GpuSource, Reading, open};
use crate::root::Root;
use crate::sys;

/// An answer is waited for so long; a driver whose cards sleep takes seconds to open, and that is asked for again.
pub(super) const ANSWER: Duration = Duration::from_secs(1);

/// What a driver says of itself once.
#[derive(Debug)]
pub(super) struct About {
    pub kind: GpuDriver,
    /// What it is, for people.
    pub name: String,
    pub cards: Vec<Card>,
    pub knows_our_pids: bool,
}

impl About {
    fn of(driver: &dyn Driver) -> Self {
        let (name, cards) = (driver.describe(), driver.cards().to_vec());
        Self { kind: driver.kind(), name, cards, knows_our_pids: driver.knows_our_pids() }
    }
}

/// What was read of all drivers at one time.
#[derive(Debug)]
pub(super) struct Answer {
    number: u64,
    pub readings: Vec<Reading>,
    /// Processor seconds that it took.
    pub cpu_s: f64,
}

/// What is to be read: the run's processes, and for each driver the cards that are gone.
struct Question {
    number: u64,
    pids: Vec<u32>,
    gone: Vec<Vec<bool>>,
}

/// The drivers, and why there are no others.
pub(super) type Opened = (Vec<About>, Vec<String>);

/// How far it is.
enum Told {
    /// This one is being opened.
    Opening(&'static str),
    Opened(Opened),
}

/// The thread.
#[derive(Debug)]
pub(super) struct Worker {
    told: Receiver<Told>,
    /// The driver that was being opened last.
    opening: &'static str,
    ask: Sender<Question>,
    answers: Receiver<Answer>,
    /// The last question, and whether it was answered.
    asked: u64,
    waits: bool,
}

impl Worker {
    /// Opens all drivers.
    pub fn start(source: GpuSource, root: Root) -> Self {
        let (tell, told) = channel();
        let (ask, questions) = channel();
        let (answer, answers) = channel();
        let work = move || {
            let opening = |name| _ = tell.send(Told::Opening(name));
            let (drivers, why) = open(&source, &root, &opening);
            let about = drivers.iter().map(|driver| About::of(driver.as_ref())).collect();
            let _ = tell.send(Told::Opened((about, why)));
            read_on(drivers, &questions, &answer);
        };
        // Without a thread its ends of the channels are gone, and whoever asks is told.
        drop(std::thread::Builder::new().name("lowtide-gpu".to_owned()).spawn(work));
        Self { told, opening: "", ask, answers, asked: 0, waits: false }
    }

    /// The drivers, and why there are no others; `None` where they are still being opened after so long.
    pub fn opened(&mut self, wait: Duration) -> Option<Opened> {
        let until = Instant::now() + wait;
        loop {
            match self.told.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Told::Opening(name)) => self.opening = name,
                Ok(Told::Opened(opened)) => return Some(opened),
                Err(RecvTimeoutError::Timeout) => return None,
                Err(RecvTimeoutError::Disconnected) => {
                    return Some((Vec::new(), vec!["reading GPUs failed inside lowtide".to_owned()]));
                }
            }
        }
    }

    /// The driver that was being opened when [`Self::opened`] was asked last.
    pub fn opening(&self) -> &'static str {
        self.opening
    }

    /// Reads all cards; `None` where the answer does not come in time.
    pub fn read(&mut self, pids: &[u32], gone: Vec<Vec<bool>>) -> Option<Answer> {
        let until = Instant::now() + ANSWER;
        if self.waits {
            // It came too late, or does not come yet.
            while let Ok(late) = self.answers.try_recv() {
                self.waits &= late.number != self.asked;
            }
            if self.waits {
                return None;
            }
        }
        self.asked += 1;
        self.waits = self.ask.send(Question { number: self.asked, pids: pids.to_vec(), gone }).is_ok();
        let answer = self.answers.recv_timeout(until.saturating_duration_since(Instant::now())).ok()?;
        self.waits = false;
        Some(answer)
    }
}

fn read_on(mut drivers: Vec<Box<dyn Driver>>, questions: &Receiver<Question>, answer: &Sender<Answer>) {
    while let Ok(Question { number, pids, gone }) = questions.recv() {
        let cpu = sys::thread_cpu_ns();
        let mut readings = Vec::with_capacity(drivers.len());
        for (driver, gone) in drivers.iter_mut().zip(&gone) {
            let mut reading = Reading::default();
            driver.read(&pids, gone, &mut reading);
            readings.push(reading);
        }
        let cpu_s = (sys::thread_cpu_ns() - cpu) as f64 * 1e-9;
        if answer.send(Answer { number, readings, cpu_s }).is_err() {
            return;
        }
    }
}

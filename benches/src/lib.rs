//! What the benches share: the shape of their answers, the zoo's traces with their truth, medians.
//!
//! Each bench is a program that prints one [`Answer`] as JSON; `benches/run.py` shows it and keeps it in BENCHMARKS.md.
//! A *goal* is a number that should hold on an idle machine; it is reported. A *gate* is a ratio to something measured in
//! the same run; where one does not hold, `make bench` fails. No gate is an absolute time.

mod answer;
mod busy;
mod cpu;
mod stats;
mod zoo;

pub use answer::{Answer, Gate, Goal, Table};
pub use busy::{busy_process, busy_start};
pub use cpu::{process_cpu_s, sleeps};
pub use stats::{largest, median, milliseconds};
pub use zoo::{Trace, own_process, traces};

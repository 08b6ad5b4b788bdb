//! ANALYSE: from a stream of events to a verdict.
//!
//! The one idea: *if the low tide rises, it is a leak*. Peaks mean little; what a run comes back down to
//! means everything. Each process, role and count becomes a series of bounded size ([`pyramid`]); of it the
//! low-water envelope is taken ([`floor`]); its last uniform stretch is found and tested ([`judge`]) with an interval
//! that allows for serial correlation ([`trend`]) against growth that stops ([`shape`]); the verdicts of all series
//! become findings, a forecast and a [`lowtide_model::Report`]. Two runs are held against each other by [`compare`]. What a leak would have to be to be seen is found out
//! by trial ([`trial`]).
//!
//! Invariants: no I/O, no clock, no randomness; the cost of [`Analyser::push`] and [`Analyser::report`] does
//! not grow with the length of the run.

mod analyser;
mod ask;
mod asked;
mod blocks;

mod coarse;
pub mod compare;
pub mod curves;
mod cut;
pub mod excursion;
mod explain;
pub mod floor;
mod forecast;
mod gone;
mod gpu;
mod growth;
mod hypotheses;
pub mod judge;
mod looks;
mod marks;
pub mod pyramid;
mod roles;
mod series;
pub mod shape;
mod stretch;
mod summary;
mod suspicion;
pub mod trend;
pub mod trial;
mod unmapped;

pub use analyser::{Analyser, Review};
/// When the second look at a process comes after the first.
pub mod second_look {
    pub use crate::looks::{APART_S, EPOCHS, PART};
}
pub use suspicion::Suspicion;

//! The terminal screen beside a run: curve, low-water mark, verdict so far, forecast, tree.
//!
//! A [`Board`] is what there is to show and what of it is shown; [`draw()`] makes a frame of it and decides nothing: what it
//! says are the report's own words, by the code that prints it. [`Screen`] owns the terminal, and gives it back whatever
//! happens. Where the events come from is the caller's affair.
//!
//! Invariant: nothing foreign reaches the terminal that the report's text has not escaped.

mod board;
mod curve;
mod draw;
mod screen;
mod uses;

pub use board::{Board, Status, View};
pub use draw::{draw, plain};
pub use screen::Screen;

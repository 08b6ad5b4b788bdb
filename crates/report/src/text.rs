//! The report as text for people.
//!
//! The first lines answer: is it a leak, how fast, who, when does it end. Below them stand what they rest on:
//! the process tree, memory by role, what was weighed. A line whose facts are missing is left out.

pub(crate) mod budgets;
pub(crate) mod epochs;
pub(crate) mod gpus;
pub(crate) mod head;
pub(crate) mod logged;
pub(crate) mod nodes;
pub(crate) mod page;
pub(crate) mod phases;
pub(crate) mod rest;
pub(crate) mod snapshots;
mod source;
pub(crate) mod table;
pub(crate) mod tables;
mod tree;
pub(crate) mod words;

use lowtide_model::Report;
use page::Page;
pub(crate) use page::{clean, invisible};
pub use source::{Frame, source_text};
pub use words::pieces;

/// How the text is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Colour by ANSI escape sequences.
    pub color: bool,
    /// Columns of the terminal; less than 40 counts as 40.
    pub width: usize,
    /// Every process, piece of evidence and limit, not only what matters most.
    pub verbose: bool,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { color: false, width: 80, verbose: false }
    }
}

/// The report as text, lines ended by `\n`. No line is wider than asked for unless a single word is, and no
/// control character of a watched process comes through.
#[must_use]
pub fn text(report: &Report, options: &TextOptions) -> String {
    let mut page = Page::new(options.width.max(40), options.color);
    head::verdict(&mut page, report);
    head::blame(&mut page, report, options.verbose);
    head::end_of_memory(&mut page, report);
    head::also(&mut page, report, options.verbose);
    head::expectations(&mut page, report);
    head::seen(&mut page, report, options.verbose);
    tables::processes(&mut page, report, options.verbose);
    tables::roles(&mut page, report);
    gpus::table(&mut page, report, options.verbose);
    phases::table(&mut page, report, options.verbose);
    budgets::table(&mut page, report, options.verbose);
    epochs::table(&mut page, report, options.verbose);
    nodes::table(&mut page, report, options.verbose);
    snapshots::tables(&mut page, &report.snapshots, options.verbose);
    logged::table(&mut page, &report.logged, options.verbose);
    rest::limits(&mut page, report, options.verbose);
    rest::hypotheses(&mut page, report);
    rest::warnings(&mut page, report);
    page.finish()
}

/// A part of the text, for a screen that shows one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The verdict, and when memory ends.
    Answer,
    /// Where it grows, what, who holds it, what proves it, and what was weighed.
    Evidence,
    /// The process tree and memory by role.
    Processes,
    /// Phases, epochs, rounds and nodes.
    Steps,
    /// Limits, how closely it was watched, what could not be seen.
    Rest,
}

/// One part of [`text`], laid out in the same way.
#[must_use]
pub fn part(report: &Report, part: Part, options: &TextOptions) -> String {
    let mut page = Page::new(options.width.max(40), options.color);
    let verbose = options.verbose;
    match part {
        Part::Answer => {
            head::verdict(&mut page, report);
            head::end_of_memory(&mut page, report);
        }
        Part::Evidence => {
            head::blame(&mut page, report, verbose);
            head::also(&mut page, report, verbose);
            rest::hypotheses(&mut page, report);
        }
        Part::Processes => {
            tables::processes(&mut page, report, verbose);
            tables::roles(&mut page, report);
        }
        Part::Steps => {
            phases::table(&mut page, report, verbose);
            budgets::table(&mut page, report, verbose);
            epochs::table(&mut page, report, verbose);
            nodes::table(&mut page, report, verbose);
        }
        Part::Rest => {
            head::seen(&mut page, report, verbose);
            rest::limits(&mut page, report, verbose);
            rest::warnings(&mut page, report);
        }
    }
    page.finish()
}

/// Foreign text with everything escaped that is not plainly visible, cut in its middle to at most so many columns.
#[must_use]
pub fn short(text: &str, columns: usize) -> String {
    page::cut(text, columns)
}

/// Foreign text as in [`short`], of which the beginning stays.
#[must_use]
pub fn beginning(text: &str, columns: usize) -> String {
    page::cut_end(text, columns)
}

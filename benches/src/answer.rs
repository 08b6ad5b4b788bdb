//! What a bench prints.

use std::io::Write;

use serde::Serialize;

/// The whole answer of a bench.
#[derive(Debug, Default, Serialize)]
pub struct Answer {
    /// What was measured.
    pub tables: Vec<Table>,
    /// What should hold.
    pub goals: Vec<Goal>,
    /// What must hold.
    pub gates: Vec<Gate>,
}

/// A table, its cells ready to be read.
#[derive(Debug, Default, Serialize)]
pub struct Table {
    /// What is in it and how it was measured, in a sentence or two.
    pub about: String,
    /// Names of the columns.
    pub header: Vec<String>,
    /// Its lines.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new(about: &str, header: &[&str]) -> Self {
        Self { about: about.to_owned(), header: header.iter().map(ToString::to_string).collect(), rows: Vec::new() }
    }
}

/// A number that should hold on an idle machine.
#[derive(Debug, Serialize)]
pub struct Goal {
    /// What and how much: `analysis of 24 h in 200 ms`.
    pub what: String,
    /// What it was.
    pub got: String,
    /// Whether it held; `None` where it could not be told.
    pub met: Option<bool>,
}

/// A ratio that must hold on any machine.
#[derive(Debug, Serialize)]
pub struct Gate {
    /// What and how much.
    pub what: String,
    /// What it was.
    pub got: String,
    /// Whether it holds.
    pub holds: bool,
}

impl Answer {
    /// Adds a goal.
    pub fn goal(&mut self, what: &str, got: String, met: bool) {
        self.goals.push(Goal { what: what.to_owned(), got, met: Some(met) });
    }

    /// Adds a gate.
    pub fn gate(&mut self, what: &str, got: String, holds: bool) {
        self.gates.push(Gate { what: what.to_owned(), got, holds });
    }

    /// Prints it as JSON.
    ///
    /// # Errors
    /// Nobody reads.
    pub fn print(&self) -> anyhow::Result<()> {
        serde_json::to_writer(std::io::stdout().lock(), self)?;
        Ok(writeln!(std::io::stdout())?)
    }
}

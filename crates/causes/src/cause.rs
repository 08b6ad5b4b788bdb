//! A cause and its page.

use lowtide_lint::check::{Check, Hit};
use serde::Serialize;

use crate::Live;

/// Why memory is kept.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cause {
    /// `LT` and three digits.
    pub id: &'static str,
    /// The same in words, for files and links.
    pub name: &'static str,
    /// One line.
    pub title: &'static str,
    /// What it does to a run.
    pub severity: Severity,
    /// What the program does.
    pub happens: &'static str,
    /// Why that keeps memory.
    pub keeps: &'static str,
    /// How a run shows it.
    pub shows: &'static str,
    /// What to do.
    pub fix: Fix,
    /// When it is none.
    pub harmless: &'static str,
    /// Where it is known from: addresses, and programs of the zoo that show it.
    pub sources: &'static [&'static str],
    /// How well what was seen in a run fits, of 100; none where a run alone cannot show it.
    #[serde(skip)]
    pub signature: Option<fn(&Live) -> Option<u8>>,
    /// Where source code has the pattern; none where source alone cannot show it.
    #[serde(skip)]
    pub rule: Option<fn(&Check) -> Vec<Hit>>,
}

/// A fix with an example.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Fix {
    /// In words.
    pub text: &'static str,
    /// What the example is written in.
    pub language: Language,
    /// The code that does it.
    pub before: &'static str,
    /// The code that does not.
    pub after: &'static str,
}

/// What an example is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// Python.
    Python,
    /// A shell.
    Shell,
}

/// What a cause does to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Grows for as long as the run lasts.
    Leak,
    /// Grows up to a ceiling that may be too high.
    Bounded,
    /// A higher level from some moment on.
    Floor,
    /// Peaks that come back down.
    Spike,
    /// Climbs and falls, again and again.
    Sawtooth,
    /// No growth of its own; makes others possible, or hides them.
    Habit,
    /// Looks like a leak and is none.
    Harmless,
}

impl Severity {
    /// In a word or two.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Leak => "leak",
            Self::Bounded => "growth with a ceiling",
            Self::Floor => "higher floor",
            Self::Spike => "spikes",
            Self::Sawtooth => "sawtooth",
            Self::Habit => "bad habit",
            Self::Harmless => "harmless",
        }
    }
}

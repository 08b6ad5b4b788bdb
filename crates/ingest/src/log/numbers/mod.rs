//! Numbers that a log says of memory, as series: `RAM: 12.3GB`, `ram=12.3G` behind a progress bar, `max mem: 1234`.
//!
//! A line is cut into words and numbers (`token`); a number with a unit of memory and a name that means memory is an amount
//! (`amounts`, `name`); when it was said is told by the line (`clock`). What known programs write in their own way has a file
//! each in `forms`. Amounts of one name and writer, with the same words around them, are a series (`series`).
//!
//! Bounded: so many series, each of so many windows; a number without a unit is refused and said, never guessed.

mod amounts;
mod clock;
mod forms;
mod json;
mod name;
mod series;
mod stages;
mod tables;
mod token;

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use self::amounts::{Amount, INDEXED, Named, Passed};
use self::clock::Clock;
use self::series::{Growing, Key};
use self::tables::Tables;
use self::token::{Sort, Token};
use super::prefix::Source;
use crate::header::{Field, Measure};
use crate::hints::Hint;

pub(crate) use self::amounts::Unit;
pub(crate) use self::clock::Moment;
pub use self::name::{What, Whose};
pub use self::series::{Axis, Series};
pub use self::stages::{Stage, Stages};
pub use self::tables::memory_summary::{Summary, Usage};

/// Series that are kept.
const MOST_SERIES: usize = 192;
/// Shapes of lines that a name is told apart by; beyond it all of the name are one series.
const MOST_SHAPES: usize = 8;
/// Shapes of fewer points are not told apart: nobody judges so few.
const FEWEST: u64 = lowtide_model::LoggedReport::FEWEST;
/// Series of fewer points than this are left out: a number that is said once or twice is mostly a size of something. What JSON
/// says by name is kept, for it may be the last values of a run.
const FEWEST_TOLD: u64 = 3;
/// Names that were passed over and are told.
const MOST_PASSED: usize = 64;
/// Cards whose last table is kept.
const MOST_SUMMARIES: usize = 64;
/// Writers whose clocks are kept.
const MOST_CLOCKS: usize = 256;
/// The longest line that is read for numbers, bytes.
const LONGEST: usize = 4096;

/// The form of lines that are JSON objects.
const JSON: &str = "JSON lines";

/// A line without its prefix, for the forms.
pub(super) struct Line<'a> {
    text: &'a str,
    tokens: &'a [Token],
    /// What the card has, bytes, as the log said before.
    card: Option<f64>,
}

/// Everything that was found so far.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    series: HashMap<Key, Growing>,
    /// Shapes of each name.
    shapes: HashMap<Key, Vec<u64>>,
    clocks: HashMap<u64, Clock>,
    tables: HashMap<u64, Tables>,
    passed: BTreeMap<(String, &'static str), (u64, u64)>,
    /// Amounts beyond the series that are kept.
    more: u64,
    named: Vec<Named>,
    /// What a card has, bytes, where the log said.
    card: Option<f64>,
    stages: Stages,
    /// The last table of `torch.cuda.memory_summary()` of each card.
    summaries: BTreeMap<u32, Summary>,
}

/// What every line of interest has.
static WORDS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let words = ["ram", "mem", "rss", "uss", "pss", "gpu", "cuda", "alloc", "reserved", "hbm", "swap", "resident", "gb_free"];
    AhoCorasick::builder().ascii_case_insensitive(true).build(words).expect("a correct pattern")
});
/// What lines have that tell of an end: their numbers are of one request, or of one moment.
static ENDS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let words = [
        "out of memory",
        "outofmemory",
        "tried to allocate",
        "oom",
        "total-vm",
        "failcnt",
        "kill",
        "unable to allocate",
        "can't allocate",
    ];
    AhoCorasick::builder().ascii_case_insensitive(true).build(words).expect("a correct pattern")
});

impl Numbers {
    /// With what the user says of names; what is said of other sorts of columns has no meaning in a log.
    pub(crate) fn new(hints: Vec<Hint>) -> Self {
        let memory =
            |hint: &Hint| matches!(hint.field, Field::Measure(measure) if measure.is_memory() || measure == Measure::Used);
        let named = |hint: Hint| Named { name: hint.column, unit: hint.factor.map(Unit::Exact) };
        Self { named: hints.into_iter().filter(memory).map(named).collect(), ..Self::default() }
    }

    /// A number of a file of metrics, by its name there: `place` counts them from 1.
    pub(crate) fn scalar(&mut self, form: &'static str, name: &str, unit: Option<Unit>, value: f64, digit: f64, moment: &Moment) {
        let (mut amounts, mut passed) = (Vec::new(), Vec::new());
        let known = unit.map(|unit| Named { name: name.to_owned(), unit: Some(unit) });
        let named = known.as_ref().map_or(self.named.as_slice(), std::slice::from_ref);
        amounts::by_name(name, value, digit, 0, named, &mut amounts, &mut passed);
        let entity = Entity::of_name(name);
        for amount in &amounts {
            self.push(0, form, &entity, 1, amount, moment);
        }
        passed.into_iter().for_each(|passed| self.pass(passed, moment.line));
    }

    /// One line without its prefix.
    pub(super) fn line(&mut self, lane: u64, bytes: &[u8], number: u64, source: &Source) {
        if bytes.len() > LONGEST || self.table(lane, bytes, number, source) {
            return;
        }
        // Times of lines that say nothing of memory stand for those behind them.
        if !WORDS.is_match(bytes) && self.named.is_empty() {
            if source.time_s.is_some() || clock::is_date(bytes) {
                let own_s = source.time_s.or_else(|| clock::time_in(&String::from_utf8_lossy(bytes)));
                self.clock(lane, own_s);
            }
            return;
        }
        if ENDS.is_match(bytes) {
            return;
        }
        let text = String::from_utf8_lossy(bytes);
        if self.stages.line(&text, number) {
            self.clock(lane, source.time_s);
            return;
        }
        self.card = forms::card(&text).or(self.card);
        let (mut amounts, mut passed) = (Vec::new(), Vec::new());
        let mut moment = Moment { line: number, ..Moment::default() };
        if json::read(&text, &self.named, &mut moment, &mut amounts, &mut passed) {
            moment.time_s = self.clock(lane, moment.time_s.or(source.time_s));
            let entity = Entity::of_writer(source);
            amounts.iter().for_each(|amount| self.push(lane, JSON, &entity, 1, amount, &moment));
            passed.into_iter().for_each(|passed| self.pass(passed, number));
            return;
        }
        let tokens = token::cut(&text);
        moment.time_s = self.clock(lane, source.time_s.or_else(|| clock::time_in(&text)));
        moment.elapsed_s = clock::elapsed(&text);
        clock::counts(&text, &tokens, &mut moment);
        let line = Line { text: &text, tokens: &tokens, card: self.card };
        let form = forms::read(&line, &mut amounts).unwrap_or_else(|| {
            amounts::find(&text, &tokens, &self.named, &mut amounts, &mut passed);
            forms::LINES
        });
        for amount in amounts {
            let entity = Entity::of(&line, amount.at, source);
            let shape = shape(&line, amount.at);
            self.push(lane, form, &entity, shape, &amount, &moment);
        }
        passed.into_iter().for_each(|passed| self.pass(passed, number));
    }

    /// Whether a line belongs to a table that a program prints; its numbers are taken then.
    fn table(&mut self, lane: u64, bytes: &[u8], number: u64, source: &Source) -> bool {
        if self.tables.len() >= MOST_CLOCKS && !self.tables.contains_key(&lane) {
            return false;
        }
        let Ok(text) = std::str::from_utf8(bytes) else { return false };
        let Some(rows) = self.tables.entry(lane).or_default().line(text) else { return false };
        let time_s = self.clock(lane, rows.time_s.or(source.time_s));
        let moment = Moment { line: number, time_s, elapsed_s: rows.elapsed_s, step: rows.step, epoch: rows.epoch };
        for (amount, entity) in &rows.amounts {
            self.push(lane, rows.form, entity, 1, amount, &moment);
        }
        if let Some(summary) = rows.summary {
            self.summary(summary, number);
        }
        if let Some((name, why)) = rows.passed {
            self.pass(Passed { name: name.to_owned(), why }, number);
        }
        true
    }

    /// The last table of each card; a table is told by its parts as they come.
    fn summary(&mut self, mut summary: Summary, line: u64) {
        if self.summaries.len() >= MOST_SUMMARIES && !self.summaries.contains_key(&summary.device) {
            return;
        }
        let known = self.summaries.entry(summary.device).or_default();
        // `Allocated memory` is the first row.
        let first = summary.active.is_none() && summary.requested.is_none() && summary.reserved.is_none();
        summary.tables = known.tables + u64::from(first || known.tables == 0);
        summary.line = if first || known.tables == 0 { line } else { known.line };
        *known = summary;
    }

    /// The last table of each card.
    pub(crate) fn summaries(&self) -> Vec<Summary> {
        self.summaries.values().filter(|summary| summary.allocated.is_some() || summary.reserved.is_some()).cloned().collect()
    }

    fn clock(&mut self, lane: u64, own_s: Option<f64>) -> Option<f64> {
        if self.clocks.len() >= MOST_CLOCKS && !self.clocks.contains_key(&lane) {
            return own_s;
        }
        self.clocks.entry(lane).or_default().now(own_s)
    }

    fn pass(&mut self, passed: Passed, line: u64) {
        let key = (passed.name, passed.why);
        if self.passed.len() < MOST_PASSED || self.passed.contains_key(&key) {
            self.passed.entry(key).or_insert((line, 0)).1 += 1;
        }
    }

    /// Into the series of its shape, and into the one of all shapes of its name.
    fn push(&mut self, lane: u64, form: &'static str, entity: &Entity, shape: u64, amount: &Amount, moment: &Moment) {
        let name = amount.name.to_ascii_lowercase();
        let percent = amount.unit == Unit::Percent;
        let whole = Key { lane, entity: entity.text.clone(), name, percent, form, shape: 0 };
        if self.shapes.len() >= MOST_SERIES && !self.shapes.contains_key(&whole) {
            self.more += 1;
            return;
        }
        let new = || Growing::new(amount, form, entity.rank, entity.device, entity.pid, moment.line);
        self.series.entry(whole.clone()).or_insert_with(new).push(amount, moment);
        let shapes = self.shapes.entry(whole.clone()).or_default();
        if !shapes.contains(&shape) {
            if shapes.len() > MOST_SHAPES {
                return;
            }
            shapes.push(shape);
        }
        let key = Key { shape, ..whole };
        if self.series.contains_key(&key) || self.series.len() < 3 * MOST_SERIES {
            self.series.entry(key).or_insert_with(new).push(amount, moment);
        }
    }

    /// The series, those that came first in the log first, what stages of a run took, and what is to be said of the rest.
    pub(crate) fn finish(mut self, said: &mut Vec<String>) -> (Vec<Series>, Vec<Stage>) {
        let mut all: Vec<Series> = Vec::new();
        for (whole, shapes) in std::mem::take(&mut self.shapes) {
            let Some(together) = self.series.remove(&whole) else { continue };
            let apart: Vec<Growing> =
                shapes.iter().filter_map(|shape| self.series.remove(&Key { shape: *shape, ..whole.clone() })).collect();
            // Told apart where few shapes make up nearly all of it: before and after a validation, say.
            let told: u64 = apart.iter().map(Growing::points).filter(|points| *points >= FEWEST).sum();
            let few = shapes.len() <= MOST_SHAPES && told * 10 >= together.points() * 9;
            let kept = if few { apart } else { vec![together] };
            let fewest = if whole.form == JSON { 1 } else { FEWEST_TOLD };
            all.extend(kept.into_iter().filter(|one| one.points() >= fewest).map(|one| one.finish(whole.entity.clone())));
        }
        all.sort_by(|a, b| (a.lines.0, &a.name, &a.entity).cmp(&(b.lines.0, &b.name, &b.entity)));
        self.say(said);
        (all, self.stages.finish())
    }

    fn say(&self, said: &mut Vec<String>) {
        for ((name, why), (line, count)) in self.passed.iter().filter(|(_, (_, count))| *count >= FEWEST) {
            let name = crate::text::cut(name);
            let mend = if *why == amounts::NO_UNIT { ": say it with --column memory=NAME:MB" } else { "" };
            said.push(format!("`{name}` ({count} times, first in line {line}) was left out: {why}{mend}"));
        }
        if self.more > 0 {
            said.push(format!("{} numbers of further names were left out: {MOST_SERIES} series are kept", self.more));
        }
    }
}

/// Which of several a number is about.
#[derive(Debug, Default)]
struct Entity {
    text: String,
    rank: Option<u32>,
    device: Option<u32>,
    pid: Option<u32>,
}

impl Entity {
    /// Who wrote the line, where nothing else is said.
    fn of_writer(source: &Source) -> Self {
        let text = source.rank.map_or_else(|| source.host.clone(), |rank| format!("rank {rank}"));
        Self { text, rank: source.rank, pid: source.pid, device: None }
    }

    /// By a metric's name: `gpu.0.memoryAllocatedBytes`.
    fn of_name(name: &str) -> Self {
        // Points are no decimal ones there.
        let text = name.replace('.', " ");
        let tokens = token::cut(&text);
        Self::of(&Line { text: &text, tokens: &tokens, card: None }, usize::MAX, &Source::default())
    }

    fn of(line: &Line<'_>, before: usize, source: &Source) -> Self {
        let mut entity = Self { rank: source.rank, pid: source.pid, ..Self::default() };
        let tokens = line.tokens;
        for (at, token) in tokens.iter().enumerate().take_while(|(_, token)| token.start < before) {
            if token.sort != Sort::Word {
                continue;
            }
            let word = token.text(line.text).to_ascii_lowercase();
            let (word, digits) = match word.find(|c: char| c.is_ascii_digit()) {
                Some(at) if word[at..].bytes().all(|b| b.is_ascii_digit()) => {
                    (word[..at].trim_end_matches('_').to_owned(), word[at..].parse().ok())
                }
                _ => (word, None),
            };
            if matches!(word.as_str(), "step" | "epoch") || !INDEXED.contains(&word.as_str()) {
                continue;
            }
            let index = digits.or_else(|| {
                let next = tokens[at + 1..].iter().take(3).position(|token| !token.is_mark(b":=#-["))? + at + 1;
                let ended =
                    tokens.get(next + 1).is_none_or(|token| (token.sort != Sort::Word || token.gap) && !token.is_mark(b"%"));
                // A value, not an index: the amount itself, or a number with a unit.
                (tokens[next].start < before && ended).then(|| tokens[next].count())?
            });
            let Some(index) = index.filter(|index| (0.0..4e9).contains(index)) else { continue };
            let number = Some(index as u32);
            match word.as_str() {
                "rank" | "local_rank" => entity.rank = number,
                "gpu" | "cuda" | "device" | "card" | "hip" | "xpu" => entity.device = number,
                "pid" => entity.pid = number,
                _ => {}
            }
            let part = format!("{word} {index:.0}");
            if !entity.text.contains(&part) && entity.text.len() < 64 {
                entity.text.push_str(if entity.text.is_empty() { "" } else { ", " });
                entity.text.push_str(&part);
            }
        }
        if entity.text.is_empty() {
            entity.text = Self::of_writer(source).text;
        }
        entity
    }
}

/// The words of a line up to a number, without those that are values: FNV-1a.
fn shape(line: &Line<'_>, before: usize) -> u64 {
    let words = line
        .tokens
        .iter()
        .take_while(|token| token.start < before)
        .filter(|token| token.sort == Sort::Word && token.end - token.start >= 3);
    let hash = words
        .map(|token| token.text(line.text))
        .filter(|word| !matches!(word.to_ascii_lowercase().as_str(), "nan" | "inf"))
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, word| {
            let letters = word.bytes().filter(u8::is_ascii_alphabetic).map(|b| b.to_ascii_lowercase());
            letters.chain([b' ']).fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
        });
    hash.max(1)
}

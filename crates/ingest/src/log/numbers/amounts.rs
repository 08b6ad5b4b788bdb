//! The amounts of memory in one line, each with its name and unit.

use super::name::{Meaning, What, Whose, meaning};
use super::token::{Sort, Token};
use crate::header::Unit as Said;
use crate::words;

/// Why a number without a unit is left out.
pub(super) const NO_UNIT: &str = "its unit is not said";
/// Words before a number that may belong to its name.
const MOST_WORDS: usize = 6;

/// In which unit a number stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unit {
    /// Bytes in one, beyond doubt.
    Exact(f64),
    /// `MB` and `GB`: decimal by their names, binary in what many programs write. Bytes in one by the name.
    Decimal(f64),
    /// A share of the whole.
    Percent,
}

impl Unit {
    /// What one is: bytes, or one hundredth.
    pub(super) fn factor(self) -> f64 {
        match self {
            Self::Exact(factor) | Self::Decimal(factor) => factor,
            Self::Percent => 1.0,
        }
    }
}

/// An amount of memory that a line says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Amount {
    /// As it stands in the line.
    pub name: String,
    pub whose: Whose,
    pub what: What,
    pub value: f64,
    /// The value of its last digit, in its unit.
    pub last_digit: f64,
    pub unit: Unit,
    /// What there is, in the same unit: `12.3/31.2 GB`.
    pub limit: Option<f64>,
    /// Where it begins in the line.
    pub at: usize,
}

/// What was found of a name of memory without an amount that can be taken.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Passed {
    pub name: String,
    pub why: &'static str,
}

/// A unit as a word behind a number, or in a name.
pub(super) fn unit_of(word: &str, adjacent: bool) -> Option<Unit> {
    const KIB: f64 = 1024.0;
    let lower = word.to_ascii_lowercase();
    Some(match lower.as_str() {
        "kib" => Unit::Exact(KIB),
        "mib" => Unit::Exact(KIB * KIB),
        "gib" => Unit::Exact(KIB * KIB * KIB),
        "tib" => Unit::Exact(KIB * KIB * KIB * KIB),
        "bytes" | "byte" => Unit::Exact(1.0),
        // The kernel's kB, and everything that reads it, means 1024.
        "kb" => Unit::Exact(KIB),
        "mb" | "mbytes" | "megabytes" => Unit::Decimal(1e6),
        "gb" | "gbytes" | "gigabytes" => Unit::Decimal(1e9),
        "tb" => Unit::Decimal(1e12),
        // `12 B` is a batch as well; `12.3G` is none.
        "b" if adjacent => Unit::Exact(1.0),
        "k" if adjacent => Unit::Exact(KIB),
        "m" if adjacent => Unit::Exact(KIB * KIB),
        "g" if adjacent => Unit::Exact(KIB * KIB * KIB),
        "t" if adjacent => Unit::Exact(KIB * KIB * KIB * KIB),
        _ => return None,
    })
}

/// A name that the user says is memory (`--column memory=NAME:UNIT`), and its unit where one is given.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Named {
    pub name: String,
    pub unit: Option<Unit>,
}

/// All amounts of a line, and names of memory whose number is none.
pub(super) fn find(line: &str, tokens: &[Token], named: &[Named], amounts: &mut Vec<Amount>, passed: &mut Vec<Passed>) {
    let mut totals: Vec<usize> = Vec::new();
    for at in 0..tokens.len() {
        if totals.contains(&at) {
            continue;
        }
        let Sort::Number { value, last_digit, signed, .. } = tokens[at].sort else { continue };
        let Some(behind) = Behind::of(line, tokens, at) else { continue };
        totals.extend(behind.total_at);
        // What a limit is was read with its amount.
        if at > 0
            && tokens[at - 1].is_mark(b"/")
            && at > 1
            && !matches!(tokens[at - 2].sort, Sort::Mark(b')' | b'"' | b'\''))
            && before_slash(line, tokens, at - 1)
        {
            continue;
        }
        let front = name_before(line, tokens, at);
        let wanted = named.iter().find(|named| front.is_called(&named.name));
        let unit = behind.unit.or_else(|| wanted.and_then(|named| named.unit)).or_else(|| unit_in_name(&front.all));
        let mut name = front.name;
        let mut what = meaning(&name, unit.is_some());
        if let Some(wanted) = wanted {
            name.clone_from(&wanted.name);
            what = match what {
                Meaning::Memory(whose, _) => Meaning::Memory(whose, What::Used),
                _ => Meaning::Memory(Whose::Unsaid, What::Used),
            };
        }
        if what == Meaning::Nothing && behind.unit.is_some() && unit != Some(Unit::Percent) {
            name = name_behind(line, tokens, behind.next);
            what = meaning(&name, true);
        }
        // `Memory: 3.1 GB allocated, 4.0 GB reserved`.
        if let Meaning::Memory(..) = what
            && let Some(word) = further(line, tokens, behind.next)
            && !words::words(&name).contains(&word.to_ascii_lowercase())
        {
            let longer = format!("{name} {word}");
            (what, name) = (meaning(&longer, true), longer);
        }
        let place = tokens[at].start;
        // `RAM: 3 GB free`.
        if let (Meaning::Memory(..), Some(why)) = (what, other_than_used(line, tokens, behind.next)) {
            what = Meaning::Not(why);
        }
        match (what, unit) {
            (Meaning::Nothing, _) => {}
            (Meaning::Not(why), _) => passed.push(Passed { name, why }),
            (Meaning::Memory(..), None) if front.tied => passed.push(Passed { name, why: NO_UNIT }),
            (Meaning::Memory(..), None) => {}
            (Meaning::Memory(..), Some(_)) if signed => passed.push(Passed { name, why: "a difference, not what is in use" }),
            (Meaning::Memory(whose, what), Some(unit)) => {
                amounts.push(Amount { name, whose, what, value, last_digit, unit, limit: behind.limit, at: place });
            }
        }
    }
}

/// A number whose name is a key or a tag: its unit stands in the name, if anywhere.
pub(super) fn by_name(
    name: &str,
    value: f64,
    last_digit: f64,
    at: usize,
    named: &[Named],
    amounts: &mut Vec<Amount>,
    passed: &mut Vec<Passed>,
) {
    let wanted = named.iter().find(|named| name == named.name || name.rsplit(' ').next() == Some(&named.name));
    let unit = wanted.and_then(|named| named.unit).or_else(|| unit_in_name(name));
    let meaning = match (meaning(name, unit.is_some()), wanted) {
        (Meaning::Memory(whose, _), Some(_)) => Meaning::Memory(whose, What::Used),
        (_, Some(_)) => Meaning::Memory(Whose::Unsaid, What::Used),
        (meaning, None) => meaning,
    };
    match (meaning, unit) {
        (Meaning::Memory(whose, what), Some(unit)) if value >= 0.0 => {
            amounts.push(Amount { name: name.to_owned(), whose, what, value, last_digit, unit, limit: None, at });
        }
        (Meaning::Memory(..), None) => passed.push(Passed { name: name.to_owned(), why: NO_UNIT }),
        (Meaning::Not(why), _) => passed.push(Passed { name: name.to_owned(), why }),
        _ => {}
    }
}

/// Whether what stands before a slash is a number with or without a unit.
fn before_slash(line: &str, tokens: &[Token], slash: usize) -> bool {
    let Some(before) = slash.checked_sub(1).map(|at| &tokens[at]) else { return false };
    match before.sort {
        Sort::Number { .. } => true,
        Sort::Word => {
            let number = slash.checked_sub(2).is_some_and(|at| matches!(tokens[at].sort, Sort::Number { .. }));
            number && unit_of(before.text(line), !before.gap).is_some()
        }
        _ => false,
    }
}

/// A word behind an amount that belongs to it, not to the next number.
fn word_behind<'a>(line: &'a str, tokens: &[Token], next: usize) -> Option<&'a str> {
    let word = tokens.get(next).filter(|token| token.sort == Sort::Word)?.text(line);
    let of_the_next = tokens
        .get(next + 1)
        .is_some_and(|token| token.is_mark(b":=") || matches!(token.sort, Sort::Number { .. } | Sort::Broken));
    (!of_the_next).then_some(word)
}

/// A word behind an amount that says more of it than the name before it.
fn further<'a>(line: &'a str, tokens: &[Token], next: usize) -> Option<&'a str> {
    const MORE: [&str; 6] = ["allocated", "reserved", "cached", "peak", "max", "maximum"];
    word_behind(line, tokens, next).filter(|word| MORE.contains(&word.to_ascii_lowercase().as_str()))
}

/// A word behind an amount that says that it is not in use.
fn other_than_used(line: &str, tokens: &[Token], next: usize) -> Option<&'static str> {
    let word = word_behind(line, tokens, next)?.to_ascii_lowercase();
    match word.as_str() {
        "free" | "available" | "avail" | "left" | "remaining" | "unused" => Some("what is left, not what is in use"),
        "total" | "capacity" | "installed" => Some("what there is, not what is in use"),
        _ => None,
    }
}

/// What stands behind a number.
struct Behind {
    unit: Option<Unit>,
    limit: Option<f64>,
    /// The number that is what there is: `68.90 GB allocated of 79.19 GB`.
    total_at: Option<usize>,
    /// The token behind all of it.
    next: usize,
}

impl Behind {
    /// `None` where it is a rate or something else than an amount.
    fn of(line: &str, tokens: &[Token], at: usize) -> Option<Self> {
        let unit_at = |at: usize| {
            let token = tokens.get(at)?;
            match token.sort {
                Sort::Word => unit_of(token.text(line), !token.gap),
                Sort::Mark(b'%') => Some(Unit::Percent),
                _ => None,
            }
        };
        let mut next = at + 1;
        let mut unit = unit_at(next);
        next += usize::from(unit.is_some());
        // `3.5it/s`, `12x`: the number of something else.
        if unit.is_none() && tokens.get(next).is_some_and(|token| token.sort == Sort::Word && !token.gap) {
            return None;
        }
        let mut limit = None;
        if tokens.get(next).is_some_and(|token| token.is_mark(b"/")) {
            match tokens.get(next + 1).map(|token| token.sort) {
                Some(Sort::Number { value, .. }) => {
                    let of_limit = unit_at(next + 2);
                    limit = match (unit, of_limit) {
                        (None, Some(of_limit)) => {
                            unit = Some(of_limit);
                            Some(value)
                        }
                        (Some(unit), Some(of_limit)) => Some(value * of_limit.factor() / unit.factor()),
                        // `3.2/24.0` says its unit in the name, or not at all.
                        (None, None) => Some(value),
                        (Some(_), None) => None,
                    };
                    next += 2 + usize::from(of_limit.is_some());
                }
                // `12 MB/s`.
                Some(Sort::Word) if unit.is_some() && !tokens[next].gap => return None,
                _ => {}
            }
        }
        let total_at = unit.filter(|_| limit.is_none()).and_then(|_| Self::total(line, tokens, next));
        if let (Some(unit), Some(at)) = (unit.filter(|unit| *unit != Unit::Percent), total_at)
            && let Sort::Number { value, .. } = tokens[at].sort
        {
            limit = unit_at(at + 1).map(|of_limit| value * of_limit.factor() / unit.factor());
        }
        Some(Self { unit, limit, total_at, next })
    }

    /// The number behind `of`, with what may stand before that: `allocated of`, `in use out of`.
    fn total(line: &str, tokens: &[Token], mut at: usize) -> Option<usize> {
        const BETWEEN: [&str; 6] = ["allocated", "used", "in", "use", "reserved", "out"];
        const MORE: [&str; 4] = ["allocated", "reserved", "cached", "used"];
        let word = |at: usize| {
            tokens.get(at).filter(|token| token.sort == Sort::Word).map(|token| token.text(line).to_ascii_lowercase())
        };
        let limit = at + BETWEEN.len();
        while at < limit && word(at).is_some_and(|word| BETWEEN.contains(&word.as_str())) {
            at += 1;
        }
        let number = (word(at)? == "of").then_some(at + 1)?;
        let unit = word(number + 1).and_then(|word| unit_of(&word, true)).filter(|unit| *unit != Unit::Percent)?;
        // `3 GB allocated of 4 GB reserved` has two amounts.
        let another = word(number + 2).is_some_and(|word| MORE.contains(&word.as_str()));
        (matches!(tokens.get(number)?.sort, Sort::Number { .. }) && !another && unit.factor() > 1.0).then_some(number)
    }
}

/// A name as found before a number.
struct Front {
    /// The words that say what it is.
    name: String,
    /// All words that may belong to it, its unit among them.
    all: String,
    /// `:` or `=` ties it to the number.
    tied: bool,
}

/// Words without which a name says the same.
const FILLERS: [&str; 14] =
    ["is", "now", "at", "was", "currently", "of", "to", "by", "in", "the", "about", "around", "so", "far"];

/// Words that make up the names of memory.
fn is_vocabulary(word: &str) -> bool {
    const WORDS: [&str; 66] = [
        "ram",
        "rss",
        "uss",
        "pss",
        "mem",
        "memory",
        "vram",
        "hbm",
        "gpu",
        "cuda",
        "hip",
        "xpu",
        "mps",
        "npu",
        "nvidia",
        "cpu",
        "allocated",
        "reserved",
        "alloc",
        "cached",
        "active",
        "used",
        "usage",
        "use",
        "using",
        "util",
        "utilization",
        "max",
        "peak",
        "maximum",
        "hwm",
        "total",
        "free",
        "available",
        "avail",
        "left",
        "remaining",
        "system",
        "host",
        "machine",
        "node",
        "sys",
        "process",
        "proc",
        "trainer",
        "worker",
        "current",
        "resident",
        "set",
        "size",
        "virtual",
        "swap",
        "limit",
        "capacity",
        "delta",
        "diff",
        "change",
        "increase",
        "growth",
        "avg",
        "average",
        "mean",
        "consumption",
        "footprint",
        "torch",
        "percent",
    ];
    words::words(word).iter().any(|part| {
        WORDS.contains(&part.as_str())
            || matches!(
                part.as_str(),
                "memused"
                    | "memusage"
                    | "maxrss"
                    | "maxmem"
                    | "vmrss"
                    | "vmhwm"
                    | "vmsize"
                    | "vmpeak"
                    | "vms"
                    | "requested"
                    | "needed"
                    | "freed"
                    | "leaked"
                    | "estimated"
                    | "bandwidth"
                    | "device"
            )
    })
}

impl Front {
    /// Whether its words end with those of a name that the user gave.
    fn is_called(&self, wanted: &str) -> bool {
        let ends = |all: &str| {
            let rest = all.len().checked_sub(wanted.len()).filter(|at| all.is_char_boundary(*at));
            rest.is_some_and(|at| all[at..].eq_ignore_ascii_case(wanted) && (at == 0 || all[..at].ends_with(' ')))
        };
        !wanted.is_empty() && ends(&self.all)
    }
}

fn name_before(line: &str, tokens: &[Token], at: usize) -> Front {
    let mut front = Front { name: String::new(), all: String::new(), tied: false };
    let mut found: Vec<&Token> = Vec::new();
    let mut index = at;
    while index > 0 && found.len() < MOST_WORDS {
        index -= 1;
        let token = &tokens[index];
        match token.sort {
            Sort::Word if behind_number(line, tokens, index) => break,
            Sort::Word => found.push(token),
            Sort::Mark(b':' | b'=') => front.tied |= found.is_empty(),
            Sort::Mark(
                b'(' | b')' | b'[' | b']' | b'"' | b'\'' | b'/' | b'-' | b'.' | b'#' | b'~' | b'<' | b'>' | b'@' | b'*' | b'+',
            ) => {}
            // `GPU 0: 3 GB`, `cuda:0 allocated`: which one it is, not a value.
            Sort::Number { whole: true, .. } if is_index(line, tokens, index) => {}
            _ => break,
        }
    }
    found.reverse();
    front.all = found.iter().map(|token| token.text(line)).collect::<Vec<_>>().join(" ");
    front.name = tidy(line, &found);
    front
}

/// The last words that make up a name.
fn tidy(line: &str, found: &[&Token]) -> String {
    let text = |token: &Token| token.text(line).to_owned();
    let filler = |token: &&Token| {
        FILLERS.contains(&token.text(line).to_ascii_lowercase().as_str()) || unit_of(token.text(line), false).is_some()
    };
    let mut words: Vec<String> = Vec::new();
    for token in found.iter().rev() {
        if is_vocabulary(token.text(line)) {
            words.push(text(token));
        } else if !filler(token) {
            break;
        }
    }
    words.reverse();
    words.join(" ")
}

/// A word that is the unit of the number before it.
fn behind_number(line: &str, tokens: &[Token], index: usize) -> bool {
    let token = &tokens[index];
    let number = index.checked_sub(1).is_some_and(|before| matches!(tokens[before].sort, Sort::Number { .. } | Sort::Broken));
    number && (!token.gap || unit_of(token.text(line), false).is_some())
}

/// The words before a number that say that it counts which one.
pub(super) const INDEXED: [&str; 16] = [
    "gpu",
    "cuda",
    "device",
    "rank",
    "worker",
    "node",
    "process",
    "proc",
    "pid",
    "card",
    "hip",
    "xpu",
    "local_rank",
    "actor",
    "epoch",
    "step",
];

/// A number that says which one of several something is.
fn is_index(line: &str, tokens: &[Token], index: usize) -> bool {
    if tokens.get(index + 1).is_some_and(|next| !next.gap && next.sort == Sort::Word || next.is_mark(b"%")) {
        return false;
    }
    let mut before = index;
    for _ in 0..2 {
        let Some(at) = before.checked_sub(1) else { return false };
        before = at;
        match tokens[at].sort {
            Sort::Mark(b':' | b'=' | b'#' | b'-' | b'[' | b' ') => {}
            Sort::Word => return INDEXED.contains(&tokens[at].text(line).to_ascii_lowercase().as_str()),
            _ => return false,
        }
    }
    false
}

/// `of RAM used` behind `12.3 GB`.
fn name_behind(line: &str, tokens: &[Token], from: usize) -> String {
    let words: Vec<&Token> = tokens.iter().skip(from).take(4).take_while(|token| token.sort == Sort::Word).collect();
    let words: Vec<&str> = words
        .iter()
        .map(|token| token.text(line))
        .filter(|word| is_vocabulary(word) || FILLERS.contains(&word.to_ascii_lowercase().as_str()))
        .filter(|word| !FILLERS.contains(&word.to_ascii_lowercase().as_str()))
        .collect();
    words.join(" ")
}

/// `memory (MB)`, `rss_mb`.
fn unit_in_name(name: &str) -> Option<Unit> {
    let words = words::words(name);
    if words.iter().any(|word| matches!(word.as_str(), "percent" | "pct" | "percentage")) {
        return Some(Unit::Percent);
    }
    match words::unit_of(&words) {
        // A single letter is a part of many names.
        Said::Named(factor) if words.iter().any(|word| word.len() > 1 && unit_of(word, false).is_some()) => {
            Some(Unit::Exact(factor))
        }
        Said::Megabytes(factor) => Some(Unit::Decimal(factor)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::token::cut;
    use super::*;

    fn amounts(line: &str) -> Vec<(String, f64, f64)> {
        let (mut amounts, mut passed) = (Vec::new(), Vec::new());
        find(line, &cut(line), &[], &mut amounts, &mut passed);
        amounts.into_iter().map(|amount| (amount.name, amount.value, amount.unit.factor())).collect()
    }

    const MIB: f64 = 1_048_576.0;
    const GIB: f64 = 1024.0 * MIB;

    #[test]
    fn names_before_and_behind() {
        for (line, name, value, factor) in [
            ("RAM: 12.3GB", "RAM", 12.3, 1e9),
            ("[step 100] loss=0.5 ram=12.3G", "ram", 12.3, GIB),
            ("Epoch 1: 45%|██  | 45/100 [00:12<00:15, 3.5it/s, loss=0.5, ram=0.12G]", "ram", 0.12, GIB),
            ("iter 5: loss 0.123, Memory usage: 123.45 MiB", "Memory usage", 123.45, MIB),
            ("Memory usage is now at 12.3 GB", "Memory usage", 12.3, 1e9),
            ("epoch 3 step 10 | loss 0.5 | RSS: 123.4 MB", "RSS", 123.4, 1e6),
            ("GPU 0: 1234 MiB / 24576 MiB", "GPU", 1234.0, MIB),
            ("cuda:0 allocated 1.2GiB", "cuda allocated", 1.2, GIB),
            ("Using 12.3 GB of RAM", "RAM", 12.3, 1e9),
            ("VmRSS:\t  123456 kB", "VmRSS", 123_456.0, 1024.0),
            ("rss_mb=123.4 loss=1", "rss_mb", 123.4, 1e6),
            ("Memory (MB): 512", "Memory", 512.0, 1e6),
            ("max_mem: 1234M", "max_mem", 1234.0, MIB),
            ("System memory: 45.2%", "System memory", 45.2, 1.0),
            ("RAM 3.2/24.0 GB", "RAM", 3.2, 1e9),
            ("{'loss': 0.5, 'ram_gb': 12.3}", "ram_gb", 12.3, 1e9),
            ("RAM used 12 GB free 3 GB", "RAM used", 12.0, 1e9),
            ("Mem usage: 1,234.5 MB", "Mem usage", 1234.5, 1e6),
            ("Memory: 953.7MB reserved", "Memory reserved", 953.7, 1e6),
            ("VRAM 3.1 GiB peak", "VRAM peak", 3.1, GIB),
            ("RAM 12 GB reserved: 3", "RAM", 12.0, 1e9),
            ("[step 3] GPU: 68.90 GB allocated of 79.19 GB", "GPU allocated", 68.9, 1e9),
            ("VRAM: 3.1 GiB used out of 24.0 GiB", "VRAM", 3.1, GIB),
            ("GPU memory: 12.0 GB in use of 24 GB (50.0%)", "GPU memory", 12.0, 1e9),
        ] {
            assert_eq!(amounts(line), [(name.to_owned(), value, factor)], "{line}");
        }
    }

    #[test]
    fn what_is_no_amount_in_use() {
        for line in [
            "free memory: 3 GB",
            "RAM: 3 GB free",
            "MiB Mem : 24043.4 total,  1000.0 free",
            "GPU 0: 80 GiB total",
            "memory bandwidth 12 GB/s",
            "downloaded 12 MB in 3 s",
            "RAM grew by: +12 MB",
            "Memory delta: +12.5 MB",
            "mem 45 steps",
            "params: 12.5M",
            "memory: 1,234 MB",
            "Epoch: [0] eta: 0:01:00 lr: 0.01",
            "model size 12 MB",
            "batch 12 of 30 GB dataset",
        ] {
            assert_eq!(amounts(line), [], "{line}");
        }
    }

    #[test]
    fn a_limit_is_told_and_is_no_amount_of_its_own() {
        let (mut found, mut passed) = (Vec::new(), Vec::new());
        let line = "loss=0.3 RAM: 3.2/23.4 GB (13.7%)";
        find(line, &cut(line), &[], &mut found, &mut passed);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].value, found[0].limit), (3.2, Some(23.4)));
        found.clear();
        let line = "GPU: 68.90 GB allocated of 79.19 GB";
        find(line, &cut(line), &[], &mut found, &mut passed);
        assert_eq!(found.iter().map(|one| (one.value, one.limit)).collect::<Vec<_>>(), [(68.9, Some(79.19))]);
        found.clear();
        let line = "RAM: 3 GB allocated of 4 GB reserved";
        find(line, &cut(line), &[], &mut found, &mut passed);
        assert_eq!(found.iter().map(|one| (one.value, one.limit)).collect::<Vec<_>>(), [(3.0, None), (4.0, None)]);
    }

    #[test]
    fn the_user_may_name_it() {
        let named = [
            Named { name: "memory".to_owned(), unit: Some(Unit::Decimal(1e6)) },
            Named { name: "foo bar".to_owned(), unit: None },
        ];
        let (mut found, mut passed) = (Vec::new(), Vec::new());
        for line in ["step 5 memory: 1234", "the foo bar: 12 MiB"] {
            find(line, &cut(line), &named, &mut found, &mut passed);
        }
        let told: Vec<(&str, f64, Unit)> = found.iter().map(|one| (one.name.as_str(), one.value, one.unit)).collect();
        assert_eq!(told, [("memory", 1234.0, Unit::Decimal(1e6)), ("foo bar", 12.0, Unit::Exact(MIB))]);
    }

    #[test]
    fn a_number_without_a_unit_is_passed_and_told() {
        let (mut found, mut passed) = (Vec::new(), Vec::new());
        let line = "step 5 memory: 1234";
        find(line, &cut(line), &[], &mut found, &mut passed);
        assert_eq!((found.len(), passed.len()), (0, 1));
        assert_eq!(passed[0].why, "its unit is not said");
    }
}

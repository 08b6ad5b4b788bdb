//! Reading an expectation: `[role.|phase.]metric <|<= NUMBER UNIT[/per]`, or `no-oom`.

use std::fmt;
use std::str::FromStr;

use lowtide_model::Bytes;

use super::{Bound, Check, Expectation, METRICS, Metric, PERS, PHASES, Per, ROLES, Scope};

/// The longest text that is read; a longer one is a file by mistake.
const LONGEST: usize = 200;

/// Why a text is not an expectation, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectError {
    /// The text, made fit to be shown.
    text: String,
    /// The characters that the problem is about.
    from: usize,
    to: usize,
    problem: String,
}

impl fmt::Display for ExpectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let carets = "^".repeat((self.to - self.from).max(1));
        writeln!(f, "this is not an expectation: {}", self.problem)?;
        writeln!(f, "    {}", self.text)?;
        write!(f, "    {}{carets}", " ".repeat(self.from))
    }
}

impl std::error::Error for ExpectError {}

impl FromStr for Expectation {
    type Err = ExpectError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let part = Part { whole: text, from: 0, to: text.len() };
        if text.len() > LONGEST {
            return Err(Part { to: text.floor_char_boundary(LONGEST), ..part }.error("it is too long"));
        }
        let check = if text == "no-oom" { Check::NoOom } else { Check::Bound(bound(part)?) };
        Ok(Self { text: text.to_owned(), check })
    }
}

fn bound(all: Part) -> Result<Bound, ExpectError> {
    let Some(sign) = all.text().find(['<', '>', '=']) else {
        return Err(all.error("it compares nothing; write it as `ram < 20 GiB`, `trainer.growth < 100 MiB/hour` or `no-oom`"));
    };
    let (left, rest) = all.split(sign);
    let length = rest.text().find(|c| !matches!(c, '<' | '>' | '=')).unwrap_or(rest.text().len());
    let (sign, right) = rest.split(length);
    let strict = match sign.text() {
        "<" => true,
        "<=" => false,
        _ => return Err(sign.error("only upper bounds can be held; write `<` or `<=`")),
    };
    let (scope, metric) = subject(left.trim())?;
    let (bytes, per) = amount(right.trim())?;
    if per.is_some() && metric != Metric::Growth {
        return Err(right.trim().error("only `growth` is per something; leave out what stands from `/` on"));
    }
    Ok(Bound { scope, metric, strict, bytes, per })
}

/// `[scope.]metric`.
fn subject(part: Part) -> Result<(Scope, Metric), ExpectError> {
    let (scope, name) = match part.text().find('.') {
        Some(dot) => {
            let (scope, rest) = part.split(dot);
            (Some(scope.trim()), rest.split(1).1.trim())
        }
        None => (None, part),
    };
    let scope = scope.map_or(Ok(Scope::Tree), named_scope)?;
    match METRICS.iter().find(|(known, _)| *known == name.text()) {
        Some((_, metric)) => Ok((scope, *metric)),
        None => Err(name.error(&format!("what is bounded is one of {}", list(METRICS.iter().map(|(name, _)| *name))))),
    }
}

fn named_scope(part: Part) -> Result<Scope, ExpectError> {
    if let Some((_, role)) = ROLES.iter().find(|(known, _)| *known == part.text()) {
        return Ok(Scope::Role(*role));
    }
    if let Some(phase) = PHASES.iter().find(|known| **known == part.text()) {
        return Ok(Scope::Phase(phase));
    }
    let roles = list(ROLES.iter().map(|(name, _)| *name));
    Err(part.error(&format!("there is no such role or phase; roles are {roles}, phases {}", list(PHASES.into_iter()))))
}

/// `NUMBER UNIT[/per]`.
fn amount(part: Part) -> Result<(f64, Option<Per>), ExpectError> {
    let (amount, per) = match part.text().find('/') {
        Some(slash) => {
            let (amount, rest) = part.split(slash);
            (amount.trim(), Some(rest.split(1).1.trim()))
        }
        None => (part, None),
    };
    let digits = amount.text().find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(amount.text().len());
    let (number, unit) = amount.split(digits);
    if number.text().parse::<f64>().is_err() {
        return Err(amount.error("here stands a number and its unit, as in `20 GiB` or `500 MB`"));
    }
    let unit = unit.trim();
    if unit.text().is_empty() {
        return Err(amount.error("its unit is missing, as in `20 GiB` (2^30) or `20 GB` (10^9)"));
    }
    if Bytes::unit(unit.text()).is_none() {
        return Err(unit.error("this unit is not known; KiB, MiB, GiB, TiB are binary, kB, MB, GB, TB decimal"));
    }
    let bytes: Bytes = amount.text().parse().map_err(|_| amount.error("it is more than can be"))?;
    let per = per.map(|per| match PERS.iter().find(|(known, _)| *known == per.text()) {
        Some((_, known)) => Ok(*known),
        None => Err(per.error(&format!("a growth is per {}", list(PERS.iter().map(|(name, _)| *name))))),
    });
    Ok((bytes.0 as f64, per.transpose()?))
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// A stretch of the text, so that an error can point at it.
#[derive(Clone, Copy)]
struct Part<'a> {
    whole: &'a str,
    from: usize,
    to: usize,
}

impl<'a> Part<'a> {
    fn text(self) -> &'a str {
        &self.whole[self.from..self.to]
    }

    /// Before and from a place, counted from this part's beginning.
    fn split(self, at: usize) -> (Self, Self) {
        let middle = self.from + at;
        (Self { to: middle, ..self }, Self { from: middle, ..self })
    }

    fn trim(self) -> Self {
        let text = self.text();
        let from = self.from + (text.len() - text.trim_start().len());
        Self { from, to: from + text.trim().len(), ..self }
    }

    fn error(self, problem: &str) -> ExpectError {
        // One character for each, so that the carets stand below what they mean.
        let visible = |c: char| if c.is_control() || c.escape_debug().len() > 1 && !"\"'\\".contains(c) { '?' } else { c };
        ExpectError {
            text: self.whole.chars().take(LONGEST).map(visible).collect(),
            from: self.whole[..self.from].chars().count(),
            to: self.whole[..self.to].chars().count(),
            problem: problem.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use lowtide_model::Role;
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Bound {
        match text.parse::<Expectation>().expect(text).check {
            Check::Bound(bound) => bound,
            Check::NoOom => panic!("{text}"),
        }
    }

    #[test]
    fn reads_every_form() {
        let gib = 1_073_741_824.0;
        for (text, scope, metric, strict, bytes, per) in [
            ("ram < 20 GB", Scope::Tree, Metric::Ram, true, 20e9, None),
            ("ram<20GiB", Scope::Tree, Metric::Ram, true, 20.0 * gib, None),
            ("trainer.peak <= 1.5 GiB", Scope::Role(Role::Trainer), Metric::Peak, false, 1.5 * gib, None),
            ("forked_child.floor < 1 GiB", Scope::Role(Role::ForkedChild), Metric::Floor, true, gib, None),
            ("validation.spike < 4 GB", Scope::Phase("validation"), Metric::Spike, true, 4e9, None),
            ("growth < 10 MB / hour", Scope::Tree, Metric::Growth, true, 1e7, Some(Per::Hour)),
            (
                "dataloader_worker.growth <= 0 B/step",
                Scope::Role(Role::DataloaderWorker),
                Metric::Growth,
                false,
                0.0,
                Some(Per::Step),
            ),
            ("growth < 1 GiB", Scope::Tree, Metric::Growth, true, gib, None),
            ("gpu < 70 GiB", Scope::Tree, Metric::Gpu, true, 70.0 * gib, None),
            ("shm < 1 GiB", Scope::Tree, Metric::Shm, true, gib, None),
        ] {
            assert_eq!(parsed(text), Bound { scope, metric, strict, bytes, per }, "{text}");
        }
        assert_eq!(" no-oom ".parse::<Expectation>().map(|one| one.check), Ok(Check::NoOom));
    }

    #[test]
    fn errors_point_at_the_place() {
        for (text, marked, problem) in [
            ("tree.ram < 20 GB", "tree", "no such role or phase"),
            ("trainer.rss < 20 GB", "rss", "one of ram, gpu"),
            ("ram > 20 GB", ">", "upper bounds"),
            ("ram == 20 GB", "==", "upper bounds"),
            ("ram < 20", "20", "unit is missing"),
            ("ram < GB", "GB", "number and its unit"),
            ("ram < 20 parsecs", "parsecs", "unit is not known"),
            ("ram < 20 GB/hour", "20 GB/hour", "only `growth`"),
            ("growth < 20 GB/week", "week", "per step, epoch"),
            ("ram", "ram", "compares nothing"),
            ("ram < 99999999999 TB", "99999999999 TB", "more than can be"),
            ("größe.ram < 1 GB", "größe", "no such role"),
        ] {
            let error = text.parse::<Expectation>().expect_err(text);
            let at: String = error.text.chars().skip(error.from).take(error.to - error.from).collect();
            assert_eq!(at, marked, "{error}");
            assert!(error.problem.contains(problem), "{error}");
        }
        let shown = "tree.ram < 20 GB".parse::<Expectation>().expect_err("no role").to_string();
        assert!(shown.ends_with("\n    tree.ram < 20 GB\n    ^^^^"), "{shown}");
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,30}|[a-z.]{0,9} ?<=? ?[0-9.]{0,20} ?[kKMGTiB]{0,3}(/[a-z]{0,6})?|[\\x00-\\x7f]{0,300}") {
            if let Err(error) = text.parse::<Expectation>() {
                let shown = error.to_string();
                prop_assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
            }
        }
    }
}

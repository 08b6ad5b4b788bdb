//! The most tensors that lived on a device in each phase.
//!
//! PyTorch's own most counts from the start of the process, or from where the program begins it anew. So a phase in which it
//! rises tells its own most; of one in which it does not, only that it was no more than that, and no less than what lived at its
//! marks. It is never begun anew for our sake: a program prints it.

use std::collections::BTreeMap;

use lowtide_model::DeviceFacts;

/// The most phases of a process.
const MOST: usize = 16;

/// The phases of a process on one device.
#[derive(Debug, Default)]
pub struct Phases {
    by_name: BTreeMap<String, Peak>,
    open: Option<Open>,
}

/// What is known of a phase, over all times that it came. Bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// So much lived at one time, or more.
    pub low: u64,
    /// And no more than this.
    high: u64,
    /// By how much it raised what was the most before, the most at one time.
    pub raised: u64,
}

impl Peak {
    /// It is known what the most was.
    pub fn is_exact(&self) -> bool {
        self.low == self.high
    }
}

/// The phase that is on.
#[derive(Debug)]
struct Open {
    name: String,
    /// PyTorch's most when it began, and now; `None` before anything is told within it.
    most: Option<(u64, u64)>,
    peak: Peak,
}

impl Phases {
    /// One begins; the one before is over.
    pub fn begin(&mut self, name: &str, facts: &DeviceFacts) {
        self.end(facts);
        self.open = Some(Open::new(name));
        self.push(facts);
    }

    /// It is over.
    pub fn end(&mut self, facts: &DeviceFacts) {
        self.push(facts);
        self.close();
    }

    /// The same where nothing is told of the device at that moment: what came since it was told is not known. `next`: the phase that
    /// begins, if one does.
    pub fn turn(&mut self, next: Option<&str>) {
        if let Some(open) = &mut self.open {
            open.peak = Peak { high: u64::MAX, ..open.told() };
        }
        self.close();
        self.open = next.map(Open::new);
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        if self.by_name.len() < MOST || self.by_name.contains_key(&open.name) {
            let known = self.by_name.entry(open.name.clone()).or_default();
            *known = known.and(open.told());
        }
    }

    /// What is told within it.
    pub fn push(&mut self, facts: &DeviceFacts) {
        let Some(open) = &mut self.open else { return };
        let (mut before, now) = open.most.unwrap_or((facts.peak, facts.peak));
        if facts.peak < now {
            // Begun anew: what came before that counts as far as it was seen.
            open.peak = open.told();
            before = 0;
        }
        open.most = Some((before, facts.peak));
        open.peak.low = open.peak.low.max(facts.allocated);
        open.peak.high = open.peak.high.max(facts.allocated);
    }

    /// Each phase by its name, the one that is on as far as it is known.
    pub fn all(&self) -> BTreeMap<&str, Peak> {
        let mut all: BTreeMap<&str, Peak> = self.by_name.iter().map(|(name, peak)| (name.as_str(), *peak)).collect();
        if let Some(open) = &self.open {
            let known = all.entry(&open.name).or_default();
            *known = known.and(open.told());
        }
        all
    }
}

impl Open {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), most: None, peak: Peak::default() }
    }

    fn told(&self) -> Peak {
        let (before, now) = self.most.unwrap_or_default();
        let most =
            if now > before { Peak { low: now, high: now, raised: now - before } } else { Peak { low: 0, high: now, raised: 0 } };
        self.peak.and(most)
    }
}

impl Peak {
    fn and(self, other: Self) -> Self {
        let (low, high) = (self.low.max(other.low), self.high.max(other.high));
        Self { low, high, raised: self.raised.max(other.raised) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(allocated: u64, peak: u64) -> DeviceFacts {
        DeviceFacts { allocated, peak, ..DeviceFacts::default() }
    }

    fn told(phases: &Phases, name: &str) -> (u64, bool, u64) {
        let peak = phases.all()[name];
        (peak.low, peak.is_exact(), peak.raised)
    }

    #[test]
    fn a_phase_that_raises_the_most_tells_its_own() {
        let mut phases = Phases::default();
        phases.begin("train", &facts(10, 10));
        phases.push(&facts(12, 30));
        phases.begin("validation", &facts(12, 30));
        assert_eq!((told(&phases, "train"), told(&phases, "validation")), ((30, true, 20), (12, false, 0)));
        phases.end(&facts(12, 50));
        assert_eq!((told(&phases, "train"), told(&phases, "validation")), ((30, true, 20), (50, true, 20)));
    }

    #[test]
    fn of_one_that_does_not_it_is_known_what_it_lies_between() {
        let mut phases = Phases::default();
        phases.begin("validation", &facts(10, 10));
        phases.begin("train", &facts(11, 50));
        phases.push(&facts(20, 50));
        phases.end(&facts(12, 50));
        assert_eq!((told(&phases, "validation"), told(&phases, "train")), ((50, true, 40), (20, false, 0)));
        // It may have had more this time than it had the time before.
        phases.begin("validation", &facts(12, 80));
        phases.end(&facts(12, 80));
        assert_eq!(told(&phases, "validation"), (50, false, 40));
    }

    #[test]
    fn what_comes_unseen_between_two_phases_is_none_of_theirs() {
        let mut phases = Phases::default();
        phases.begin("train", &facts(10, 10));
        phases.push(&facts(12, 30));
        phases.turn(Some("validation"));
        phases.turn(Some("train"));
        phases.push(&facts(12, 90));
        phases.end(&facts(12, 95));
        let (low, exact, _) = told(&phases, "train");
        assert_eq!((low, exact), (95, false), "at least what it raised the most to by itself");
        assert_eq!(told(&phases, "validation"), (0, false, 0));
        phases.begin("train", &facts(12, 200));
        phases.turn(None);
        assert_eq!(told(&phases, "train").0, 95, "the 200 are of nobody knows which");
    }

    #[test]
    fn where_the_program_counts_anew_no_more_is_claimed_than_was_seen() {
        let mut phases = Phases::default();
        phases.begin("train", &facts(10, 90));
        phases.push(&facts(10, 10));
        phases.end(&facts(11, 40));
        let (low, exact, _) = told(&phases, "train");
        assert_eq!((low, exact), (40, false), "it may have been up to 90 before that");
        phases.begin("validation", &facts(11, 40));
        phases.push(&facts(15, 60));
        phases.push(&facts(11, 11));
        phases.end(&facts(11, 20));
        assert_eq!(told(&phases, "validation").0, 60);
    }
}

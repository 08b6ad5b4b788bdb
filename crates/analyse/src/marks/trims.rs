//! What came of asking a process to have its C library give free memory back: the proof of holes in the allocator.

use lowtide_model::{Answer, Bytes, Class, Finding, Kind, Request};

/// The most answers that are kept. The recorder asks a process once.
const MOST: usize = 16;
/// The share of a growth that must have gone back to prove that it was holes: only whole pages go.
const PROOF: f64 = 0.25;
/// The share of a growth that must be free in the heap to be its reason.
const MOSTLY: f64 = 0.5;

/// Where less than this share of what was free before is free at the trim, something has just filled it, and nothing is learned.
const FILLED: f64 = 0.5;

/// The answers of one process.
#[derive(Debug, Default)]
pub struct Trims {
    done: Vec<Trim>,
    pauses_us: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Trim {
    t_s: f64,
    bytes: u64,
    /// Bytes free in the C heap before it, where that is known.
    free: Option<u64>,
    pause_us: u64,
}

impl Trims {
    /// Takes an answer.
    pub fn push(&mut self, t_s: f64, answer: &Answer) {
        if self.pauses_us.len() == MOST {
            return;
        }
        self.pauses_us.push(answer.pause_us);
        if let (Request::Trim, Some(bytes)) = (answer.request, answer.value) {
            self.done.push(Trim { t_s, bytes, free: answer.free, pause_us: answer.pause_us });
        }
    }

    /// How long each answer held the process up, milliseconds.
    pub fn pauses_ms(&self) -> impl Iterator<Item = f64> {
        self.pauses_us.iter().map(|us| *us as f64 / 1e3)
    }

    /// What the last one says about growth of so many bytes per second, which began at a time. `room`: the most that was seen to be free in
    /// the C heap at a time.
    pub fn explain(&self, rate: f64, since_s: f64, room: impl Fn(f64) -> f64, finding: &mut Finding) {
        let Some(trim) = self.done.last() else { return };
        // A peak had filled what it could have given back.
        if trim.free.is_some_and(|free| (free as f64) < FILLED * room(trim.t_s)) {
            return;
        }
        let grown = rate * (trim.t_s - since_s);
        let of = trim.free.map_or(String::new(), |bytes| format!(" of {} that were free inside the C heap", Bytes(bytes)));
        let what = format!("malloc_trim gave back {}{of}, in {:.1} ms", Bytes(trim.bytes), trim.pause_us as f64 / 1e3);
        let free = trim.free.is_none_or(|bytes| bytes as f64 >= MOSTLY * grown);
        let holes = free && trim.bytes as f64 >= PROOF * grown;
        let meaning = match (holes, free) {
            (true, _) => "holes in the allocator, which nothing needs",
            (false, true) => "small blocks in use lie so close to one another that no whole page between them is free",
            (false, false) => "most of the growth is no free memory of the C heap",
        };
        finding.evidence.insert(1.min(finding.evidence.len()), format!("{what}: {meaning}"));
        if holes {
            finding.kind = Some(Kind::AllocatorHoles);
            finding.class = Class::AllocatorRetention;
            let mend = "it stays lower with malloc_trim after each epoch, or with jemalloc in the place of glibc's malloc";
            finding.evidence.push(mend.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// 100 s after growth of a MiB per second began.
    fn explained(given: u64, free: u64) -> Finding {
        explained_of(given, free, 0)
    }

    /// The same where so much was free before.
    fn explained_of(given: u64, free: u64, room: u64) -> Finding {
        let mut trims = Trims::default();
        let answer = Answer {
            request: Request::Trim,
            number: 1,
            value: Some(given * MIB),
            pause_us: 4100,
            free: Some(free * MIB),
            why: String::new(),
        };
        trims.push(110.0, &answer);
        let mut finding = Finding::new(Class::Leak, "ram", "");
        trims.explain(MIB as f64, 10.0, |_| (room * MIB) as f64, &mut finding);
        finding
    }

    #[test]
    fn what_goes_back_was_holes() {
        let finding = explained(90, 95);
        assert_eq!((finding.class, finding.kind), (Class::AllocatorRetention, Some(Kind::AllocatorHoles)));
        let said = "malloc_trim gave back 90 MiB of 95 MiB that were free inside the C heap, in 4.1 ms: holes in the allocator";
        assert!(finding.evidence[0].starts_with(said), "{:?}", finding.evidence);
    }

    #[test]
    fn what_does_not_go_back_leaves_the_verdict_alone() {
        for (given, free, said) in [(5, 8, "no free memory"), (30, 40, "no free memory"), (5, 90, "no whole page")] {
            let finding = explained(given, free);
            assert_eq!((finding.class, finding.kind), (Class::Leak, None));
            assert!(finding.evidence[0].contains(said), "{:?}", finding.evidence);
        }
    }

    #[test]
    fn what_a_peak_has_filled_says_nothing() {
        assert_eq!(explained_of(0, 1, 95).evidence.len(), 0);
        assert_eq!(explained_of(90, 95, 100).class, Class::AllocatorRetention);
    }

    #[test]
    fn no_answer_says_nothing_and_many_take_no_memory() {
        let mut trims = Trims::default();
        let cannot = Answer { request: Request::Trim, number: 1, value: None, pause_us: 100, free: None, why: String::new() };
        (0..1000).for_each(|_| trims.push(1.0, &cannot));
        let mut finding = Finding::new(Class::Leak, "ram", "");
        trims.explain(1.0, 0.0, |_| 0.0, &mut finding);
        assert_eq!((finding.evidence.len(), trims.pauses_ms().count()), (0, MOST));
    }
}

//! How many marks of one sort a process may have in a recording: all of them where they are few, whole stretches of them where
//! they are many. A mark left out here and there would be worse than none: what began before it would seem to go on.

/// Marks per second, in a run's first minutes and later.
const PER_S: [f64; 2] = [20.0, 0.3];
/// The most at once.
const AT_ONCE: f64 = 200.0;
/// A stretch begins when it may have so many marks.
const STRETCH: f64 = 20.0;

/// What marks of one sort may still cost.
pub struct Budget {
    left: f64,
    as_of_s: f64,
    /// None are kept until there is enough for a stretch.
    pausing: bool,
}

/// What is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// The mark.
    Mark,
    /// The mark, as the last one of a stretch.
    Last,
    /// Nothing.
    Nothing,
}

impl Default for Budget {
    fn default() -> Self {
        Self { left: AT_ONCE, as_of_s: 0.0, pausing: false }
    }
}

impl Budget {
    /// A mark at a time; it may begin a stretch, or not.
    pub fn spend(&mut self, t_s: f64, late: bool, begins: bool) -> Spent {
        self.left = (self.left + PER_S[usize::from(late)] * (t_s - self.as_of_s).max(0.0)).min(AT_ONCE);
        self.as_of_s = self.as_of_s.max(t_s);
        self.pausing &= !(begins && self.left >= STRETCH);
        if self.pausing {
            return Spent::Nothing;
        }
        self.left -= 1.0;
        self.pausing = self.left < 1.0;
        if self.pausing { Spent::Last } else { Spent::Mark }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spend_for(seconds: u32, per_s: u32, late: bool) -> Vec<Spent> {
        let mut budget = Budget::default();
        (0..seconds * per_s).map(|n| budget.spend(f64::from(n) / f64::from(per_s), late, n % 2 == 0)).collect()
    }

    #[test]
    fn few_marks_are_all_kept() {
        assert!(spend_for(3600, 10, false).iter().all(|spent| *spent == Spent::Mark));
    }

    #[test]
    fn of_many_whole_stretches_are_kept_and_each_is_ended() {
        let spent = spend_for(3600, 4, true);
        let kept = spent.iter().filter(|spent| **spent != Spent::Nothing).count();
        assert!((1000..1300).contains(&kept), "{kept}");
        let stretches: Vec<_> = spent.split(|spent| *spent == Spent::Nothing).filter(|stretch| !stretch.is_empty()).collect();
        let (unfinished, whole) = stretches.split_last().expect("some");
        assert!(whole.len() > 10 && whole.iter().all(|stretch| stretch.len() >= 20 && stretch.ends_with(&[Spent::Last])));
        assert!(!unfinished.is_empty());
    }
}

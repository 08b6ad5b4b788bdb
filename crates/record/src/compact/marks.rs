//! Which marks of a process are kept: all young ones, and of old ones so few that they cannot fill a recording.

use std::collections::HashMap;

use lowtide_model::{Mark, MarkKind, ProcId, Scope};

use super::plan::Rung;
use crate::format::to_us;

/// Where each phase of a run was is told for so long, in microseconds.
const PHASES_US: i64 = 86_400_000_000;

/// What stands for the others of its sort in a window.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Sort {
    Step,
    Begin(Scope),
    End(Scope),
    Lost,
}

/// Goes over the marks of a recording in order.
pub(crate) struct Marks {
    rung: Rung,
    last_us: i64,
    /// By number, whether it is kept, and the bytes that it takes.
    all: Vec<(bool, u64)>,
    /// The newest one that stands for others: where its window ends, and its number.
    newest: HashMap<(ProcId, Sort), (i64, usize)>,
}

impl Marks {
    pub(crate) fn new(rung: Rung, last_us: i64) -> Self {
        Self { rung, last_us, all: Vec::new(), newest: HashMap::new() }
    }

    pub(crate) fn mark(&mut self, mark: &Mark, bytes: u64) {
        let (t_us, number) = (to_us(mark.t_s), self.all.len());
        let old = self.last_us - t_us > PHASES_US;
        let sort = match &mark.what {
            // All of them go, and together: where one began without its end, all that follows would be part of it.
            MarkKind::Begin(begun) if old && begun.scope == Scope::Phase => return self.all.push((false, bytes)),
            MarkKind::End(Scope::Phase) if old => return self.all.push((false, bytes)),
            MarkKind::Step => Some(Sort::Step),
            // Where epochs are so short that there is no room for each.
            MarkKind::Begin(begun) if old && self.rung.forget_brief => Some(Sort::Begin(begun.scope)),
            MarkKind::End(scope) if old && self.rung.forget_brief => Some(Sort::End(*scope)),
            MarkKind::Lost(_) if old && self.rung.forget_brief => Some(Sort::Lost),
            _ => None,
        };
        self.all.push((true, bytes));
        let (Some(sort), Some((_, end))) = (sort, self.rung.window(t_us, self.last_us)) else { return };
        // Counts of steps only grow, so that the last one of a window says what the others said.
        let before = self.newest.insert((mark.id, sort), (end, number));
        if let Some((_, before)) = before.filter(|(its_end, _)| *its_end == end) {
            self.all[before].0 = false;
        }
    }

    /// Of each mark, in order, whether it is kept; and the bytes of those that are.
    pub(crate) fn finish(self) -> (Vec<bool>, u64) {
        let bytes = self.all.iter().filter(|(keep, _)| *keep).map(|(_, bytes)| bytes).sum();
        (self.all.into_iter().map(|(keep, _)| keep).collect(), bytes)
    }
}

#[cfg(test)]
mod tests {
    use lowtide_model::ScopeMark;

    use super::*;
    use crate::compact::plan::RUNGS;

    const DAYS: f64 = 86_400.0;

    fn mark(t_s: f64, what: MarkKind) -> Mark {
        Mark { t_s, id: ProcId(0), what, steps: t_s as u64, facts: None }
    }

    fn begin(t_s: f64, scope: Scope) -> Mark {
        mark(t_s, MarkKind::Begin(ScopeMark { scope, index: None, name: String::new() }))
    }

    /// What is kept of these at the end of the third day.
    fn thinned(rung: Rung, marks: &[Mark]) -> Vec<Mark> {
        let mut thinning = Marks::new(rung, to_us(3.0 * DAYS));
        marks.iter().for_each(|mark| thinning.mark(mark, 100));
        let (keep, bytes) = thinning.finish();
        let kept: Vec<Mark> = marks.iter().zip(keep).filter(|(_, keep)| *keep).map(|(mark, _)| mark.clone()).collect();
        assert_eq!(bytes, 100 * kept.len() as u64);
        kept
    }

    #[test]
    fn old_steps_are_thinned_and_the_last_of_all_stays() {
        let marks: Vec<Mark> = (0..26_000).map(|n| mark(f64::from(n) * 9.5, MarkKind::Step)).collect();
        let kept = thinned(RUNGS[0], &marks);
        assert!(kept.len() < 3000, "{}", kept.len());
        assert_eq!(kept.last(), marks.last());
        assert!(kept.is_sorted_by(|a, b| a.steps < b.steps));
        assert_eq!(thinned(RUNGS[0], &kept), kept, "once more changes nothing");
    }

    #[test]
    fn phases_are_told_of_the_last_day_and_epochs_of_all() {
        let hours = |scope| (0..72).map(move |hour| begin(f64::from(hour) * 3600.0, scope));
        assert_eq!(thinned(RUNGS[0], &hours(Scope::Phase).collect::<Vec<_>>()).len(), 24);
        assert_eq!(thinned(RUNGS[0], &hours(Scope::Epoch).collect::<Vec<_>>()).len(), 72);
        let on = [mark(1.0, MarkKind::On(String::new())), mark(2.0, MarkKind::Off(String::new()))];
        assert_eq!(thinned(RUNGS[9], &on).len(), 2);
    }

    #[test]
    fn epochs_of_a_second_cannot_fill_a_recording() {
        let marks: Vec<Mark> = (0..172_000).map(|n| begin(f64::from(n), Scope::Epoch)).collect();
        assert!(thinned(RUNGS[9], &marks).len() < 100, "only the last rungs leave epochs out");
        assert_eq!(thinned(RUNGS[5], &marks).len(), marks.len());
    }
}

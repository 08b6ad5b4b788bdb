//! Marks from inside the run's processes: whose they are, when they were by our clock, and how many of them are kept.

use std::collections::BTreeMap;
use std::path::Path;

use lowtide_marks::{AskError, RawMark, Rings};
use lowtide_model::{Event, Mark, MarkKind, ProcId, Request, Role};

use super::budget::{Budget, Spent};

/// For so long all marks are kept, within reason; afterwards a recording must not grow by them. Seconds.
const DENSE_S: f64 = 600.0;
/// Time between two marks of steps that are kept, before and after that. Their count is exact all the same. Seconds.
const STEPS_S: [f64; 2] = [0.95, 10.0];
/// Time between two marks that say how many were lost. Seconds.
const LOST_S: f64 = 60.0;

/// The marks of a run.
pub struct Marks {
    rings: Rings,
    /// CLOCK_MONOTONIC at the run's start, nanoseconds.
    start_ns: u64,
    processes: BTreeMap<u32, ProcId>,
    kept: BTreeMap<u32, Kept>,
    gone: Vec<u32>,
    /// Whether any came.
    any: bool,
    /// There is a process that trains.
    trains: bool,
    /// Why a Python of the run cannot have marks.
    deaf: Option<String>,
    /// Requests that wait for their answers: the process and the request's number.
    asked: BTreeMap<u32, u64>,
}

/// What was kept of one process.
struct Kept {
    id: ProcId,
    /// The last mark of a step, and the last one with facts.
    step_s: f64,
    facts_s: f64,
    lost_s: f64,
    budgets: [Budget; 5],
    /// The newest mark, kept or not, seconds, and the steps by then.
    newest: (f64, u64),
    /// Steps by the newest mark that was kept.
    told: u64,
    lost: u64,
}

impl Kept {
    fn new(id: ProcId) -> Self {
        let long_ago = f64::NEG_INFINITY;
        let budgets = Default::default();
        Self { id, step_s: long_ago, facts_s: long_ago, lost_s: long_ago, budgets, newest: (0.0, 0), told: 0, lost: 0 }
    }
}

impl Marks {
    /// Listens to a folder.
    pub fn new(folder: std::path::PathBuf, start_ns: u64) -> Self {
        Self {
            rings: Rings::new(folder),
            start_ns,
            processes: BTreeMap::new(),
            kept: BTreeMap::new(),
            gone: Vec::new(),
            any: false,
            trains: false,
            deaf: None,
            asked: BTreeMap::new(),
        }
    }

    /// Asks a process for something, which it does at its next mark. The answer comes as a mark.
    pub fn ask(&mut self, pid: u32, request: Request) -> Result<(), AskError> {
        let number = self.rings.ask(pid, request)?;
        self.asked.insert(pid, number);
        Ok(())
    }

    /// The same for what it is to write to a new file of this name in [`Self::folder`], of so many bytes at most.
    pub fn ask_for_file(&mut self, pid: u32, request: Request, name: &str, most: u64) -> Result<(), AskError> {
        let number = self.rings.ask_for_file(pid, request, name, most)?;
        self.asked.insert(pid, number);
        Ok(())
    }

    /// It may have so many bytes by now; with 0 it is not to be written.
    pub fn allow(&mut self, pid: u32, most: u64) -> Result<(), AskError> {
        self.rings.allow(pid, most)
    }

    /// Where processes write their marks, and files that they are asked for.
    pub fn folder(&self) -> &Path {
        self.rings.folder()
    }

    /// Whether a process can be asked for a copy of itself, which is known here by the pid that it has itself.
    pub fn is_reachable(&self, pid: u32) -> bool {
        self.rings.is_reachable(pid) && !self.is_asked(pid)
    }

    /// Whether a process was asked for something and has not answered yet: another request would take the place of that one.
    pub fn is_asked(&self, pid: u32) -> bool {
        self.asked.contains_key(&pid)
    }

    /// Takes note of who is who.
    pub fn know(&mut self, event: &Event) {
        match event {
            Event::Process(process) => {
                self.processes.insert(process.pid, process.id);
                self.trains |= process.role == Role::Trainer;
                if self.deaf.is_none() {
                    self.deaf = deaf(&process.command).map(|flag| format!("python {flag} leaves them out (pid {})", process.pid));
                }
            }
            Event::Exit(exit) => {
                self.gone.extend(self.processes.iter().find(|(_, id)| **id == exit.id).map(|(pid, _)| *pid));
            }
            _ => {}
        }
    }

    /// Why a run that trains has no steps, where it has none.
    pub fn missing(&self) -> Option<String> {
        let why = || "no torch optimizer stepped in a Python that reads PYTHONPATH".to_owned();
        (self.trains && !self.any).then(|| format!("steps and phases: {}", self.deaf.clone().unwrap_or_else(why)))
    }

    /// Whether somebody wrote marks whose pid nobody of the run has.
    pub fn strangers(&self) -> bool {
        self.rings.strangers().next().is_some()
    }

    /// Takes note of processes' pids as we and as they know them; of two that call themselves the same, neither is told.
    pub fn known_as(&mut self, pairs: &[(u32, u32)]) {
        let strangers: Vec<u32> = self.rings.strangers().collect();
        for inner in strangers {
            let mut outer = pairs.iter().filter(|pair| pair.1 == inner).map(|pair| pair.0);
            if let (Some(outer), None) = (outer.next(), outer.next()) {
                self.rings.rename(inner, outer);
            }
        }
    }

    /// What is known of processes that were gone before they were first seen.
    pub fn unseen(&self) -> Option<String> {
        let (processes, steps) = self.rings.unseen();
        let many = if processes == 1 { "a process".to_owned() } else { format!("{processes} processes") };
        let why = "gone before the next look, or in a pid namespace where names are not unique";
        (steps > 0).then(|| format!("{steps} steps of {many} not seen otherwise ({why})"))
    }

    /// What is new. `last`: nothing comes after this, so that the newest mark of a step is kept whatever it costs.
    pub fn poll(&mut self, last: bool) -> Vec<Event> {
        let raw = self.rings.poll(|pid| self.processes.contains_key(&pid));
        let mut events = Vec::with_capacity(raw.len().min(64));
        let newest = newest_steps(&raw);
        for (i, mark) in raw.into_iter().enumerate() {
            let passed_over = mark.what == MarkKind::Step && newest.get(&mark.pid) != Some(&i);
            // Nor does anything come after the last look at a process that is gone.
            let last = last || self.gone.contains(&mark.pid);
            if passed_over {
                // Where others have facts the newest is passed over, too: the count of steps is its all the same.
                self.heard(&mark);
            } else if let Some(mark) = self.keep(mark, last) {
                events.push(Event::Mark(mark));
            }
        }
        for (pid, kept) in &mut self.kept {
            let (t_s, steps) = kept.newest;
            let over = last || self.gone.contains(pid);
            // Its last steps may have been passed over, since others came just before them.
            if over && steps > kept.told {
                kept.told = steps;
                events.push(Event::Mark(Mark { t_s, id: kept.id, what: MarkKind::Step, steps, facts: None }));
            }
            if kept.lost > 0 && (over || t_s - kept.lost_s >= LOST_S) {
                let what = MarkKind::Lost(std::mem::take(&mut kept.lost));
                events.push(Event::Mark(Mark { t_s, id: kept.id, what, steps, facts: None }));
                kept.lost_s = t_s;
            }
        }
        for pid in self.gone.drain(..) {
            self.rings.forget(pid);
            self.kept.remove(&pid);
            self.asked.remove(&pid);
            self.processes.remove(&pid);
        }
        events
    }

    /// Takes note of how far a process is; when the mark was by our clock, and what was kept so far. `None` for nobody of the run.
    fn heard(&mut self, raw: &RawMark) -> Option<(f64, &mut Kept)> {
        let id = *self.processes.get(&raw.pid)?;
        self.any |= !matches!(raw.what, MarkKind::Answer(_));
        let t_s = (raw.t_ns as i128 - i128::from(self.start_ns)) as f64 * 1e-9;
        let kept = self.kept.entry(raw.pid).or_insert_with(|| Kept::new(id));
        kept.newest = (kept.newest.0.max(t_s), kept.newest.1.max(raw.steps));
        Some((t_s, kept))
    }

    fn keep(&mut self, raw: RawMark, last: bool) -> Option<Mark> {
        let asked = self.asked.get(&raw.pid).copied();
        let (t_s, kept) = self.heard(&raw)?;
        let (id, late) = (kept.id, t_s > DENSE_S);
        let mut what = raw.what;
        let scope = match &what {
            MarkKind::Step => {
                let before_s = if raw.facts.is_some() { &mut kept.facts_s } else { &mut kept.step_s };
                if t_s - *before_s < STEPS_S[usize::from(late)] && !last {
                    return None;
                }
                *before_s = t_s;
                kept.step_s = t_s;
                None
            }
            MarkKind::Lost(lost) => {
                kept.lost = kept.lost.saturating_add(*lost);
                return None;
            }
            MarkKind::Begin(begun) => Some(begun.scope),
            MarkKind::End(scope) => Some(*scope),
            // What nobody asked for is none: the analysis draws conclusions from it.
            MarkKind::Answer(answer) if asked != Some(answer.number) => return None,
            MarkKind::Answer(_) => {
                kept.told = kept.told.max(raw.steps);
                self.asked.remove(&raw.pid);
                return Some(Mark { t_s, id, what, steps: raw.steps, facts: raw.facts });
            }
            MarkKind::On(_) | MarkKind::Off(_) | MarkKind::Loss(_) => None,
        };
        let budget = &mut kept.budgets[scope.map_or(0, |scope| 1 + scope as usize)];
        match budget.spend(t_s, late, !matches!(what, MarkKind::End(_))) {
            Spent::Mark => {}
            Spent::Last => match scope {
                Some(scope) if what != MarkKind::End(scope) => {
                    // What is open must not seem to last for as long as nothing is kept.
                    what = MarkKind::End(scope);
                    kept.lost += 1;
                }
                _ => {}
            },
            Spent::Nothing => {
                kept.lost += 1;
                return None;
            }
        }
        kept.told = kept.told.max(raw.steps);
        Some(Mark { t_s, id, what, steps: raw.steps, facts: raw.facts })
    }
}

/// Of a process's marks of steps only the newest of a look can be of interest; one with facts before others, which come rarely
/// where they are dear.
fn newest_steps(raw: &[RawMark]) -> BTreeMap<u32, usize> {
    let mut newest = BTreeMap::new();
    for (i, mark) in raw.iter().enumerate().filter(|(_, mark)| mark.what == MarkKind::Step) {
        let place = newest.entry(mark.pid).or_insert(i);
        if mark.facts.is_some() || raw[*place].facts.is_none() {
            *place = i;
        }
    }
    newest
}

/// The option of a Python's command line that keeps it from reading PYTHONPATH or a sitecustomize.
fn deaf(command: &str) -> Option<&str> {
    let mut words = command.split_whitespace();
    let program = words.next()?;
    program.rsplit('/').next().filter(|name| name.starts_with("python"))?;
    // Options end at the script, at -c and at -m.
    let options = words.take_while(|word| word.starts_with('-') && !matches!(*word, "-" | "-c" | "-m"));
    options.into_iter().find(|word| !word.starts_with("--") && word.contains(['I', 'E', 'S']))
}

#[cfg(test)]
mod tests {
    use lowtide_marks::SLOT_LEN;
    use lowtide_model::{Answer, Scope};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn listening() -> Marks {
        let mut marks = Marks::new("/nowhere".into(), 5 * SECOND);
        marks.processes.insert(7, ProcId(3));
        marks
    }

    fn raw(t_s: u64, what: MarkKind) -> RawMark {
        RawMark { pid: 7, t_ns: (5 + t_s) * SECOND, what, steps: t_s, facts: None }
    }

    #[test]
    fn marks_are_by_our_clock_and_steps_are_thinned() {
        let mut marks = listening();
        let kept: Vec<Mark> = (0..1200).filter_map(|t| marks.keep(raw(t, MarkKind::Step), false)).collect();
        assert_eq!((kept[0].id, kept[0].t_s, kept[1].t_s), (ProcId(3), 0.0, 1.0));
        assert!((650..670).contains(&kept.len()), "{}", kept.len());
        assert!(marks.keep(raw(1200, MarkKind::Step), true).is_some(), "the last one is kept in any case");
        assert_eq!(marks.keep(RawMark { pid: 8, ..raw(1, MarkKind::Step) }, true), None, "nobody of the run");
    }

    #[test]
    fn rare_facts_are_not_thinned_out_with_the_steps() {
        let with = |t_s| RawMark { facts: Some(lowtide_model::InnerFacts::default()), ..raw(t_s, MarkKind::Step) };
        let look = [raw(1, MarkKind::Step), with(2), raw(3, MarkKind::Step), RawMark { pid: 8, ..raw(3, MarkKind::Step) }];
        assert_eq!(newest_steps(&look).into_iter().collect::<Vec<_>>(), [(7, 1), (8, 3)]);
        let mut marks = listening();
        assert!(marks.keep(raw(1000, MarkKind::Step), false).is_some());
        assert!(marks.keep(with(1003), false).is_some(), "the step before had none");
        assert_eq!(marks.keep(raw(1006, MarkKind::Step), false), None);
        assert_eq!(marks.keep(with(1009), false), None, "nor do they come as often as they like");
    }

    #[test]
    fn the_count_of_steps_is_exact_at_the_end() {
        let mut marks = listening();
        assert!(marks.keep(raw(1, MarkKind::Step), false).is_some());
        let soon = RawMark { t_ns: 6 * SECOND + SECOND / 5, steps: 9, ..raw(1, MarkKind::Step) };
        assert_eq!(marks.keep(soon, false), None, "so soon after the one before");
        assert_eq!(marks.poll(false), []);
        let told = marks.poll(true);
        assert!(matches!(&told[..], [Event::Mark(Mark { what: MarkKind::Step, steps: 9, .. })]), "{told:?}");
        assert_eq!(marks.poll(true), [], "once");
    }

    #[test]
    fn the_last_steps_of_a_look_count_though_only_others_have_facts() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut ring = vec![0; 4096 + 2 * SLOT_LEN];
        ring[..8].copy_from_slice(b"LTMARKS1");
        for (at, number) in [(8, SLOT_LEN as u32), (12, 2), (16, 7)] {
            ring[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        // Two marks of steps, of which the first has facts; the look after which the process is gone sees nothing new.
        ring[32..40].copy_from_slice(&2_u64.to_le_bytes());
        for (n, flags) in [(1_u64, 4), (2, 0)] {
            let slot = &mut ring[4096 + (n as usize - 1) * SLOT_LEN..][..SLOT_LEN];
            slot[..8].copy_from_slice(&n.to_le_bytes());
            slot[8..16].copy_from_slice(&(5 * SECOND + n).to_le_bytes());
            (slot[16], slot[19]) = (2, flags);
            slot[24..32].copy_from_slice(&n.to_le_bytes());
            slot[SLOT_LEN - 8..].copy_from_slice(&n.to_le_bytes());
        }
        std::fs::write(folder.path().join("7-1.marks"), ring).expect("written");
        let mut marks = Marks { rings: Rings::new(folder.path().to_owned()), ..listening() };
        let steps = |events: Vec<Event>| -> Vec<u64> {
            events.iter().map(|event| if let Event::Mark(mark) = event { mark.steps } else { 0 }).collect()
        };
        assert_eq!(steps(marks.poll(false)), [1]);
        assert_eq!(steps(marks.poll(true)), [2]);
    }

    #[test]
    fn what_is_lost_or_left_out_is_counted_once_in_a_while() {
        let mut marks = listening();
        assert_eq!(marks.keep(raw(0, MarkKind::Lost(4)), false), None);
        let begin = MarkKind::Begin(lowtide_model::ScopeMark { scope: Scope::Phase, index: None, name: String::new() });
        let kept: Vec<Mark> = (0..300).filter_map(|_| marks.keep(raw(0, begin.clone()), false)).collect();
        assert_eq!((kept.len(), &kept[198].what, &kept[199].what), (200, &begin, &MarkKind::End(Scope::Phase)));
        let told = marks.poll(false);
        assert!(matches!(&told[..], [Event::Mark(Mark { what: MarkKind::Lost(105), .. })]), "{told:?}");
        assert_eq!(marks.keep(raw(1, MarkKind::Lost(1)), false), None);
        assert_eq!(marks.poll(false), [], "not again so soon");
        let lost = |event: &Event| matches!(event, Event::Mark(Mark { what: MarkKind::Lost(1), .. }));
        assert!(marks.poll(true).iter().any(lost), "unless it is the last time");
    }

    #[test]
    fn only_what_was_asked_for_is_an_answer() {
        let mut marks = listening();
        let answer = MarkKind::Answer(Answer {
            request: Request::Trim,
            number: 1,
            value: Some(1 << 30),
            pause_us: 5,
            free: None,
            why: String::new(),
        });
        assert_eq!(marks.keep(raw(1, answer.clone()), false), None, "nobody asked");
        assert!(marks.ask(7, Request::Trim).is_err(), "it has no ring");
        marks.asked.insert(7, 1);
        assert_eq!(marks.keep(raw(2, answer.clone()), false).map(|mark| mark.what), Some(answer.clone()));
        assert_eq!(marks.keep(raw(3, answer), false), None, "once");
    }

    #[test]
    fn a_python_that_reads_no_pythonpath_is_told() {
        assert_eq!(deaf("/usr/bin/python3 -u -I train.py"), Some("-I"));
        assert_eq!(deaf("python -BE -m train"), Some("-BE"));
        assert_eq!(deaf("python3 -u train.py -I"), None);
        assert_eq!(deaf("python3 -c 'print()' -S"), None);
        assert_eq!(deaf("perl -I lib train.pl"), None);
        assert_eq!(deaf(""), None);
    }
}

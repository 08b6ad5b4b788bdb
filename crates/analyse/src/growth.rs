//! Judges every series of a run and gathers what grows.

use lowtide_model::{Kind, ProcId, Role};

use crate::cut;
use crate::gone::{self, Standing};
use crate::gpu;
use crate::judge::{Ask, CLAIM_S, Judged, LOADS, Outcome, judge};
use crate::marks::cycles::WAITS;
use crate::marks::spread::SPREADS;
use crate::marks::{Line, Marks};
use crate::pyramid::{Pyramid, Window};
use crate::series::{Store, Track};
use crate::unmapped;

/// One judged series.
#[derive(Debug)]
pub struct Series {
    /// Whose; `None` for a role, the tree or the machine.
    pub process: Option<ProcId>,
    /// The role, where the series is of one; `None` for the machine.
    pub role: Option<Role>,
    /// What sort of memory.
    pub kind: Kind,
    /// Its growth is copy-on-write: shown by private pages only.
    pub copied: bool,
    /// The verdict on it.
    pub judged: Judged,
    /// Processes that it sums over.
    pub members: u32,
}

impl Series {
    /// Whether it is what all of `/dev/shm` has, whoever wrote it.
    pub fn is_dev_shm(&self) -> bool {
        self.kind == Kind::Shmem && self.role.is_none()
    }
}

/// All verdicts of one moment.
#[derive(Debug)]
pub struct Assessment {
    /// Verdicts of processes, the tree and the machine.
    pub series: Vec<Series>,
    /// The process to watch.
    pub watch: Option<ProcId>,
    /// Its pages do not rise, but what lives in its heap does, so many bytes per second: it fills holes that the pages still
    /// have, or pages went back to the kernel in between. Then nothing is ruled out.
    pub live_rises: Option<f64>,
    /// Verdicts of what the run has on GPUs.
    pub gpus: Vec<gpu::Verdict>,
}

/// A process whose peak is below this share of the largest one's, and below [`SMALL`], cannot matter.
pub(crate) const SMALL: f64 = 3.0 * 1024.0 * 1024.0;

/// The share of a judged stretch that may lie before the first step: less does not move its slope.
const SET_UP_SHARE: f64 = 0.25;
/// What was there at the first step, as a share of what came in the first seconds after it, from which on the set-up is over: with
/// less, growth since is nearly all of what there is.
const ON_TOP: f64 = 1.0 / 3.0;
/// The share of a role's growth from which on its members' explains it.
const MOST_OF_IT: f64 = 0.75;
/// Swings that are fast come at least so many times, and so soon one after the other, seconds.
const OFTEN: usize = 5;
const FAST_S: f64 = 10.0;
/// The least that is asked for to watch on, seconds.
const FEW_S: f64 = 5.0;

/// Judges everything. `end_s`: the time of the last tick. `over`: the target ended, so tear-downs are looked for.
pub fn assess(store: &Store, marks: &Marks, dev_shm: &Pyramid, end_s: f64, over: bool) -> Assessment {
    let mut series = Vec::new();
    let run = gone::Run { store, marks, end_s };
    for (id, track) in &store.tracks {
        // Other people's processes grow on any shared machine: without a link to the run theirs is not its growth.
        let ours = track.process.role != Role::Outside || store.linked.contains_key(id);
        let standing = run.standing(track);
        if !ours || standing == Standing::Ended {
            continue;
        }
        let mut judged = judge_process(*id, track, marks.of(*id), over);
        if standing == Standing::Anew {
            judged.retain(|series| run.is_of_its_own(track, series));
        }
        series.extend(judged);
    }
    for (id, track) in run.ended() {
        series.extend(judge_process(id, track, marks.of(id), over).into_iter().filter_map(|series| run.stands(track, series)));
    }
    let any = |series: &[Series], kind: Kind| series.iter().any(|s| s.kind == kind && s.judged.grows());
    judge_roles(&mut series, store, over);
    if !any(&series, Kind::Anonymous) && store.tracks.values().any(Track::shares) && store.copied.windows().len() > 1 {
        let judged = judge(store.copied.windows(), Ask::shares(over));
        series.push(Series { process: None, role: None, kind: Kind::Anonymous, copied: true, judged, members: 0 });
    }
    let processes = judge(store.alive.windows(), Ask::count(over));
    series.push(Series {
        process: None,
        role: None,
        kind: Kind::Processes,
        copied: false,
        judged: processes,
        members: store.tree.most,
    });
    // Others use /dev/shm too: it counts for the run only where something says that the run does.
    if dev_shm.windows().len() > 1 && unmapped::is_used(store) {
        let judged = judge(dev_shm.windows(), Ask::bytes(over, false));
        // What no process has mapped is told by its growth alone: level, or open, it is somebody else's as well.
        if unmapped::maps(store) || judged.grows() {
            series.push(Series { process: None, role: None, kind: Kind::Shmem, copied: false, judged, members: 0 });
        }
    }
    let watch = watch(store, &series);
    let live_rises = watch.and_then(|id| marks.of(id)?.live_rises());
    Assessment { series, watch, live_rises, gpus: Vec::new() }
}

/// Growth before the first optimizer step may be set-up: a data set is read, a model is built. Where a good part of the
/// stretch that was judged lies before it, it is a leak only if what came after it grows as well. Else nothing is decided,
/// until the whole shows that it stopped: a program may also train late, and leak before. And where such a stretch leaves it
/// open, or seems to have ended, what came after it may grow all the same: two slopes make no line.
fn in_training(judged: Judged, windows: &[Window], ask: Ask, line: Option<&Line>) -> Judged {
    let Some((line, first_s)) = line.and_then(|line| Some((line, line.first_step_s()?))) else { return judged };
    let begin_s = if judged.outcome == Outcome::Stopped { judged.rose_from_to.0 } else { judged.since_s };
    // Of what is open, any of it may be why.
    let share = if judged.outcome == Outcome::Unclear { 0.0 } else { SET_UP_SHARE };
    let is_set_up = first_s > begin_s && first_s >= begin_s + share * (judged.until_s - begin_s);
    let may_grow = judged.grows() || matches!(judged.outcome, Outcome::Unclear | Outcome::Stopped);
    let loads = judged.doubt == LOADS;
    let is_asked = loads || is_set_up && may_grow;
    if !is_asked {
        return judged;
    }
    let after = windows.partition_point(|window| window.start_s < first_s);
    // What is there from set-up is no fresh start any more.
    let trained = judge(&windows[after..], Ask { fresh: false, ..ask });
    // What grew in three epochs alike is not being loaded, nor is what came on top of much. That is asked of the first seconds on which
    // growth is claimed: it is less of all with every second that it goes on.
    let on_top = || trained.floor - trained.rise >= ON_TOP * trained.rate * CLAIM_S;
    let loads_on = || line.epoch_s(judged.since_s.max(first_s), judged.until_s).is_none() && !on_top();
    if trained.grows() && !(loads && loads_on()) {
        return trained;
    }
    if !judged.grows() {
        return judged;
    }
    let doubt = "it grew before the first step; whether training goes on with it cannot be told yet";
    Judged { outcome: Outcome::Unclear, doubt, more_s: trained.more_s.max(FEW_S), rising: trained.rising, ..judged }
}

/// The longest time after the last step, as a share of the growth before it, that says nothing.
const TAIL: f64 = 0.5;
/// The share of its length before the last step at which growth may have ended to have ended with it.
const AT_ONCE: f64 = 0.1;

/// What a program does after its last step (a test, the end of the interpreter) says nothing of whether growth in training had an end:
/// where it seems to have one since then alone, what was seen until then stands. Not where it was level for about as long as it had
/// grown, nor, of growth that was no more than likely to go on, where that it stopped is plain: what filled up may just have been full.
fn while_it_trained(judged: Judged, windows: &[Window], ask: Ask, line: Option<&Line>) -> Judged {
    let Some(last_s) = line.and_then(Line::last_step_s) else { return judged };
    if !matches!(judged.outcome, Outcome::Stopped | Outcome::Unclear) {
        return judged;
    }
    let until = windows.partition_point(|window| window.end_s <= last_s);
    let trained = in_training(judge(&windows[..until], Ask { ended: false, ..ask }), &windows[..until], ask, line);
    let tail_s = windows.last().map_or(0.0, |window| window.end_s) - trained.until_s;
    let (grew_s, stopped) = (trained.until_s - trained.since_s, judged.outcome == Outcome::Stopped);
    // What fills up is seldom full at the very step that is the last: growth that ended there ended because training did.
    let with_it = stopped && judged.rose_from_to.1 >= last_s - AT_ONCE * grew_s;
    let sure = if stopped && !with_it { trained.outcome == Outcome::Leaking } else { trained.grows() };
    let tail = if with_it { 1.0 } else { TAIL };
    if sure && tail_s <= tail * grew_s { trained } else { judged }
}

fn judge_process(id: ProcId, track: &Track, line: Option<&Line>, over: bool) -> Vec<Series> {
    let mut series = Vec::new();
    let ended = over || track.ended_s.is_some();
    let role = Some(track.process.role);
    let mut add = |kind, copied: bool, pyramid: &Pyramid, ask| {
        let by = |windows: &[Window], ask| {
            let judged = while_it_trained(in_training(judge(windows, ask), windows, ask, line), windows, ask, line);
            let Some(line) = line.filter(|_| kind == Kind::Anonymous && !copied) else { return judged };
            line.unless_cycles_wait(line.unless_spread(line.or_between_steps(judged, windows, ask), ask), ask)
        };
        let judged = cut::judge(pyramid, ask, by);
        series.push(Series { process: Some(id), role, kind, copied, judged, members: 1 });
    };
    add(Kind::Anonymous, false, &track.anon, Ask::bytes(ended, track.fresh()));
    if track.process.role == Role::Outside {
        return series;
    }
    if track.shmem.peak() >= SMALL {
        add(Kind::Shmem, false, &track.shmem, Ask::bytes(ended, track.fresh()));
    }
    if track.shares() && track.copied.peak() >= SMALL {
        add(Kind::Anonymous, true, &track.copied, Ask::shares(ended));
    }
    if track.file.peak() >= SMALL {
        add(Kind::File, false, &track.file, Ask::bytes(ended, track.fresh()));
    }
    add(Kind::Fds, false, &track.fds, Ask::count(ended));
    add(Kind::Threads, false, &track.threads, Ask::count(ended));
    series
}

/// Growth that is spread thinly over many processes of one role.
fn judge_roles(series: &mut Vec<Series>, store: &Store, over: bool) {
    for (role, group) in &store.roles {
        // A process may have had this role until more was known of it: then the role's series is a stump.
        let own = |s: &&Series| s.role == Some(*role) && s.process.is_some() && s.kind == Kind::Anonymous && !s.copied;
        let members: Vec<ProcId> = series.iter().filter(own).filter_map(|s| s.process).collect();
        let gone = members.iter().all(|id| store.tracks.get(id).is_some_and(|track| track.ended_s.is_some()));
        let one_grows = series.iter().any(|s| s.role == Some(*role) && !s.copied && s.judged.grows());
        if members.len() < 2 || one_grows || *role == Role::Outside {
            continue;
        }
        let judged = cut::judge(&group.grown, Ask::bytes(over || gone, false), judge);
        // What is held back of each is not claimed of all together.
        let held_back: f64 = series
            .iter()
            .filter(|s| s.role == Some(*role) && [SPREADS, WAITS].contains(&s.judged.doubt))
            .map(|s| s.judged.rate)
            .sum();
        if judged.grows() && held_back < MOST_OF_IT * judged.rate {
            series.push(Series {
                process: None,
                role: Some(*role),
                kind: Kind::Anonymous,
                copied: false,
                judged,
                members: group.most,
            });
        }
    }
}

/// The process to watch: the one that grows fastest, else the largest trainer, else the largest process.
fn watch(store: &Store, series: &[Series]) -> Option<ProcId> {
    let memory =
        |s: &&Series| matches!(s.kind, Kind::Anonymous | Kind::Shmem) && s.judged.grows() && s.role != Some(Role::Outside);
    let growing = series.iter().filter(memory).filter(|s| s.process.is_some());
    if let Some(fastest) = growing.max_by(|a, b| a.judged.rate.total_cmp(&b.judged.rate)) {
        return fastest.process;
    }
    let judged = |id: &ProcId| series.iter().any(|s| s.process == Some(*id));
    let largest = |trainer: bool| {
        let among = store.tracks.iter().filter(|(id, track)| {
            judged(id) && track.process.role != Role::Outside && (!trainer || track.process.role == Role::Trainer)
        });
        among.max_by(|a, b| a.1.peak().total_cmp(&b.1.peak())).map(|(id, _)| *id)
    };
    largest(true).or_else(|| largest(false))
}

/// What a process has of its own grows with its resident memory: where that is held back, no copying is claimed in its place.
pub fn hold_copies_back(series: &mut [Series]) {
    let resident =
        |s: &&Series| s.kind == Kind::Anonymous && !s.copied && s.judged.outcome == Outcome::Unclear && s.judged.rising;
    let held: Vec<(ProcId, &'static str, f64)> =
        series.iter().filter(resident).filter_map(|s| Some((s.process?, s.judged.doubt, s.judged.more_s))).collect();
    for series in series.iter_mut().filter(|series| series.copied && series.judged.grows()) {
        if let Some((_, doubt, more_s)) = held.iter().find(|(id, ..)| series.process == Some(*id)) {
            series.judged.hold_back(doubt, *more_s);
        }
    }
}

impl Assessment {
    /// The verdict on the anonymous memory of the process to watch.
    pub fn watched(&self) -> Option<&Judged> {
        self.watched_of(Kind::Anonymous)
    }

    /// The verdict on one kind of the process to watch.
    pub fn watched_of(&self, kind: Kind) -> Option<&Judged> {
        let of = |s: &&Series| s.process.is_some() && s.process == self.watch && s.kind == kind && !s.copied;
        self.series.iter().find(of).map(|s| &s.judged)
    }

    /// Whether the memory of the process to watch swings several times a minute, so that rare measurements miss its low tides.
    pub fn swings_fast(&self) -> bool {
        let fast = |period_s: f64| period_s > 0.0 && period_s <= FAST_S;
        self.watched().is_some_and(|judged| judged.excursions.count >= OFTEN && fast(judged.excursions.period_s))
    }

    /// What grows, memory of the tree first, the fastest first.
    /// What grows in the tree makes what grows outside of it secondary.
    pub fn growing(&self) -> Vec<&Series> {
        let resident = |s: &Series| s.copied && self.grows_resident(s.process);
        let mut growing: Vec<&Series> =
            self.series.iter().filter(|s| s.judged.grows() && s.kind != Kind::File && !resident(s)).collect();
        growing.sort_by(|a, b| rank(a).cmp(&rank(b)).then(b.judged.rate.total_cmp(&a.judged.rate)));
        growing
    }

    /// Whether a process's resident memory grows: then its share of pages grows with it, which is no copying.
    pub fn grows_resident(&self, process: Option<ProcId>) -> bool {
        process.is_some()
            && self.series.iter().any(|s| s.process == process && s.kind == Kind::Anonymous && !s.copied && s.judged.grows())
    }

    /// Series of which it is open whether they grow.
    pub fn open(&self) -> impl Iterator<Item = &Series> {
        self.series.iter().filter(|s| match s.judged.outcome {
            // Others use /dev/shm too: its growth counts, its swings do not.
            Outcome::Unclear if s.is_dev_shm() => false,
            Outcome::Unclear => !matches!(s.kind, Kind::File | Kind::Fds | Kind::Threads),
            Outcome::TooShort => s.process.is_some() && s.process == self.watch && s.kind == Kind::Anonymous,
            _ => false,
        })
    }
}

/// A rising number of processes explains their memory; memory of the tree comes before other things; what lies outside
/// the tree comes last.
fn rank(series: &Series) -> u8 {
    match (series.kind, series.role) {
        (Kind::Processes, _) => 0,
        (Kind::Anonymous | Kind::Shmem, Some(role)) if role != Role::Outside => 1,
        (Kind::Anonymous | Kind::Shmem, None) => 2,
        (Kind::Fds | Kind::Threads, _) => 3,
        _ => 4,
    }
}

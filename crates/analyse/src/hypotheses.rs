//! The explanations that were weighed: what holds, what is ruled out by which evidence, and what to do next.

use lowtide_model::{Bytes, Finding, Hypothesis, HypothesisState, Kind, Rate, Role, Seconds};

use crate::analyser::Analyser;
use crate::asked;
use crate::gone;
use crate::gpu;
use crate::growth::{Assessment, Series};
use crate::judge::Outcome;
use crate::looks;

/// What to do about what the allocator keeps: no line of the program holds it.
const RETAINED: &str = "nothing holds it: have the allocator give it back, or keep such blocks out of its heap";

/// Weighs the usual suspects of a run whose memory climbs.
pub fn weigh(run: &Analyser, assessment: &Assessment, findings: &[Finding]) -> Vec<Hypothesis> {
    if run.store().tracks.is_empty() {
        return Vec::new();
    }
    let mut first = trainer(assessment);
    if first.state == HypothesisState::RuledOut
        && let Some(rate) = assessment.live_rises
    {
        let evidence = format!("live memory of its heap rises by {}/s, although its pages do not (yet)", Rate(rate));
        first = say(
            &first.name,
            HypothesisState::Open,
            evidence,
            "watch until the holes of the heap are full, and pages must follow",
        );
    }
    let retained = |finding: &Finding| finding.grows() && finding.kind == Some(Kind::AllocatorHoles);
    if first.state == HypothesisState::Holds && findings.iter().find(|finding| finding.grows()).is_some_and(retained) {
        RETAINED.clone_into(&mut first.action);
    }
    let mut all = vec![first, workers(run, assessment), spikes(assessment)];
    all.extend([copies(run, assessment), processes(run, assessment), outside(run, assessment)].into_iter().flatten());
    all.extend(gpu::hypothesis(&assessment.gpus));
    name_what_may_end(run, assessment, &mut all);
    name_who_ended(run, assessment, &mut all);
    // An undecided report must say what it is undecided about.
    if assessment.growing().is_empty()
        && all.iter().all(|h| h.state != HypothesisState::Open)
        && let Some(open) = assessment.open().next()
    {
        let who = open.role.map_or("the whole tree", Role::label);
        let what = if open.copied { "copied pages" } else { kind_name(open.kind) };
        let why = if open.judged.doubt.is_empty() { "too little was seen" } else { open.judged.doubt };
        all.push(say(&format!("growing {what} of {who}"), HypothesisState::Open, why.to_owned(), "watch for longer"));
    }
    all
}

/// Growth that is held back since it may have an end is told with its holder, or with what it fills.
fn name_what_may_end(run: &Analyser, assessment: &Assessment, all: &mut [Hypothesis]) {
    type Told = fn(&Analyser, &Series) -> Option<(String, &'static str)>;
    let by: [(&str, Told); 3] =
        [(looks::FILLS, looks::who_may_end), (looks::UNREACHABLE, looks::who_may_end), (asked::ASKED, asked::told)];
    for (doubt, told) in by {
        let of_it = assessment.series.iter().find(|s| s.judged.outcome == Outcome::Unclear && s.judged.doubt == doubt);
        let Some((evidence, action)) = of_it.and_then(|series| told(run, series)) else { continue };
        for open in all.iter_mut().filter(|hypothesis| hypothesis.evidence == doubt) {
            open.evidence.clone_from(&evidence);
            action.clone_into(&mut open.action);
        }
    }
}

/// Growth that ended with its process is told with how much it was, and when.
fn name_who_ended(run: &Analyser, assessment: &Assessment, all: &mut [Hypothesis]) {
    for open in all.iter_mut().filter(|hypothesis| [gone::ENDED, gone::FOLLOWED].contains(&hypothesis.evidence.as_str())) {
        let of_it = |s: &&Series| s.judged.outcome == Outcome::Unclear && s.judged.doubt == open.evidence;
        let rose = assessment.series.iter().filter(of_it).max_by(|a, b| a.judged.rise.total_cmp(&b.judged.rise));
        let Some((series, track)) = rose.and_then(|s| Some((s, run.store().tracks.get(&s.process?)?))) else { continue };
        let (pid, rise, ended) = (track.process.pid, Bytes(series.judged.rise as u64), Seconds(track.last_s));
        open.evidence = format!("pid {pid} rose by {rise} and ended at {ended}: {}", open.evidence);
    }
}

fn say(name: &str, state: HypothesisState, evidence: String, action: &str) -> Hypothesis {
    let action = if state == HypothesisState::RuledOut { "" } else { action };
    Hypothesis { name: name.to_owned(), state, evidence, action: action.to_owned() }
}

/// Growth, level or open, of a set of series.
fn state<'a>(series: impl Iterator<Item = &'a Series> + Clone) -> (HypothesisState, String) {
    if let Some(s) = series.clone().filter(|s| s.judged.grows()).max_by(|a, b| a.judged.rate.total_cmp(&b.judged.rate)) {
        let evidence = format!("low tide rises by {}/s over {} low tides", Rate(s.judged.rate), s.judged.tides);
        return (HypothesisState::Holds, evidence);
    }
    if let Some(s) = series.clone().find(|s| matches!(s.judged.outcome, Outcome::Unclear | Outcome::TooShort)) {
        let why = if s.judged.doubt.is_empty() { "too little was seen" } else { s.judged.doubt };
        return (HypothesisState::Open, why.to_owned());
    }
    match series.max_by(|a, b| a.judged.detectable.total_cmp(&b.judged.detectable)) {
        Some(s) if s.judged.detectable.is_finite() => {
            (HypothesisState::RuledOut, format!("level; growth of {}/s would have shown", Rate(s.judged.detectable)))
        }
        Some(_) => (HypothesisState::RuledOut, "it came back down to where it was".to_owned()),
        None => (HypothesisState::RuledOut, "there are none".to_owned()),
    }
}

fn own(series: &&Series) -> bool {
    series.process.is_some() && !series.copied && matches!(series.kind, Kind::Anonymous | Kind::Shmem)
}

fn trainer(assessment: &Assessment) -> Hypothesis {
    let watched = assessment.series.iter().filter(own).filter(|s| s.role == Some(Role::Trainer));
    let (state, evidence) = state(watched);
    say(
        "a leak in the training process",
        state,
        evidence,
        "look for what is kept per step or epoch: lists of outputs, losses with their graph, logged tensors",
    )
}

fn workers(run: &Analyser, assessment: &Assessment) -> Hypothesis {
    let child = |s: &&Series| !matches!(s.role, None | Some(Role::Trainer | Role::Outside | Role::Launcher));
    let judged = assessment.series.iter().filter(own).filter(child);
    let (mut found, mut evidence) = state(judged);
    let born: usize =
        run.store().tracks.values().filter(|t| !matches!(t.process.role, Role::Trainer | Role::Launcher | Role::Outside)).count();
    if born > 0 && evidence == "there are none" {
        (found, evidence) = (HypothesisState::RuledOut, "what they grew by went with them".to_owned());
    }
    // A pool or a server of the program's own has no Dataset.
    let loads = run.store().tracks.values().any(|track| track.process.role == Role::DataloaderWorker);
    let next = if loads || born == 0 {
        "set persistent_workers=False, or look at what the Dataset keeps between samples"
    } else {
        "look at what these processes keep from one piece of work to the next"
    };
    say("leaking workers", found, evidence, next)
}

fn spikes(assessment: &Assessment) -> Hypothesis {
    let name = "only spikes that come back";
    let Some(judged) = assessment.watched() else {
        return say(name, HypothesisState::Open, "too little was seen".into(), "watch for longer");
    };
    let found = &judged.excursions;
    let height = Bytes(found.height as u64);
    if judged.grows() {
        return say(
            name,
            HypothesisState::RuledOut,
            format!("the low-water mark between them rises by {}/s", Rate(judged.rate)),
            "",
        );
    }
    if found.count == 0 || found.longest_s <= 0.0 {
        return say(name, HypothesisState::RuledOut, "there were none".into(), "");
    }
    let evidence = format!("{} of up to {height}, back within {}", found.count, Seconds(found.longest_s));
    let settled = matches!(judged.outcome, Outcome::Flat | Outcome::Stopped);
    let state = if settled { HypothesisState::Holds } else { HypothesisState::Open };
    say(
        name,
        state,
        evidence,
        "make room for them, or make them smaller: a smaller validation batch, streaming instead of collecting",
    )
}

fn copies(run: &Analyser, assessment: &Assessment) -> Option<Hypothesis> {
    let forked = run.store().tracks.values().filter(|t| t.shares()).any(|t| t.copied.windows().len() > 1);
    let copied = assessment.series.iter().filter(|s| s.copied && !assessment.grows_resident(s.process));
    let (state, evidence) = state(copied);
    let action = "keep the Dataset's index in numpy arrays or tensors instead of Python objects, whose reference counts are written on every read";
    forked.then(|| say("workers copying pages that they share (copy-on-write)", state, evidence, action))
}

fn processes(run: &Analyser, assessment: &Assessment) -> Option<Hypothesis> {
    let series = assessment.series.iter().find(|s| s.kind == Kind::Processes && run.store().tree.most > 2)?;
    let (state, evidence) = match series.judged.outcome {
        Outcome::Rising | Outcome::Leaking => {
            (HypothesisState::Holds, format!("{:.1} more per minute", series.judged.rate * 60.0))
        }
        Outcome::Unclear | Outcome::TooShort => (HypothesisState::Open, "too little was seen".to_owned()),
        _ => (HypothesisState::RuledOut, format!("at most {} at one time, constant or coming and going", run.store().tree.most)),
    };
    Some(say("ever more processes", state, evidence, "end what you start: drop DataLoader iterators, join pools"))
}

fn outside(run: &Analyser, assessment: &Assessment) -> Option<Hypothesis> {
    let series = assessment
        .series
        .iter()
        .filter(|s| s.role == Some(Role::Outside))
        .max_by(|a, b| a.judged.rate.total_cmp(&b.judged.rate))?;
    let track = run.store().tracks.get(&series.process?)?;
    let who = format!("pid {} ({})", track.process.pid, track.process.name);
    let link = run.store().linked.get(&series.process?).map_or("", String::as_str);
    let (state, evidence) = if series.judged.grows() {
        (HypothesisState::Holds, format!("{who} grows by {}/s; {link}", Rate(series.judged.rate)))
    } else {
        (
            HypothesisState::Open,
            format!("{who}: {}", if series.judged.doubt.is_empty() { "level now" } else { series.judged.doubt }),
        )
    };
    Some(say(
        "a process outside the watched tree",
        state,
        evidence,
        "if that is where the work goes on, watch it: lowtide attach PID",
    ))
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Shmem => "shared memory",
        Kind::Processes => "numbers of processes",
        _ => "memory",
    }
}

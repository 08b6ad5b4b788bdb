//! The verdict on one series of logged numbers.

use lowtide_analyse::judge::{self, Ask, Judged, Outcome};
use lowtide_analyse::pyramid::Window;
use lowtide_analyse::trial;
use lowtide_ingest::log::numbers::{Series, What, Whose};
use lowtide_model::{LoggedReport, Verdict};

/// Rises of the last digit that growth must be made of: fewer are the beat of a cycle with the rounding.
const DIGITS: f64 = 4.0;
/// The least growth of a share in percent: others of the machine come and go in it.
const LEAST_PERCENT: f64 = 1.0;
/// Points that a series without times must have for growth to be claimed: the judge's seconds are points there.
const FEWEST_UNTIMED: u64 = 24;

/// What was made of a series.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// `None` for what cannot be judged.
    pub verdict: Option<Verdict>,
    /// Why it is less than the numbers alone would give, or not judged.
    pub why: Vec<String>,
    judged: Option<Judged>,
    /// One of the judge's seconds in units of the axis.
    unit: f64,
    windows: Vec<Window>,
    ask: Ask,
}

impl Judgement {
    /// Growth is claimed.
    pub fn grows(&self) -> bool {
        matches!(self.verdict, Some(Verdict::Leak | Verdict::LikelyLeak))
    }

    /// Rise of the low-water mark.
    pub fn rise(&self) -> f64 {
        self.judged.as_ref().map_or(0.0, |judged| judged.rise)
    }

    /// The low tide: where it rises, its last value; else the least of its later half, since the last values may be a spike.
    pub fn floor(&self) -> f64 {
        let later = &self.windows[self.windows.len() / 2..];
        let least = later.iter().map(|window| window.low).fold(f64::INFINITY, f64::min);
        match &self.judged {
            Some(judged) if self.grows() => judged.floor,
            _ if least.is_finite() => least,
            _ => 0.0,
        }
    }

    /// Growth per unit of the axis, and its 95 % interval.
    pub fn rate(&self) -> (f64, [f64; 2]) {
        let judged = self.judged.as_ref();
        (
            judged.map_or(0.0, |judged| judged.rate / self.unit),
            judged.map_or([0.0; 2], |judged| judged.ci95.map(|end| end / self.unit)),
        )
    }

    /// From where on it grows, in units of the axis.
    pub fn since(&self) -> f64 {
        self.judged.as_ref().map_or(0.0, |judged| judged.since_s * self.unit)
    }

    /// The judge's own words, in its own seconds.
    pub fn judged(&self) -> Option<&Judged> {
        self.judged.as_ref()
    }

    /// The smallest steady growth that would have been found, per unit of the axis.
    pub fn detectable(&self) -> Option<f64> {
        let judged = self.judged.as_ref()?;
        let rate = trial::detectable(&self.windows, self.ask, judged) / self.unit;
        (rate.is_finite() && rate > 0.0).then_some(rate)
    }

    /// How much longer until it can be told; seconds where the axis is time.
    pub fn more_s(&self) -> f64 {
        self.judged.as_ref().map_or(0.0, |judged| judged.more_s * self.unit).min(3600.0)
    }

    /// Something else explains its rise: it is no leak by itself.
    pub fn explained(&mut self, by: &str) {
        self.verdict = None;
        self.why = vec![by.to_owned()];
    }
}

/// Judges a series.
pub fn of(series: &Series) -> Judgement {
    let quantum = series.quantum;
    let (windows, unit) = in_seconds(series);
    let span = windows.last().map_or(0.0, |window| window.end_s);
    let ask = if series.percent {
        Ask { quantum: quantum.max(0.1), least: LEAST_PERCENT.max(DIGITS * quantum), drifts: false, ended: true, fresh: true }
    } else {
        let bytes = Ask::bytes(true, true);
        // The judge lets the least growth grow with time, as allocators drift; the last digit does not.
        let drifted = bytes.over(span).least;
        let least = bytes.least * (DIGITS * quantum / drifted).max(1.0);
        Ask { quantum: bytes.quantum.max(quantum), least, ..bytes }
    };
    let mut judgement = Judgement { verdict: None, why: Vec::new(), judged: None, unit, windows, ask };
    if series.points < LoggedReport::FEWEST {
        let numbers = lowtide_report::pieces(series.points, "number", "numbers");
        judgement.why.push(format!("has {numbers} only: too few for a verdict"));
        return judgement;
    }
    if series.what == What::Peak {
        judgement.why.push(if series.never_fell {
            "is a maximum that only rises, whatever memory does: no low tide, not judged".to_owned()
        } else {
            "is the maximum between two lines: no low tide, not judged".to_owned()
        });
        return judgement;
    }
    let judged = judge::judge(&judgement.windows, ask);
    judgement.verdict = Some(match judged.outcome {
        Outcome::Leaking => Verdict::Leak,
        Outcome::Rising => Verdict::LikelyLeak,
        Outcome::Flat | Outcome::Stopped => Verdict::NoLeak,
        Outcome::TooShort | Outcome::Unclear => Verdict::Undecided,
    });
    judgement.judged = Some(judged);
    lower(&mut judgement, series);
    judgement
}

/// Takes certainty away for what such numbers cannot show.
fn lower(judgement: &mut Judgement, series: &Series) {
    let Some(judged) = &judgement.judged else { return };
    if judgement.grows() {
        if !series.axis.is_time() && series.points < FEWEST_UNTIMED {
            judgement.verdict = Some(Verdict::Undecided);
            judgement.why.push(format!("{} numbers without a time are too few", series.points));
            return;
        }
        let doubts = [
            (!series.axis.is_time(), "it has no times, so that what fills up for a minute looks the same"),
            (series.whose == Whose::Machine, "it is of the whole machine: other programs are in it"),
            (
                series.whose == Whose::Card,
                "it is of the whole card as its driver counts it: what PyTorch holds for its largest batch is in it",
            ),
            (series.whose == Whose::Unsaid, "it is not said whose memory it is"),
            (series.what == What::Reserved, "it is what PyTorch holds, used or not: that follows the largest batch"),
        ];
        for (_, doubt) in doubts.iter().filter(|(applies, _)| *applies) {
            judgement.verdict = Some(Verdict::LikelyLeak);
            judgement.why.push((*doubt).to_owned());
        }
    } else if judgement.verdict == Some(Verdict::Undecided) {
        let coarse = judged.rise > 0.0 && judged.rise < judgement.ask.least && series.quantum * DIGITS > judged.rise;
        let doubt =
            if coarse { "its digits are too few to tell: it changed by less than four of the last one" } else { judged.doubt };
        judgement.why.push(if doubt.is_empty() { "too little for a verdict".to_owned() } else { doubt.to_owned() });
    }
}

/// The windows in seconds, or with a point for a second where there are no times; and one such second in units of the axis.
fn in_seconds(series: &Series) -> (Vec<Window>, f64) {
    let windows = &series.windows;
    let (Some(first), Some(last)) = (windows.first(), windows.last()) else { return (Vec::new(), 1.0) };
    let begin = first.start_s;
    let span = last.end_s - begin;
    let unit = if series.axis.is_time() || span <= 0.0 { 1.0 } else { span / (series.points.max(2) - 1) as f64 };
    let at = |t: f64| (t - begin) / unit;
    let moved = |window: &Window| Window {
        start_s: at(window.start_s),
        low_at_s: at(window.low_at_s),
        end_s: at(window.end_s),
        ..*window
    };
    (windows.iter().map(moved).collect(), unit)
}

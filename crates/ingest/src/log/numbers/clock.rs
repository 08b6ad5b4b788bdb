//! When a line was written, by whatever it says: a time of its own, the time of the line before it, a progress bar's clock,
//! the number of a step or epoch.

use std::sync::LazyLock;

use regex::Regex;

use super::token::{Sort, Token};
use crate::when;

/// What a line says of when it was written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moment {
    /// The line, counted from 1.
    pub line: u64,
    /// Seconds from any start, by a time in this line or in one before it.
    pub time_s: Option<f64>,
    /// Seconds that the line's progress bar runs: `[01:02<`. It starts over with each bar.
    pub elapsed_s: Option<f64>,
    /// Optimizer steps or iterations.
    pub step: Option<f64>,
    /// Epochs or rounds.
    pub epoch: Option<f64>,
}

/// A day, and how far a time of day must go back to be of the next one.
const DAY_S: f64 = 86_400.0;

/// One writer's clock.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    last_s: Option<f64>,
    /// Midnights that went by, where lines have times of day only.
    days: f64,
}

impl Clock {
    /// Takes a line's own time, and gives the time to be used for it.
    pub(super) fn now(&mut self, own_s: Option<f64>) -> Option<f64> {
        let Some(own_s) = own_s else { return self.last_s };
        let mut now = own_s + self.days * DAY_S;
        if let Some(last) = self.last_s
            && own_s < DAY_S
            && now < last - DAY_S / 2.0
            && last - self.days * DAY_S < DAY_S
        {
            self.days += 1.0;
            now += DAY_S;
        }
        // Another sort of time, since boot instead of since 1970: only one of them can be used.
        if self.last_s.is_some_and(|last| (last < 1e8) != (now < 1e8)) {
            return self.last_s;
        }
        self.last_s = Some(now);
        self.last_s
    }
}

struct Forms {
    date: Regex,
    glog: Regex,
    short: Regex,
    bar: Regex,
    bare_bar: Regex,
    day: Regex,
    top: Regex,
}

static FORMS: LazyLock<Forms> = LazyLock::new(|| {
    let form = |text: &str| Regex::new(text).expect("a correct pattern");
    Forms {
        date: form(r"(?:^|[^0-9])([0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T_ ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?)"),
        // `I0829 12:00:00.123456  4242 train.py:12] `
        glog: form(r"^[IWEF]([0-9]{2})([0-9]{2}) ([0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?)"),
        // `[08/29 12:00:00 d2.utils.events]: `
        short: form(r"^\[([0-9]{2})/([0-9]{2}) ([0-9]{2}:[0-9]{2}:[0-9]{2})"),
        day: form(r"^[MTWFS][a-z]{2} ([A-Z][a-z]{2}) +([0-9]{1,2}) ([0-9]{2}:[0-9]{2}:[0-9]{2}) (?:[A-Z]{2,5} )?([0-9]{4})"),
        top: form(r"^top - ([0-9]{2}:[0-9]{2}:[0-9]{2}) up"),
        bar: form(r"\[(?:([0-9]{1,4}):)?([0-9]{1,2}):([0-9]{2})<"),
        // `8/8 3.1it/s 2.6s`, `3/8 1.2s/it 1:02<0:05`: Ultralytics' own.
        bare_bar: form(
            r" [0-9]+/[0-9]+ [0-9.]+(?:it/s|s/it) (?:(?:([0-9]{1,4}):)?([0-9]{1,2}):)?([0-9]{1,2}(?:\.[0-9])?)s?(?:<|$)",
        ),
    }
});

/// Whether a line begins as `date` and `nvidia-smi` write it: `Sat Nov 28 23:52:36 2026`, or as `top` does.
pub(super) fn is_date(line: &[u8]) -> bool {
    const DAYS: [&[u8]; 8] = [b"Mon ", b"Tue ", b"Wed ", b"Thu ", b"Fri ", b"Sat ", b"Sun ", b"top "];
    DAYS.iter().any(|day| line.starts_with(day))
}

/// The time in a line whose prefix had none. Dates without a year count from one that had no 29th of February.
pub(super) fn time_in(line: &str) -> Option<f64> {
    const WITHIN: usize = 96;
    let mut end = line.len().min(WITHIN);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    let head = &line[..end];
    if !head.contains(':') {
        return None;
    }
    if let Some(caps) = FORMS.date.captures(head) {
        return when::parse(&caps[1].replace(',', "."), false).map(|(seconds, _)| seconds);
    }
    if let Some(caps) = FORMS.day.captures(head) {
        const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let month = MONTHS.iter().position(|month| *month == &caps[1])? + 1;
        let date = format!("{}-{month:02}-{:0>2} {}", &caps[4], &caps[2], &caps[3]);
        return when::parse(&date, false).map(|(seconds, _)| seconds);
    }
    if let Some(caps) = FORMS.top.captures(head) {
        return when::parse(&caps[1], false).map(|(seconds, _)| seconds);
    }
    let caps = FORMS.glog.captures(head).or_else(|| FORMS.short.captures(head))?;
    when::parse(&format!("2001-{}-{} {}", &caps[1], &caps[2], &caps[3]), false).map(|(seconds, _)| seconds)
}

/// The clock of a progress bar (tqdm, Rich).
pub(super) fn elapsed(line: &str) -> Option<f64> {
    let caps = FORMS.bar.captures(line).or_else(|| FORMS.bare_bar.captures(line.trim_end()))?;
    let part = |at: usize| caps.get(at).map_or(Some(0.0), |part| part.as_str().parse::<f64>().ok());
    Some(part(1)? * 3600.0 + part(2)? * 60.0 + part(3)?)
}

/// The numbers of step and epoch: `step 12`, `iter: 12`, `Epoch [3]`.
pub(super) fn counts(line: &str, tokens: &[Token], moment: &mut Moment) {
    const STEP: [&str; 9] = ["step", "steps", "global_step", "iter", "iteration", "iters", "it", "batch", "update"];
    const EPOCH: [&str; 4] = ["epoch", "epochs", "round", "ep"];
    for (at, token) in tokens.iter().enumerate() {
        if token.sort != Sort::Word {
            continue;
        }
        let word = token.text(line).to_ascii_lowercase();
        let slot = match () {
            () if STEP.contains(&word.as_str()) => &mut moment.step,
            () if EPOCH.contains(&word.as_str()) => &mut moment.epoch,
            () => continue,
        };
        if slot.is_none() {
            let next = tokens[at + 1..].iter().take(4).find(|token| !token.is_mark(b":=[(#\"'/"));
            *slot = next.and_then(Token::count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::token::cut;
    use super::*;

    #[test]
    fn times_of_every_sort() {
        let date = time_in("INFO 2024-03-01 12:00:00,500 train").expect("a time");
        assert_eq!(time_in("[INFO|trainer.py:12] 2024-03-01 12:00:01,500 >> x").map(|t| t - date), Some(1.0));
        let glog = time_in("I0301 12:00:00.250000 4242 train.py:7] x").expect("a time");
        assert_eq!(time_in("[03/01 12:00:01 d2.utils.events]: x").map(|t| t - glog), Some(0.75));
        assert_eq!(time_in("RAM: 3 GB"), None);
        let day = time_in("Sat Nov 28 23:52:36 2026").expect("a time");
        assert_eq!(time_in("Sun Nov 29 00:00:00 UTC 2026").map(|t| t - day), Some(444.0));
        assert_eq!(time_in("top - 00:01:00 up 3 days"), Some(60.0));
        assert_eq!(elapsed("3%|x| 3/100 [01:02:03<05:00, 2it/s]"), Some(3723.0));
        assert_eq!(elapsed("3%|x| 3/100 [00:02<05:00, 2it/s]"), Some(2.0));
    }

    #[test]
    fn a_day_ends_at_midnight_and_other_sorts_of_time_do_not_mix() {
        let mut clock = Clock::default();
        assert_eq!(clock.now(Some(86_390.0)), Some(86_390.0));
        assert_eq!(clock.now(None), Some(86_390.0));
        assert_eq!(clock.now(Some(10.0)), Some(86_410.0));
        assert_eq!(clock.now(Some(20.0)), Some(86_420.0));
        assert_eq!(clock.now(Some(1.7e9)), Some(86_420.0));
    }

    #[test]
    fn steps_and_epochs() {
        for (line, step, epoch) in [
            ("epoch 3 step 10 | loss", Some(10.0), Some(3.0)),
            ("Epoch: [0]  [ 10/100]  eta", None, Some(0.0)),
            ("iter: 19  total_loss: 0.5", Some(19.0), None),
            ("{'step': 12, 'loss': 0.1}", Some(12.0), None),
            ("step time 0.5", None, None),
        ] {
            let mut moment = Moment::default();
            counts(line, &cut(line), &mut moment);
            assert_eq!((moment.step, moment.epoch), (step, epoch), "{line}");
        }
    }
}

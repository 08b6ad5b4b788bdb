//! Phases, and what stays live across each: the phase in which RSS rises is only a hint, since new blocks fill holes
//! made elsewhere.

use std::collections::VecDeque;

use super::leftover::{self, FEWEST};

/// Phases that are remembered.
const MOST: usize = 256;
/// What lies between two phases.
const BETWEEN: &str = "between";
/// The phases of one process.
#[derive(Debug, Default)]
pub struct Phases {
    open: Option<Open>,
    /// Those that ended.
    done: VecDeque<Done>,
}

#[derive(Clone, Debug)]
struct Open {
    t_s: f64,
    name: String,
    live: Option<f64>,
}

#[derive(Clone, Debug)]
struct Done {
    begin_s: f64,
    name: String,
    /// Live bytes at its end less those at its beginning.
    left: Option<f64>,
}

impl Phases {
    /// A phase begins; the one before ends. What is between two is `between`.
    pub fn begin(&mut self, t_s: f64, name: &str, live: Option<f64>) {
        self.close(live);
        self.open = Some(Open { t_s, name: name.chars().take(48).collect(), live });
    }

    /// The open phase ends.
    pub fn end(&mut self, t_s: f64, live: Option<f64>) {
        self.begin(t_s, BETWEEN, live);
    }

    /// The one that is open.
    pub fn now(&self) -> Option<&str> {
        self.open.as_ref().map(|open| open.name.as_str()).filter(|name| *name != BETWEEN)
    }

    fn close(&mut self, live: Option<f64>) {
        let Some(open) = self.open.take() else { return };
        if self.done.len() == MOST {
            self.done.pop_front();
        }
        let left = open.live.zip(live).map(|(before, after)| after - before);
        self.done.push_back(Done { begin_s: open.t_s, name: open.name, left });
    }

    /// The one phase across which live bytes stay time after time, and a sentence for each other.
    pub fn blame(&self, since_s: f64) -> Option<(String, Vec<String>)> {
        let since = self.done.iter().filter(|done| done.begin_s >= since_s);
        let usual = leftover::usual(since.map(|done| (done.name.as_str(), done.left)));
        let (most, others) = leftover::culprit(&usual).filter(|(most, _)| most.name != BETWEEN)?;
        let mut sentences = vec![format!(
            "{} leaves {} of live memory behind each time (median of {})",
            most.name,
            amount(most.usual),
            most.count
        )];
        for other in others.iter().filter(|other| other.count >= FEWEST) {
            sentences.push(if other.usual.abs() < 0.05 * most.usual {
                format!("{} adds nothing ({} times)", other.name, other.count)
            } else {
                format!("{} leaves {} (median of {})", other.name, amount(other.usual), other.count)
            });
        }
        Some((most.name.to_owned(), sentences))
    }
}

fn amount(bytes: f64) -> String {
    let sign = if bytes < 0.0 { "-" } else { "" };
    format!("{sign}{}", lowtide_model::Bytes(bytes.abs() as u64))
}

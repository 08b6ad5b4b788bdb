//! Phases, and what stays live across each: the phase in which RSS rises is only a hint, since new blocks fill holes
//! made elsewhere.

use std::collections::{BTreeMap, VecDeque};

use crate::trend::median;

/// Phases that are remembered.
const MOST: usize = 256;
/// The fewest times that a phase must have come to be named.
pub const FEWEST: usize = 3;
/// Live bytes per time that a phase must leave behind to be named.
pub const LEAST: f64 = 64.0 * 1024.0;
/// The share of all that stays live that a phase must explain to be named.
pub const SHARE: f64 = 0.9;

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
        self.begin(t_s, "between", live);
    }

    /// The one that is open.
    pub fn now(&self) -> Option<&str> {
        self.open.as_ref().map(|open| open.name.as_str()).filter(|name| *name != "between")
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
        let mut by_name: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for done in self.done.iter().filter(|done| done.begin_s >= since_s) {
            by_name.entry(&done.name).or_default().extend(done.left);
        }
        let mut usual: Vec<(&str, usize, f64)> =
            by_name.into_iter().map(|(name, mut left)| (name, left.len(), median(&mut left))).collect();
        usual.sort_by(|a, b| b.2.total_cmp(&a.2));
        let &(name, count, most) = usual.first()?;
        let others: f64 = usual[1..].iter().map(|(_, _, left)| left.max(0.0)).sum();
        if count < FEWEST || most < LEAST || most < SHARE * (most + others) || name == "between" || usual.len() < 2 {
            return None;
        }
        let mut sentences = vec![format!("{name} leaves {} of live memory behind each time (median of {count})", amount(most))];
        for (other, count, left) in usual[1..].iter().filter(|(_, count, _)| *count >= FEWEST) {
            sentences.push(match left {
                left if left.abs() < 0.05 * most => format!("{other} adds nothing ({count} times)"),
                left => format!("{other} leaves {} (median of {count})", amount(*left)),
            });
        }
        Some((name.to_owned(), sentences))
    }
}

fn amount(bytes: f64) -> String {
    let sign = if bytes < 0.0 { "-" } else { "" };
    format!("{sign}{}", lowtide_model::Bytes(bytes.abs() as u64))
}

//! What is said of a culprit, in a sentence.

use lowtide_lint::feeds::{Bound, Certainty, Kind, Site, Statement};
use lowtide_pyheap::Keyed;

use super::{Culprit, Sources, Standing};

/// Why it grows, or why it is none to blame.
pub fn why(culprit: &Culprit, sources: &Sources) -> String {
    // The number says more than where the source sets it.
    let limit = match (&culprit.holder.keyed, culprit.limit) {
        (Some(Keyed::Among { path, len: Some(len) }), Some(_)) => {
            Some(format!("its keys are all among the {len} elements of {path}, which does not grow"))
        }
        (Some(Keyed::Among { path, len: None }), _) if culprit.standing == Standing::Bounded => {
            Some(format!("its keys are all in elements of {path}, which does not grow"))
        }
        (_, limit) => limit.map(|limit| format!("it takes no more than {limit} elements")),
    };
    let Some(first) = &culprit.site else {
        return match &culprit.standing {
            Standing::Unknown(reason) => reason.clone(),
            _ => limit.unwrap_or_default(),
        };
    };
    let mut why = match &culprit.standing {
        Standing::Unknown(reason) => reason.clone(),
        _ => adds(first).to_owned(),
    };
    match &first.bound {
        _ if limit.is_some() => why.push_str(&format!("; {}", limit.unwrap_or_default())),
        Some(bound) => why.push_str(&format!("; {}", bounded(bound, sources))),
        None if matches!(culprit.standing, Standing::Culprit | Standing::Suspect) => {
            why.push_str(", and nothing in the source takes it away");
        }
        None => {}
    }
    if let Some(what) = culprit.opened() {
        why.push_str(&format!("; its elements hold {what}, which cost more than their bytes"));
    }
    if first.certainty == Certainty::ByName {
        why.push_str("; that this object is meant is told by the attribute's name alone");
    }
    if !culprit.changed.is_empty() {
        why.push_str("; the file was changed after the process began, so that the line may have moved");
    }
    why
}

fn adds(statement: &Statement) -> &'static str {
    match statement.kind {
        Kind::Add | Kind::Handed => "adds an element each time",
        Kind::Extend => "adds elements each time",
        Kind::Item => "adds an entry for each new key",
        Kind::Wrapped => "puts one in its place each time that keeps the last one inside",
        Kind::Rebuilt => "puts a longer one in its place each time",
        Kind::Hook => "registers one more each time",
        Kind::Cache => "keeps the result of every call with new arguments",
        Kind::Cycle => {
            "keeps each element of the first round, to give all of them again (`while True: yield from loader` keeps none)"
        }
        Kind::Split => "keeps what one of its iterators has given and another one has not yet",
        Kind::Accumulated | Kind::Averaged | Kind::Carried => "keeps the autograd graph of all that it was computed from before",
        Kind::Retained => "keeps the autograd graph on purpose",
        Kind::Zeroed => "keeps gradients allocated, filled with zeros",
        Kind::CollectorOff => "switches the collector off or makes it rare, so that cycles stay",
        Kind::Assigned => "puts a new one in its place each time",
        Kind::Call => "gives it something each time",
    }
}

fn bounded(bound: &Bound, sources: &Sources) -> String {
    let at = |site: &Site| place(site, sources);
    match bound {
        Bound::Ceiling(site, _) => format!("it has a limit: {}", at(site)),
        Bound::Emptied(site) => format!("it is emptied: {}", at(site)),
        Bound::EmptiedIf(site) => format!("it is emptied, or loses some, under a condition: {}", at(site)),
        Bound::Keys => "its keys are few".to_owned(),
        Bound::Samples => "its keys are the positions of a data set, so that it is full after one epoch".to_owned(),
        Bound::Sizes => "its keys are sizes of tensors, and of these there are only so many".to_owned(),
        Bound::Making => "it is filled while its data set is made".to_owned(),
        Bound::Local => "it dies when its function returns".to_owned(),
    }
}

/// A line with its place: `train.py:88  self.history.append(x)`.
pub fn place(site: &Site, sources: &Sources) -> String {
    format!("{}:{}  {}", sources.shown(&site.file), site.line, site.text)
}

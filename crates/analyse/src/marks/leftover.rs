//! Which of several things, that come again and again, leaves live memory behind: a phase among phases, a node among nodes.

use std::collections::BTreeMap;

use crate::trend::median;

/// The fewest times that something must have come to be named.
const FEWEST: usize = 3;
/// Live bytes per time that it must leave behind to be named.
const LEAST: f64 = 64.0 * 1024.0;
/// The share of all that stays live that it must explain to be named.
const SHARE: f64 = 0.9;
/// It may leave so much more than what is left of it after the others.
const GIVEN_BACK: f64 = 1.5;

/// What something leaves behind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leftover<'a> {
    /// Its name.
    pub name: &'a str,
    /// Live bytes after it less those before, in the median of all times.
    pub usual: f64,
    /// How many times that is known of.
    pub count: usize,
}

/// By name, the one that leaves most first.
pub fn usual<'a>(left: impl Iterator<Item = (&'a str, Option<f64>)>) -> Vec<Leftover<'a>> {
    let mut by_name: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, bytes) in left {
        by_name.entry(name).or_default().extend(bytes);
    }
    let of = |(name, mut left): (_, Vec<f64>)| Leftover { name, count: left.len(), usual: median(&mut left) };
    let mut all: Vec<Leftover> = by_name.into_iter().map(of).collect();
    all.sort_by(|a, b| b.usual.total_cmp(&a.usual));
    all
}

/// The first of those that came often enough and the others of them, if it explains nearly all that they leave together. What
/// came once or twice, a sanity check before the training say, is no rival: it left what it left.
pub fn culprit<'a>(all: &[Leftover<'a>]) -> Option<(Leftover<'a>, Vec<Leftover<'a>>)> {
    let mut often = all.iter().copied().filter(|one| one.count >= FEWEST);
    let (first, others) = (often.next()?, often.collect::<Vec<_>>());
    let rest: f64 = others.iter().map(|other| other.usual.max(0.0)).sum();
    let explains = first.usual >= LEAST && first.usual >= SHARE * (first.usual + rest);
    // What the others give back again is no growth: then what is left of it could be anyone's.
    let net: f64 = others.iter().map(|other| other.usual * other.count as f64 / first.count as f64).sum::<f64>() + first.usual;
    let explains = explains && first.usual <= GIVEN_BACK * net;
    // Alone there is nothing that it could be told from.
    (explains && all.len() > 1).then_some((first, others))
}

//! Federated nodes: what each leaves behind from one round to the next. Taken from where a node begins to where it ends, so that
//! what it loads before its first epoch counts as well.

use std::collections::{BTreeMap, VecDeque};

use super::Identify;
use super::leftover;
use lowtide_model::{Bytes, InnerFacts, NodeReport, ProcId};

/// Nodes that are told apart by name; of a program with more of them the first ones.
const MOST_NODES: usize = 256;
/// Rounds of each that are remembered.
const MOST_ROUNDS: usize = 64;

/// The nodes of one process.
#[derive(Debug, Default)]
pub struct Nodes {
    by_name: BTreeMap<String, Node>,
    open: Option<Visit>,
    /// Rounds that began, and whether the last one goes on.
    rounds: u64,
    in_round: bool,
}

#[derive(Debug, Default)]
struct Node {
    visits: u64,
    steps: u64,
    /// Rounds in which it was visited.
    count: u64,
    /// The last of them.
    rounds: VecDeque<Round>,
}

/// All visits of a node in one round. A program that says nothing of rounds has one for each visit.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// Which one of the node's.
    nth: u64,
    /// Which one of the program's.
    number: u64,
    /// Bytes at the ends of the visits less those at their beginnings; `None` where one is not known.
    live: Option<f64>,
    allocated: Option<f64>,
}

/// A node's turn, and what there was when it began.
#[derive(Debug)]
struct Visit {
    name: String,
    steps: u64,
    live: Option<u64>,
    allocated: Option<u64>,
}

/// The node that leaves memory behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Culprit {
    /// Its name.
    pub name: String,
    /// Live bytes of the C heap that it leaves per round.
    pub per_round: f64,
    /// What was seen of it, for people.
    pub sentence: String,
}

impl Nodes {
    /// A round begins.
    pub fn round(&mut self, steps: u64, facts: Option<&InnerFacts>) {
        self.leave(steps, facts);
        self.rounds = self.rounds.saturating_add(1);
        self.in_round = true;
    }

    /// A round ends.
    pub fn round_ends(&mut self, steps: u64, facts: Option<&InnerFacts>) {
        self.leave(steps, facts);
        self.in_round = false;
    }

    /// A node's turn begins; another one's ends.
    pub fn visit(&mut self, name: &str, steps: u64, facts: Option<&InnerFacts>) {
        self.leave(steps, facts);
        let live = facts.and_then(|facts| facts.heap_used);
        let allocated = facts.and_then(InnerFacts::allocated);
        self.open = Some(Visit { name: name.chars().take(48).collect(), steps, live, allocated });
    }

    /// A node's turn ends.
    pub fn leave(&mut self, steps: u64, facts: Option<&InnerFacts>) {
        let Some(visit) = self.open.take() else { return };
        if self.by_name.len() >= MOST_NODES && !self.by_name.contains_key(&visit.name) {
            return;
        }
        let left =
            |before: Option<u64>, after: Option<u64>| before.zip(after).map(|(before, after)| after as f64 - before as f64);
        let live = left(visit.live, facts.and_then(|facts| facts.heap_used));
        let allocated = left(visit.allocated, facts.and_then(InnerFacts::allocated));
        let node = self.by_name.entry(visit.name).or_default();
        node.visits = node.visits.saturating_add(1);
        node.steps = node.steps.saturating_add(steps.saturating_sub(visit.steps));
        let number = if self.rounds == 0 { node.visits } else { self.rounds };
        if let Some(round) = node.rounds.back_mut().filter(|round| round.number == number) {
            let sum = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
            (round.live, round.allocated) = (sum(round.live, live), sum(round.allocated, allocated));
            return;
        }
        if node.rounds.len() == MOST_ROUNDS {
            node.rounds.pop_front();
        }
        node.rounds.push_back(Round { nth: node.count, number, live, allocated });
        node.count = node.count.saturating_add(1);
    }

    /// The rounds of a node that are over.
    fn over<'a>(&self, node: &'a Node) -> impl Iterator<Item = &'a Round> + use<'a> {
        let open = self.in_round.then_some(self.rounds);
        node.rounds.iter().filter(move |round| Some(round.number) != open)
    }

    /// What a node leaves per round: the mean, so that what a late collection gives back is taken off. Without its first round, in
    /// which it may load what it needs.
    fn per_round(&self, node: &Node, of: impl Fn(&Round) -> Option<f64>) -> Option<f64> {
        let left: Vec<f64> = self.over(node).filter(|round| round.nth > 0).filter_map(of).collect();
        (!left.is_empty()).then(|| left.iter().sum::<f64>() / left.len() as f64)
    }

    /// The node that leaves live memory behind round after round, if it explains nearly all that all nodes leave.
    pub fn culprit(&self) -> Option<Culprit> {
        let rounds = self.by_name.iter().flat_map(|(name, node)| self.over(node).map(move |round| (name.as_str(), round.live)));
        let usual = leftover::usual(rounds);
        let (first, _) = leftover::culprit(&usual)?;
        let node = self.by_name.get(first.name)?;
        let per_round = self.per_round(node, |round| round.live).filter(|bytes| *bytes > 0.0)?;
        let amount = Bytes(per_round as u64);
        let sentence = format!(
            "node {} leaves {amount} of live memory behind per round (mean of {} rounds, without its first), the others next to \
             nothing",
            first.name,
            first.count.saturating_sub(1)
        );
        Some(Culprit { name: first.name.to_owned(), per_round, sentence })
    }

    /// The rows for a report, the node that leaves most first.
    pub fn rows(&self, id: ProcId, who: Identify) -> Vec<NodeReport> {
        let (pid, rank) = who(id);
        let row = |(name, node): (&String, &Node)| NodeReport {
            id,
            pid,
            rank,
            name: name.clone(),
            rounds: node.count,
            visits: node.visits,
            steps: node.steps,
            live_bytes_per_round: self.per_round(node, |round| round.live),
            allocated_bytes_per_round: self.per_round(node, |round| round.allocated),
        };
        let mut rows: Vec<NodeReport> = self.by_name.iter().map(row).collect();
        let most = |row: &NodeReport| row.allocated_bytes_per_round.or(row.live_bytes_per_round).unwrap_or(f64::NEG_INFINITY);
        rows.sort_by(|a, b| most(b).total_cmp(&most(a)));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = 1_048_576.0;

    fn facts(live: f64) -> InnerFacts {
        InnerFacts { heap_used: Some(live as u64), ..InnerFacts::default() }
    }

    /// Rounds in which nodes a, b and c take turns and leave so many MiB; `first` in the first round on top.
    fn rounds(count: u64, left: [f64; 3], first: f64, said: bool) -> Nodes {
        let (mut nodes, mut live, mut steps) = (Nodes::default(), 100.0 * MIB, 0);
        for round in 0..count {
            if said {
                nodes.round(steps, Some(&facts(live)));
            }
            for (name, left) in ["a", "b", "c"].into_iter().zip(left) {
                nodes.visit(name, steps, Some(&facts(live)));
                live += (left + if round == 0 { first } else { 0.0 }) * MIB;
                steps += 5;
                nodes.leave(steps, Some(&facts(live)));
                live += 0.5 * MIB; // between the nodes: none of theirs
            }
        }
        if said {
            nodes.round_ends(steps, Some(&facts(live)));
        }
        nodes
    }

    fn per_round(nodes: &Nodes) -> Vec<(String, Option<f64>)> {
        let rows = nodes.rows(ProcId(1), &|_| (7, None));
        rows.into_iter().map(|row| (row.name, row.live_bytes_per_round.map(|bytes| bytes / MIB))).collect()
    }

    #[test]
    fn the_node_that_leaks_is_named_with_its_growth_per_round() {
        for said in [true, false] {
            let nodes = rounds(5, [0.0, 4.0, 0.01], 30.0, said);
            let found = nodes.culprit().expect("one leaks");
            assert_eq!((found.name.as_str(), found.per_round), ("b", 4.0 * MIB), "rounds said: {said}");
            assert!(found.sentence.starts_with("node b leaves 4 MiB of live memory behind per round (mean of 4 rounds"));
            let rows = per_round(&nodes);
            assert_eq!(rows[0], ("b".to_owned(), Some(4.0)));
            assert_eq!(rows[2], ("a".to_owned(), Some(0.0)), "what it loads once is no growth");
            let row = &nodes.rows(ProcId(1), &|_| (7, None))[0];
            assert_eq!((row.pid, row.rounds, row.visits, row.steps), (7, 5, 5, 25));
        }
    }

    #[test]
    fn where_all_or_none_leak_nobody_is_named() {
        assert_eq!(rounds(5, [4.0; 3], 0.0, true).culprit(), None);
        assert_eq!(rounds(5, [0.0; 3], 30.0, true).culprit(), None, "loaded once");
        assert_eq!(rounds(2, [0.0, 4.0, 0.0], 0.0, true).culprit(), None, "seen too seldom");
    }

    #[test]
    fn visits_of_one_round_are_summed_and_one_that_goes_on_does_not_count() {
        let mut nodes = Nodes::default();
        let mut live = 0.0;
        for _ in 0..3 {
            nodes.round(0, Some(&facts(live)));
            for _ in 0..2 {
                nodes.visit("a", 0, Some(&facts(live)));
                live += MIB;
                nodes.leave(0, Some(&facts(live)));
            }
        }
        // The third round has not ended.
        nodes.visit("a", 0, Some(&facts(live)));
        nodes.leave(0, Some(&facts(live + 50.0 * MIB)));
        assert_eq!(per_round(&nodes), [("a".to_owned(), Some(2.0))]);
        nodes.round_ends(0, None);
        assert_eq!(per_round(&nodes), [("a".to_owned(), Some(27.0))]);
    }

    #[test]
    fn what_is_not_known_is_not_told() {
        let mut nodes = Nodes::default();
        for _ in 0..4 {
            nodes.round(0, None);
            nodes.visit("a", 0, None);
        }
        assert_eq!(per_round(&nodes), [("a".to_owned(), None)]);
    }

    #[test]
    fn it_stays_small() {
        let mut nodes = Nodes::default();
        for i in 0..100_000_u64 {
            nodes.round(i, None);
            nodes.visit(&format!("{}", i % 1000), i, Some(&facts(i as f64)));
        }
        assert_eq!(nodes.by_name.len(), MOST_NODES);
        assert!(nodes.by_name.values().all(|node| node.rounds.len() <= MOST_ROUNDS));
    }
}

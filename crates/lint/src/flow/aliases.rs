//! From one place to all that can hold the same object.

use std::collections::VecDeque;

use super::place::MAX_DEPTH;
use super::{At, Flow, Place};
use crate::model::{ScopeId, TextSize};
use crate::program::FileId;
use crate::table::HashSet;

/// Places that are visited for one object, at most: a program in which more places hold it is not understood anyway.
const MAX_STATES: usize = 4_000;

/// A place that can hold the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias<'p> {
    /// The place.
    pub at: At<'p>,
    /// How it was reached.
    pub reach: Reach,
    /// How many steps away.
    pub steps: usize,
    /// The last thing that moved it here.
    pub site: Option<(FileId, TextSize)>,
    /// The classes above and below have been looked at, or do not count.
    related: bool,
    /// The function whose result it was, back inside it: its other callers get other objects.
    inside: Option<(FileId, ScopeId)>,
}

/// How a place was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// The object may come from here.
    Back,
    /// The object may get here.
    Forward,
}

impl<'p> Alias<'p> {
    /// Whether the object can go on from here to there. What a function made and returned to us it does not return to others.
    fn may_leave(&self, to: Place<'p>) -> bool {
        match (self.at.place, to) {
            (Place::Result(..), _) if self.reach == Reach::Back && self.steps > 0 => false,
            (_, Place::Result(file, function)) => self.inside != Some((file, function)),
            _ => true,
        }
    }

    /// Whether it cannot go everywhere from here.
    fn is_held(&self) -> bool {
        self.inside.is_some() || self.reach == Reach::Back && self.steps > 0 && matches!(self.at.place, Place::Result(..))
    }

    /// The function that we are back inside of at the next place.
    fn inside_at(&self, next: Place<'p>) -> Option<(FileId, ScopeId)> {
        let function = match self.at.place {
            Place::Result(file, function) if self.reach == Reach::Back => Some((file, function)),
            _ => self.inside,
        };
        function.filter(|function| matches!(next, Place::Variable(file, owner, _) if (file, owner) == *function))
    }
}

impl<'p> Flow<'p> {
    /// All places that can hold the object at the given ones. `exact` says that the classes of the seeds' owners are known
    /// exactly, so that classes that inherit from them do not count.
    #[must_use]
    pub fn aliases(&self, seeds: &[At<'p>], exact: bool) -> Vec<Alias<'p>> {
        let mut seen: HashSet<(At<'p>, Reach, bool)> = HashSet::default();
        let mut found: Vec<Alias<'p>> = Vec::new();
        let mut queue: VecDeque<Alias<'p>> = seeds
            .iter()
            .map(|at| Alias { at: *at, reach: Reach::Back, steps: 0, site: None, related: exact, inside: None })
            .collect();
        while let Some(alias) = queue.pop_front() {
            // What could be reached going back can be left in both directions, unless it is held inside a function.
            let free = seen.contains(&(alias.at, Reach::Back, false));
            let key = (alias.at, alias.reach, alias.is_held());
            if free || seen.contains(&key) || found.len() >= MAX_STATES || alias.at.depth > MAX_DEPTH {
                continue;
            }
            seen.insert(key);
            found.push(alias);
            self.relatives(alias, &mut queue);
            self.step(alias, &mut queue);
        }
        found
    }

    /// The same attribute as seen by the classes above and below.
    fn relatives(&self, alias: Alias<'p>, queue: &mut VecDeque<Alias<'p>>) {
        let Place::Attribute(class, name) = alias.at.place else { return };
        // Only once: a class beside it, with the same one above, has an attribute of its own.
        if alias.related {
            return;
        }
        for other in self.classes.ancestors(class).iter().chain(self.classes.descendants(class)) {
            let place = Place::Attribute(*other, name);
            queue.push_back(Alias { at: At { place, ..alias.at }, related: true, ..alias });
        }
    }

    fn step(&self, alias: Alias<'p>, queue: &mut VecDeque<Alias<'p>>) {
        let mut go = |near: At<'p>, far: At<'p>, reach, site| {
            // An attribute of who knows what leads everywhere.
            if let Some(below) = alias.at.depth.checked_sub(near.depth)
                && !matches!(far.place, Place::Unknown(_))
            {
                let at = At { depth: far.depth + below, ..far };
                queue.push_back(Alias {
                    at,
                    reach,
                    steps: alias.steps + 1,
                    site: Some(site),
                    related: false,
                    inside: alias.inside_at(at.place),
                });
            }
        };
        let edges = self.edges();
        let Some(place) = edges.place(alias.at.place) else { return };
        for edge in edges.from(place) {
            if !alias.may_leave(edge.to.place) {
                continue;
            }
            go(edge.from, edge.to, Reach::Forward, edge.site);
        }
        if alias.reach == Reach::Back {
            for edge in edges.to(place) {
                go(edge.to, edge.from, Reach::Back, edge.site);
            }
        }
    }
}

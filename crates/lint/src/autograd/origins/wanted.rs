//! Which part of a value a question is about.

use crate::model::{Item, Way};

/// Which part of a value is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::autograd) struct Wanted<'p> {
    /// The way to it.
    pub(super) way: Way<'p>,
    /// Whether anything below it counts as well.
    pub(super) deep: bool,
}

impl<'p> Wanted<'p> {
    /// The value itself, or anything in it.
    pub(in crate::autograd) const ANY: Self = Self { way: Way::ITSELF, deep: true };
    /// The value itself.
    pub(super) const ITSELF: Self = Self { way: Way::ITSELF, deep: false };

    /// The same part of an item of something.
    pub(super) fn of(self, item: Item<'p>) -> Option<Self> {
        self.of_part(Way::to(item))
    }

    /// The same part of a part of something.
    pub(super) fn of_part(self, part: Way<'p>) -> Option<Self> {
        Some(Self { way: part.then(self.way)?, ..self })
    }

    /// What is asked about an item, where something may be asked about it.
    pub(super) fn inside(self, item: Item<'p>) -> Option<Self> {
        match self.way.split() {
            Some((first, rest)) => first.may_be(item).then_some(Self { way: rest, ..self }),
            None => self.deep.then_some(self),
        }
    }

    /// What is asked about a part.
    pub(super) fn inside_part(self, part: Way<'p>) -> Option<Self> {
        part.items().iter().try_fold(self, |wanted, item| wanted.inside(*item))
    }
}

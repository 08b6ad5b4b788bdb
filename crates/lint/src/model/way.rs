//! The way from a value to a part of it.

use ruff_python_ast::{Expr, Number};

/// Items that a way leads through, at most: `batch["a"][0].loss` has three.
const MAX: usize = 4;

/// One step into a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Item<'a> {
    /// What stands at this place of a tuple or a list.
    At(u8),
    /// What has this key, or is an attribute of this name.
    Key(&'a str),
    /// Any one of its items.
    Any,
}

impl<'a> Item<'a> {
    /// What a subscript takes out; a slice takes nothing out.
    #[must_use]
    pub fn of(subscript: &'a Expr) -> Option<Self> {
        match subscript {
            Expr::StringLiteral(text) => Some(Self::Key(text.value.to_str())),
            Expr::NumberLiteral(number) => match &number.value {
                Number::Int(at) => Some(at.as_u8().map_or(Self::Any, Self::At)),
                _ => Some(Self::Any),
            },
            Expr::Slice(_) => None,
            _ => Some(Self::Any),
        }
    }

    /// Whether both may mean the same item.
    #[must_use]
    pub fn may_be(self, other: Self) -> bool {
        self == other || matches!(self, Self::Any) || matches!(other, Self::Any)
    }
}

/// The items that lead to a part of a value, from outside in; none for the value itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Way<'a> {
    items: [Item<'a>; MAX],
    length: u8,
}

impl<'a> Way<'a> {
    /// To the value itself.
    pub const ITSELF: Self = Self { items: [Item::Any; MAX], length: 0 };

    /// To an item of a value.
    #[must_use]
    pub fn to(item: Item<'a>) -> Self {
        Self { items: [item, Item::Any, Item::Any, Item::Any], length: 1 }
    }

    /// One step further; none where that is too far.
    #[must_use]
    pub fn further(self, item: Item<'a>) -> Option<Self> {
        let mut way = self;
        *way.items.get_mut(usize::from(self.length))? = item;
        way.length += 1;
        Some(way)
    }

    /// This way and then another one; none where that is too far.
    #[must_use]
    pub fn then(self, next: Self) -> Option<Self> {
        next.items().iter().try_fold(self, |way, item| way.further(*item))
    }

    /// Its items.
    #[must_use]
    pub fn items(&self) -> &[Item<'a>] {
        self.items.get(..usize::from(self.length)).unwrap_or_default()
    }

    /// The first item, and the way from there.
    #[must_use]
    pub fn split(&self) -> Option<(Item<'a>, Self)> {
        let (first, rest) = self.items().split_first()?;
        Some((*first, rest.iter().fold(Self::ITSELF, |way, item| way.further(*item).unwrap_or(way))))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn ways_are_put_together_and_taken_apart() {
        let inner = Way::to(Item::At(1)).further(Item::Key("loss")).unwrap();
        let whole = Way::to(Item::Any).then(inner).unwrap();
        assert_eq!(whole.items(), [Item::Any, Item::At(1), Item::Key("loss")]);
        assert_eq!(whole.split(), Some((Item::Any, inner)));
        assert_eq!(Way::ITSELF.split(), None);
        assert_eq!(Way::ITSELF.then(whole), Some(whole));
    }

    #[test]
    fn a_way_that_is_too_long_is_none() {
        let most = Way::to(Item::Any).then(Way::to(Item::Any)).unwrap();
        let most = most.then(most).unwrap();
        assert_eq!(most.items().len(), MAX);
        assert_eq!(most.further(Item::At(0)), None);
        assert_eq!(most.then(Way::to(Item::Any)), None);
    }
}

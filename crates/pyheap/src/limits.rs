//! How many elements a container holds at most, where it says so itself.
//!
//! What fills up to a number looks like a leak until it is full; the number stands in the object.

use crate::census::Census;
use crate::types::Kind;
use crate::visit;
use crate::walk::{ObjectId, Parent};

/// `maxlen` of a deque, -1 without one (Modules/_collectionsmodule.c, `dequeobject`: 3.8 to 3.14).
const MAXLEN: u64 = 64;
/// `cache` and `maxsize` of what `functools.lru_cache` makes, the latter -1 without one (Modules/_functoolsmodule.c, `lru_cache_object`:
/// 3.8 to 3.14).
const CACHE: u64 = 72;
const MAXSIZE: u64 = 96;

/// Attributes by which queues have what is in them and how much that may be: those of `queue`, `asyncio` and `multiprocessing`.
const QUEUES: [(&str, &str); 3] = [("queue", "maxsize"), ("_queue", "_maxsize"), ("_buffer", "_maxsize")];
/// References between a queue and what is in it: its attributes may be in a dict.
const WITHIN: usize = 2;

impl Census {
    /// The most elements that a container takes, by what it says itself, or the queue whose it is: a deque with a `maxlen`, the dict of an
    /// `lru_cache` with a `maxsize`, what is in a `Queue(maxsize)`. `None` where there is no such number, or it cannot be one, since there
    /// are more elements than that.
    #[must_use]
    pub fn limit(&self, container: ObjectId) -> Option<u64> {
        let (kind, address) = self.met(container)?;
        let len = || self.reader().len(address);
        self.own_limit(container).or_else(|| {
            let may_be_its = matches!(kind.kind, Kind::Deque | Kind::List);
            self.limit_of_queue(container, address).filter(|limit| may_be_its && len().is_none_or(|len| len <= *limit))
        })
    }

    /// The limit of the queue that has this container as what is in it.
    fn limit_of_queue(&self, container: ObjectId, address: u64) -> Option<u64> {
        let mut at = container;
        for _ in 0..WITHIN {
            let Parent::Object(owner) = self.objects().parent(at) else { return None };
            let (kind, place) = self.met(owner)?;
            let attribute = |name: &str| visit::attribute(self.reader(), kind, place, &[name]);
            if let Some((_, most)) = QUEUES.iter().find(|(items, _)| attribute(items) == Some(address)) {
                let limit = attribute(most).and_then(|most| self.reader().int(most))?;
                return u64::try_from(limit).ok().filter(|limit| *limit > 0);
            }
            at = owner;
        }
        None
    }

    fn own_limit(&self, container: ObjectId) -> Option<u64> {
        let (kind, address) = self.met(container)?;
        let number = match kind.kind {
            Kind::Deque => self.reader().image.u64(address.checked_add(MAXLEN)?)?,
            Kind::LruCache => self.reader().image.u64(address.checked_add(MAXSIZE)?)?,
            Kind::Dict => {
                let Parent::Object(owner) = self.objects().parent(container) else { return None };
                let (kind, owner) = self.met(owner).filter(|(kind, _)| kind.kind == Kind::LruCache)?;
                let is_its = self.reader().pointer(owner.checked_add(CACHE)?) == Some(address);
                (is_its && kind.basic > MAXSIZE).then(|| self.reader().image.u64(owner + MAXSIZE)).flatten()?
            }
            _ => return None,
        };
        let limit = i64::try_from(number).ok().and_then(|number| u64::try_from(number).ok())?;
        (limit > 0 && self.reader().len(address).is_none_or(|len| kind.kind != Kind::Deque || len <= limit)).then_some(limit)
    }
}

//! Hash tables of names and places: with a quick hash, seeded anew in each run, since names come from files of strangers.

use foldhash::fast::RandomState;

/// A map.
pub type HashMap<Key, Value> = std::collections::HashMap<Key, Value, RandomState>;
/// A set.
pub type HashSet<Key> = std::collections::HashSet<Key, RandomState>;

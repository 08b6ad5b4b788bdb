//! Tensors as a person wants to see them: alike ones together, each storage once, and what pins more than it shows.

use super::dtype;
use super::find::Torch;
use super::tensor::Tensor;
use std::collections::{HashMap, HashSet};

/// What tensors of a group have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind {
    /// As torch writes it.
    pub dtype: String,
    /// Sizes.
    pub shape: Vec<i64>,
    /// As torch writes it; of a fake tensor what it claims.
    pub device: String,
    /// Whether it is a fake one, of which nothing lies on that device.
    pub fake: bool,
    /// Whether gradients are to be computed.
    pub requires_grad: bool,
    /// Whether they drag a graph along.
    pub grad_fn: bool,
    /// Whether Python refers to them; else only C++ does.
    pub python: bool,
}

/// Tensors of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// What they have in common.
    pub kind: Kind,
    /// How many there are.
    pub count: u64,
    /// Bytes of their storages, each storage counted once in all groups: with the first tensor that Python has.
    pub bytes: u64,
    /// One of them, to ask who holds it.
    pub example: u64,
}

/// A large storage of which little can be seen: a view that pins it, mostly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pinned {
    /// The storage.
    pub storage: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Bytes of all tensors that show a part of it.
    pub shown: u64,
    /// How many these are.
    pub tensors: u64,
    /// The largest of them.
    pub example: u64,
}

/// Smallest storage that is worth a word, in bytes.
const WORTH: u64 = 64 << 10;
/// Less than one part in this many is shown.
const SHOWN: u64 = 4;

impl Kind {
    /// Of a tensor.
    pub fn of(tensor: &Tensor) -> Kind {
        Kind {
            dtype: dtype::name(tensor.dtype),
            shape: tensor.shape.clone(),
            device: dtype::device(tensor.claims.unwrap_or(tensor.device)),
            fake: tensor.claims.is_some(),
            requires_grad: tensor.requires_grad,
            grad_fn: tensor.grad_fn.is_some(),
            python: tensor.held,
        }
    }
}

/// All tensors by kind, those with the most bytes first.
pub fn groups(torch: &Torch) -> Vec<Group> {
    let mut groups: HashMap<Kind, Group> = HashMap::new();
    let mut counted = HashSet::new();
    let (python, other): (Vec<_>, Vec<_>) = torch.tensors.iter().partition(|tensor| tensor.held);
    for tensor in python.into_iter().chain(other) {
        let kind = Kind::of(tensor);
        let storage = torch.storage(tensor).filter(|storage| counted.insert(storage.address));
        let group = groups.entry(kind).or_insert_with_key(|kind| Group {
            kind: kind.clone(),
            count: 0,
            bytes: 0,
            example: tensor.address,
        });
        group.count += 1;
        group.bytes += storage.map_or(0, |storage| storage.bytes);
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.sort_unstable_by(|a, b| (b.bytes, b.count, &a.kind).cmp(&(a.bytes, a.count, &b.kind)));
    groups
}

/// Storages that are pinned by tensors that show less than a quarter of them, the largest first.
pub fn pinned(torch: &Torch) -> Vec<Pinned> {
    let mut by_storage: HashMap<u64, Pinned> = HashMap::new();
    let mut largest: HashMap<u64, u64> = HashMap::new();
    for tensor in &torch.tensors {
        let Some(storage) = torch.storage(tensor).filter(|storage| storage.bytes >= WORTH) else { continue };
        let new = Pinned { storage: storage.address, bytes: storage.bytes, shown: 0, tensors: 0, example: tensor.address };
        let pinned = by_storage.entry(storage.address).or_insert(new);
        pinned.shown = pinned.shown.saturating_add(tensor.bytes());
        pinned.tensors += 1;
        let most = largest.entry(storage.address).or_default();
        if tensor.bytes() > *most {
            *most = tensor.bytes();
            pinned.example = tensor.address;
        }
    }
    let mut found: Vec<Pinned> = by_storage.into_values().filter(|pinned| pinned.shown < pinned.bytes / SHOWN).collect();
    found.sort_unstable_by_key(|pinned| std::cmp::Reverse((pinned.bytes, pinned.storage)));
    found
}

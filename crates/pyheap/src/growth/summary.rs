//! What is kept of a census to compare a later one with: totals by type, and what holds something.

use super::held::Held;
use crate::census::{Census, Total};
use crate::visit::Label;
use crate::walk::{ObjectId, Parent, Root};
use std::collections::HashMap;

/// Objects that are kept at most, those that hold most.
const NODES: usize = 400_000;
/// An object that is no container is kept where it holds at least so many bytes.
const WORTH: u64 = 1024;

/// An object that holds others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Node {
    /// Where it is: as long as it lives, its name.
    pub address: u64,
    /// Where the object is that holds it, 0 for none: what is no container and lies in another's place is another.
    pub parent: u64,
    /// Its type, by its position among the types.
    pub kind: u32,
    /// `len()`, for a container.
    pub len: Option<u64>,
    /// Objects that it holds, itself included.
    pub count: u64,
    /// Bytes that it holds, its own included.
    pub bytes: u64,
}

/// What a local variable of a running function holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Local {
    /// The thread, by where its state is: positions change as threads come and go.
    pub thread: u64,
    /// The function's code.
    pub code: u64,
    /// The variable, by its position.
    pub position: u32,
    /// The object.
    pub address: u64,
    /// Bytes that it holds, its own included.
    pub bytes: u64,
}

impl Local {
    /// What is the same at another look; that of functions that call themselves is not told apart.
    pub(super) fn key(&self) -> (u64, u64, u32) {
        (self.thread, self.code, self.position)
    }
}

/// A census in brief.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Summary {
    /// Names of types.
    pub kinds: Vec<String>,
    /// Number and bytes of their objects.
    pub totals: Vec<(u64, u64)>,
    /// What holds something, by address.
    pub nodes: Vec<Node>,
    /// What local variables hold, each variable once.
    pub locals: Vec<Local>,
    /// Number and bytes of what is held by nothing but itself: cycles that wait for the collector.
    pub garbage: (u64, u64),
    /// Of what only native code has references to, and that is no container: type, number, bytes that they hold. None are known of a
    /// look that was kept by an older lowtide.
    #[serde(default)]
    pub unnamed: Vec<(String, u64, u64)>,
    /// The threads that ran Python, by where their states are; sorted. None are known of a look that was kept by an older lowtide.
    #[serde(default)]
    pub threads: Vec<u64>,
}

impl Summary {
    /// The same object, where it was there. An address is given to others again: the type must be the same, and of what is no
    /// container who holds it, too.
    pub(super) fn same(&self, address: u64, kind: &str, parent: u64) -> Option<&Node> {
        let at = self.nodes.binary_search_by_key(&address, |node| node.address).ok()?;
        let node = self.nodes.get(at)?;
        let is_same = self.kinds.get(node.kind as usize).is_some_and(|old| old == kind);
        (is_same && (node.len.is_some() || node.parent == parent)).then_some(node)
    }
}

impl Census {
    /// Where the object is that led to another; 0 where a root did.
    pub(super) fn parent_address(&self, id: ObjectId) -> u64 {
        match self.objects().parent(id) {
            Parent::Object(parent) => self.objects().address(parent),
            Parent::Root(_) => 0,
        }
    }

    /// Where the states of all threads are, by their positions.
    pub(super) fn threads(&self) -> Vec<u64> {
        let interpreters = &self.python().interpreters;
        interpreters.iter().flat_map(|interpreter| &interpreter.threads).map(|thread| thread.address).collect()
    }

    /// What local variables hold that nothing of a better rank leads to; each variable once, in the order of their keys.
    pub(super) fn locals(&self, held: &Held) -> Vec<(Local, ObjectId)> {
        let (objects, threads) = (self.objects(), self.threads());
        let local = |id: ObjectId| {
            let Parent::Root(root) = objects.parent(id) else { return None };
            let Some(Root::Frame { thread, frame, label: Label::Local(position) }) = self.roots().get(root as usize) else {
                return None;
            };
            let (address, bytes) = (objects.address(id), held.bytes(id));
            Some((
                Local { thread: threads.get(*thread as usize).copied()?, code: frame.code, position: *position, address, bytes },
                id,
            ))
        };
        let mut locals: Vec<(Local, ObjectId)> = objects.ids().filter_map(local).collect();
        locals.sort_by_key(|(local, id)| (local.key(), *id));
        locals.dedup_by_key(|(local, _)| local.key());
        locals
    }

    /// What to keep of it.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.summary_of(&self.held())
    }

    /// The same, where what each object holds is known.
    pub(super) fn summary_of(&self, held: &Held) -> Summary {
        // Types made twice have the same name, and are one for whoever reads it.
        let mut by_name: HashMap<&str, u32> = HashMap::new();
        let mut kinds = Vec::new();
        let mut position = Vec::new();
        for (_, kind) in self.types().iter() {
            let next = kinds.len() as u32;
            let at = *by_name.entry(kind.name.as_str()).or_insert_with(|| {
                kinds.push(kind.name.clone());
                next
            });
            position.push(at);
        }
        let mut totals = vec![Total::default(); kinds.len()];
        let mut nodes = Vec::new();
        for id in self.objects().ids() {
            let Some(kind) = position.get(self.objects().kind(id).0 as usize).copied() else { continue };
            totals[kind as usize].add(self.objects().size(id));
            let own = held.total(id);
            let is_container = self.kind(id).is_some_and(|kind| kind.kind.is_container());
            if is_container || own.bytes >= WORTH {
                let address = self.objects().address(id);
                let parent = self.parent_address(id);
                nodes.push(Node { address, parent, kind, len: self.len_of(id), count: own.count, bytes: own.bytes });
            }
        }
        if nodes.len() > NODES {
            nodes.sort_by_key(|node| std::cmp::Reverse(node.bytes));
            nodes.truncate(NODES);
        }
        nodes.sort_by_key(|node| node.address);
        let garbage = self.garbage(held).0;
        Summary {
            kinds,
            totals: totals.into_iter().map(|total| (total.count, total.bytes)).collect(),
            nodes,
            locals: self.locals(held).into_iter().map(|(local, _)| local).collect(),
            garbage: (garbage.count, garbage.bytes),
            unnamed: self
                .unnamed(held)
                .into_iter()
                .map(|(kind, (total, _))| (kind.to_owned(), total.count, total.bytes))
                .collect(),
            threads: {
                let mut threads = self.threads();
                threads.sort_unstable();
                threads
            },
        }
    }
}

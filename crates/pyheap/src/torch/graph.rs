//! Autograd graphs: which nodes a tensor's graph has, and which memory the graph alone keeps alive.
//!
//! A tensor that was computed points to the node that made it; a node points to those before it and keeps the tensors that
//! its backward step needs. Those tensors mostly have no Python object: nothing but the graph knows them.

use super::find::{Place, Torch};
use crate::native::classes::Id;
use crate::native::window::Window;
use std::collections::{HashMap, HashSet, VecDeque};

/// Bytes of a node that are looked through.
const NODE: u64 = 4096;
/// Edges of a node, at most.
const EDGES: u64 = 4096;
/// Bytes of a list of saved tensors that are looked through.
const LIST: u64 = 64 << 10;
/// Nodes of a class that tell where it keeps what it saves.
const SAMPLE: usize = 256;

/// All graphs of a process.
#[derive(Debug, Default)]
pub struct Graph {
    /// By node, in the order of [`Torch::nodes`]: numbers of the nodes before it.
    pub before: Vec<Vec<u32>>,
    /// By node: tensors that it keeps.
    pub saved: Vec<Vec<u64>>,
}

/// What one tensor's graph holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The tensor, to which Python refers.
    pub tensor: u64,
    /// Its Python object.
    pub python: u64,
    /// Nodes that no tensor before it in the list holds.
    pub nodes: u64,
    /// Tensors that Python does not refer to, and these nodes keep.
    pub tensors: u64,
    /// Bytes of storages that no tensor shares to which Python refers.
    pub bytes: u64,
    /// Bytes of the nodes themselves.
    pub node_bytes: u64,
}

/// The graphs, put down to the tensors that hold them.
#[derive(Debug, Default)]
pub struct Attribution {
    /// The largest first. A graph that several tensors hold is put down to the one that is computed last.
    pub held: Vec<Held>,
    /// Nodes that no tensor of Python's leads to: those of a step that is under way, mostly.
    pub other_nodes: u64,
    /// Bytes that only those keep.
    pub other_bytes: u64,
    /// Addresses of all tensors that nodes keep.
    pub saved: HashSet<u64>,
}

impl Graph {
    /// Reads all nodes.
    pub fn read(window: &mut Window<'_>, torch: &Torch) -> Graph {
        let tensors: HashSet<u64> = torch.tensors.iter().map(|tensor| tensor.address).collect();
        let numbers: HashMap<u64, u32> = torch.nodes.iter().zip(0..).map(|(node, i)| (node.address, i)).collect();
        let reader = Reader { torch, tensors, numbers, undefined: torch.undefined };
        let mut by_class: HashMap<Id, Vec<&Place>> = HashMap::new();
        torch.nodes.iter().for_each(|node| by_class.entry(node.class).or_default().push(node));
        let slots: HashMap<Id, Slots> = by_class.iter().map(|(&class, nodes)| (class, reader.slots(window, nodes))).collect();
        let none = Slots::default();
        let node = |node: &Place| reader.node(window, node, slots.get(&node.class).unwrap_or(&none));
        let (before, saved) = torch.nodes.iter().map(node).unzip();
        Graph { before, saved }
    }

    /// Puts every node and what it keeps down to a tensor that Python has.
    pub fn attribute(&self, torch: &Torch) -> Attribution {
        let mut reached = vec![false; self.before.len()];
        for &node in self.before.iter().flatten() {
            reached[node as usize] = true;
        }
        let numbers: HashMap<u64, usize> = torch.nodes.iter().zip(0..).map(|(node, i)| (node.address, i)).collect();
        let mut roots: Vec<(bool, u64, u64, usize)> = torch
            .tensors
            .iter()
            .filter(|t| t.held)
            .filter_map(|t| Some((t.address, t.python?, *numbers.get(&t.grad_fn?)?)))
            .map(|(address, python, node)| (reached[node], address, python, node))
            .collect();
        // The last computed first: what leads to everything is not led to.
        roots.sort_unstable();

        let shared: HashSet<u64> = torch.tensors.iter().filter(|t| t.held).filter_map(|t| t.storage).collect();
        let mut books = Books { graph: self, torch, seen: vec![false; self.before.len()], counted: shared };
        let mut held: Vec<Held> = roots.into_iter().map(|(_, tensor, python, node)| books.hold(tensor, python, node)).collect();
        let rest: Vec<usize> = (0..self.before.len()).filter(|&i| !books.seen[i]).collect();
        let other_nodes = rest.len() as u64;
        let other_bytes = rest.into_iter().map(|node| books.hold(0, 0, node).bytes).sum();
        held.retain(|held| held.nodes > 0);
        held.sort_by_key(|held| std::cmp::Reverse((held.bytes, held.nodes)));
        Attribution { held, other_nodes, other_bytes, saved: self.saved.iter().flatten().copied().collect() }
    }
}

struct Books<'a> {
    graph: &'a Graph,
    torch: &'a Torch,
    seen: Vec<bool>,
    /// Storages that are not to be counted: of tensors that Python refers to, or counted before.
    counted: HashSet<u64>,
}

impl Books<'_> {
    fn hold(&mut self, tensor: u64, python: u64, node: usize) -> Held {
        let mut held = Held { tensor, python, nodes: 0, tensors: 0, bytes: 0, node_bytes: 0 };
        let mut queue = VecDeque::from([node]);
        while let Some(node) = queue.pop_front() {
            if std::mem::replace(&mut self.seen[node], true) {
                continue;
            }
            held.nodes += 1;
            held.node_bytes += self.torch.nodes.get(node).map_or(0, |node| node.size);
            for saved in self.graph.saved[node].iter().filter_map(|&at| self.torch.at(at)) {
                held.tensors += u64::from(!saved.held);
                if let Some(storage) = self.torch.storage(saved)
                    && self.counted.insert(storage.address)
                {
                    held.bytes += storage.bytes;
                }
            }
            queue.extend(self.graph.before[node].iter().map(|&before| before as usize));
        }
        held
    }
}

struct Reader<'a> {
    torch: &'a Torch,
    tensors: HashSet<u64>,
    numbers: HashMap<u64, u32>,
    /// What stands for "no tensor".
    undefined: Option<u64>,
}

impl Reader<'_> {
    /// The places of a class's nodes that hold a saved tensor, and those that hold a list: where every node has one, or
    /// torch's own "none". Places that a node does not set hold what lay there before: the address of a tensor of another
    /// graph, perhaps.
    fn slots(&self, window: &mut Window<'_>, nodes: &[&Place]) -> Slots {
        let step = nodes.len().div_ceil(SAMPLE).max(1);
        let mut slots: Option<Slots> = None;
        for node in nodes.iter().step_by(step) {
            let bytes = window.bytes(node.address, node.size.min(NODE) as usize);
            let words: Vec<u64> = words(&bytes).collect();
            let of = Slots {
                tensor: words.iter().map(|word| self.tensors.contains(word) || self.undefined == Some(*word)).collect(),
                list: words.windows(3).map(|three| three == [0; 3] || is_list(three)).collect(),
            };
            slots = Some(slots.map_or(of.clone(), |slots| slots.and(&of)));
        }
        slots.unwrap_or_default()
    }

    fn node(&self, window: &mut Window<'_>, node: &Place, slots: &Slots) -> (Vec<u32>, Vec<u64>) {
        let bytes = window.bytes(node.address, node.size.min(NODE) as usize);
        let words: Vec<u64> = words(&bytes).collect();
        let (mut before, mut saved) = (Vec::new(), Vec::new());
        for (i, three) in words.windows(3).enumerate().filter(|(_, three)| is_list(three)) {
            let edges = self.torch.layout.knows_nodes() && 8 * i as u64 == self.torch.layout.edges;
            if edges || slots.list.get(i) == Some(&true) {
                self.list(window, three[0], three[1], edges, &mut before, &mut saved);
            }
        }
        let in_place = words.iter().zip(&slots.tensor).filter(|(word, slot)| **slot && self.tensors.contains(word));
        saved.extend(in_place.map(|(word, _)| *word));
        if !self.torch.layout.knows_nodes() {
            before.extend(words.iter().filter(|&&word| word != node.address).filter_map(|word| self.numbers.get(word)));
        }
        (tidy(before), tidy(saved))
    }

    fn list(&self, window: &mut Window<'_>, begin: u64, end: u64, edges: bool, before: &mut Vec<u32>, saved: &mut Vec<u64>) {
        let bytes = window.bytes(begin, (end - begin) as usize);
        if edges {
            let step = self.torch.layout.edge_bytes as usize;
            let starts = bytes.chunks_exact(step).take(EDGES as usize);
            before.extend(starts.filter_map(|edge| self.numbers.get(&words(edge).next()?)));
        } else {
            saved.extend(words(&bytes).filter(|word| self.tensors.contains(word)));
        }
    }
}

/// Whether three words are a vector that is not empty.
fn is_list(three: &[u64]) -> bool {
    matches!(three, &[begin, end, room] if begin != 0 && begin % 8 == 0 && begin < end && end <= room && room - begin <= LIST)
}

/// Which words of a class's nodes are what.
#[derive(Debug, Clone, Default)]
struct Slots {
    tensor: Vec<bool>,
    list: Vec<bool>,
}

impl Slots {
    fn and(self, other: &Slots) -> Slots {
        let both = |a: Vec<bool>, b: &[bool]| a.into_iter().zip(b).map(|(a, b)| a && *b).collect();
        Slots { tensor: both(self.tensor, &other.tensor), list: both(self.list, &other.list) }
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).filter_map(|chunk| chunk.try_into().ok()).map(u64::from_le_bytes)
}

fn tidy<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort_unstable();
    list.dedup();
    list
}

//! Autograd graphs: which nodes a tensor's graph has, and which memory the graph alone keeps alive.
//!
//! A tensor that was computed points to the node that made it; a node points to those before it and keeps the tensors that
//! its backward step needs. Those tensors mostly have no Python object: nothing but the graph knows them.

use super::find::{Place, Torch};
use crate::native::window::Window;
use std::collections::{HashMap, HashSet, VecDeque};

/// Bytes of a node that are looked through.
const NODE: u64 = 4096;
/// Edges of a node, at most.
const EDGES: u64 = 4096;
/// Bytes of a list of saved tensors that are looked through.
const LIST: u64 = 64 << 10;

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
    /// The tensor, which has a Python object.
    pub tensor: u64,
    /// Its Python object.
    pub python: u64,
    /// Nodes that no tensor before it in the list holds.
    pub nodes: u64,
    /// Tensors without a Python object that these nodes keep.
    pub tensors: u64,
    /// Bytes of storages that no tensor with a Python object shares.
    pub bytes: u64,
}

/// The graphs, put down to the tensors that hold them.
#[derive(Debug, Default)]
pub struct Attribution {
    /// The largest first. A graph that several tensors hold is put down to the one that is computed last.
    pub held: Vec<Held>,
    /// Nodes that no tensor with a Python object leads to.
    pub other_nodes: u64,
    /// Bytes that only those keep.
    pub other_bytes: u64,
}

impl Graph {
    /// Reads all nodes.
    pub fn read(window: &mut Window<'_>, torch: &Torch) -> Graph {
        let tensors: HashSet<u64> = torch.tensors.iter().map(|tensor| tensor.address).collect();
        let numbers: HashMap<u64, u32> = torch.nodes.iter().zip(0..).map(|(node, i)| (node.address, i)).collect();
        let reader = Reader { torch, tensors, numbers };
        let (before, saved) = torch.nodes.iter().map(|node| reader.node(window, node)).unzip();
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
            .filter_map(|t| Some((t.address, t.python?, *numbers.get(&t.grad_fn?)?)))
            .map(|(address, python, node)| (reached[node], address, python, node))
            .collect();
        // The last computed first: what leads to everything is not led to.
        roots.sort_unstable();

        let shared: HashSet<u64> = torch.tensors.iter().filter(|t| t.python.is_some()).filter_map(|t| t.storage).collect();
        let mut books = Books { graph: self, torch, seen: vec![false; self.before.len()], counted: shared };
        let mut held: Vec<Held> = roots.into_iter().map(|(_, tensor, python, node)| books.hold(tensor, python, node)).collect();
        let rest: Vec<usize> = (0..self.before.len()).filter(|&i| !books.seen[i]).collect();
        let other_nodes = rest.len() as u64;
        let other_bytes = rest.into_iter().map(|node| books.hold(0, 0, node).bytes).sum();
        held.retain(|held| held.nodes > 0);
        held.sort_by_key(|held| std::cmp::Reverse((held.bytes, held.nodes)));
        Attribution { held, other_nodes, other_bytes }
    }
}

struct Books<'a> {
    graph: &'a Graph,
    torch: &'a Torch,
    seen: Vec<bool>,
    /// Storages that are not to be counted: of tensors that Python has, or counted before.
    counted: HashSet<u64>,
}

impl Books<'_> {
    fn hold(&mut self, tensor: u64, python: u64, node: usize) -> Held {
        let mut held = Held { tensor, python, nodes: 0, tensors: 0, bytes: 0 };
        let mut queue = VecDeque::from([node]);
        while let Some(node) = queue.pop_front() {
            if std::mem::replace(&mut self.seen[node], true) {
                continue;
            }
            held.nodes += 1;
            for saved in self.graph.saved[node].iter().filter_map(|&at| self.torch.at(at)) {
                held.tensors += u64::from(saved.python.is_none());
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
}

impl Reader<'_> {
    fn node(&self, window: &mut Window<'_>, node: &Place) -> (Vec<u32>, Vec<u64>) {
        let bytes = window.bytes(node.address, node.size.min(NODE) as usize);
        let words: Vec<u64> = words(&bytes).collect();
        let (mut before, mut saved) = (Vec::new(), Vec::new());
        for (at, window3) in (0u64..).step_by(8).zip(words.windows(3)) {
            let &[begin, end, room] = window3 else { break };
            // Three words that are a vector: edges where those lie, else perhaps a list of what is saved.
            if begin != 0 && begin < end && end <= room && room - begin <= LIST {
                let edges = self.torch.layout.knows_nodes() && at == self.torch.layout.edges;
                self.list(window, begin, end, edges, &mut before, &mut saved);
            }
        }
        for word in words {
            self.word(word, node.address, &mut before, &mut saved);
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
            words(&bytes).for_each(|word| self.word(word, 0, before, saved));
        }
    }

    fn word(&self, word: u64, own: u64, before: &mut Vec<u32>, saved: &mut Vec<u64>) {
        // Where the edges are known they alone count: a node's memory also holds weak and stale pointers to others.
        let guess = !self.torch.layout.knows_nodes() && word != own;
        if let Some(&node) = self.numbers.get(&word).filter(|_| guess) {
            before.push(node);
        } else if self.tensors.contains(&word) {
            saved.push(word);
        }
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

//! From a pickle's dictionaries to segments, blocks and events.

use crate::pickle::{DictId, Heap, Item, ListId, Pickle, TextId, Value};

use super::stack::Stacks;
use super::{Action, Block, Piece, Segment, Snapshot, SnapshotError, State};

/// The keys that are of interest, by their number here.
const KEYS: [&str; 22] = [
    "action",
    "addr",
    "size",
    "frames",
    "time_us",
    "device_free",
    "address",
    "requested_size",
    "state",
    "history",
    "real_size",
    "device",
    "total_size",
    "allocated_size",
    "stream",
    "segment_type",
    "segment_pool_id",
    "is_expandable",
    "blocks",
    "filename",
    "line",
    "name",
];
pub const ACTION: usize = 0;
pub const ADDR: usize = 1;
pub const SIZE: usize = 2;
pub const FRAMES: usize = 3;
pub const TIME_US: usize = 4;
pub const DEVICE_FREE: usize = 5;
const ADDRESS: usize = 6;
const REQUESTED: usize = 7;
const STATE: usize = 8;
const HISTORY: usize = 9;
const REAL_SIZE: usize = 10;
const DEVICE: usize = 11;
const TOTAL: usize = 12;
const ALLOCATED: usize = 13;
const STREAM: usize = 14;
const TYPE: usize = 15;
const POOL: usize = 16;
const EXPANDABLE: usize = 17;
const BLOCKS: usize = 18;
pub const FILENAME: usize = 19;
pub const LINE: usize = 20;
pub const NAME: usize = 21;

/// The most characters of a setting that are shown.
const SETTING: usize = 200;

/// Where dictionaries of one shape have what.
#[derive(Clone, Copy, Debug)]
pub struct Columns([u16; KEYS.len()]);

const MISSING: u16 = u16::MAX;

impl Columns {
    fn of(heap: &Heap, keys: &[TextId]) -> Self {
        let mut columns = [MISSING; KEYS.len()];
        for (at, key) in keys.iter().enumerate() {
            if let Some(known) = KEYS.iter().position(|known| *known == heap.text(*key)) {
                columns[known] = at as u16;
            }
        }
        Self(columns)
    }

    /// All shapes' columns.
    pub fn all(heap: &Heap) -> Vec<Self> {
        (0..heap.shapes() as u32).map(|shape| Self::of(heap, heap.keys(crate::pickle::ShapeId(shape)))).collect()
    }

    pub fn row<'a>(&'a self, heap: &'a Heap, values: &'a [Value]) -> Row<'a> {
        Row { columns: self, heap, values }
    }

    pub fn has(&self, key: usize) -> bool {
        self.0[key] != MISSING
    }
}

/// A dictionary, by the keys of interest.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    columns: &'a Columns,
    heap: &'a Heap,
    values: &'a [Value],
}

impl Row<'_> {
    fn item(&self, key: usize) -> Option<Item> {
        self.values.get(usize::from(self.columns.0[key])).map(|value| self.heap.item(*value))
    }

    pub fn int(&self, key: usize) -> Option<i64> {
        if let Some(Item::Int(int)) = self.item(key) { Some(int) } else { None }
    }

    /// A size or an address: what is below zero is none.
    pub fn unsigned(&self, key: usize) -> Option<u64> {
        self.int(key).and_then(|int| u64::try_from(int).ok())
    }

    pub fn text(&self, key: usize) -> Option<TextId> {
        if let Some(Item::Text(id)) = self.item(key) { Some(id) } else { None }
    }

    pub fn list(&self, key: usize) -> Option<ListId> {
        if let Some(Item::List(id)) = self.item(key) { Some(id) } else { None }
    }
}

/// Makes a snapshot of what a pickle holds.
pub fn snapshot(pickle: Pickle) -> Result<Snapshot, SnapshotError> {
    let heap = pickle.heap;
    let (segments, root) = match heap.item(pickle.root) {
        Item::Dict(root) => {
            let Some(Item::List(segments)) = heap.get(root, "segments") else {
                return Err(SnapshotError::NotASnapshot("it is a dictionary without a list of `segments`"));
            };
            (segments, Some(root))
        }
        // What torch.cuda.memory_snapshot() gives, and _snapshot() of torch 1.13.
        Item::List(segments) => (segments, None),
        _ => return Err(SnapshotError::NotASnapshot("it is neither a dictionary nor a list")),
    };
    let columns = Columns::all(&heap);
    let stacks = Stacks::of(&heap, &columns);
    let mut builder =
        Builder { heap: &heap, columns: &columns, stacks: &stacks, segments: vec![], blocks: vec![], pieces: vec![] };
    for value in heap.list(segments) {
        if let Item::Dict(segment) = heap.item(*value) {
            builder.segment(segment);
        }
    }
    let strange = builder.segments.is_empty() && !heap.list(segments).is_empty();
    if strange && !pickle.cut || root.is_none() && builder.segments.is_empty() {
        return Err(SnapshotError::NotASnapshot("its list does not hold segments"));
    }
    let (segments, blocks, pieces) = (builder.segments, builder.blocks, builder.pieces);
    let traces = match root.and_then(|root| heap.get(root, "device_traces")) {
        Some(Item::List(traces)) => heap.list(traces),
        _ => &[],
    };
    let traces =
        traces.iter().filter_map(|value| if let Item::List(list) = heap.item(*value) { Some(list) } else { None }).collect();
    let settings = root.map_or(Vec::new(), |root| settings(&heap, root));
    let actions = actions(&heap);
    let (bytes, cut) = (pickle.bytes, pickle.cut);
    Ok(Snapshot { heap, columns, actions, segments, blocks, pieces, traces, stacks, settings, bytes, cut })
}

struct Builder<'a> {
    heap: &'a Heap,
    columns: &'a [Columns],
    stacks: &'a Stacks,
    segments: Vec<Segment>,
    blocks: Vec<Block>,
    pieces: Vec<Piece>,
}

impl<'a> Builder<'a> {
    fn row(&self, dict: DictId) -> Row<'a> {
        let (shape, values) = self.heap.dict(dict);
        self.columns[shape.0 as usize].row(self.heap, values)
    }

    fn segment(&mut self, dict: DictId) {
        let row = self.row(dict);
        let (Some(total), Some(blocks)) = (row.unsigned(TOTAL), row.list(BLOCKS)) else { return };
        let from = self.blocks.len();
        let mut next = row.unsigned(ADDRESS).unwrap_or(0);
        let address = next;
        for value in self.heap.list(blocks) {
            if let Item::Dict(block) = self.heap.item(*value) {
                next = self.block(block, next);
            }
        }
        let pool = row.list(POOL).map_or(&[][..], |list| self.heap.list(list));
        let pool = match pool.iter().map(|value| self.heap.item(*value)).collect::<Vec<_>>()[..] {
            [Item::Int(one), Item::Int(other)] => (one, other),
            _ => (0, 0),
        };
        self.segments.push(Segment {
            device: row.unsigned(DEVICE).and_then(|device| u32::try_from(device).ok()).unwrap_or(0),
            address,
            total,
            allocated: row.unsigned(ALLOCATED),
            stream: row.int(STREAM).unwrap_or(0),
            small: row.text(TYPE).is_some_and(|id| self.heap.text(id) == "small"),
            pool,
            expandable: matches!(row.item(EXPANDABLE), Some(Item::Bool(true))),
            blocks: from..self.blocks.len(),
        });
    }

    /// Takes a block at this address, where it does not say its own, and says where the next one begins.
    fn block(&mut self, dict: DictId, address: u64) -> u64 {
        let row = self.row(dict);
        let Some(size) = row.unsigned(SIZE) else { return address };
        let state = row.text(STATE).map_or("", |id| self.heap.text(id));
        let state = match state {
            "active_allocated" => State::Allocated,
            // The code writes the first, its documentation the second.
            "active_pending_free" | "active_awaiting_free" => State::PendingFree,
            _ => State::Inactive,
        };
        let address = row.unsigned(ADDRESS).unwrap_or(address);
        let from = self.pieces.len() as u32;
        self.pieces_of(&row, size);
        self.blocks.push(Block { address, size, state, pieces: from..self.pieces.len() as u32 });
        address.saturating_add(size)
    }

    fn pieces_of(&mut self, row: &Row<'_>, size: u64) {
        let stack = |row: &Row<'_>| row.list(FRAMES).and_then(|list| self.stacks.of_list(list));
        if let Some(history) = row.list(HISTORY) {
            for value in self.heap.list(history) {
                if let Item::Dict(dict) = self.heap.item(*value) {
                    let past = self.row(dict);
                    let piece = Piece { size: past.unsigned(REAL_SIZE).unwrap_or(0), stack: stack(&past) };
                    self.pieces.push(piece);
                }
            }
        } else if row.columns.has(REQUESTED) || row.columns.has(FRAMES) {
            let piece = Piece { size: row.unsigned(REQUESTED).unwrap_or(size), stack: stack(row) };
            self.pieces.push(piece);
        }
    }
}

fn actions(heap: &Heap) -> Vec<(TextId, Action)> {
    let known = |text: &str| {
        Some(match text {
            "alloc" => Action::Alloc,
            "free_requested" => Action::FreeRequested,
            "free_completed" => Action::FreeCompleted,
            "segment_alloc" => Action::SegmentAlloc,
            "segment_free" => Action::SegmentFree,
            "segment_map" => Action::SegmentMap,
            "segment_unmap" => Action::SegmentUnmap,
            "snapshot" => Action::Snapshot,
            "oom" => Action::Oom,
            _ => return None,
        })
    };
    (0..heap.texts() as u32).map(TextId).filter_map(|id| Some((id, known(heap.text(id))?))).collect()
}

fn settings(heap: &Heap, root: DictId) -> Vec<(String, String)> {
    let Some(Item::Dict(settings)) = heap.get(root, "allocator_settings") else { return Vec::new() };
    let (shape, values) = heap.dict(settings);
    let shown = |value: &Value| {
        Some(match heap.item(*value) {
            Item::Bool(yes) => yes.to_string(),
            Item::Int(int) => int.to_string(),
            Item::Float(float) => float.to_string(),
            Item::Text(id) => heap.text(id).chars().take(SETTING).collect(),
            _ => return None,
        })
    };
    let named = heap.keys(shape).iter().zip(values);
    named.filter_map(|(key, value)| Some((heap.text(*key).to_owned(), shown(value)?))).collect()
}

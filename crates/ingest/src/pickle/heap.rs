//! What was read: values of eight bytes, and what they refer to.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;

use super::table::Table;

/// What may be held for a file of some size: so much for each of its bytes, and so much for any file. Snapshots need about
/// one byte for each byte; what needs more was made to.
pub const ALLOWED: (u64, u64) = (4, 64 << 20);
/// Entries of one dictionary; further ones are left out. Those of snapshots have ten.
const MOST_KEYS: usize = 1024;
/// Lists up to this length stand once, however often they are made.
const SHARED: usize = 1024;
/// The place of a list that has a vector of its own.
const OWN: u32 = u32::MAX;

/// A value: in its upper four bits what it is, in the others itself, or where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Value(u64);

const SHIFT: u32 = 60;
const REST: u64 = (1 << SHIFT) - 1;
const NONE: u64 = 0;
const BOOL: u64 = 1;
const INT: u64 = 2;
const WIDE: u64 = 3;
const FLOAT: u64 = 4;
const TEXT: u64 = 5;
const LIST: u64 = 6;
const DICT: u64 = 7;
const OTHER: u64 = 8;

/// A text of the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextId(pub u32);
/// A list or tuple of the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ListId(pub u32);
/// A dictionary of the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DictId(pub u32);
/// The keys that dictionaries have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShapeId(pub u32);

/// A value as what it is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are the documentation")]
pub enum Item {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(TextId),
    List(ListId),
    Dict(DictId),
    /// Bytes, or a number beyond 64 bits: read, and not kept.
    Other,
}

impl Value {
    pub(super) const NONE: Self = Self(NONE << SHIFT);
    pub(super) const OTHER: Self = Self(OTHER << SHIFT);

    pub(super) fn bool(yes: bool) -> Self {
        Self(BOOL << SHIFT | u64::from(yes))
    }

    fn at(what: u64, place: u32) -> Self {
        Self(what << SHIFT | u64::from(place))
    }

    pub(super) fn text(id: TextId) -> Self {
        Self::at(TEXT, id.0)
    }

    pub(super) fn list(id: ListId) -> Self {
        Self::at(LIST, id.0)
    }

    pub(super) fn dict(id: DictId) -> Self {
        Self::at(DICT, id.0)
    }
}

/// Too many of something to be numbered.
#[derive(Clone, Copy, Debug)]
pub struct Full;

fn number(count: usize) -> Result<u32, Full> {
    u32::try_from(count).ok().filter(|number| *number < OWN).ok_or(Full)
}

#[derive(Clone, Copy, Debug)]
struct Span {
    at: u32,
    len: u32,
}

/// Everything that a pickle holds.
#[derive(Debug)]
pub struct Heap {
    text: String,
    /// Where in `text` each ends.
    text_ends: Vec<usize>,
    texts: Table,
    /// Numbers that do not fit beside what they are.
    wide: Vec<i64>,
    floats: Vec<f64>,
    /// Items of lists and values of dictionaries.
    values: Vec<Value>,
    lists: Vec<Span>,
    /// Whole contents of lists in `values`, to be found again.
    contents: Table,
    spans: Vec<Span>,
    /// Lists that were added to when they had something already.
    grown: Vec<Vec<Value>>,
    grown_items: usize,
    /// Their shape, and where their values are.
    dicts: Vec<(u32, u32)>,
    shapes: Vec<Box<[TextId]>>,
    shape_numbers: Table,
    shape_keys: usize,
    /// The shape last seen of each number of keys: nearly always the next one's.
    recent: [u32; 32],
    keys: Vec<TextId>,
    filling: Vec<Value>,
}

impl Heap {
    pub(super) fn new() -> Self {
        Self {
            text: String::new(),
            text_ends: Vec::new(),
            texts: Table::default(),
            wide: Vec::new(),
            floats: Vec::new(),
            values: Vec::new(),
            lists: Vec::new(),
            contents: Table::default(),
            spans: Vec::new(),
            grown: Vec::new(),
            grown_items: 0,
            dicts: Vec::new(),
            // The first one has no keys.
            shapes: vec![Box::default()],
            shape_numbers: Table::default(),
            shape_keys: 0,
            recent: [0; 32],
            keys: Vec::new(),
            filling: Vec::new(),
        }
    }

    /// What a value is.
    #[must_use]
    pub fn item(&self, value: Value) -> Item {
        let rest = value.0 & REST;
        match value.0 >> SHIFT {
            NONE => Item::None,
            BOOL => Item::Bool(rest == 1),
            // Shifted up and down again, so that its sign comes back.
            INT => Item::Int((value.0 << (64 - SHIFT)) as i64 >> (64 - SHIFT)),
            WIDE => Item::Int(self.wide[rest as usize]),
            FLOAT => Item::Float(self.floats[rest as usize]),
            TEXT => Item::Text(TextId(rest as u32)),
            LIST => Item::List(ListId(rest as u32)),
            DICT => Item::Dict(DictId(rest as u32)),
            _ => Item::Other,
        }
    }

    /// A text.
    #[must_use]
    pub fn text(&self, id: TextId) -> &str {
        let at = id.0 as usize;
        let from = if at == 0 { 0 } else { self.text_ends[at - 1] };
        &self.text[from..self.text_ends[at]]
    }

    /// How many texts there are; their numbers are below.
    #[must_use]
    pub fn texts(&self) -> usize {
        self.text_ends.len()
    }

    /// What a list or tuple has in it.
    #[must_use]
    pub fn list(&self, id: ListId) -> &[Value] {
        let span = self.lists[id.0 as usize];
        if span.at == OWN { &self.grown[span.len as usize] } else { self.in_values(span) }
    }

    /// Where a list's items stand: lists of the same place are the same. `None` for one that was added to later on.
    #[must_use]
    pub fn place(&self, id: ListId) -> Option<u32> {
        let span = self.lists[id.0 as usize];
        (span.at != OWN).then_some(span.at).filter(|_| span.len > 0)
    }

    /// How many lists there are; their numbers are below.
    #[must_use]
    pub fn lists(&self) -> usize {
        self.lists.len()
    }

    /// A dictionary: its keys' shape, and a value for each.
    #[must_use]
    pub fn dict(&self, id: DictId) -> (ShapeId, &[Value]) {
        let (shape, at) = self.dicts[id.0 as usize];
        let len = self.shapes[shape as usize].len();
        (ShapeId(shape), &self.values[at as usize..at as usize + len])
    }

    /// How many dictionaries there are; their numbers are below.
    #[must_use]
    pub fn dicts(&self) -> usize {
        self.dicts.len()
    }

    /// The keys of a shape. Of a key that stands there twice the last one counts.
    #[must_use]
    pub fn keys(&self, shape: ShapeId) -> &[TextId] {
        &self.shapes[shape.0 as usize]
    }

    /// How many shapes there are; their numbers are below.
    #[must_use]
    pub fn shapes(&self) -> usize {
        self.shapes.len()
    }

    /// A dictionary's value.
    #[must_use]
    pub fn get(&self, dict: DictId, key: &str) -> Option<Item> {
        let (shape, values) = self.dict(dict);
        let at = self.keys(shape).iter().rposition(|id| self.text(*id) == key)?;
        Some(self.item(values[at]))
    }

    /// Bytes that all of it takes, about.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let eights = self.text_ends.len() + self.wide.len() + self.floats.len() + self.values.len() + self.grown_items;
        let pairs = self.lists.len() + self.spans.len() + self.dicts.len();
        let vectors = 3 * self.grown.len() + 2 * self.shapes.len();
        let tables = self.texts.bytes() + self.contents.bytes() + self.shape_numbers.bytes();
        (self.text.len() + 8 * (eights + pairs + vectors) + 4 * self.shape_keys + tables) as u64
    }

    fn in_values(&self, span: Span) -> &[Value] {
        &self.values[span.at as usize..][..span.len as usize]
    }

    pub(super) fn add_text(&mut self, bytes: &[u8]) -> Result<TextId, Full> {
        let lossy;
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(_) => {
                lossy = String::from_utf8_lossy(bytes);
                &*lossy
            }
        };
        let hash = hash(text);
        if let Some(known) = self.texts.find(hash, |number| self.text(TextId(number)) == text) {
            return Ok(TextId(known));
        }
        let id = number(self.text_ends.len())?;
        self.text.push_str(text);
        self.text_ends.push(self.text.len());
        self.texts.add(hash, id);
        Ok(TextId(id))
    }

    pub(super) fn add_int(&mut self, int: i64) -> Result<Value, Full> {
        if int << (64 - SHIFT) >> (64 - SHIFT) == int {
            return Ok(Value(INT << SHIFT | int as u64 & REST));
        }
        let at = number(self.wide.len())?;
        self.wide.push(int);
        Ok(Value::at(WIDE, at))
    }

    pub(super) fn add_float(&mut self, float: f64) -> Result<Value, Full> {
        let at = number(self.floats.len())?;
        self.floats.push(float);
        Ok(Value::at(FLOAT, at))
    }

    pub(super) fn add_list(&mut self, items: &[Value]) -> Result<ListId, Full> {
        let id = number(self.lists.len())?;
        let span = self.span_of(items)?;
        self.lists.push(span);
        Ok(ListId(id))
    }

    pub(super) fn extend_list(&mut self, id: ListId, items: &[Value]) -> Result<(), Full> {
        let span = self.lists[id.0 as usize];
        if items.is_empty() {
        } else if span.at == OWN {
            self.grown[span.len as usize].extend_from_slice(items);
            self.grown_items += items.len();
        } else if span.len == 0 {
            self.lists[id.0 as usize] = self.span_of(items)?;
        } else {
            let own = number(self.grown.len())?;
            let all = [self.in_values(span), items].concat();
            self.grown_items += all.len();
            self.grown.push(all);
            self.lists[id.0 as usize] = Span { at: OWN, len: own };
        }
        Ok(())
    }

    /// Where these items stand one after the other.
    fn span_of(&mut self, items: &[Value]) -> Result<Span, Full> {
        if items.is_empty() {
            return Ok(Span { at: 0, len: 0 });
        }
        let shared = items.len() <= SHARED;
        let hash = if shared { hash(items) } else { 0 };
        if shared && let Some(known) = self.contents.find(hash, |number| self.in_values(self.spans[number as usize]) == items) {
            return Ok(self.spans[known as usize]);
        }
        number(self.values.len() + items.len())?;
        let span = Span { at: self.values.len() as u32, len: items.len() as u32 };
        self.values.extend_from_slice(items);
        if shared {
            self.contents.add(hash, number(self.spans.len())?);
            self.spans.push(span);
        }
        Ok(span)
    }

    pub(super) fn add_dict(&mut self) -> Result<DictId, Full> {
        let id = number(self.dicts.len())?;
        self.dicts.push((0, 0));
        Ok(DictId(id))
    }

    /// Takes keys and values by turns; what is not named by text is left out.
    pub(super) fn extend_dict(&mut self, id: DictId, pairs: &[Value]) -> Result<(), Full> {
        if self.fill_as_before(id, pairs)? {
            return Ok(());
        }
        let (mut keys, mut values) = (std::mem::take(&mut self.keys), std::mem::take(&mut self.filling));
        keys.clear();
        values.clear();
        let (shape, before) = self.dict(id);
        keys.extend_from_slice(self.keys(shape));
        values.extend_from_slice(before);
        for pair in pairs.chunks_exact(2) {
            if let Item::Text(key) = self.item(pair[0])
                && keys.len() < MOST_KEYS
            {
                keys.push(key);
                values.push(pair[1]);
            }
        }
        let shape = self.shape_of(&keys)?;
        number(self.values.len() + values.len())?;
        self.dicts[id.0 as usize] = (shape, self.values.len() as u32);
        self.values.extend_from_slice(&values);
        (self.keys, self.filling) = (keys, values);
        Ok(())
    }

    /// Fills an empty dictionary whose keys are those of the last one of as many: nearly all of a trace's events. False where it is
    /// none.
    fn fill_as_before(&mut self, id: DictId, pairs: &[Value]) -> Result<bool, Full> {
        let Some(recent) = self.recent.get(pairs.len() / 2).copied().filter(|recent| *recent != 0) else { return Ok(false) };
        let same = |(key, pair): (&TextId, &[Value])| pair[0] == Value::text(*key);
        let keys = &self.shapes[recent as usize];
        let empty = self.dicts[id.0 as usize].0 == 0 && pairs.len().is_multiple_of(2);
        if !empty || !keys.iter().zip(pairs.chunks_exact(2)).all(same) {
            return Ok(false);
        }
        number(self.values.len() + keys.len())?;
        self.dicts[id.0 as usize] = (recent, self.values.len() as u32);
        self.values.extend(pairs.iter().skip(1).step_by(2));
        Ok(true)
    }

    fn shape_of(&mut self, keys: &[TextId]) -> Result<u32, Full> {
        if let Some(recent) = self.recent.get(keys.len())
            && *self.shapes[*recent as usize] == *keys
        {
            return Ok(*recent);
        }
        let hash = hash(keys);
        let known = self.shape_numbers.find(hash, |number| *self.shapes[number as usize] == *keys);
        let shape = if let Some(known) = known {
            known
        } else {
            let new = number(self.shapes.len())?;
            self.shapes.push(keys.into());
            self.shape_keys += keys.len();
            self.shape_numbers.add(hash, new);
            new
        };
        if let Some(recent) = self.recent.get_mut(keys.len()) {
            *recent = shape;
        }
        Ok(shape)
    }
}

fn hash(of: impl Hash) -> u64 {
    FixedState::default().hash_one(of)
}

//! The stack, its marks, and what is remembered by number.

use std::collections::HashMap;
use std::io::Read;

use super::heap::{ALLOWED, Full, Heap, Item, Value};
use super::input::{Input, Stop};
use super::{Pickle, PickleError, opcode as op};

/// Containers in containers. Snapshots have six.
const DEEPEST: usize = 1024;
/// A single text or number, bytes.
const LONGEST: u64 = 64 << 20;
/// Of a name in a message, characters.
const NAME: usize = 100;

pub struct Machine<R> {
    input: Input<R>,
    heap: Heap,
    stack: Vec<Value>,
    /// Where on the stack each begins.
    marks: Vec<usize>,
    memo: Vec<Value>,
    /// What was not remembered by consecutive numbers.
    memo_apart: HashMap<u32, Value>,
    /// Where the opcode stands.
    at: u64,
}

impl<R: Read> Machine<R> {
    pub fn new(from: R) -> Self {
        Self {
            input: Input::new(from),
            heap: Heap::new(),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: Vec::new(),
            memo_apart: HashMap::new(),
            at: 0,
        }
    }

    /// Reads to the end, or as far as it goes.
    pub fn run(mut self) -> Result<Pickle, PickleError> {
        let cut = match self.read_on() {
            Ok(()) => false,
            Err(Stop::Cut) => true,
            Err(Stop::Failed(error)) => return Err(error),
        };
        if cut {
            self.put_together()?;
        } else if self.stack.len() > 1 || !self.marks.is_empty() {
            return Err(self.damaged("something is left over at its end"));
        }
        let Some(root) = self.stack.first().copied() else {
            let what = if cut { "the file ends before anything was said" } else { "nothing is left at its end" };
            return Err(self.damaged(what));
        };
        Ok(Pickle { bytes: self.input.offset(), heap: self.heap, root, cut })
    }

    fn read_on(&mut self) -> Result<(), Stop> {
        for steps in 1_u64.. {
            self.at = self.input.offset();
            let opcode = self.input.byte()?;
            if opcode == op::STOP {
                break;
            }
            self.step(opcode)?;
            if steps.is_multiple_of(4096) {
                self.weigh()?;
            }
        }
        Ok(())
    }

    fn step(&mut self, opcode: u8) -> Result<(), Stop> {
        match opcode {
            op::BINGET => {
                let number = u32::from(self.input.byte()?);
                self.recall(number)?;
            }
            op::LONG_BINGET => {
                let number = u32::from_le_bytes(self.input.array()?);
                self.recall(number)?;
                self.recall_more();
            }
            op::MEMOIZE => self.memoize(u32::try_from(self.memo.len()).unwrap_or(u32::MAX))?,
            op::BINPUT => {
                let number = u32::from(self.input.byte()?);
                self.memoize(number)?;
            }
            op::LONG_BINPUT => {
                let number = u32::from_le_bytes(self.input.array()?);
                self.memoize(number)?;
            }
            op::MARK => {
                if self.marks.len() >= DEEPEST {
                    return Err(self.too_much("containers lie in more than a thousand others").into());
                }
                self.marks.push(self.stack.len());
            }
            op::EMPTY_DICT => {
                let dict = self.heap.add_dict().map_err(|full| self.full(full))?;
                self.stack.push(Value::dict(dict));
            }
            op::EMPTY_LIST | op::EMPTY_TUPLE | op::EMPTY_SET => self.push_list(self.stack.len())?,
            op::SETITEMS => {
                let from = self.pop_mark()?;
                self.add_to_container(from, true)?;
            }
            op::APPENDS | op::ADDITEMS => {
                let from = self.pop_mark()?;
                self.add_to_container(from, false)?;
            }
            op::SETITEM => {
                let from = self.top(2)?;
                self.add_to_container(from, true)?;
            }
            op::APPEND => {
                let from = self.top(1)?;
                self.add_to_container(from, false)?;
            }
            op::TUPLE | op::LIST | op::FROZENSET => {
                let from = self.pop_mark()?;
                self.push_list(from)?;
            }
            op::TUPLE1 | op::TUPLE2 | op::TUPLE3 => {
                let from = self.top(usize::from(opcode - op::TUPLE1) + 1)?;
                self.push_list(from)?;
            }
            op::DICT => {
                let from = self.pop_mark()?;
                let dict = self.heap.add_dict().map_err(|full| self.full(full))?;
                self.heap.extend_dict(dict, &self.stack[from..]).map_err(|full| self.full(full))?;
                self.stack.truncate(from);
                self.stack.push(Value::dict(dict));
            }
            op::BININT1 => {
                let int = i64::from(self.input.byte()?);
                self.push_int(int)?;
            }
            op::BININT2 => {
                let int = i64::from(u16::from_le_bytes(self.input.array()?));
                self.push_int(int)?;
            }
            op::BININT => {
                let int = i64::from(i32::from_le_bytes(self.input.array()?));
                self.push_int(int)?;
            }
            op::LONG1 => {
                let length = u64::from(self.input.byte()?);
                self.push_long(length)?;
            }
            op::LONG4 => {
                let length = u64::from(u32::from_le_bytes(self.input.array()?));
                self.push_long(length)?;
            }
            op::BINFLOAT => {
                let float = f64::from_be_bytes(self.input.array()?);
                let float = self.heap.add_float(float).map_err(|full| self.full(full))?;
                self.stack.push(float);
            }
            op::SHORT_BINUNICODE | op::SHORT_BINSTRING => {
                let length = u64::from(self.input.byte()?);
                self.push_text(length)?;
            }
            op::BINUNICODE | op::BINSTRING => {
                let length = u64::from(u32::from_le_bytes(self.input.array()?));
                self.push_text(length)?;
            }
            op::BINUNICODE8 => {
                let length = u64::from_le_bytes(self.input.array()?);
                self.push_text(length)?;
            }
            op::NONE => self.stack.push(Value::NONE),
            op::NEWTRUE => self.stack.push(Value::bool(true)),
            op::NEWFALSE => self.stack.push(Value::bool(false)),
            _ => return self.seldom(opcode),
        }
        Ok(())
    }

    /// What snapshots have once or never.
    #[cold]
    fn seldom(&mut self, opcode: u8) -> Result<(), Stop> {
        match opcode {
            op::PROTO if self.at == 0 => {
                let protocol = self.input.byte()?;
                if !(2..=5).contains(&protocol) {
                    return Err(self.damaged("there is no such protocol of pickle").into());
                }
            }
            // How long the next stretch is helps only those who read by the stretch.
            op::FRAME => self.input.skip(8)?,
            op::POP => {
                // Where a mark is on top, it goes.
                if self.marks.last() == Some(&self.stack.len()) {
                    self.marks.pop();
                } else {
                    let from = self.top(1)?;
                    self.stack.truncate(from);
                }
            }
            op::POP_MARK => {
                let from = self.pop_mark()?;
                self.stack.truncate(from);
            }
            op::DUP => {
                let from = self.top(1)?;
                self.stack.push(self.stack[from]);
            }
            op::SHORT_BINBYTES | op::BINBYTES | op::BINBYTES8 | op::BYTEARRAY8 => {
                let length = match opcode {
                    op::SHORT_BINBYTES => u64::from(self.input.byte()?),
                    op::BINBYTES => u64::from(u32::from_le_bytes(self.input.array()?)),
                    _ => u64::from_le_bytes(self.input.array()?),
                };
                self.input.skip(length)?;
                self.stack.push(Value::OTHER);
            }
            _ => return Err(self.refused(opcode).into()),
        }
        Ok(())
    }

    fn recall(&mut self, number: u32) -> Result<(), Stop> {
        let known = self.memo.get(number as usize).or_else(|| self.memo_apart.get(&number)).copied();
        let Some(value) = known else { return Err(self.damaged("it refers to what was not there before").into()) };
        self.stack.push(value);
        Ok(())
    }

    /// Most of a large snapshot are lists of frames, which are rows of this one opcode: they are read without going through the others.
    /// What is not there is left to [`Self::recall`], and to its message.
    fn recall_more(&mut self) {
        let ahead = self.input.ahead();
        let mut used = 0;
        while let Some([op::LONG_BINGET, number @ ..]) = ahead[used..].first_chunk::<5>()
            && let Some(value) = self.memo.get(u32::from_le_bytes(*number) as usize)
        {
            self.stack.push(*value);
            used += 5;
        }
        self.input.pass(used);
    }

    fn memoize(&mut self, number: u32) -> Result<(), Stop> {
        let at = self.top(1)?;
        let value = self.stack[at];
        if number as usize == self.memo.len() {
            self.memo.push(value);
        } else if let Some(known) = self.memo.get_mut(number as usize) {
            *known = value;
        } else {
            self.memo_apart.insert(number, value);
        }
        Ok(())
    }

    /// Where the uppermost values begin that no mark lies between.
    fn top(&self, count: usize) -> Result<usize, PickleError> {
        let floor = self.marks.last().copied().unwrap_or(0);
        let from = self.stack.len().checked_sub(count).filter(|from| *from >= floor);
        from.ok_or_else(|| self.damaged("it takes more than there is"))
    }

    fn pop_mark(&mut self) -> Result<usize, PickleError> {
        self.marks.pop().ok_or_else(|| self.damaged("it takes all above a mark, and there is none"))
    }

    /// Moves what lies from here on into what lies below it.
    fn add_to_container(&mut self, from: usize, pairs: bool) -> Result<(), PickleError> {
        let below = from.checked_sub(1).map(|at| self.heap.item(self.stack[at]));
        let items = &self.stack[from..];
        let added = match below {
            Some(Item::Dict(dict)) if pairs && items.len().is_multiple_of(2) => self.heap.extend_dict(dict, items),
            Some(Item::List(list)) if !pairs => self.heap.extend_list(list, items),
            _ => return Err(self.damaged("it adds to what is no container of that sort")),
        };
        added.map_err(|full| self.full(full))?;
        self.stack.truncate(from);
        Ok(())
    }

    fn push_list(&mut self, from: usize) -> Result<(), PickleError> {
        let list = self.heap.add_list(&self.stack[from..]).map_err(|full| self.full(full))?;
        self.stack.truncate(from);
        self.stack.push(Value::list(list));
        Ok(())
    }

    fn push_int(&mut self, int: i64) -> Result<(), PickleError> {
        let int = self.heap.add_int(int).map_err(|full| self.full(full))?;
        self.stack.push(int);
        Ok(())
    }

    /// A number of any length in two's complement, the lowest byte first.
    fn push_long(&mut self, length: u64) -> Result<(), Stop> {
        if length > 8 {
            self.input.skip(length)?;
            self.stack.push(Value::OTHER);
            return Ok(());
        }
        let bytes = self.input.bytes(length as usize)?;
        let fill = if bytes.last().is_some_and(|byte| *byte >= 0x80) { 0xff } else { 0 };
        let mut whole = [fill; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        Ok(self.push_int(i64::from_le_bytes(whole))?)
    }

    fn push_text(&mut self, length: u64) -> Result<(), Stop> {
        if length > LONGEST {
            return Err(self.too_much("a text of more than 64 MiB").into());
        }
        let bytes = self.input.bytes(length as usize)?;
        let text = self.heap.add_text(bytes).map_err(|full| self.full(full))?;
        self.stack.push(Value::text(text));
        Ok(())
    }

    /// The file ends here: what was on its way into a container gets there.
    fn put_together(&mut self) -> Result<(), PickleError> {
        while let Some(from) = self.marks.pop() {
            self.fill_below(from)?;
        }
        self.fill_below(1)
    }

    /// Puts what lies from here on into the container below it, as far as it is complete.
    fn fill_below(&mut self, from: usize) -> Result<(), PickleError> {
        let below = from.checked_sub(1).and_then(|at| self.stack.get(at)).map(|value| self.heap.item(*value));
        match below {
            Some(Item::Dict(_)) => {
                let items = self.stack.split_off(from);
                let pairs = self.pairs(&items)?;
                self.stack.extend_from_slice(&pairs);
                self.add_to_container(from, true)
            }
            Some(Item::List(_)) => self.add_to_container(from, false),
            // Half a tuple is none.
            _ => {
                self.stack.truncate(from);
                Ok(())
            }
        }
    }

    /// The pairs among what was on its way into a dictionary. What follows a list without a key was on its way into that:
    /// an only item has no mark. The last key may be without its value.
    fn pairs(&mut self, items: &[Value]) -> Result<Vec<Value>, PickleError> {
        let mut pairs: Vec<Value> = Vec::new();
        let mut list = None;
        for item in items {
            let is_value = !pairs.len().is_multiple_of(2);
            let what = self.heap.item(*item);
            if is_value || matches!(what, Item::Text(_)) {
                pairs.push(*item);
            } else if let Some(list) = list {
                self.heap.extend_list(list, &[*item]).map_err(|full| self.full(full))?;
            }
            list = if let Item::List(list) = what { Some(list) } else { None };
        }
        pairs.truncate(pairs.len() / 2 * 2);
        Ok(pairs)
    }

    /// Whether all that is held is no more than a file of this size may need.
    fn weigh(&self) -> Result<(), PickleError> {
        let beside = 8 * (self.stack.len() + self.memo.len()) + 32 * self.memo_apart.len();
        let (each, any) = ALLOWED;
        if self.heap.bytes() + beside as u64 > each * self.input.offset() + any {
            return Err(self.too_much("it takes far more memory than files of its size need: no snapshot does"));
        }
        Ok(())
    }

    fn damaged(&self, what: &'static str) -> PickleError {
        PickleError::Damaged { offset: self.at, what }
    }

    fn too_much(&self, what: &'static str) -> PickleError {
        PickleError::TooMuch { offset: self.at, what }
    }

    fn full(&self, _: Full) -> PickleError {
        self.too_much("more than four thousand million objects")
    }

    /// Why an opcode is not read, and what it would have done.
    fn refused(&mut self, opcode: u8) -> PickleError {
        let offset = self.at;
        if let Some((_, name, would)) = op::CODE.iter().find(|(code, ..)| *code == opcode) {
            let what = self.named(opcode);
            let would = if what.is_empty() { (*would).to_owned() } else { format!("{would} {what}") };
            return PickleError::Code { opcode: name, offset, would };
        }
        match op::UNSUPPORTED.iter().find(|(code, _)| *code == opcode) {
            Some((_, name)) => PickleError::Unsupported { opcode: name, offset },
            None => PickleError::Unknown { byte: opcode, offset },
        }
    }

    /// What an opcode that runs code names: in the lines or bytes behind it, or on the stack.
    fn named(&mut self, opcode: u8) -> String {
        match opcode {
            b'c' | b'i' => format!("{}.{}", self.line(), self.line()),
            b'P' => self.line(),
            0x93 => {
                let names: Vec<&str> = self.stack.iter().rev().take(2).rev().map(|value| self.name_of(*value)).collect();
                clean(&names.join("."))
            }
            0x82 => self.input.array().map_or(String::new(), |[code]: [u8; 1]| code.to_string()),
            0x83 => self.input.array().map_or(String::new(), |code| u16::from_le_bytes(code).to_string()),
            0x84 => self.input.array().map_or(String::new(), |code| u32::from_le_bytes(code).to_string()),
            _ => String::new(),
        }
    }

    fn name_of(&self, value: Value) -> &str {
        if let Item::Text(id) = self.heap.item(value) { self.heap.text(id) } else { "?" }
    }

    fn line(&mut self) -> String {
        let mut bytes = Vec::new();
        while bytes.len() < NAME
            && let Ok(byte) = self.input.byte()
            && byte != b'\n'
        {
            bytes.push(byte);
        }
        clean(&String::from_utf8_lossy(&bytes))
    }
}

/// A foreign name for a message: short, and nothing in it that a terminal obeys.
fn clean(name: &str) -> String {
    name.chars().take(NAME).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests;

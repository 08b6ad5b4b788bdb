//! Frames and stacks, each once; and which frame of a stack is the line that matters.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::pickle::{DictId, Heap, Item, ListId, TextId, Value};

use super::schema::{Columns, FILENAME, FRAMES, LINE, NAME};

/// A frame of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameId(u32);

/// A stack of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StackId(u32);

impl StackId {
    pub(super) fn from_index(index: usize) -> Self {
        Self(index as u32)
    }

    /// Its number, from 0.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A place in source or in native code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame<'a> {
    /// The file.
    pub file: &'a str,
    /// The line, 0 where it is not known.
    pub line: u32,
    /// The function.
    pub name: &'a str,
}

/// Whose code a frame is, the one that matters most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whose {
    /// The program's own.
    Program,
    /// An installed package's, or Python's own.
    Library,
    /// PyTorch's.
    Torch,
    /// Native code.
    Native,
}

/// Whose code a frame is.
#[must_use]
pub fn whose(frame: &Frame<'_>) -> Whose {
    let file = frame.file;
    // `<ipython-input-3-...>`, `<stdin>`, `<eval_with_key>.5`
    let made_up = file.starts_with('<');
    if !(made_up || file.ends_with(".py")) {
        return Whose::Native;
    }
    if let Some(package) = installed(file) {
        let torch = ["torch/", "torch.", "torchgen/", "functorch/"].iter().any(|name| package.starts_with(name));
        return if torch { Whose::Torch } else { Whose::Library };
    }
    // Code that torch.compile and torch.fx made.
    if file.starts_with("<eval_with_key>") || file.contains("/torchinductor_") {
        return Whose::Torch;
    }
    let python = file.starts_with("<frozen ") || file.rsplit_once("/python3").is_some_and(|(_, rest)| is_library(rest));
    if python { Whose::Library } else { Whose::Program }
}

/// The path within a folder of installed packages.
fn installed(file: &str) -> Option<&str> {
    ["/site-packages/", "/dist-packages/"].iter().find_map(|folder| file.rsplit_once(folder)).map(|(_, rest)| rest)
}

/// What follows `/python3`: `.11/threading.py`.
fn is_library(rest: &str) -> bool {
    rest.strip_prefix('.').is_some_and(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('/'))
}

/// All frames and stacks of a snapshot.
#[derive(Debug, Default)]
pub struct Stacks {
    texts: Vec<String>,
    frames: Vec<(u32, u32, u32)>,
    stacks: Vec<Stack>,
    /// The stack of each list of the pickle, [`NO_STACK`] where it is no list of frames.
    of_list: Vec<u32>,
}

const NO_STACK: u32 = u32::MAX;

#[derive(Debug)]
struct Stack {
    frames: Box<[FrameId]>,
    site: Option<FrameId>,
}

impl Stacks {
    /// Finds every list of frames.
    pub(super) fn of(heap: &Heap, columns: &[Columns]) -> Self {
        let mut finder = Finder {
            heap,
            columns,
            stacks: Self { of_list: vec![NO_STACK; heap.lists()], ..Self::default() },
            texts: HashMap::default(),
            frames: HashMap::default(),
            of_dict: HashMap::default(),
            known: HashMap::default(),
            of_place: HashMap::default(),
        };
        for dict in 0..heap.dicts() as u32 {
            let (shape, values) = heap.dict(DictId(dict));
            if let Some(list) = columns[shape.0 as usize].row(heap, values).list(FRAMES) {
                finder.list(list);
            }
        }
        finder.stacks
    }

    /// The stack that a list of the pickle is.
    pub(super) fn of_list(&self, list: ListId) -> Option<StackId> {
        self.of_list.get(list.0 as usize).filter(|stack| **stack != NO_STACK).map(|stack| StackId(*stack))
    }

    /// How many stacks there are; their numbers are below.
    #[must_use]
    pub fn len(&self) -> usize {
        self.stacks.len()
    }

    /// Whether no stack was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    /// The frames of a stack, the innermost first.
    pub fn frames(&self, stack: StackId) -> impl DoubleEndedIterator<Item = Frame<'_>> {
        self.stacks[stack.index()].frames.iter().map(|frame| self.frame(*frame))
    }

    /// The line that matters: the innermost of the program's own, else of a library's, else of PyTorch's; in a stack without
    /// Python the autograd node's, which is all that is known of what backward makes. `None` where nothing was recorded.
    #[must_use]
    pub fn site(&self, stack: StackId) -> Option<Frame<'_>> {
        self.stacks[stack.index()].site.map(|frame| self.frame(frame))
    }

    /// The line that matters, as a number: the same for all stacks that have it.
    #[must_use]
    pub fn site_id(&self, stack: StackId) -> Option<FrameId> {
        self.stacks[stack.index()].site
    }

    /// A frame.
    #[must_use]
    pub fn frame(&self, frame: FrameId) -> Frame<'_> {
        let (file, line, name) = self.frames[frame.0 as usize];
        Frame { file: &self.texts[file as usize], line, name: &self.texts[name as usize] }
    }

    fn site_of(&self, frames: &[FrameId]) -> Option<FrameId> {
        // Of equals the first, which is the innermost.
        let of_python =
            frames.iter().map(|frame| (whose(&self.frame(*frame)), *frame)).filter(|(whose, _)| *whose != Whose::Native);
        let python = of_python.min_by_key(|(whose, _)| *whose);
        let has = |frame: &&FrameId, part: &str| self.frame(**frame).name.contains(part);
        let native = || {
            frames
                .iter()
                .find(|frame| has(frame, "torch::autograd"))
                .or_else(|| frames.iter().find(|frame| named(self.frame(**frame))))
        };
        python.map(|(_, frame)| frame).or_else(|| native().copied())
    }
}

/// Native code that says more than that memory was allocated.
fn named(frame: Frame<'_>) -> bool {
    let noise = ["unwind", "Traceback", "gather_with_cpp", "CachingAllocator", "_start", "c10::cuda"];
    !frame.name.is_empty() && frame.name != "??" && !noise.iter().any(|noise| frame.name.contains(noise))
}

struct Finder<'a> {
    heap: &'a Heap,
    columns: &'a [Columns],
    stacks: Stacks,
    texts: HashMap<TextId, u32, FixedState>,
    frames: HashMap<(u32, u32, u32), FrameId, FixedState>,
    of_dict: HashMap<DictId, Option<FrameId>, FixedState>,
    known: HashMap<Box<[FrameId]>, StackId, FixedState>,
    /// Of a list's place and length: most are of few stacks.
    of_place: HashMap<(u32, usize), StackId, FixedState>,
}

impl Finder<'_> {
    fn list(&mut self, list: ListId) {
        let number = list.0 as usize;
        if self.stacks.of_list[number] != NO_STACK {
            return;
        }
        let place = self.heap.place(list).map(|at| (at, self.heap.list(list).len()));
        let known = place.and_then(|place| self.of_place.get(&place).copied());
        let id = known.unwrap_or_else(|| self.stack(list));
        if let Some(place) = place.filter(|_| known.is_none()) {
            self.of_place.insert(place, id);
        }
        self.stacks.of_list[number] = id.0;
    }

    fn stack(&mut self, list: ListId) -> StackId {
        let heap = self.heap;
        let frames: Vec<FrameId> = heap.list(list).iter().filter_map(|value| self.frame(*value)).collect();
        if let Some(known) = self.known.get(&frames[..]) {
            return *known;
        }
        let id = StackId(self.stacks.stacks.len() as u32);
        let site = self.stacks.site_of(&frames);
        self.known.insert(frames.clone().into(), id);
        self.stacks.stacks.push(Stack { frames: frames.into(), site });
        id
    }

    fn frame(&mut self, value: Value) -> Option<FrameId> {
        let Item::Dict(dict) = self.heap.item(value) else { return None };
        if let Some(known) = self.of_dict.get(&dict) {
            return *known;
        }
        let (shape, values) = self.heap.dict(dict);
        let row = self.columns[shape.0 as usize].row(self.heap, values);
        let frame = row.text(NAME).zip(row.text(FILENAME)).map(|(name, file)| {
            let line = row.unsigned(LINE).and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
            let frame = (self.text(file), line, self.text(name));
            *self.frames.entry(frame).or_insert_with(|| {
                self.stacks.frames.push(frame);
                FrameId(self.stacks.frames.len() as u32 - 1)
            })
        });
        self.of_dict.insert(dict, frame);
        frame
    }

    fn text(&mut self, id: TextId) -> u32 {
        *self.texts.entry(id).or_insert_with(|| {
            self.stacks.texts.push(self.heap.text(id).to_owned());
            self.stacks.texts.len() as u32 - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_own_code_is_told_from_others() {
        let of = |file: &str| whose(&Frame { file, line: 1, name: "f" });
        for program in [
            "/home/me/train.py",
            "train.py",
            "<ipython-input-3-ab>",
            "<stdin>",
            "/tmp/ipykernel_12/34.py",
            "/home/me/torch/train.py",
            "/home/me/python3.d/a.py",
        ] {
            assert_eq!(of(program), Whose::Program, "{program}");
        }
        for library in ["/usr/lib/python3.11/threading.py", "/v/lib/python3.12/site-packages/lightning/loop.py", "<frozen runpy>"]
        {
            assert_eq!(of(library), Whose::Library, "{library}");
        }
        for torch in
            ["/v/lib/python3.12/site-packages/torch/nn/modules/linear.py", "<eval_with_key>.7", "/tmp/torchinductor_me/ab/c.py"]
        {
            assert_eq!(of(torch), Whose::Torch, "{torch}");
        }
        for native in ["??", "", "/pytorch/aten/src/ATen/Context.cpp", "libc.so.6"] {
            assert_eq!(of(native), Whose::Native, "{native}");
        }
    }
}

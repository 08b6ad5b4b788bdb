//! What came of looking into a process of the run: what had grown there since the look before.

use serde::{Deserialize, Serialize};

use crate::ProcId;

/// The most holders of one look.
pub const MOST_HOLDERS: usize = 8;
/// The most kinds of objects of one holder.
pub const MOST_OBJECTS: usize = 4;
/// The most parts of devices that a look tells.
pub const MOST_ON_DEVICES: usize = 256;
/// The most devices of which a look tells what was allocated.
pub const MOST_ALLOCATED: usize = 16;
/// The most lines of each.
pub const MOST_LINES: usize = 8;

/// The most others that hold the same.
pub const MOST_ALSO: usize = 3;

/// The most lines of a holder beside the first.
pub const MOST_SITES: usize = 5;

/// The most parts of a [`BudgetAt`].
pub const MOST_PARTS: usize = 32;

/// One look into a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// When it began, in seconds after the run's start.
    pub t_s: f64,
    /// The process.
    pub id: ProcId,
    /// It was the process's own copy that was read, while the process went on; else the process was held still.
    #[serde(default)]
    pub copied: bool,
    /// How long it held the process up, microseconds. For a copy, the making of it.
    pub pause_us: u64,
    /// Live objects of Python.
    #[serde(default)]
    pub objects: u64,
    /// What had grown since the first look; `None` for that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grown: Option<Grown>,
    /// What its memory was for at that moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetAt>,
    /// What PyTorch's allocator had given out more by its own history, per device; then it was no look at objects, and none of
    /// what stands above but when, who and how long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allocated: Vec<AllocatedGrown>,
    /// What lay on other devices than the processor's memory, by what it was for; at most [`MOST_ON_DEVICES`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<OnDevice>,
}

/// A part of what tensors have on a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnDevice {
    /// The device, as torch writes it: `cuda:0`; of fake tensors `cuda:0 (fake)`.
    pub device: String,
    /// What it is for, as `lowtide heap` has it: `parameters`, `gradients`.
    pub name: String,
    /// Bytes of storages, each counted once.
    pub bytes: u64,
}

/// What PyTorch's allocator had given out on a device at one moment, and not at another one before, by its history.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AllocatedGrown {
    /// The device's number as the process counts.
    pub device: u32,
    /// Seconds between the two.
    pub seconds: f64,
    /// More bytes than before, all together.
    pub bytes: i64,
    /// Who asked for what was added, most bytes first; at most [`MOST_LINES`].
    #[serde(default)]
    pub lines: Vec<LineGrown>,
    /// The two snapshots, where they are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// A line that asked for memory which is still in use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LineGrown {
    /// The line; `None` for what nothing was recorded of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<Site>,
    /// The function that it is in.
    #[serde(default)]
    pub function: String,
    /// More bytes than before.
    pub bytes: i64,
    /// More blocks than before.
    pub blocks: i64,
}

/// What a process's memory is for, at one moment. Sizes in bytes of resident private memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetAt {
    /// The phase near whose peak it was taken; empty for a low tide.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// All of it; the parts together.
    pub total: u64,
    /// The most anonymous memory that was measured in that phase by then; 0 for a low tide.
    #[serde(default)]
    pub most: u64,
    /// By what it is for, at most [`MOST_PARTS`].
    pub parts: Vec<PartOfBudget>,
    /// Arrays and tensors that were made whole and have most of their data still to be written, at most [`MOST_UNTOUCHED`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untouched: Vec<UntouchedData>,
}

/// The most that a [`BudgetAt`] names of what is not written yet.
pub const MOST_UNTOUCHED: usize = 3;

/// An array or a tensor whose memory was asked for and is not all in use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UntouchedData {
    /// How a person calls it: `buffer.obs`.
    pub name: String,
    /// Its type.
    pub kind: String,
    /// Its bytes.
    pub bytes: u64,
    /// Those of them that are in memory.
    pub resident: u64,
}

/// A part of a [`BudgetAt`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartOfBudget {
    /// Its name as `lowtide heap` has it: `parameters`, `numpy arrays`.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
}

/// What grew between two looks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Grown {
    /// Seconds between them.
    pub seconds: f64,
    /// All resident private memory, more bytes than before.
    #[serde(default)]
    pub total: i64,
    /// The same by what it is for; together they are `total`.
    #[serde(default)]
    pub parts: Vec<PartGrown>,
    /// Who holds more than before, most bytes first; at most [`MOST_HOLDERS`].
    #[serde(default)]
    pub holders: Vec<HolderGrown>,
}

/// A part of a process's memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartGrown {
    /// Its name as `lowtide heap` has it: `numpy arrays`, `native heap`.
    pub name: String,
    /// What sort of memory it is.
    pub sort: Sort,
    /// More bytes than before.
    pub bytes: i64,
}

/// The name of the part that is free inside malloc's heaps.
pub const MALLOC_HOLES: &str = "free in malloc's heaps";

/// Sorts of memory, by who could hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// Objects of Python, arrays and tensors: something in Python can hold it.
    Held,
    /// In use, and no object of Python's is known to hold it.
    Native,
    /// Free inside an allocator.
    Holes,
    /// Nothing is known of it.
    Other,
}

/// What stands between the words of [`HolderGrown::opens`].
pub const OPENS_AND: &str = " and ";

impl HolderGrown {
    /// Whether its elements hold something of this sort.
    #[must_use]
    pub fn has_opened(&self, what: &str) -> bool {
        self.opens.split(OPENS_AND).any(|sort| sort == what)
    }
}

/// Somebody who holds more than before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HolderGrown {
    /// The way to it, step by step, from where it begins: `module train`, `trainer: Trainer`, `.history: list`.
    pub path: Vec<String>,
    /// How a person calls it: `trainer.history`.
    pub name: String,
    /// The file of the module or function where the way begins, empty where there is none.
    #[serde(default)]
    pub file: String,
    /// The line that the function is at.
    #[serde(default)]
    pub line: Option<u32>,
    /// Its type.
    pub kind: String,
    /// `len()` before and now, for a container that was there before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub len: Option<[u64; 2]>,
    /// More bytes held than before, with the storages of tensors and what their graphs keep.
    pub bytes: i64,
    /// Those of them that are not in the process's own memory: on a GPU, or nowhere, as of a fake tensor.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub elsewhere: i64,
    /// What was added, most bytes first; at most [`MOST_OBJECTS`].
    #[serde(default)]
    pub objects: Vec<ObjectGrown>,
    /// The line that adds to it, where one was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<Site>,
    /// Other lines that add to it again and again, at most [`MOST_SITES`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<Site>,
    /// What its elements hold of the operating system's: threads, files, processes, with [`OPENS_AND`] between them, what brings others
    /// with it first; empty where nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub opens: String,
    /// Its elements have memory that is no object of Python's: the buffers that figures are drawn into, decoded images.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub native: bool,
    /// The source keeps it from growing for ever.
    #[serde(default)]
    pub bounded: bool,
    /// It is filled while a data set is made, so that it grows no more when the training has begun.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub making: bool,
    /// No name of the program leads to it: nothing refers to it but itself, or only native code does. A full collection may free it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreachable: bool,
    /// The most elements that it takes, by what it says itself: a deque's `maxlen`, the `maxsize` of an `lru_cache`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Why it grows, or why no line is told; one sentence, empty where nothing is known.
    #[serde(default)]
    pub why: String,
    /// The cause in the catalogue that fits, as LT103; empty where none does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// Others that hold most of what was added as well, as a person calls them, at most [`MOST_ALSO`]: it goes only when all of
    /// these let go, too. Empty where it is the holder's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// Bytes of what was added that references keep which no Python object accounts for.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub unaccounted: u64,
}

/// Objects that became more. Field names are a contract with other programs (`lowtide.report/1`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ObjectGrown {
    /// The type, with its module: `torch.Tensor`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Of a tensor.
    #[serde(default)]
    pub shape: Vec<i64>,
    /// Of a tensor.
    #[serde(default)]
    pub dtype: String,
    /// Of a tensor.
    #[serde(default)]
    pub device: String,
    /// A tensor that drags its graph along.
    #[serde(default)]
    pub grad_fn: bool,
    /// More of them than before.
    pub count_delta: i64,
    /// More bytes than before.
    pub bytes_delta: i64,
}

/// A line of source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// What stands there.
    #[serde(default)]
    pub text: String,
}

fn is_nothing(number: &u64) -> bool {
    *number == 0
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

//! What a process of the run says of itself: where it is in its training.

use serde::{Deserialize, Serialize};

use crate::ProcId;

/// One mark from inside a process, in order of time per process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// When, in seconds after the run's start, by the process's own monotonic clock.
    pub t_s: f64,
    /// Who says it.
    pub id: ProcId,
    /// What it says.
    pub what: MarkKind,
    /// Optimizer steps that this process had taken by then. Marks may be thinned out or lost; this count is exact.
    pub steps: u64,
    /// The cheap inner facts of that moment, where they were taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<InnerFacts>,
}

/// What a [`Mark`] says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    /// Marks are on in this process from here. Text: what it counts as a step, and its Python and torch.
    On(String),
    /// The last of some optimizer steps.
    Step,
    /// A scope begins. One that begins inside itself ends the one before.
    Begin(ScopeMark),
    /// A scope ends.
    End(Scope),
    /// Marks are off in this process from here. Text: why.
    Off(String),
    /// So many marks of this process were lost.
    Lost(u64),
    /// The mean of the losses that were logged since the last such mark; it comes before the end of their epoch.
    Loss(f64),
    /// It did what the recorder had asked it for.
    Answer(Answer),
}

/// What the recorder may ask a process for, which it does at its next mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Fork, so that the child can be looked at while the process goes on.
    Snapshot,
    /// The same when a backward pass begins that needs about as much memory as any of the passes of some seconds: what it needs is
    /// all there then. It is answered as a [`Request::Snapshot`].
    SnapshotAtBackward,
    /// Have the C library give free memory back to the kernel (`malloc_trim`): what goes was held for nothing.
    Trim,
    /// Write a snapshot of PyTorch's allocator to a file, at the end of a step.
    History,
}

impl Request {
    /// Its name as recordings and exports have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Snapshot | Self::SnapshotAtBackward => "snapshot",
            Self::Trim => "trim",
            Self::History => "gpu history",
        }
    }
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// What was asked for.
    pub request: Request,
    /// Its number, counted per process from 1.
    pub number: u64,
    /// For a trim the anonymous bytes that went, for a snapshot the child's pid, for history the bytes of the file; `None` where it
    /// could not be done.
    #[serde(default)]
    pub value: Option<u64>,
    /// Why it could not be done, in a few words; empty where that is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// For a trim the bytes that were free inside the C heap before it.
    #[serde(default)]
    pub free: Option<u64>,
    /// How long it held the process up, microseconds. The mark's time is its end.
    pub pause_us: u64,
}

/// A part of a training run that has a beginning and an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// A federated round.
    Round,
    /// A federated node within a round.
    Node,
    /// An epoch.
    Epoch,
    /// A phase: train, validation, test, checkpoint, setup, idle, or the user's own.
    Phase,
}

/// Which one begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeMark {
    /// What sort of scope.
    pub scope: Scope,
    /// Its number where it has one (epoch 3), counted from zero.
    #[serde(default)]
    pub index: Option<u64>,
    /// Its name where it has one: `train`, `validation`, `node-2`.
    #[serde(default)]
    pub name: String,
}

/// Cheap facts from inside a process. Sizes in bytes; `None` where they cannot be had.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InnerFacts {
    /// What is allocated from the C heap: live bytes (mallinfo2's `uordblks` + `hblkhd`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heap_used: Option<u64>,
    /// What is free inside the C heap and not returned to the kernel: holes (`fordblks`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heap_free: Option<u64>,
    /// Whether Python's cyclic collector is enabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gc_enabled: Option<bool>,
    /// Collections of the oldest generation so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gc_full: Option<u32>,
    /// Objects that the collector tracks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gc_objects: Option<u64>,
    /// Live `DataLoader` workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// Entries of torch's compile cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiled: Option<u32>,
    /// Blocks in use of Python's own allocator, of at most 512 bytes each (`sys.getallocatedblocks`); what is larger is in
    /// [`Self::heap_used`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub python_blocks: Option<u64>,
    /// PyTorch's allocator, per device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceFacts>,
}

impl InnerFacts {
    /// Live tensors on all devices, bytes; `None` where there is no device.
    #[must_use]
    pub fn allocated(&self) -> Option<u64> {
        self.on_devices(|device| device.allocated)
    }

    /// What PyTorch's allocator holds on all devices, bytes; `None` where there is no device.
    #[must_use]
    pub fn reserved(&self) -> Option<u64> {
        self.on_devices(|device| device.reserved)
    }

    fn on_devices(&self, bytes: impl Fn(&DeviceFacts) -> u64) -> Option<u64> {
        self.devices.iter().map(bytes).reduce(u64::saturating_add)
    }
}

/// PyTorch's allocator on one device. Sizes in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// The device's number as the process counts.
    pub index: u32,
    /// Bytes of live tensors.
    pub allocated: u64,
    /// Bytes that the allocator holds.
    pub reserved: u64,
    /// The most that was allocated since the process began, or last reset it.
    pub peak: u64,
    /// The share of the device that the process may reserve (`set_per_process_memory_fraction`), in millionths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_ppm: Option<u32>,
    /// Bytes of tensors and of blocks that wait for a stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<u64>,
    /// Free bytes in segments that are used in part: what cannot be given back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inactive_split: Option<u64>,
    /// Bytes that were asked for, before rounding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested: Option<u64>,
    /// Times that cached blocks were given back to satisfy a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// Requests that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ooms: Option<u32>,
    /// Bytes held by private pools (CUDA graphs, pools of the program's own).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_pools: Option<u64>,
    /// Host memory that torch's allocator has pinned, of all devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<u64>,
}

impl DeviceFacts {
    /// The same with what is counted besides allocated, reserved and peak.
    #[must_use]
    pub fn with(self, more: Self) -> Self {
        let Self { index, allocated, reserved, peak, .. } = self;
        Self { index, allocated, reserved, peak, ..more }
    }
}

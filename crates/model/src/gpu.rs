//! GPUs, and what processes have on them, as a driver tells it.

use serde::{Deserialize, Serialize};

use crate::ProcId;

/// Which of a run's GPUs; an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GpuId(pub u32);

/// Who tells of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GpuDriver {
    /// NVIDIA's library NVML.
    Nvml,
    /// The kernel's DRM drivers: sysfs and fdinfo.
    Drm,
    /// A file that stands for a driver (`lowtide demo --gpu-emulated`).
    Emulated,
}

/// A GPU, or an instance of one that is divided (MIG).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gpu {
    /// Its index in this run.
    pub id: GpuId,
    /// What reports call it: `gpu0`, an instance `gpu0.mig1`. The number is the driver's.
    pub resource: String,
    /// Its model.
    pub name: String,
    /// What tells it from all others; empty where the driver has nothing of the sort.
    #[serde(default)]
    pub uuid: String,
    /// Who tells of it.
    pub driver: GpuDriver,
    /// There is no such GPU: the numbers are made up, for a demonstration or a test.
    #[serde(default)]
    pub emulated: bool,
}

/// Which user of a GPU; an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GpuUserId(pub u32);

/// A process that has memory on a GPU, of the run or not. One that is on two GPUs is two of these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuUser {
    /// Its index in this run.
    pub id: GpuUserId,
    /// The GPU.
    pub gpu: GpuId,
    /// The process as the driver calls it; in a container that may be the host's pid.
    pub pid: u32,
    /// The process of the run that it is, where that is certain.
    #[serde(default)]
    pub process: Option<ProcId>,
    /// The GPU's number as that process counts, where its environment says so.
    #[serde(default)]
    pub device: Option<u32>,
    /// The name of a process that is none of the run, where it can be seen.
    #[serde(default)]
    pub name: String,
}

/// A GPU's memory at one moment. Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuSample {
    /// Which GPU.
    pub id: GpuId,
    /// All that it has; zero where the driver does not tell.
    pub total: u64,
    /// What processes have of it.
    pub used: u64,
    /// What nobody has.
    pub free: u64,
    /// What the driver keeps for itself; zero where it counts that as used.
    pub reserved: u64,
}

/// What one process has on one GPU at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuUserSample {
    /// Which user.
    pub id: GpuUserId,
    /// Bytes; `None` where the driver does not tell (containers, WSL).
    pub used: Option<u64>,
}

//! NVIDIA, by the library that its driver brings (NVML), loaded at run time.
//!
//! Needs driver 510 or newer: older ones lack the calls that tell what the driver keeps for itself and who is on which instance.

use lowtide_model::GpuDriver;
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml as Library};

use super::{Card, Driver, Memory, Reading};

/// The name of the library, as the dynamic linker looks it up.
const NAME: &str = "libnvidia-ml.so.1";
/// More cards than this no machine has.
const MOST_CARDS: u32 = 64;
/// A fake library says this in its version.
const EMULATED: &str = "emulated";

pub(crate) struct Nvml {
    library: Library,
    version: String,
    cards: Vec<Card>,
    /// Number and instance of each.
    places: Vec<(u32, Option<u32>)>,
}

impl std::fmt::Debug for Nvml {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Nvml").field("version", &self.version).field("cards", &self.cards).finish_non_exhaustive()
    }
}

impl Nvml {
    pub fn open() -> Result<Box<dyn Driver>, String> {
        let library = Library::builder().lib_path(NAME.as_ref()).init().map_err(|error| match error {
            NvmlError::LibloadingError(_) => format!("{NAME} was not found"),
            error => format!("{NAME}: {error}"),
        })?;
        let version = library.sys_driver_version().unwrap_or_default();
        let emulated = version.contains(EMULATED);
        let count = library.device_count().map_err(|error| format!("{NAME} counts no cards: {error}"))?;
        let (mut cards, mut places) = (Vec::new(), Vec::new());
        for index in 0..count.min(MOST_CARDS) {
            let device = library.device_by_index(index);
            let instances = device.as_ref().map(instances).unwrap_or_default();
            let mut add = |mig: Option<u32>, device: Option<&Device<'_>>| {
                let part = mig.map_or(String::new(), |mig| format!(".mig{mig}"));
                let name = device.and_then(|device| device.name().ok()).unwrap_or_default();
                let uuid = device.and_then(|device| device.uuid().ok()).unwrap_or_default();
                cards.push(Card { resource: format!("gpu{index}{part}"), name, uuid, emulated });
                places.push((index, mig));
            };
            if instances.is_empty() {
                add(None, device.as_ref().ok());
            }
            instances.iter().for_each(|(mig, instance)| add(Some(*mig), Some(instance)));
        }
        if cards.is_empty() {
            return Err(format!("{NAME} sees no card"));
        }
        Ok(Box::new(Self { library, version, cards, places }))
    }

    fn device(&self, (index, mig): (u32, Option<u32>)) -> Result<Device<'_>, NvmlError> {
        let device = self.library.device_by_index(index)?;
        match mig {
            Some(mig) => device.mig_device_by_index(mig),
            None => Ok(device),
        }
    }
}

/// The instances of a card that is divided (MIG), with their numbers; none where it is whole.
fn instances<'a>(device: &Device<'a>) -> Vec<(u32, Device<'a>)> {
    if !device.mig_mode().is_ok_and(|mode| mode.current != 0) {
        return Vec::new();
    }
    let most = device.mig_device_count().unwrap_or(0).min(MOST_CARDS);
    (0..most).filter_map(|mig| Some((mig, device.mig_device_by_index(mig).ok()?))).collect()
}

impl Driver for Nvml {
    fn kind(&self) -> GpuDriver {
        GpuDriver::Nvml
    }

    fn describe(&self) -> String {
        format!("NVIDIA driver {}", self.version)
    }

    fn cards(&self) -> &[Card] {
        &self.cards
    }

    fn knows_our_pids(&self) -> bool {
        self.version.contains(EMULATED)
    }

    fn read(&mut self, _pids: &[u32], gone: &[bool], reading: &mut Reading) {
        for (at, place) in self.places.iter().enumerate().filter(|(at, _)| !gone[*at]) {
            let device = match self.device(*place) {
                Ok(device) => device,
                Err(error) => {
                    reading.troubles.push(trouble(at, &error));
                    continue;
                }
            };
            match device.memory_info() {
                Ok(info) => {
                    let memory = Memory { total: info.total, used: info.used, free: info.free, reserved: info.reserved };
                    reading.cards.push((at, memory));
                }
                Err(error) => {
                    reading.troubles.push(trouble(at, &error));
                    continue;
                }
            }
            match users(&device) {
                Ok(users) => reading.users.extend(users.into_iter().map(|(pid, used)| (at, pid, used))),
                Err(error) => reading.troubles.push((at, format!("its processes: {error}"), false)),
            }
        }
    }
}

fn trouble(at: usize, error: &NvmlError) -> (usize, String, bool) {
    match error {
        NvmlError::GpuLost => (at, "it has fallen off the bus, or is lost to the driver".to_owned(), true),
        NvmlError::FailedToLoadSymbol(_) => (at, "its memory needs driver 510 or newer".to_owned(), true),
        error => (at, error.to_string(), false),
    }
}

/// Who has memory on a card, by compute and graphics contexts together: a process with both kinds is in both lists, with the
/// same number.
fn users(device: &Device<'_>) -> Result<Vec<(u32, Option<u64>)>, NvmlError> {
    let mut users: Vec<(u32, Option<u64>)> = Vec::new();
    // Graphics is not there on all cards; compute is what matters.
    let graphics = device.running_graphics_processes().unwrap_or_default();
    for process in device.running_compute_processes()?.into_iter().chain(graphics) {
        let used = match process.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => Some(bytes),
            UsedGpuMemory::Unavailable => None,
        };
        match users.iter_mut().find(|(pid, _)| *pid == process.pid) {
            Some((_, most)) => *most = (*most).max(used),
            None => users.push((process.pid, used)),
        }
    }
    Ok(users)
}

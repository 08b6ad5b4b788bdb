//! AMD and Intel, by what the kernel's DRM drivers tell: a card's memory in sysfs, a process's in `/proc/PID/fdinfo`.
//!
//! The keys are those of the kernel's documentation of DRM usage stats: `drm-pdev`, `drm-client-id`, and per region of memory
//! `drm-resident-REGION`, or `drm-memory-REGION` in older kernels. Regions that lie on the card are called `vram` (amdgpu, xe) or
//! `local` (i915). Only processes of the run are looked into: others' descriptors are closed to us as a rule.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use lowtide_model::GpuDriver;

use super::kfd::Kfd;
use super::{Card, Driver, Memory, Reading};
use crate::parse::{lines, number};
use crate::root::{Root, Scratch};

/// More descriptors than this of a process are not looked at.
const MOST_FILES: usize = 4096;

#[derive(Debug)]
pub(crate) struct Drm {
    root: Root,
    scratch: Scratch,
    cards: Vec<Card>,
    /// The bus address of each, and its folder in sysfs.
    places: Vec<(String, PathBuf)>,
    kfd: Kfd,
}

impl Drm {
    /// `first`: the number of the first card, behind those of other drivers.
    pub fn open(root: &Root, first: u32) -> Result<Box<dyn Driver>, String> {
        let mut found: BTreeMap<u32, (String, PathBuf, String)> = BTreeMap::new();
        let mut scratch = Scratch::default();
        for entry in std::fs::read_dir(root.path("sys/class/drm")).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(index) = name.to_str().and_then(|name| name.strip_prefix("card")?.parse::<u32>().ok()) else { continue };
            let device = entry.path().join("device");
            // NVIDIA's own driver tells nothing here, and its cards are in the other list.
            let Some(model) = model(&device, &mut scratch) else { continue };
            let address = uevent(&device, "PCI_SLOT_NAME=", &mut scratch).unwrap_or_default();
            found.insert(index, (address, device, model));
        }
        if found.is_empty() {
            return Err("no AMD or Intel card in /sys/class/drm tells of its memory".to_owned());
        }
        let (mut cards, mut places) = (Vec::new(), Vec::new());
        for (number, (address, device, name)) in (first..).zip(found.into_values()) {
            cards.push(Card { resource: format!("gpu{number}"), name, uuid: address.clone(), emulated: false });
            places.push((address, device));
        }
        let kfd = Kfd::find(root, &mut scratch);
        Ok(Box::new(Self { root: root.clone(), scratch, cards, places, kfd }))
    }
}

/// The model of a card whose memory can be told; `None` for any other.
fn model(device: &std::path::Path, scratch: &mut Scratch) -> Option<String> {
    let driver = uevent(device, "DRIVER=", scratch)?;
    let known = match driver.as_str() {
        "amdgpu" => device.join("mem_info_vram_total").exists().then_some("AMD GPU"),
        "xe" | "i915" => Some("Intel GPU"),
        _ => None,
    }?;
    let product =
        scratch.read(&device.join("product_name")).ok().map(|name| String::from_utf8_lossy(name.trim_ascii()).into_owned());
    Some(product.filter(|name| !name.is_empty()).unwrap_or_else(|| known.to_owned()))
}

fn uevent(device: &std::path::Path, key: &str, scratch: &mut Scratch) -> Option<String> {
    let text = scratch.read(&device.join("uevent")).ok()?;
    let value = lines(text).find_map(|line| line.strip_prefix(key.as_bytes()))?;
    Some(String::from_utf8_lossy(value.trim_ascii()).into_owned())
}

impl Driver for Drm {
    fn kind(&self) -> GpuDriver {
        GpuDriver::Drm
    }

    fn describe(&self) -> String {
        "the kernel's DRM drivers".to_owned()
    }

    fn cards(&self) -> &[Card] {
        &self.cards
    }

    fn knows_our_pids(&self) -> bool {
        true
    }

    fn read(&mut self, pids: &[u32], gone: &[bool], reading: &mut Reading) {
        let mut of_run = vec![0_u64; self.cards.len()];
        for pid in pids {
            let by_client = self.of_process(*pid);
            let by_compute = self.places.iter().map(|(address, _)| self.kfd.of_process(*pid, address, &mut self.scratch));
            // Older kernels count what ROCm allocates in the one, newer ones in both.
            let most: Vec<u64> = by_client.into_iter().zip(by_compute).map(|(client, compute)| client.max(compute)).collect();
            for (at, used) in most.into_iter().enumerate().filter(|(_, used)| *used > 0) {
                of_run[at] += used;
                reading.users.push((at, *pid, Some(used)));
            }
        }
        for (at, (_, device)) in self.places.iter().enumerate().filter(|(at, _)| !gone[*at]) {
            let mut file = |name: &str| self.scratch.read(&device.join(name)).ok().and_then(number);
            if !device.exists() {
                reading.troubles.push((at, "it is not there any more".to_owned(), true));
            } else if let (Some(total), Some(used)) = (file("mem_info_vram_total"), file("mem_info_vram_used")) {
                let free = total.saturating_sub(used);
                reading.cards.push((at, Memory { total, used, free, reserved: 0 }));
            } else if of_run[at] > 0 {
                // Intel tells a card's size to root alone: what the run has of it is all that can be said.
                reading.cards.push((at, Memory { used: of_run[at], ..Memory::default() }));
            }
        }
        reading.users.retain(|(at, _, _)| !gone[*at]);
    }
}

impl Drm {
    /// Bytes that a process has on each card. Each client counts once, however many descriptors lead to it.
    fn of_process(&mut self, pid: u32) -> Vec<u64> {
        let mut used = vec![0_u64; self.cards.len()];
        let mut clients = HashSet::new();
        let Ok(files) = std::fs::read_dir(self.root.of(pid, "fd")) else { return used };
        for file in files.flatten().take(MOST_FILES) {
            let to_card = std::fs::read_link(file.path()).is_ok_and(|target| target.starts_with("/dev/dri"));
            if !to_card {
                continue;
            }
            let info = self.root.of(pid, "fdinfo").join(file.file_name());
            let Some(client) = self.scratch.read(&info).ok().and_then(Client::parse) else { continue };
            let Some(at) = self.places.iter().position(|(address, _)| *address == client.address) else { continue };
            if clients.insert((at, client.id)) {
                used[at] = used[at].saturating_add(client.bytes);
            }
        }
        used
    }
}

/// What one descriptor of a card says.
#[derive(Debug, PartialEq, Eq)]
struct Client {
    address: String,
    id: u64,
    bytes: u64,
}

impl Client {
    fn parse(info: &[u8]) -> Option<Self> {
        let (mut address, mut id) = (None, None);
        let (mut resident, mut older) = (None, None);
        for line in lines(info) {
            let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
            let (key, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            if key == b"drm-pdev" {
                address = Some(String::from_utf8_lossy(value).into_owned());
            } else if key == b"drm-client-id" {
                id = number(value);
            } else if let Some(region) = key.strip_prefix(b"drm-resident-") {
                add(&mut resident, region, value);
            } else if let Some(region) = key.strip_prefix(b"drm-memory-") {
                add(&mut older, region, value);
            }
        }
        Some(Self { address: address?, id: id?, bytes: resident.or(older).unwrap_or(0) })
    }
}

fn add(sum: &mut Option<u64>, region: &[u8], value: &[u8]) {
    // Engines of a card with several tiles have a region each: vram0, vram1.
    let on_card = region.starts_with(b"vram") || region.starts_with(b"local");
    if let Some(bytes) = size(value).filter(|_| on_card) {
        *sum = Some(sum.unwrap_or(0).saturating_add(bytes));
    }
}

/// `<number> [KiB|MiB]`.
fn size(value: &[u8]) -> Option<u64> {
    let mut words = value.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let count = number(words.next()?)?;
    match words.next() {
        None => Some(count),
        Some(b"KiB") => count.checked_mul(1 << 10),
        Some(b"MiB") => count.checked_mul(1 << 20),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_panics(key in "drm-[a-z0-9-]{0,20}", value in ".{0,30}", bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let line = format!("drm-pdev: 0\ndrm-client-id: {value}\n{key}: {value}\n");
            let _ = (Client::parse(line.as_bytes()), Client::parse(&bytes), size(&bytes));
        }
    }

    #[test]
    fn reads_the_descriptors_of_three_drivers() {
        let amd = b"pos:\t0\ndrm-driver:\tamdgpu\ndrm-client-id:\t7\ndrm-pdev:\t0000:03:00.0\ndrm-memory-vram:\t1024 KiB\ndrm-memory-gtt:\t9 KiB\n";
        assert_eq!(Client::parse(amd), Some(Client { address: "0000:03:00.0".into(), id: 7, bytes: 1 << 20 }));
        let newer = b"drm-client-id: 7\ndrm-pdev: 0000:03:00.0\ndrm-memory-vram: 5 KiB\ndrm-total-vram: 9 MiB\ndrm-resident-vram: 3 MiB\n";
        assert_eq!(Client::parse(newer).map(|client| client.bytes), Some(3 << 20));
        let intel = b"drm-client-id: 1\ndrm-pdev: 0000:00:02.0\ndrm-resident-local0: 2 MiB\ndrm-resident-system0: 8 MiB\n";
        assert_eq!(Client::parse(intel).map(|client| client.bytes), Some(2 << 20));
        assert_eq!(Client::parse(b"pos: 0\nflags: 02\n"), None);
        assert_eq!(size(b"12 GiB"), None, "no unit of that format");
    }
}

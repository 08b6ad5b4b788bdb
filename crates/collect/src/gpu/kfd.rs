//! What AMD's compute driver (KFD) tells of each process: `/sys/class/kfd/kfd/proc/PID/vram_GPUID`, in bytes.
//!
//! ROCm allocates through it, and older kernels do not count that among what a DRM client has. Its cards have numbers of their own,
//! which `topology/nodes/N` leads from to the address on the bus: `location_id` is bus, device and function in 16 bits, `domain`
//! what stands before them.

use crate::parse::{lines, number};
use crate::root::{Root, Scratch};

/// More nodes than this no machine has.
const MOST_NODES: usize = 256;

/// The cards of this driver.
#[derive(Debug)]
pub(super) struct Kfd {
    root: Root,
    /// Address on the bus, and the number that it has here.
    cards: Vec<(String, u64)>,
}

impl Kfd {
    /// Those that are there.
    pub fn find(root: &Root, scratch: &mut Scratch) -> Self {
        let mut cards = Vec::new();
        for node in
            std::fs::read_dir(root.path("sys/class/kfd/kfd/topology/nodes")).into_iter().flatten().take(MOST_NODES).flatten()
        {
            let id = scratch.read(&node.path().join("gpu_id")).ok().and_then(number);
            // A node of processors alone has the number 0.
            let Some(id) = id.filter(|id| *id > 0) else { continue };
            let address = scratch.read(&node.path().join("properties")).ok().and_then(address);
            cards.extend(address.map(|address| (address, id)));
        }
        Self { root: root.clone(), cards }
    }

    /// Bytes that a process has on the card at this address; 0 where nothing is told.
    pub fn of_process(&self, pid: u32, address: &str, scratch: &mut Scratch) -> u64 {
        let Some((_, id)) = self.cards.iter().find(|(other, _)| other == address) else { return 0 };
        let file = self.root.path(format!("sys/class/kfd/kfd/proc/{pid}/vram_{id}"));
        scratch.read(&file).ok().and_then(number).unwrap_or(0)
    }
}

/// The address in a node's properties: `0000:03:00.0`.
fn address(properties: &[u8]) -> Option<String> {
    let value = |key: &[u8]| {
        let of_key = |line: &[u8]| line.strip_prefix(key).and_then(number);
        lines(properties).find_map(of_key)
    };
    let location = u16::try_from(value(b"location_id ")?).ok()?;
    let domain = value(b"domain ").unwrap_or(0);
    let (bus, device, function) = (location >> 8, (location >> 3) & 31, location & 7);
    Some(format!("{domain:04x}:{bus:02x}:{device:02x}.{function}"))
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn a_location_is_an_address() {
        assert_eq!(address(b"cpu_cores_count 0\nlocation_id 768\ndomain 0\n").as_deref(), Some("0000:03:00.0"));
        assert_eq!(address(b"location_id 33553\ndomain 1\n").as_deref(), Some("0001:83:02.1"));
        assert_eq!(address(b"location_id 99999999\n"), None);
        assert_eq!(address(b""), None);
    }
}

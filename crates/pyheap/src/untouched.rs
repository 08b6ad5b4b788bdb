//! Arrays and tensors that were made whole and are written bit by bit: what they never wrote takes no memory yet.

use crate::census::Census;
use crate::memory::Memory;
use crate::types::Kind;
use crate::visit::Ndarray;
use crate::walk::ObjectId;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Less than this, bytes, is not told: it lies among others, and may have been theirs.
const LEAST: u64 = 64 << 10;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Untouched {
    /// The array or tensor.
    pub id: ObjectId,
    /// Bytes of its data.
    pub bytes: u64,
    /// Those of them that are in memory.
    pub resident: u64,
}

impl Memory {
    /// The arrays and tensors that have most of their data untouched or swapped out, most of it first; each storage once. Of files and
    /// shared memory nothing is known here.
    #[must_use]
    pub fn untouched(&self, census: &Census) -> Vec<Untouched> {
        let storages = self.torch.as_ref().ok().into_iter().flat_map(|torch| {
            let held = torch.tensors.iter().filter(|tensor| tensor.held);
            held.filter_map(|tensor| Some((tensor.python?, torch.storage(tensor).filter(|storage| storage.bytes >= LEAST)?)))
        });
        let storages: HashMap<u64, (u64, u64)> =
            storages.map(|(python, storage)| (python, (storage.data, storage.bytes))).collect();
        let tensors = census.types_of(storages.keys().copied());
        let mut found: Vec<(u64, Untouched)> = Vec::new();
        for id in census.objects().ids() {
            let address = census.objects().address(id);
            let is_array = || census.kind(id).is_some_and(|class| class.kind == Kind::Ndarray);
            let data = if tensors.get(census.objects().kind(id).0 as usize) == Some(&true) {
                storages.get(&address).copied()
            } else if census.objects().size(id) >= LEAST && is_array() {
                let array = Ndarray::read(census.reader(), address).filter(|array| array.owns);
                array.and_then(|array| Some((array.data, array.bytes()?)))
            } else {
                None
            };
            let Some((data, bytes)) = data.filter(|(data, _)| self.is_private(census, *data)) else { continue };
            let resident = self.resident().within(data, data.saturating_add(bytes)).min(bytes);
            if bytes - resident >= LEAST {
                found.push((data, Untouched { id, bytes, resident }));
            }
        }
        // The first that leads to a storage is the one with the best name.
        found.sort_by_key(|(data, untouched)| (*data, untouched.id));
        found.dedup_by_key(|(data, _)| *data);
        found.sort_by_key(|(_, untouched)| (Reverse(untouched.bytes - untouched.resident), untouched.id));
        found.into_iter().map(|(_, untouched)| untouched).collect()
    }

    fn is_private(&self, census: &Census, address: u64) -> bool {
        census.image().maps().find(address).is_some_and(|map| map.perms.write && !map.perms.shared && !map.is_file())
    }
}

//! The page store: what was read, found again in a few nanoseconds.
//!
//! Memory is kept in clusters of 64 KiB at addresses that are multiples of it. A table of two levels, indexed by the address
//! itself, leads to them: no search, no hashing, no lock for a reader. Most clusters are readable as a whole; where only
//! some of the 16 pages are, an entry says which. Both fit into one word, since clusters are aligned: the upper 48 bits are
//! the cluster's place, the lower 16 say which pages are there.
//!
//! A cluster is written before its entry is published, and neither changes nor moves afterwards until the store is dropped;
//! what is lent out of it lives as long as the store.

use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Bytes that are read at once. Measured on a CPython heap: 4 KiB took 1.5 to 2.7 times as long.
pub const CLUSTER: usize = 1 << 16;
/// The smallest page of any machine that we read. Whether bytes are there is known by page.
pub const PAGE: u64 = 1 << 12;
/// All pages of a cluster.
pub const WHOLE: u16 = u16::MAX;
/// Addresses of a process are below this (x86-64 with four levels of page tables, aarch64 with 48 bits).
pub const END: u64 = 1 << 48;

const ENTRIES: usize = 1 << 16;
/// Clusters are taken from the system so many at a time. Not as huge pages: the kernel may have to move memory about to find one, a
/// virtual machine that has given free memory back to its host gets it again only then (measured: reading 511 MiB took 2.0 instead of
/// 0.6 s), and the target waits.
const SLAB: usize = 32;
/// One cluster more, so that the others can be aligned. What is never written takes no memory.
const SLAB_BYTES: usize = (SLAB + 1) * CLUSTER;

type Table = [AtomicPtr<u8>; ENTRIES];

/// What is known of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Cluster {
    bytes: *const u8,
    /// Bit n: page n is there.
    pub pages: u16,
}

/// The table and the clusters.
pub struct Store {
    top: Box<[AtomicPtr<Table>]>,
    /// Addresses whose tables were made: who looks for them in `top` brings each page of that to memory.
    tables: Mutex<Vec<u64>>,
    slabs: Mutex<Slabs>,
    /// Bytes of memory that the store holds.
    held: AtomicU64,
}

#[derive(Default)]
struct Slabs {
    whole: Vec<NonNull<u8>>,
    used_of_last: usize,
    returned: Vec<NonNull<u8>>,
}

// SAFETY: the pointers are to memory that the store owns; clusters are written only before they are published (with
// Release, read with Acquire) or by whoever holds them alone; the list of slabs is behind a lock.
unsafe impl Send for Store {}
// SAFETY: as above.
unsafe impl Sync for Store {}

impl Store {
    pub fn new() -> Self {
        // SAFETY: a null AtomicPtr is all zeros.
        let top = unsafe { Box::new_zeroed_slice(ENTRIES).assume_init() };
        Self { top, tables: Mutex::default(), slabs: Mutex::default(), held: AtomicU64::new(0) }
    }

    /// Bytes of memory that the store holds: an upper bound of what it has touched.
    pub fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// What is known of the cluster that holds `address`; `None` where it was not asked for yet.
    #[inline]
    pub fn get(&self, address: u64) -> Option<Cluster> {
        if address >= END {
            return None;
        }
        let table = self.top[(address >> 32) as usize].load(Ordering::Acquire);
        // SAFETY: a published table lives as long as the store.
        let table = unsafe { table.as_ref() }?;
        let entry = table[(address >> 16) as usize % ENTRIES].load(Ordering::Acquire);
        if entry.is_null() {
            return None;
        }
        Some(Cluster { bytes: entry.map_addr(|entry| entry & !(CLUSTER - 1)), pages: entry.addr() as u16 })
    }

    /// `len` bytes at `address`, which must be inside the cluster; `None` where a page of them is missing.
    #[inline]
    pub fn slice(&self, cluster: Cluster, address: u64, len: usize) -> Option<&[u8]> {
        let at = address as usize % CLUSTER;
        if at + len > CLUSTER {
            return None;
        }
        if cluster.pages != WHOLE && len > 0 {
            let wanted = span(at, len);
            if cluster.pages & wanted != wanted {
                return None;
            }
        }
        // SAFETY: `at + len` is inside the cluster, whose pages there were written before it was published; nothing writes
        // to it again, and it lives as long as the store, to which the result is tied.
        Some(unsafe { std::slice::from_raw_parts(cluster.bytes.add(at), len) })
    }

    /// Has the processor bring bytes near that somebody will look at soon.
    #[inline]
    pub fn prefetch(&self, address: u64) {
        if let Some(cluster) = self.get(address)
            && cluster.pages != 0
        {
            prefetch(cluster.bytes.wrapping_add(address as usize % CLUSTER));
        }
    }

    /// Room for a cluster, to be written and then published or given back; `None` where there is no memory. What is in it
    /// has no meaning.
    pub fn room(&self) -> Option<Room> {
        let mut slabs = self.slabs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = slabs.returned.pop() {
            return Some(Room { bytes });
        }
        if slabs.whole.is_empty() || slabs.used_of_last == SLAB {
            slabs.whole.push(map_slab().ok()?);
            slabs.used_of_last = 0;
        }
        let at = slabs.used_of_last * CLUSTER;
        slabs.used_of_last += 1;
        self.held.fetch_add(CLUSTER as u64, Ordering::Relaxed);
        let slab = slabs.whole[slabs.whole.len() - 1];
        let aligned = slab.addr().get().next_multiple_of(CLUSTER) - slab.addr().get();
        // SAFETY: a cluster inside the slab, whose room for alignment suffices, that was not given to anybody yet.
        Some(Room { bytes: unsafe { slab.add(aligned + at) } })
    }

    /// Gives room back that was not needed.
    pub fn give_back(&self, room: Room) {
        self.slabs.lock().unwrap_or_else(PoisonError::into_inner).returned.push(room.bytes);
    }

    /// Publishes a cluster: from now on everybody sees it. Only one caller at a time may do so for an address (the image
    /// holds a lock), and only once.
    pub fn publish(&self, address: u64, room: Room, pages: u16) {
        if address >= END {
            return self.give_back(room);
        }
        let entry = room.bytes.as_ptr().map_addr(|place| place | usize::from(pages));
        self.set(address, entry);
    }

    /// Publishes that there is nothing at all.
    pub fn publish_nothing(&self, address: u64) {
        if address < END {
            // Not null, so that it is known; no page, so that it is never followed.
            self.set(address, ptr::without_provenance_mut(CLUSTER));
        }
    }

    fn set(&self, address: u64, entry: *mut u8) {
        let slot = &self.top[(address >> 32) as usize];
        let mut table = slot.load(Ordering::Acquire);
        if table.is_null() {
            let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
            // Another thread may have made it meanwhile.
            table = slot.load(Ordering::Acquire);
            if table.is_null() {
                // SAFETY: a table of null pointers is all zeros.
                table = Box::into_raw(unsafe { Box::<Table>::new_zeroed().assume_init() });
                slot.store(table, Ordering::Release);
                tables.push(address);
                self.held.fetch_add(PAGE, Ordering::Relaxed);
            }
        }
        // SAFETY: a published table lives as long as the store.
        let table = unsafe { &*table };
        table[(address >> 16) as usize % ENTRIES].store(entry, Ordering::Release);
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        for address in self.tables.get_mut().unwrap_or_else(PoisonError::into_inner) {
            // SAFETY: made by Box, listed once, and nobody else has the store any more.
            drop(unsafe { Box::from_raw(*self.top[(*address >> 32) as usize].get_mut()) });
        }
        for slab in &self.slabs.get_mut().unwrap_or_else(PoisonError::into_inner).whole {
            // SAFETY: mapped with this length, unmapped once, and nothing that was lent out of it outlives the store.
            unsafe { libc::munmap(slab.as_ptr().cast(), SLAB_BYTES) };
        }
    }
}

/// A cluster that nobody else sees yet.
pub struct Room {
    bytes: NonNull<u8>,
}

impl Room {
    /// `len` bytes from `at` on, to be written. Their pages are asked for at once, which takes two thirds of the time that it takes
    /// to meet each of them as a fault; a kernel before 5.14 does not know that request, and they come as faults.
    pub fn bytes(&mut self, at: usize, len: usize) -> &mut [u8] {
        let at = at.min(CLUSTER);
        let len = len.min(CLUSTER - at);
        // SAFETY: inside the cluster, which nobody else has; only the kernel reads and writes it, which gives memory to it.
        unsafe { libc::madvise(self.bytes.as_ptr().add(at).cast(), len, libc::MADV_POPULATE_WRITE) };
        // SAFETY: inside the cluster, which nobody else has; the kernel has set it to zeros when it was mapped.
        unsafe { std::slice::from_raw_parts_mut(self.bytes.as_ptr().add(at), len) }
    }
}

/// Has the processor bring what is at a place near, without waiting for it. Any place is allowed, since nothing is read.
#[inline]
pub fn prefetch<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch changes and faults nothing, wherever it points to; all x86-64 have it.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// Fresh memory, all zeros.
fn map_slab() -> io::Result<NonNull<u8>> {
    // SAFETY: a new private map at a place that the kernel chooses.
    let slab = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        libc::mmap(ptr::null_mut(), SLAB_BYTES, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
    };
    NonNull::new(slab.cast()).filter(|_| slab != libc::MAP_FAILED).ok_or_else(io::Error::last_os_error)
}

/// The pages that `len` bytes from `at` on touch; both inside a cluster, `len` not 0.
#[inline]
pub fn span(at: usize, len: usize) -> u16 {
    let first = at >> 12;
    let last = (at + len - 1) >> 12;
    (WHOLE << first) & (WHOLE >> (15 - last))
}

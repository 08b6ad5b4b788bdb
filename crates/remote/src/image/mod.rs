//! A process's memory as it is read: on demand, 64 KiB at a time, each byte once.
//!
//! Data that nobody asks for (the contents of tensors, above all) is never touched: on training processes that is most of
//! the memory. Nothing outside the maps is ever read, and no device.

mod store;

use std::borrow::Cow;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::maps::Maps;
use crate::source::Source;
use store::{CLUSTER, Cluster, END, Store, WHOLE};

pub(crate) use store::PAGE;
pub use store::prefetch;

/// Most bytes that are copied out at once: a list of a hundred million objects fits.
const BYTES_LIMIT: usize = 1 << 30;
/// What nobody has asked for yet may fill one part in so many of the room.
const AHEAD: u64 = 4;
/// Clusters are filled under one of so many locks, so that no two threads read the same one.
const LOCKS: usize = 64;

/// A process's memory. Any number of threads may read it at once.
pub struct Image {
    maps: Maps,
    source: Box<dyn Source>,
    store: Store,
    filling: [Mutex<()>; LOCKS],
    budget: u64,
    read: AtomicU64,
    spent: AtomicBool,
    failed: OnceLock<(u64, io::Error)>,
}

/// Why an image no longer gives what is there.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// More was asked for than allowed.
    #[error("more than {budget} bytes would have to be read, and there is room for no more")]
    Budget {
        /// How many bytes were allowed.
        budget: u64,
    },
    /// The source failed: the process ended, or the time of the stop is over.
    #[error("reading at address {address:#x} failed: {why}")]
    Source {
        /// Where.
        address: u64,
        /// Why.
        why: String,
    },
}

impl Image {
    /// An image that may read everything.
    #[must_use]
    pub fn new(source: impl Source + 'static, maps: Maps) -> Self {
        Self {
            maps,
            source: Box::new(source),
            store: Store::new(),
            filling: std::array::from_fn(|_| Mutex::default()),
            budget: u64::MAX,
            read: AtomicU64::new(0),
            spent: AtomicBool::new(false),
            failed: OnceLock::new(),
        }
    }

    /// Bounds the memory that the image may hold, in bytes. What would need more is refused ([`Image::trouble`] says so);
    /// what was read stays readable.
    #[must_use]
    pub fn with_budget(mut self, bytes: u64) -> Self {
        self.budget = bytes;
        self
    }

    /// What is mapped where.
    #[must_use]
    pub fn maps(&self) -> &Maps {
        &self.maps
    }

    /// Bytes read from the process so far.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Whether something that is there could not be read, and why. A page that the kernel refuses is no trouble.
    #[must_use]
    pub fn trouble(&self) -> Option<Trouble> {
        if let Some((address, source)) = self.failed.get() {
            return Some(Trouble::Source { address: *address, why: source.to_string() });
        }
        self.spent.load(Ordering::Relaxed).then_some(Trouble::Budget { budget: self.budget })
    }

    /// Copies bytes out; `None` unless all of them are there.
    #[must_use]
    pub fn read(&self, address: u64, out: &mut [u8]) -> Option<()> {
        let mut at = address;
        let mut rest = out;
        while !rest.is_empty() {
            let here = rest.len().min(CLUSTER - at as usize % CLUSTER);
            let (now, later) = rest.split_at_mut(here);
            now.copy_from_slice(self.inside(at, here)?);
            at = at.checked_add(here as u64)?;
            rest = later;
        }
        Some(())
    }

    /// `len` bytes, without a copy where they lie within 64 KiB. A length that does not fit its map, or above 1 GiB, is refused
    /// at once.
    #[must_use]
    pub fn bytes(&self, address: u64, len: usize) -> Option<Cow<'_, [u8]>> {
        if len <= CLUSTER - address as usize % CLUSTER {
            return self.inside(address, len).map(Cow::Borrowed);
        }
        if len > BYTES_LIMIT || !self.is_mapped(address, len as u64) {
            return None;
        }
        // By pieces: a map may be long and have nothing in it that can be read.
        let mut bytes = Vec::new();
        while bytes.len() < len {
            let at = address + bytes.len() as u64;
            let here = (len - bytes.len()).min(CLUSTER - at as usize % CLUSTER);
            bytes.extend_from_slice(self.inside(at, here)?);
        }
        Some(Cow::Owned(bytes))
    }

    /// The bytes up to a NUL, which must come within `max` bytes.
    #[must_use]
    pub fn cstr(&self, address: u64, max: usize) -> Option<Cow<'_, [u8]>> {
        let mut text: Cow<'_, [u8]> = Cow::Borrowed(&[]);
        let mut at = address;
        loop {
            // By pages, since the text may end just before one that is not there.
            let here = (PAGE - at % PAGE) as usize;
            let piece = self.inside(at, here)?;
            let end = piece.iter().position(|byte| *byte == 0);
            let piece = &piece[..end.unwrap_or(here)];
            if text.is_empty() {
                text = Cow::Borrowed(piece);
            } else {
                text.to_mut().extend_from_slice(piece);
            }
            if text.len() > max {
                return None;
            }
            if end.is_some() {
                return Some(text);
            }
            at = at.checked_add(here as u64)?;
        }
    }

    /// One byte.
    #[inline]
    #[must_use]
    pub fn u8(&self, address: u64) -> Option<u8> {
        self.array::<1>(address).map(|[byte]| byte)
    }

    /// Two bytes, little-endian, at any address; so are the others.
    #[inline]
    #[must_use]
    pub fn u16(&self, address: u64) -> Option<u16> {
        self.array(address).map(u16::from_le_bytes)
    }

    /// Four bytes.
    #[inline]
    #[must_use]
    pub fn u32(&self, address: u64) -> Option<u32> {
        self.array(address).map(u32::from_le_bytes)
    }

    /// Eight bytes: a pointer, a `size_t`.
    #[inline]
    #[must_use]
    pub fn u64(&self, address: u64) -> Option<u64> {
        self.array(address).map(u64::from_le_bytes)
    }

    /// Four bytes, signed.
    #[inline]
    #[must_use]
    pub fn i32(&self, address: u64) -> Option<i32> {
        self.array(address).map(i32::from_le_bytes)
    }

    /// Eight bytes, signed: a `Py_ssize_t`.
    #[inline]
    #[must_use]
    pub fn i64(&self, address: u64) -> Option<i64> {
        self.array(address).map(i64::from_le_bytes)
    }

    /// A `double`.
    #[inline]
    #[must_use]
    pub fn f64(&self, address: u64) -> Option<f64> {
        self.array(address).map(f64::from_le_bytes)
    }

    /// So many bytes as an array.
    #[inline]
    #[must_use]
    pub fn array<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        match self.kept(address, N) {
            Some(bytes) => bytes.try_into().ok(),
            None => self.array_slowly(address),
        }
    }

    /// Eight bytes that may be a part of something that the process writes to. What nobody writes to is not read for them: only where it
    /// was read already, as a name beside it, it is given all the same.
    #[inline]
    #[must_use]
    pub fn u64_if_writable(&self, address: u64) -> Option<u64> {
        match self.kept(address, 8) {
            Some(bytes) => bytes.try_into().ok().map(u64::from_le_bytes),
            None => self.u64_of_new_if_writable(address),
        }
    }

    #[cold]
    #[inline(never)]
    fn u64_of_new_if_writable(&self, address: u64) -> Option<u64> {
        if self.is_writable(address) { self.u64(address) } else { None }
    }

    /// Whether an address is in a map that is writable.
    #[must_use]
    pub fn is_writable(&self, address: u64) -> bool {
        self.maps.find(address).is_some_and(|map| map.perms.write)
    }

    #[cold]
    #[inline(never)]
    fn array_slowly<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.read(address, &mut bytes)?;
        Some(bytes)
    }

    /// Whether the 64 KiB around an address were asked for already, so that nothing is read from the process to answer for them.
    #[must_use]
    pub fn has_read(&self, address: u64) -> bool {
        self.store.get(address).is_some()
    }

    /// Reads the 64 KiB around an address now, since somebody will ask for them soon. Only as long as the image holds less than a
    /// quarter of what it may: whether there was room for it is given back.
    pub fn read_ahead(&self, address: u64) -> bool {
        let room = self.store.held() < self.budget / AHEAD;
        if room {
            let _ = self.inside(address & !(CLUSTER as u64 - 1), 1);
        }
        room
    }

    /// Has the processor bring bytes near that will be looked at soon, if they have been read already.
    #[inline]
    pub fn prefetch(&self, address: u64) {
        self.store.prefetch(address);
    }

    /// Reads past the store, for a look at each byte once: gives how many bytes from `address` on were read, nothing of
    /// which is kept. It stops at the end of the map and at an unreadable page. What is in the store already comes from there.
    #[must_use]
    pub fn read_once(&self, address: u64, out: &mut [u8]) -> usize {
        if let Some(kept) = self.kept(address, out.len()) {
            out.copy_from_slice(kept);
            return out.len();
        }
        let Some(map) = self.maps.find(address).filter(|map| map.is_readable()) else { return 0 };
        let len = usize::try_from(map.end - address).unwrap_or(usize::MAX).min(out.len());
        let mut done = 0;
        while done < len {
            match self.source.read(address + done as u64, &mut out[done..len]) {
                Ok(count) if count > 0 => done += count.min(len - done),
                Ok(_) => break,
                Err(error) => {
                    self.note(address + done as u64, error);
                    break;
                }
            }
        }
        self.read.fetch_add(done as u64, Ordering::Relaxed);
        done
    }

    /// As [`Image::read_once`], `N` bytes at each of many addresses; `None` where not all of them could be read.
    #[must_use]
    pub fn read_each_once<const N: usize>(&self, addresses: &[u64]) -> Vec<Option<[u8; N]>> {
        let mut found: Vec<Option<[u8; N]>> =
            addresses.iter().map(|at| self.kept(*at, N).and_then(|kept| kept.try_into().ok())).collect();
        let is_missing = |(at, found): &(usize, &Option<_>)| found.is_none() && self.is_mapped(addresses[*at], N as u64);
        let missing: Vec<usize> = found.iter().enumerate().filter(is_missing).map(|(at, _)| at).collect();
        let mut bytes = vec![0; missing.len() * N];
        let mut done = 0;
        while done < missing.len() {
            let asked: Vec<u64> = missing[done..].iter().map(|at| addresses[*at]).collect();
            match self.source.read_each(&asked, &mut bytes[done * N..]) {
                Ok(count) if count > 0 => {
                    let count = count.min(asked.len());
                    for (at, bytes) in missing[done..].iter().zip(bytes[done * N..].chunks_exact(N)).take(count) {
                        found[*at] = bytes.try_into().ok();
                    }
                    self.read.fetch_add((count * N) as u64, Ordering::Relaxed);
                    done += count;
                }
                // The first of them cannot be read; the others may.
                Ok(_) => done += 1,
                Err(error) => {
                    self.note(asked[0], error);
                    done += 1;
                }
            }
        }
        found
    }

    /// Whether all of these addresses are in readable maps.
    #[must_use]
    pub fn is_mapped(&self, address: u64, len: u64) -> bool {
        // What was read as a whole is mapped: most are asked for right after that.
        if address as usize % CLUSTER + usize::try_from(len).unwrap_or(CLUSTER) <= CLUSTER
            && self.store.get(address).is_some_and(|cluster| cluster.pages == WHOLE)
        {
            return true;
        }
        let Some(end) = address.checked_add(len) else { return false };
        let mut at = address;
        for map in self.maps.overlapping(address..end).take_while(|map| map.is_readable()) {
            if map.start > at {
                return false;
            }
            at = map.end;
        }
        at >= end
    }

    /// Bytes that have been read already, within one cluster.
    #[inline]
    fn kept(&self, address: u64, len: usize) -> Option<&[u8]> {
        self.store.slice(self.store.get(address)?, address, len)
    }

    /// Bytes within one cluster.
    fn inside(&self, address: u64, len: usize) -> Option<&[u8]> {
        if len == 0 {
            return Some(&[]);
        }
        let cluster = match self.store.get(address) {
            Some(cluster) => cluster,
            None => self.fill(address)?,
        };
        self.store.slice(cluster, address, len)
    }

    /// Reads the cluster of an address; `None` where that is refused or the source fails, which is not remembered.
    fn fill(&self, address: u64) -> Option<Cluster> {
        if address >= END {
            return None;
        }
        let base = address & !(CLUSTER as u64 - 1);
        let lock = &self.filling[(base >> 16) as usize % LOCKS];
        let _filling = lock.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cluster) = self.store.get(base) {
            return Some(cluster);
        }
        let wanted = self.mapped_pages(base);
        if wanted == 0 {
            // Not published: arbitrary words are looked up as addresses by the million, and each would need an entry.
            return None;
        }
        if self.store.held() >= self.budget {
            self.spent.store(true, Ordering::Relaxed);
            return None;
        }
        let Some(mut room) = self.store.room() else {
            self.note(base, io::ErrorKind::OutOfMemory.into());
            return None;
        };
        match self.read_pages(base, wanted, &mut room) {
            Ok(0) => {
                self.store.give_back(room);
                self.store.publish_nothing(base);
            }
            Ok(pages) => self.store.publish(base, room, pages),
            Err(error) => {
                self.store.give_back(room);
                self.note(base, error);
                return None;
            }
        }
        self.store.get(base)
    }

    /// Which of a cluster's pages are in readable maps.
    fn mapped_pages(&self, base: u64) -> u16 {
        let end = base + CLUSTER as u64;
        let mut pages = 0;
        for map in self.maps.overlapping(base..end).filter(|map| map.is_readable()) {
            let from = map.start.max(base).next_multiple_of(PAGE) - base;
            let to = (map.end.min(end) & !(PAGE - 1)).saturating_sub(base);
            if from < to {
                pages |= store::span(from as usize, (to - from) as usize);
            }
        }
        pages
    }

    /// Reads those pages of a cluster, and says which could be read.
    fn read_pages(&self, base: u64, wanted: u16, room: &mut store::Room) -> io::Result<u16> {
        let mut there = 0;
        let mut at = 0;
        while at < CLUSTER {
            let left = wanted & (WHOLE.checked_shl((at >> 12) as u32).unwrap_or(0));
            if left == 0 {
                break;
            }
            at = (left.trailing_zeros() as usize) << 12;
            let len = ((!(left >> (at >> 12))).trailing_zeros() as usize).min(16 - (at >> 12)) << 12;
            let got = match self.source.read(base + at as u64, room.bytes(at, len)) {
                Ok(got) => got.min(len) & !(PAGE as usize - 1),
                Err(error) if is_a_hole(&error) => 0,
                Err(error) => return Err(error),
            };
            if got > 0 {
                there |= store::span(at, got);
                self.read.fetch_add(got as u64, Ordering::Relaxed);
            }
            // A read may end where a source's own piece ends; only one that gets nothing has met a page that is not there.
            at += got.max(PAGE as usize);
        }
        Ok(there)
    }

    fn note(&self, address: u64, error: io::Error) {
        if !is_a_hole(&error) {
            let _ = self.failed.set((address, error));
        }
    }
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Image").field("maps", &self.maps.len()).field("read", &self.bytes_read()).finish_non_exhaustive()
    }
}

/// What the kernel says of a page that is mapped and cannot be read (beyond the end of its file, poisoned, a device's).
fn is_a_hole(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EIO | libc::EFAULT)) || error.kind() == io::ErrorKind::NotFound
}

#[cfg(test)]
mod tests;

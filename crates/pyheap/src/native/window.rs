//! Reading a long stretch of foreign memory once, in order, without keeping it.
//!
//! The image that the object walk reads through keeps every page that it has seen. Walking an allocator touches the whole
//! heap and needs nothing twice, so it reads through a few buffers of its own: a heap of 20 GiB costs 256 KiB of ours.

use lowtide_remote::Image;

/// Bytes of one buffer. Larger ones read much that is skipped where chunks are big, smaller ones cost a system call each.
const BUFFER: usize = 64 << 10;
/// Buffers kept: a walk goes forward in one place and follows lists in another.
const BUFFERS: usize = 4;

/// A page, and how many are kept of what lies far from the walk: 4 MiB.
const PAGE: usize = 4 << 10;
const FAR: usize = 1 << 10;

/// A few buffers over an [`Image`], past what it keeps.
pub struct Window<'a> {
    image: &'a Image,
    slots: Vec<Slot>,
    recent: usize,
    clock: u64,
    bytes_read: u64,
    /// Pages of [`Window::far`], each at the place that its address gives it.
    far: Vec<Slot>,
}

struct Slot {
    base: u64,
    used: u64,
    bytes: Vec<u8>,
}

impl<'a> Window<'a> {
    /// Reads `image` from now on. Nothing is read yet.
    pub fn new(image: &'a Image) -> Self {
        Window { image, slots: Vec::with_capacity(BUFFERS), recent: 0, clock: 0, bytes_read: 0, far: Vec::new() }
    }

    /// Bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// The little-endian word at `address`; `None` where it cannot be read.
    #[inline]
    pub fn u64(&mut self, address: u64) -> Option<u64> {
        self.array(address).map(u64::from_le_bytes)
    }

    /// As [`Window::u64`], 4 bytes.
    pub fn u32(&mut self, address: u64) -> Option<u32> {
        self.array(address).map(u32::from_le_bytes)
    }

    /// Up to `len` bytes from `address` on, past the buffers; shorter where memory ends.
    pub fn bytes(&mut self, address: u64, len: usize) -> Vec<u8> {
        let mut out = vec![0; len];
        let got = self.image.read_once(address, &mut out);
        out.truncate(got);
        self.bytes_read += got as u64;
        out
    }

    /// The first `N` bytes at `address`, past the buffers: for one look per page over much memory.
    pub fn peek<const N: usize>(&mut self, address: u64) -> Option<[u8; N]> {
        let mut out = [0; N];
        let got = self.image.read_once(address, &mut out);
        self.bytes_read += got as u64;
        (got == N).then_some(out)
    }

    /// As [`Window::peek`], at many addresses at once.
    pub fn peek_each<const N: usize>(&mut self, addresses: &[u64]) -> Vec<Option<[u8; N]>> {
        let found = self.image.read_each_once(addresses);
        self.bytes_read += (found.iter().flatten().count() * N) as u64;
        found
    }

    /// `N` bytes at `address`, far from the walk and asked for again and again (what libraries say of their classes): from pages
    /// of its own, so that the walk's buffers stay.
    pub fn far<const N: usize>(&mut self, address: u64) -> Option<[u8; N]> {
        // What lies across the end of the page.
        self.far_page(address).get(address).or_else(|| self.peek(address))
    }

    /// The bytes from `address` on up to a NUL, to where memory ends, or `most` of them: from the pages of [`Window::far`].
    pub fn far_text(&mut self, address: u64, most: usize) -> Vec<u8> {
        let mut text = Vec::new();
        while text.len() < most {
            let Some(at) = address.checked_add(text.len() as u64) else { break };
            let page = self.far_page(at).from(at);
            let end = page.iter().position(|byte| *byte == 0);
            let piece = &page[..end.unwrap_or(page.len()).min(most - text.len())];
            text.extend_from_slice(piece);
            if end.is_some() || piece.is_empty() {
                break;
            }
        }
        text
    }

    /// The page of an address; shorter where it cannot be read.
    fn far_page(&mut self, address: u64) -> &Slot {
        let base = address & !(PAGE as u64 - 1);
        if self.far.is_empty() {
            self.far.resize_with(FAR, || Slot { base: 0, used: 0, bytes: Vec::new() });
        }
        let slot = &mut self.far[(base / PAGE as u64) as usize % FAR];
        if slot.base != base || slot.bytes.is_empty() {
            slot.base = base;
            slot.bytes.resize(PAGE, 0);
            let got = self.image.read_once(base, &mut slot.bytes);
            slot.bytes.truncate(got);
            self.bytes_read += got as u64;
        }
        slot
    }

    /// `N` bytes at `address`, `N` being small.
    #[inline]
    pub fn array<const N: usize>(&mut self, address: u64) -> Option<[u8; N]> {
        if let Some(found) = self.slots.get(self.recent).and_then(|slot| slot.get(address)) {
            return Some(found);
        }
        self.slow(address)
    }

    fn slow<const N: usize>(&mut self, address: u64) -> Option<[u8; N]> {
        self.clock += 1;
        let clock = self.clock;
        if let Some((i, found)) = self.slots.iter().enumerate().find_map(|(i, slot)| slot.get(address).map(|a| (i, a))) {
            self.recent = i;
            self.slots[i].used = clock;
            return Some(found);
        }
        let slot = self.oldest();
        let base = address & !(BUFFER as u64 - 1);
        if !self.fill(slot, base) || self.slots[slot].get::<N>(address).is_none() {
            // The start of the aligned stretch is not readable, or the value lies across its end: read from the value on.
            self.fill(slot, address);
        }
        self.slots[slot].used = clock;
        self.recent = slot;
        self.slots[slot].get(address)
    }

    fn oldest(&mut self) -> usize {
        if self.slots.len() < BUFFERS {
            self.slots.push(Slot { base: 0, used: 0, bytes: Vec::new() });
            return self.slots.len() - 1;
        }
        (0..self.slots.len()).min_by_key(|&i| self.slots[i].used).unwrap_or(0)
    }

    fn fill(&mut self, slot: usize, base: u64) -> bool {
        let slot = &mut self.slots[slot];
        slot.base = base;
        slot.bytes.resize(BUFFER, 0);
        let got = self.image.read_once(base, &mut slot.bytes);
        slot.bytes.truncate(got);
        self.bytes_read += got as u64;
        got > 0
    }
}

impl Slot {
    #[inline]
    fn get<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let at = usize::try_from(address.checked_sub(self.base)?).ok()?;
        self.bytes.get(at..at.checked_add(N)?)?.try_into().ok()
    }

    /// All bytes from `address` on.
    fn from(&self, address: u64) -> &[u8] {
        let at = address.checked_sub(self.base).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.bytes.get(at..)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use lowtide_remote::Fake;

    /// Memory from 0x1000 to 0x41000 whose every word is its own address.
    fn own() -> Image {
        let bytes: Vec<u8> = (0x1000u64..0x41000).step_by(8).flat_map(u64::to_le_bytes).collect();
        Fake::new().segment(0x1000, bytes).image()
    }

    #[test]
    fn reads_anywhere_and_not_beyond() {
        let own = own();
        let mut window = Window::new(&own);
        for address in [0x1000, 0x2008, 0x10000 - 8, 0x10000, 0x40ff8, 0x1000, 0x30000] {
            assert_eq!(window.u64(address), Some(address));
        }
        assert_eq!(window.u64(0x10000 - 4), Some(0x0001_0000 << 32), "a word across two buffers");
        assert_eq!(window.u64(0x41000), None);
        assert_eq!(window.u64(0x40ffc), None);
        assert_eq!(window.u64(0), None);
        assert_eq!(window.u64(u64::MAX), None);
    }

    #[test]
    fn what_is_far_is_kept_and_leaves_the_buffers_alone() {
        let own = own();
        let mut window = Window::new(&own);
        assert_eq!(window.u64(0x2000), Some(0x2000));
        let before = window.bytes_read();
        for _ in 0..100 {
            assert_eq!(window.far(0x30008).map(u64::from_le_bytes), Some(0x30008));
        }
        assert_eq!(window.bytes_read() - before, PAGE as u64);
        assert_eq!(window.far(0x31000 - 4).map(u64::from_le_bytes), Some(0x0003_1000 << 32), "a word across two pages");
        assert_eq!(window.far::<8>(0x41000), None);
        assert_eq!(window.far::<8>(u64::MAX), None);
        let before = window.bytes_read();
        assert_eq!(window.u64(0x2008), Some(0x2008));
        assert_eq!(window.bytes_read(), before);
    }

    #[test]
    fn a_text_ends_at_its_nul_where_memory_ends_and_at_what_was_asked_for() {
        let mut bytes = vec![b'a'; 0x2000];
        bytes[0x1100] = 0;
        let image = Fake::new().segment(0x1000, bytes).image();
        let mut window = Window::new(&image);
        assert_eq!(window.far_text(0x2050, 512), [b'a'; 0xb0]);
        assert_eq!(window.far_text(0x1ff0, 512), [b'a'; 0x110], "across two pages");
        assert_eq!(window.far_text(0x1000, 512).len(), 512);
        assert_eq!(window.far_text(0x2ff0, 512), [b'a'; 16]);
        assert!(window.far_text(0x2100, 512).is_empty());
        assert!(window.far_text(0x4000, 512).is_empty());
        assert!(window.far_text(u64::MAX, 512).is_empty());
    }

    #[test]
    fn a_stretch_in_order_is_read_once() {
        let own = own();
        let mut window = Window::new(&own);
        for address in (0x1000..0x41000).step_by(8) {
            assert_eq!(window.u64(address), Some(address));
        }
        assert!(window.bytes_read() <= 0x50000, "{}", window.bytes_read());
    }
}

//! A made-up process with a heap of glibc's, of any version: what a test wants to find in it is put there.
#![allow(dead_code, clippy::unwrap_used, missing_docs)]

use lowtide_pyheap::native::glibc::layout::{self, BINS, Layout, Version};
use lowtide_remote::{Image, Map, Maps, Perms, Source};
use std::io;

pub const TEXT: u64 = 0x7f00_0000_0000;
pub const DATA: u64 = 0x7f00_0010_0000;
pub const HEAP: u64 = 0x5500_0000_0000;
const LIBC: &[u8] = b"/usr/lib/libc.so.6";
/// Chunks that a list of a thread's cache has room for.
const ROOM: u64 = 16;
/// Where the arena lies in the data.
const ARENA: u64 = DATA + 0x120;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Is {
    Used,
    Free,
    Fast,
    Cached,
}

/// Memory in pieces.
#[derive(Debug, Clone)]
pub struct Pieces(pub Vec<(u64, Vec<u8>)>);

impl Pieces {
    pub fn put(&mut self, address: u64, word: u64) {
        let (start, bytes) = self.0.iter_mut().find(|(s, b)| (*s..*s + b.len() as u64).contains(&address)).unwrap();
        let at = (address - *start) as usize;
        bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }
}

impl Source for Pieces {
    fn read(&self, address: u64, out: &mut [u8]) -> io::Result<usize> {
        let found = self.0.iter().find(|(s, b)| (*s..*s + b.len() as u64).contains(&address));
        let (start, bytes) = found.ok_or_else(|| io::Error::from_raw_os_error(5))?;
        let rest = &bytes[(address - start) as usize..];
        let n = rest.len().min(out.len());
        out[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
}

/// A process whose main heap holds these chunks, then a top of 4096 bytes. The first free chunk is in the unsorted list.
pub fn process(version: Version, chunks: &[(u64, Is)]) -> Pieces {
    let layout = layout::of(version).unwrap();
    let mut memory = Pieces(vec![
        (TEXT, format!("..GNU C Library (Test) stable release version {version}.\n").into_bytes()),
        (DATA, vec![0; 0x4000]),
        (HEAP, vec![0; 0x40000]),
    ]);
    memory.0[0].1.resize(0x1000, 0);
    let at = heap(&mut memory, &layout, chunks);
    books(&mut memory, &layout, at);
    memory
}

/// Its image.
pub fn image(memory: &Pieces) -> Image {
    let map = |&(start, ref bytes): &(u64, Vec<u8>), write, path: &[u8]| Map {
        start,
        end: start + bytes.len() as u64,
        perms: Perms { read: true, write, exec: false, shared: false },
        offset: 0,
        device: (0, 0),
        inode: 0,
        path: Some(path.into()),
        deleted: false,
    };
    let [text, data, heap] = &memory.0[..] else { unreachable!("three pieces") };
    Image::new(memory.clone(), Maps::new(vec![map(text, false, LIBC), map(data, true, LIBC), map(heap, true, b"[heap]")]))
}

fn heap(memory: &mut Pieces, layout: &Layout, chunks: &[(u64, Is)]) -> u64 {
    let hide = |at: u64, to: u64| if layout.hidden { to ^ (at >> 12) } else { to };
    let (mut at, mut in_use) = (HEAP, 1);
    let (mut fast, mut cached, mut free) = (Vec::new(), Vec::new(), Vec::new());
    // The first chunk is the thread's cache, where the version has them.
    let cache = layout.tcache.map(|form| (form.chunk, Is::Used));
    for &(size, is) in cache.iter().chain(chunks) {
        memory.put(at + 8, size | in_use);
        in_use = u64::from(is != Is::Free);
        match is {
            Is::Free => {
                memory.put(at + size, size);
                free.push(at);
            }
            Is::Fast => fast.push((at, size)),
            Is::Cached => cached.push((at, size)),
            Is::Used => {}
        }
        at += size;
    }
    memory.put(at + 8, 0x1000 | in_use);
    for (chunk, size) in fast {
        let head = ARENA + layout.fast.expect("fast bins") + 8 * ((size - 32) / 16);
        let next = word(memory, head);
        memory.put(chunk + 16, hide(chunk + 16, next));
        memory.put(head, chunk);
    }
    if let Some(form) = layout.tcache {
        let mut counts = vec![0; form.lists as usize];
        for (chunk, size) in cached {
            let list = (0..form.lists).find(|list| form.belongs(*list, size)).unwrap();
            let head = HEAP + 16 + form.entries() + 8 * list;
            let next = word(memory, head);
            memory.put(chunk + 16, hide(chunk + 16, next));
            memory.put(head, chunk + 16);
            counts[list as usize] += 1;
        }
        if form.room {
            counts.iter_mut().for_each(|count| *count = ROOM - *count);
        }
        let per_word = 8 / form.count;
        for (i, group) in counts.chunks(per_word as usize).enumerate() {
            let packed = group.iter().enumerate().fold(0, |w, (j, c): (usize, &u64)| w | c << (8 * form.count * j as u64));
            memory.put(HEAP + 16 + 8 * i as u64, packed);
        }
    }
    // All free chunks in one ring behind the first list's head.
    let head = ARENA + layout.bins - 16;
    let ring: Vec<u64> = std::iter::once(head).chain(free).collect();
    for (i, &one) in ring.iter().enumerate() {
        memory.put(one + 16, ring[(i + 1) % ring.len()]);
        memory.put(one + 24, ring[(i + ring.len() - 1) % ring.len()]);
    }
    at
}

fn books(memory: &mut Pieces, layout: &Layout, top: u64) {
    memory.put(ARENA + layout.top, top);
    for bin in 1..BINS {
        let head = ARENA + layout.bins + 16 * bin - 16;
        memory.put(head + 16, head);
        memory.put(head + 24, head);
    }
    memory.put(ARENA + layout.next, ARENA);
    memory.put(ARENA + layout.system, top + 0x1000 - HEAP);
    let base = DATA + 0x3000;
    memory.put(base, HEAP);
    memory.put(base - layout.mapped_bytes, 0x5000);
    memory.put(base - layout.mapped_count, 65536 << 32 | 3);
}

fn word(memory: &Pieces, address: u64) -> u64 {
    let mut out = [0; 8];
    memory.read(address, &mut out).unwrap();
    u64::from_le_bytes(out)
}

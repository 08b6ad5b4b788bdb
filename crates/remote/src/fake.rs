//! A made-up memory for tests.

use std::io;

use crate::image::{Image, PAGE};
use crate::maps::{Map, Maps, Perms};
use crate::source::Source;

/// Builds an [`Image`] from segments at addresses. A segment is widened to whole pages, with zeros around it.
#[derive(Clone, Debug, Default)]
pub struct Fake {
    segments: Vec<Segment>,
}

#[derive(Clone, Debug)]
struct Segment {
    map: Map,
    bytes: Vec<u8>,
}

impl Fake {
    /// No memory at all.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds private, writable memory with these bytes. What overlaps an earlier segment is left out as a whole.
    #[must_use]
    pub fn segment(self, address: u64, bytes: impl Into<Vec<u8>>) -> Self {
        let perms = Perms { read: true, write: true, ..Perms::default() };
        self.map(Map { start: address, perms, ..Map::default() }, bytes)
    }

    /// The same with the map's permissions, path and so on; its end follows from the bytes.
    #[must_use]
    pub fn map(mut self, mut map: Map, bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        let start = map.start & !(PAGE - 1);
        let mut wide = vec![0; usize::try_from(map.start - start).unwrap_or_default()];
        wide.extend(bytes);
        wide.resize(wide.len().next_multiple_of(PAGE as usize).max(PAGE as usize), 0);
        map.start = start;
        map.end = start.saturating_add(wide.len() as u64);
        if !self.segments.iter().any(|other| other.map.start < map.end && map.start < other.map.end) {
            self.segments.push(Segment { map, bytes: wide });
        }
        self
    }

    /// Sets bytes inside segments that are there already.
    #[must_use]
    pub fn with(mut self, address: u64, bytes: &[u8]) -> Self {
        for (place, byte) in (address..).zip(bytes) {
            if let Some(segment) = self.segments.iter_mut().find(|segment| segment.map.contains(place)) {
                let at = usize::try_from(place - segment.map.start).unwrap_or(usize::MAX);
                if let Some(slot) = segment.bytes.get_mut(at) {
                    *slot = *byte;
                }
            }
        }
        self
    }

    /// Sets one word.
    #[must_use]
    pub fn word(self, address: u64, value: u64) -> Self {
        self.with(address, &value.to_le_bytes())
    }

    /// Its maps.
    #[must_use]
    pub fn maps(&self) -> Maps {
        Maps::new(self.segments.iter().map(|segment| segment.map.clone()).collect())
    }

    /// The memory, to be read.
    #[must_use]
    pub fn image(self) -> Image {
        let maps = self.maps();
        Image::new(self, maps)
    }
}

impl Source for Fake {
    fn read(&self, address: u64, out: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < out.len() {
            let place = address + done as u64;
            let Some(segment) = self.segments.iter().find(|segment| segment.map.contains(place)) else { break };
            let count = segment.bytes.as_slice().read(place - segment.map.start, &mut out[done..])?;
            if count == 0 {
                break;
            }
            done += count;
        }
        if done == 0 && !out.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(done) }
    }
}

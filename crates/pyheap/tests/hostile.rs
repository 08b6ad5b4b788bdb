//! A heap that lies: a real one with words changed at random. Nothing panics, nothing runs for ever, nothing is read that
//! is not there.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Target, pythons};
use lowtide_pyheap::{Census, Error, Python};
use lowtide_remote::{Image, Map, Maps, Process, Source};
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The writable memory of a real Python, kept.
struct Kept {
    maps: Vec<Map>,
    bytes: Vec<Vec<u8>>,
}

/// The same with words changed.
struct Changed {
    kept: Arc<Kept>,
    words: HashMap<u64, u64>,
}

impl Source for Changed {
    fn read(&self, address: u64, out: &mut [u8]) -> io::Result<usize> {
        let after = self.kept.maps.partition_point(|map| map.start <= address);
        let at = after.checked_sub(1).filter(|at| self.kept.maps[*at].contains(address)).ok_or(io::ErrorKind::NotFound)?;
        let start = (address - self.kept.maps[at].start) as usize;
        let bytes = &self.kept.bytes[at];
        let len = out.len().min(bytes.len() - start);
        out[..len].copy_from_slice(&bytes[start..start + len]);
        for (place, word) in &self.words {
            for (n, byte) in word.to_le_bytes().into_iter().enumerate() {
                if let Some(slot) = (place + n as u64).checked_sub(address).and_then(|at| out[..len].get_mut(at as usize)) {
                    *slot = byte;
                }
            }
        }
        Ok(len)
    }
}

fn keep(target: &Target) -> (Arc<Kept>, u64) {
    let process = Process::open(Path::new("/"), target.pid()).unwrap();
    // It says that it is there a moment before it waits for us, and its lists change until then.
    while !is_asleep(target.pid()) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let held = process.stop(Duration::from_secs(60)).unwrap();
    let image = held.image().unwrap();
    let runtime = Python::runtime(&process, &image).unwrap();
    let (mut maps, mut bytes) = (Vec::new(), Vec::new());
    for map in image.maps().iter().filter(|map| map.is_readable() && map.len() < 64 << 20 && !map.perms.exec) {
        let mut content = vec![0; map.len() as usize];
        let read = image.read_once(map.start, &mut content);
        content.truncate(read);
        let map = Map { end: map.start + read as u64, ..map.clone() };
        if !map.is_empty() {
            maps.push(map);
            bytes.push(content);
        }
    }
    (Arc::new(Kept { maps, bytes }), runtime)
}

fn image(kept: &Arc<Kept>, words: HashMap<u64, u64>) -> Image {
    Image::new(Changed { kept: Arc::clone(kept), words }, Maps::new(kept.maps.clone()))
}

fn is_asleep(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
}

/// Numbers that look random and are the same each time (Knuth's generator).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end.max(1)
    }
}

#[test]
fn a_heap_that_lies_is_survived() {
    let python = pythons().into_iter().next().unwrap();
    let target = Target::start(&python, "small.py");
    let (kept, runtime) = keep(&target);
    let size: u64 = kept.maps.iter().map(Map::len).sum();
    let honest = image(&kept, HashMap::new());
    let cpython = Python::at(&honest, runtime).unwrap();
    let honest = Census::take(honest, cpython, 1).unwrap();
    let objects: Vec<u64> = honest.objects().ids().map(|id| honest.objects().address(id)).collect();
    assert!(objects.len() > 5000, "{} objects", objects.len());
    let (before, lengths) = (honest.summary(), honest.lengths());
    let mut random = Random(7);
    let mut outcomes = [0; 3];
    for round in 0..120 {
        let mut words = HashMap::new();
        for _ in 0..1 << (round % 9) {
            let object = objects[random.below(objects.len() as u64) as usize];
            // The head for the collector, the type, sizes, the first fields.
            let place = object.wrapping_sub(32).wrapping_add(8 * random.below(20));
            let value = match random.below(9) {
                0 => 0,
                1 => 1,
                2 => u64::MAX,
                3 => 1 << 30,
                4 => 1_000_000_000,
                5 => 1 << 45,
                6 => object,
                7 => object.wrapping_sub(16),
                _ => objects[random.below(objects.len() as u64) as usize],
            };
            words.insert(place, value);
        }
        let passed = image(&kept, words.clone());
        if let Ok(census) = Python::at(&passed, runtime).and_then(|python| Census::in_passing(passed, python)) {
            assert!(census.objects().len() < objects.len() * 4 && census.lengths().count() <= census.objects().len());
        }
        let image = image(&kept, words);
        let census = Python::at(&image, runtime).and_then(|python| Census::take(image, python, 1 + round % 2));
        match census {
            Ok(census) => {
                assert!(census.image().bytes_read() <= size, "more was read than there is");
                assert!(census.objects().len() < objects.len() * 4, "objects were made up");
                for id in census.objects().ids().step_by(97) {
                    let _ = census.path(id).to_string();
                }
                let _ = census.growth_since(&before);
                let _ = census.growth_since_lengths(&lengths);
                outcomes[0] += 1;
            }
            Err(Error::Torn { .. } | Error::Collecting { .. }) => outcomes[1] += 1,
            Err(_) => outcomes[2] += 1,
        }
    }
    assert!(outcomes[0] > 10, "hardly any was read to the end, so that this shows little: {outcomes:?}");
}

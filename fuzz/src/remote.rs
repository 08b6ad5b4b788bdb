//! Another process's memory and files: maps, ELF files, core files, and pointers that lead anywhere.

use std::path::Path;

use lowtide_remote::elf::{Elf, Module};
use lowtide_remote::{Core, Fake, Image, Maps};

use crate::record::Temporary;

/// Memory that an image of a few segments may hold.
const BUDGET: u64 = 4 << 20;

/// The bytes as each of them.
pub fn remote(bytes: &[u8]) {
    let maps = Maps::parse(bytes);
    assert!(maps.iter().zip(maps.iter().skip(1)).all(|(one, next)| one.end <= next.start), "in order, and apart");
    elf(bytes, &maps);
    core(bytes);
    // The bytes at several places, their words taken for addresses and lengths.
    let fake = [0x1_0000, 0x7fff_ffff_0000, (1 << 48) - 0x1000, !0xfff].into_iter();
    follow(&fake.fold(Fake::new(), |fake, at| fake.segment(at, bytes)).image().with_budget(BUDGET), bytes);
    // A source that knows less than the maps say.
    follow(&Image::new(bytes.to_vec(), maps).with_budget(BUDGET), bytes);
}

fn elf(bytes: &[u8], maps: &Maps) {
    let names = ["_PyRuntime", "a", ""];
    if let Ok(elf) = Elf::parse(bytes) {
        let _ = elf.section(bytes, ".PyRuntime");
        let _ = elf.build_id(bytes);
        if let Ok(found) = elf.symbols(bytes, &names) {
            assert_eq!(found.len(), names.len());
        }
    }
    for map in maps.iter().take(4) {
        if let Ok(module) = Module::new(Box::new(bytes.to_vec()), maps, map) {
            let _ = (module.symbols(&names), module.section(".text"));
        }
    }
}

fn core(bytes: &[u8]) {
    let file = Temporary::with(bytes);
    // A root without files: nothing that a core names is opened.
    match Core::open(Path::new("/nonexistent"), file.path()) {
        Ok(core) => {
            let image = core.image().with_budget(BUDGET);
            follow(&image, bytes);
            for map in core.maps().iter().take(64) {
                let _ = (image.u64(map.start), image.u64(map.end.wrapping_sub(8)), image.cstr(map.start, 100));
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn follow(image: &Image, bytes: &[u8]) {
    for word in bytes.chunks_exact(8).take(256).filter_map(|word| word.try_into().ok()).map(u64::from_le_bytes) {
        let len = usize::try_from(word >> 3).unwrap_or(usize::MAX);
        if let Some(there) = image.bytes(word, len) {
            assert_eq!(there.len(), len);
        }
        let _ = (image.u64(word), image.u8(word), image.cstr(word, len), image.is_mapped(word, word));
    }
    assert!(image.bytes_read() <= BUDGET, "within its budget");
}

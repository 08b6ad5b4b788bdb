#![allow(clippy::unwrap_used)]

use std::fs::File;

use proptest::prelude::*;

use super::*;

fn our_maps() -> Maps {
    Maps::parse(&std::fs::read("/proc/self/maps").unwrap())
}

fn ourselves() -> Module {
    let maps = our_maps();
    let map = maps.find(ourselves as *const () as u64).unwrap();
    Module::new(Box::new(File::open("/proc/self/exe").unwrap()), &maps, map).unwrap()
}

#[unsafe(no_mangle)]
static LOWTIDE_TEST_SYMBOL: [u64; 7] = [7; 7];

#[test]
fn our_own_symbols_are_where_they_are() {
    let names = ["no_such_symbol", "LOWTIDE_TEST_SYMBOL", "main", ""];
    let found = ourselves().symbols(&names).unwrap();
    assert_eq!(found[0], None);
    assert_eq!(found[1], Some(Symbol { address: &raw const LOWTIDE_TEST_SYMBOL as u64, size: 56 }));
    assert!(found[2].is_some());
}

#[test]
fn a_part_of_a_name_is_not_the_name() {
    let found = ourselves().symbols(&["LOWTIDE_TEST", "TEST_SYMBOL"]).unwrap();
    assert_eq!(found, [None, None]);
}

#[test]
fn sections_and_build_id_are_found() {
    let module = ourselves();
    assert!(module.section(".text").unwrap().contains(&(ourselves as *const () as u64)));
    assert!(module.section(".no_such").is_none());
    // Not every linker writes one; the C library's always has one.
    let maps = our_maps();
    let libc = maps.iter().find(|map| map.path.as_deref().is_some_and(|path| path.ends_with(b"libc.so.6"))).unwrap();
    let path = String::from_utf8(libc.path.clone().unwrap().into()).unwrap();
    let module = Module::new(Box::new(File::open(path).unwrap()), &maps, libc).unwrap();
    assert_eq!(module.build_id_text().unwrap().len(), 40);
    let abort = libc::abort as *const () as u64;
    // Versioned and aliased symbols have one of the addresses of that name.
    assert_eq!(module.symbols(&["abort"]).unwrap()[0].unwrap().address, abort);
}

#[test]
fn what_is_no_elf_file_is_said() {
    let text = Elf::parse(&b"#!/bin/sh\n".to_vec()).unwrap_err().to_string();
    assert!(text.contains("ends before"), "{text}");
    let mut other = vec![0; 64];
    other[..6].copy_from_slice(b"\x7fELF\x01\x01");
    assert!(Elf::parse(&other).unwrap_err().to_string().contains("64-bit"));
}

#[test]
fn another_file_than_the_mapped_one_is_refused() {
    let maps = Maps::parse(b"10000-20000 r-xp 7000000 0:1 5 /x");
    let file = File::open("/proc/self/exe").unwrap();
    let error = Module::new(Box::new(file), &maps, maps.iter().next().unwrap()).unwrap_err();
    assert!(error.to_string().contains("replaced"), "{error}");
}

/// A small file with a symbol table: header, two sections' strings and symbols, section headers.
fn small() -> Vec<u8> {
    let mut file = vec![0; 64];
    file[..6].copy_from_slice(b"\x7fELF\x02\x01");
    let strings = b"\0one\0two\0";
    let symbols_at = 64 + 16;
    file.extend(strings);
    file.resize(symbols_at, 0);
    for (name, value) in [(1_u32, 0x10_u64), (5, 0x20)] {
        file.extend(name.to_le_bytes());
        file.extend([0, 0, 1, 0]);
        file.extend(value.to_le_bytes());
        file.extend(8_u64.to_le_bytes());
    }
    let sections_at = file.len() as u64;
    for (kind, offset, size, link) in [(0_u32, 0_u64, 0_u64, 0_u32), (2, symbols_at as u64, 48, 2), (3, 64, 9, 0)] {
        let mut section = vec![0; 64];
        section[4..8].copy_from_slice(&kind.to_le_bytes());
        section[24..32].copy_from_slice(&offset.to_le_bytes());
        section[32..40].copy_from_slice(&size.to_le_bytes());
        section[40..44].copy_from_slice(&link.to_le_bytes());
        file.extend(section);
    }
    file[40..48].copy_from_slice(&sections_at.to_le_bytes());
    file[58] = 64;
    file[60] = 3;
    file
}

#[test]
fn a_small_table_is_read() {
    let file = small();
    let elf = Elf::parse(&file).unwrap();
    assert_eq!(elf.symbols(&file, &["two", "none", "one"]).unwrap(), [Some((0x20, 8)), None, Some((0x10, 8))]);
}

proptest! {
    #[test]
    fn a_damaged_file_never_panics(
        changes in proptest::collection::vec((0_usize..320, any::<u8>()), 0..10), cut in 0_usize..400,
    ) {
        let mut file = small();
        for (at, byte) in changes {
            if let Some(slot) = file.get_mut(at) {
                *slot = byte;
            }
        }
        file.truncate(cut.max(64));
        if let Ok(elf) = Elf::parse(&file) {
            let _ = elf.symbols(&file, &["one", "two", "three"]);
            let _ = elf.section(&file, ".text");
            let _ = elf.build_id(&file);
            let _ = elf.bias(&Map { start: 4096, end: 8192, ..Map::default() });
        }
    }

    #[test]
    fn arbitrary_notes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(notes_of(&bytes).count() <= 200 / 12);
    }
}

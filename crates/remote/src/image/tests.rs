#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::maps::{Map, Perms};
use crate::{Fake, Maps};

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + at / 256) as u8).collect()
}

#[test]
fn what_was_kept_is_not_read_again_to_be_looked_at_once() {
    let image = Fake::new().segment(0x1_0000, vec![7; 0x2_0000]).image();
    assert_eq!(image.u8(0x1_0000), Some(7));
    let before = image.bytes_read();
    let mut out = [0; 16];
    assert_eq!((image.read_once(0x1_0008, &mut out), out), (16, [7; 16]));
    assert_eq!(image.bytes_read(), before);
    assert_eq!(image.read_once(0x2_0008, &mut out), 16);
    assert_eq!(image.bytes_read(), before + 16, "not kept: read, and not kept");
    assert!(image.is_mapped(0x1_0000, 0x2_0000) && !image.is_mapped(0x1_fff8, 0x1_0009));
}

#[test]
fn what_nobody_writes_to_is_not_read_for_what_may_be_an_object() {
    let code = Map { start: 0x1_0000, perms: Perms { read: true, exec: true, ..Perms::default() }, ..Map::default() };
    let image = Fake::new().map(code, vec![7; 0x1_0000]).segment(0x2_0000, vec![9; 0x1_0000]).image();
    assert_eq!(image.u64_if_writable(0x1_0008), None);
    assert_eq!(image.bytes_read(), 0);
    assert_eq!(image.u64_if_writable(0x2_0008), Some(0x0909_0909_0909_0909));
    assert_eq!(image.u8(0x1_0000), Some(7), "who asks for it by itself is given it");
    assert_eq!(image.u64_if_writable(0x1_0008), Some(0x0707_0707_0707_0707), "read already: it costs nothing");
    assert!(image.is_writable(0x2_0000) && !image.is_writable(0x1_0000) && !image.is_writable(0x3_0000));
}

/// Memory of which each page that is an odd multiple of 64 KiB cannot be read; counts how often it is asked.
struct Torn(Arc<Mutex<usize>>, bool);

impl Source for Torn {
    fn read(&self, address: u64, out: &mut [u8]) -> io::Result<usize> {
        *self.0.lock().unwrap() += 1;
        if !(address >> 16).is_multiple_of(2) {
            return Err(io::Error::from_raw_os_error(libc::EFAULT));
        }
        out.fill((address >> 17) as u8);
        Ok(out.len())
    }

    fn read_each(&self, addresses: &[u64], out: &mut [u8]) -> io::Result<usize> {
        if !self.1 {
            return self.read(addresses[0], &mut out[..16]).map(|_| 1);
        }
        let good = addresses.iter().take_while(|at| (*at >> 16).is_multiple_of(2)).count();
        *self.0.lock().unwrap() += 1;
        for (at, out) in addresses.iter().zip(out.chunks_exact_mut(16)).take(good) {
            out.fill((at >> 17) as u8);
        }
        if good == 0 { Err(io::Error::from_raw_os_error(libc::EFAULT)) } else { Ok(good) }
    }
}

#[test]
fn many_places_are_looked_at_at_once() {
    for at_once in [false, true] {
        let asked = Arc::new(Mutex::new(0));
        let perms = Perms { read: true, ..Perms::default() };
        let maps = Maps::new(vec![Map { start: 0x2_0000, end: 0x20_0000, perms, ..Map::default() }]);
        let image = Image::new(Torn(Arc::clone(&asked), at_once), maps);
        assert_eq!(image.u8(0x4_0000), Some(2));
        let (read, before) = (image.bytes_read(), *asked.lock().unwrap());
        // Kept, two that can be read, one that cannot, one more, one outside, one that reaches beyond the end.
        let places = [0x4_0010, 0x6_0000, 0x8_0000, 0x7_0000, 0xa_0000, 0x1_0000, 0x1f_fff8];
        let found = image.read_each_once::<16>(&places);
        let all = |byte: u8| Some([byte; 16]);
        assert_eq!(found, [all(2), all(3), all(4), None, all(5), None, None]);
        assert_eq!(image.bytes_read(), read + 48, "what was kept is not read again");
        assert_eq!(*asked.lock().unwrap(), before + if at_once { 3 } else { 4 });
        assert!(image.trouble().is_none(), "a page that is refused is no trouble");
        assert_eq!(image.read_each_once::<16>(&[]), []);
        assert!(image.has_read(0x4_fff8) && !image.has_read(0x6_0000));
    }
}

#[test]
fn words_bytes_and_texts_are_read() {
    let image = Fake::new().segment(0x7000_0000_1000, pattern(300_000)).word(0x7000_0000_1008, 0x1122_3344_5566_7788).image();
    assert_eq!(image.u64(0x7000_0000_1008), Some(0x1122_3344_5566_7788));
    assert_eq!(image.u32(0x7000_0000_1008), Some(0x5566_7788));
    assert_eq!(image.u16(0x7000_0000_100e), Some(0x1122));
    assert_eq!(image.u8(0x7000_0000_100f), Some(0x11));
    // Across the end of a cluster.
    let edge = 0x7000_0001_0000 - 3;
    let at = (edge - 0x7000_0000_1000) as usize;
    assert_eq!(image.array::<8>(edge).unwrap(), pattern(300_000)[at..at + 8]);
    let long = image.bytes(0x7000_0000_2000, 200_000).unwrap();
    assert_eq!(long, &pattern(300_000)[4096..204_096]);
    assert!(matches!(image.bytes(0x7000_0000_2000, 100).unwrap(), Cow::Borrowed(_)));
    assert!(image.trouble().is_none());
}

#[test]
fn a_text_ends_at_its_nul_or_is_refused() {
    let mut bytes = vec![b'a'; 8192];
    bytes[..6].copy_from_slice(b"hello\0");
    bytes[5000] = 0;
    let image = Fake::new().segment(0x10000, bytes).image();
    assert_eq!(image.cstr(0x10000, 64).unwrap(), &b"hello"[..]);
    assert_eq!(image.cstr(0x10006, 8192).unwrap().len(), 4994);
    assert!(image.cstr(0x10006, 4993).is_none(), "longer than allowed");
    assert!(image.cstr(0x10000 + 5001, 8192).is_none(), "no end before the end of the map");
}

#[test]
fn nothing_outside_the_maps_is_asked_for() {
    #[derive(Default)]
    struct Asked(Mutex<Vec<(u64, usize)>>);
    impl Source for Arc<Asked> {
        fn read(&self, address: u64, out: &mut [u8]) -> io::Result<usize> {
            self.0.lock().unwrap().push((address, out.len()));
            Ok(out.len())
        }
    }
    let perms = Perms { read: true, ..Perms::default() };
    let map = |start, end, perms| Map { start, end, perms, ..Map::default() };
    let maps = Maps::new(vec![
        map(0x1_1000, 0x1_3000, perms),
        map(0x1_3000, 0x1_4000, Perms::default()),
        map(0x1_4000, 0x2_1000, perms),
        Map { path: Some(b"/dev/nvidia0".as_slice().into()), ..map(0x2_1000, 0x2_2000, perms) },
    ]);
    let asked = Arc::new(Asked::default());
    let image = Image::new(Arc::clone(&asked), maps);
    for address in (0..0x4_0000).step_by(512).chain([u64::MAX - 3, END - 4, END, 1 << 63]) {
        let _ = image.u64(address);
    }
    assert_eq!(*asked.0.lock().unwrap(), [(0x1_1000, 0x2000), (0x1_4000, 0xc000), (0x2_0000, 0x1000)]);
    assert_eq!(image.bytes_read(), 0xf000);
    assert!(image.u64(0x1_2ffc).is_none(), "half of it is not readable");
    assert!(image.u64(0x1_fffc).is_some(), "across clusters");
}

#[test]
fn a_hole_costs_its_page_only() {
    struct Holed;
    impl Source for Holed {
        fn read(&self, address: u64, out: &mut [u8]) -> io::Result<usize> {
            let hole = 0x1_3000_u64;
            if (hole..hole + PAGE).contains(&address) {
                return Err(io::Error::from_raw_os_error(libc::EIO));
            }
            Ok(if address < hole { out.len().min((hole - address) as usize) } else { out.len() })
        }
    }
    let maps = Maps::parse(b"10000-20000 rw-p 0 0:0 0");
    let image = Image::new(Holed, maps);
    assert!(image.u64(0x1_0000).is_some() && image.u64(0x1_2ff8).is_some() && image.u64(0x1_4000).is_some());
    assert!(image.u64(0x1_3000).is_none() && image.u64(0x1_2ffc).is_none());
    assert!(image.trouble().is_none());
    assert_eq!(image.bytes_read(), 0xf000);
}

#[test]
fn a_source_that_fails_is_told_and_asked_again() {
    struct Late(AtomicBool);
    impl Source for Arc<Late> {
        fn read(&self, _: u64, out: &mut [u8]) -> io::Result<usize> {
            if self.0.load(Ordering::Relaxed) { Ok(out.len()) } else { Err(io::Error::other("time is over")) }
        }
    }
    let late = Arc::new(Late(AtomicBool::new(false)));
    let image = Image::new(Arc::clone(&late), Maps::parse(b"10000-20000 rw-p 0 0:0 0"));
    assert!(image.u64(0x1_0000).is_none());
    assert!(image.trouble().unwrap().to_string().contains("time is over"));
    late.0.store(true, Ordering::Relaxed);
    assert_eq!(image.u64(0x1_0000), Some(0));
}

#[test]
fn the_budget_is_kept_and_what_was_read_stays() {
    let image = Fake::new().segment(0x10_0000, vec![1; 1 << 20]).image().with_budget(4 * CLUSTER as u64);
    let got = (0..16).filter(|cluster| image.u8(0x10_0000 + cluster * CLUSTER as u64).is_some()).count();
    assert!((3..=4).contains(&got), "{got}");
    assert!(matches!(image.trouble(), Some(Trouble::Budget { .. })));
    assert_eq!(image.u8(0x10_0000), Some(1));
    assert!(image.bytes_read() <= 4 * CLUSTER as u64);
}

#[test]
fn an_absurd_length_takes_no_memory() {
    let image = Fake::new().segment(0x10000, vec![0; 4096]).image();
    assert!(image.bytes(0x10000, usize::MAX).is_none());
    assert!(image.bytes(0x10000, 1 << 45).is_none());
    assert!(image.bytes(u64::MAX - 8, 1 << 20).is_none());
    assert!(image.bytes(u64::MAX, 1).is_none());
}

#[test]
fn threads_read_each_cluster_once() {
    let image = Fake::new().segment(0x10_0000, pattern(8 << 20)).image();
    let sums: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| (0..(8_u64 << 20)).step_by(8).map(|at| image.u64(0x10_0000 + at).unwrap() % 251).sum::<u64>())
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(sums.iter().all(|sum| *sum == sums[0]));
    assert_eq!(image.bytes_read(), 8 << 20);
}

#[test]
fn reading_once_keeps_nothing() {
    let image = Fake::new().segment(0x10000, pattern(1 << 20)).image();
    let mut out = vec![0; 1 << 20];
    assert_eq!(image.read_once(0x10000, &mut out), 1 << 20);
    assert_eq!(out, pattern(1 << 20));
    assert_eq!(image.read_once(0x10000 + (1 << 20) - 5, &mut out), 5);
    assert_eq!(image.read_once(0x9000, &mut out), 0);
    assert_eq!(image.store.held(), 0);
}

proptest! {
    #[test]
    fn it_agrees_with_a_plain_table(
        segments in proptest::collection::vec((0_u64..64, 1_usize..80_000), 1..6),
        reads in proptest::collection::vec((0_u64..(80 << 14), 0_usize..100_000), 1..40),
    ) {
        let mut fake = Fake::new();
        for (place, len) in segments {
            fake = fake.segment(place << 14, pattern(len));
        }
        let truth: Vec<(u64, Vec<u8>)> = fake.maps().iter().map(|segment| {
            let mut bytes = vec![0; segment.len() as usize];
            crate::source::read_all(&fake, segment.start, &mut bytes).unwrap();
            (segment.start, bytes)
        }).collect();
        let image = fake.image();
        for (address, len) in reads {
            let mut want = Vec::new();
            for (start, bytes) in &truth {
                let next = address + want.len() as u64;
                if let Some(from) = next.checked_sub(*start).filter(|from| *from < bytes.len() as u64) {
                    let from = from as usize;
                    want.extend_from_slice(&bytes[from..bytes.len().min(from + len - want.len())]);
                }
            }
            let want = (want.len() == len).then_some(want);
            let got = image.bytes(address, len).map(Cow::into_owned);
            if len > 0 {
                prop_assert_eq!(got, want);
            }
        }
    }
}

#[test]
fn a_source_that_gives_a_page_at_a_time_loses_none() {
    struct Short;
    impl Source for Short {
        fn read(&self, _: u64, out: &mut [u8]) -> io::Result<usize> {
            Ok(out.len().min(PAGE as usize + 100))
        }
    }
    let image = Image::new(Short, Maps::parse(b"10000-20000 rw-p 0 0:0 0"));
    assert_eq!(image.bytes(0x1_0000, 0x1_0000).unwrap().len(), 0x1_0000);
}

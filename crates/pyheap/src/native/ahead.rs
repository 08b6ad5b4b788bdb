//! Reading ahead of a walk over Python's objects, on a thread that would have nothing to do yet: what the walk will come to is
//! known, since Python's objects lie in arenas of its own, and what is too large for them mostly on malloc's heap.
//!
//! A walk spends a third of its time on getting memory from the process. It asks as ever; what is there already it does not wait for.

use super::area::{Areas, is_anonymous, is_named};
use super::pymalloc::{self, HEADER};
use super::resident::Resident;
use lowtide_remote::{Image, Map};
use std::sync::atomic::{AtomicBool, Ordering};

/// What the image reads at once.
const CLUSTER: u64 = 64 << 10;
/// Heads of pools that are read at once.
const ROW: usize = 256;
/// Heads that are looked at, at most: one for each 64 KiB of 4 GiB.
const LOOKS: usize = 1 << 16;

/// Whether it is memory that is read ahead: `[heap]`, or where arenas may be.
pub fn may_have_objects(map: &Map) -> bool {
    is_heap(map) || may_have_arenas(map)
}

fn is_heap(map: &Map) -> bool {
    is_named(map, b"[heap]")
}

fn may_have_arenas(map: &Map) -> bool {
    is_anonymous(map) && map.perms.read && map.perms.write
}

/// Reads all of malloc's main heap that is in memory, as long as it is wanted.
pub fn heap(image: &Image, areas: Areas<'_>, resident: &Resident, wanted: &AtomicBool) {
    for area in areas.iter().filter(|area| is_heap(area)) {
        if !clusters(area.start, area.end, resident).all(|base| read(image, base, wanted)) {
            return;
        }
    }
}

/// Reads what Python's arenas have in use, as long as it is wanted.
pub fn arenas(image: &Image, areas: Areas<'_>, resident: &Resident, wanted: &AtomicBool) {
    let places = areas.iter().filter(|area| may_have_arenas(area)).flat_map(|area| clusters(area.start, area.end, resident));
    let mut places = places.filter(|base| !image.has_read(*base)).take(LOOKS);
    loop {
        let row: Vec<u64> = places.by_ref().take(ROW).collect();
        if row.is_empty() || !wanted.load(Ordering::Relaxed) {
            return;
        }
        for (base, head) in row.iter().zip(image.read_each_once::<HEADER>(&row)) {
            let in_use = head.and_then(|head| pymalloc::pool(*base, &head)).is_some_and(|pool| pool.used > 0);
            if in_use && !read(image, *base, wanted) {
                return;
            }
        }
    }
}

/// Reads a cluster; whether to go on.
fn read(image: &Image, base: u64, wanted: &AtomicBool) -> bool {
    wanted.load(Ordering::Relaxed) && image.read_ahead(base)
}

/// The places of 64 KiB that have a resident page between two addresses.
fn clusters(start: u64, end: u64, resident: &Resident) -> impl Iterator<Item = u64> {
    let mut at = start;
    std::iter::from_fn(move || {
        let base = resident.next(at).filter(|page| *page < end)? & !(CLUSTER - 1);
        at = base + CLUSTER;
        Some(base)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowtide_remote::{Fake, Perms};

    const HEAP: u64 = 0x10_1000;
    const ARENA: u64 = 0x40_0000;
    const OTHER: u64 = 0x80_0000;

    /// A heap, an arena whose second 64 KiB are empty, and memory that is neither; nothing is known of the heap's first page.
    fn memory() -> (Image, Resident) {
        let perms = Perms { read: true, write: true, ..Perms::default() };
        let heap = Map { start: HEAP, perms, path: Some(b"[heap]".as_slice().into()), ..Map::default() };
        let mut fake =
            Fake::new().map(heap, vec![0; 0x3_0000]).segment(ARENA, vec![0; 0x3_0000]).segment(OTHER, vec![7; 0x1_0000]);
        for (pool, used) in [(ARENA, 1_u64), (ARENA + 0x1_0000, 0), (ARENA + 0x2_0000, 3)] {
            fake = fake.word(pool, used).word(pool + 36, 3 | (48 + 192) << 32).word(pool + 44, 16384 - 64);
        }
        let mut resident = Resident::new();
        resident.add(HEAP + 0x1_0000, HEAP + 0x1_1000);
        resident.add(ARENA, ARENA + 0x3_0000);
        resident.add(OTHER, OTHER + 0x1_0000);
        (fake.image(), resident)
    }

    #[test]
    fn what_objects_lie_in_is_read_and_nothing_else() {
        let (image, resident) = memory();
        let areas = Areas::new(image.maps());
        arenas(&image, areas, &resident, &AtomicBool::new(true));
        let read = |places: &[u64]| places.iter().map(|place| image.has_read(*place)).collect::<Vec<_>>();
        assert_eq!(read(&[ARENA, ARENA + 0x1_0000, ARENA + 0x2_0000, OTHER, HEAP]), [true, false, true, false, false]);
        heap(&image, areas, &resident, &AtomicBool::new(true));
        assert_eq!(read(&[HEAP, HEAP + 0x1_0000, HEAP + 0x2_0000, OTHER]), [false, true, false, false]);
    }

    #[test]
    fn what_nobody_wants_any_more_is_not_read() {
        let (image, resident) = memory();
        let areas = Areas::new(image.maps());
        let wanted = AtomicBool::new(false);
        arenas(&image, areas, &resident, &wanted);
        heap(&image, areas, &resident, &wanted);
        assert_eq!(image.bytes_read(), 0);
    }

    #[test]
    fn a_part_of_the_room_is_left_to_what_is_asked_for() {
        let (image, resident) = memory();
        let image = image.with_budget(4 * CLUSTER);
        arenas(&image, Areas::new(image.maps()), &resident, &AtomicBool::new(true));
        assert!(image.has_read(ARENA) && !image.has_read(ARENA + 0x2_0000));
        assert!(image.trouble().is_none());
    }
}

//! Python's arenas against `sys._debugmallocstats()`, on every Python that is to be tested.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::Target;
use lowtide_pyheap::native::area::Areas;
use lowtide_pyheap::native::glibc;
use lowtide_pyheap::native::resident::Resident;
use lowtide_pyheap::native::sweep::sweep;
use lowtide_pyheap::native::window::Window;

#[test]
fn agrees_with_debugmallocstats() {
    for python in common::pythons() {
        let target = Target::start(&python, "pymalloc.py");
        let said = target.said.clone();
        let stats = said["stats"].as_str().unwrap();
        let (process, image) = target.look();
        let areas = Areas::new(image.maps());
        let resident = Resident::of(&process, image.maps()).unwrap();
        let mut window = Window::new(&image);
        let survey = glibc::survey(&mut window, areas, &mut |_, _| {}).unwrap();
        let mut reserved: Vec<_> = survey.arenas.iter().flat_map(|a| &a.spans).map(|span| span.reserved).collect();
        reserved.sort_unstable();
        let sweep = sweep(&mut window, areas, &resident, &reserved, survey.mapped_tail);
        let who = format!("{} {}", python.display(), said["version"]);

        let pymalloc = &sweep.pymalloc;
        let arenas = number(stats, "# arenas allocated current");
        let used = number(stats, "# bytes in allocated blocks");
        let pool = if stats.contains("unused pools * 16384") { 16384 } else { 4096 };
        let empty = number(stats, "unused pools") / pool;

        // Printing a line takes a few blocks, which may take a pool, which may take an arena.
        assert!((pymalloc.arenas.len() as u64).abs_diff(arenas) <= 1, "{who}: {} arenas of {arenas}", pymalloc.arenas.len());
        assert!(pymalloc.used.abs_diff(used) <= used / 1000 + 16384, "{who}: {} bytes in use of {used}", pymalloc.used);
        assert!(pymalloc.empty_pools <= empty + 2, "{who}: {} empty pools of {empty}", pymalloc.empty_pools);
        let parameters = survey.parameters.unwrap();
        let bytes: u64 = sweep.mapped.iter().map(|m| m.size).sum();
        assert_eq!(sweep.mapped.len() as u64, parameters.mapped, "{who}: large chunks");
        // glibc 2.43 counts the 16 bytes behind a chunk once more each time that it is made larger or smaller.
        let over = parameters.mapped_bytes - bytes;
        assert!(over == 0 || survey.mapped_tail > 0 && over < 4096 && over.is_multiple_of(survey.mapped_tail), "{who}: {over}");
        assert!(bytes > 40_000_000);
    }
}

/// The last number of the line that has `what`, commas taken out.
fn number(text: &str, what: &str) -> u64 {
    let line = text.lines().find(|line| line.contains(what)).unwrap_or_else(|| panic!("no {what} in {text}"));
    let digits: String = line.rsplit(' ').next().unwrap().chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

//! The native heap against malloc's own numbers, in a live process.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::Target;
use lowtide_pyheap::native::area::Areas;
use lowtide_pyheap::native::glibc::{self, State, Told};
use lowtide_pyheap::native::window::Window;

/// What printing a line and waiting changes.
const SLACK: u64 = 64 << 10;

#[test]
fn agrees_with_mallinfo_and_malloc_info() {
    for python in common::pythons() {
        let target = Target::start(&python, "malloc.py");
        check(&target);
    }
}

fn check(target: &Target) {
    let said = target.said.clone();
    let info = |name: &str| said["info"][name].as_u64().unwrap();
    let (_, image) = target.look();
    let areas = Areas::new(image.maps());
    let mut told = 0;
    let mut window = Window::new(&image);
    let survey = glibc::survey(&mut window, areas, &mut |_, what| {
        if let Told::Chunk(chunk) = what {
            told += u64::from(chunk.state == State::Used);
        }
    })
    .unwrap();
    let sum = |f: fn(&glibc::Arena) -> u64| survey.arenas.iter().map(f).sum::<u64>();
    let xml = said["xml"].as_str().unwrap();
    assert_eq!(survey.arenas.len(), xml.matches("<heap nr=").count());
    assert!(survey.arenas.len() >= 4, "threads have arenas of their own");
    assert_eq!(sum(|a| a.lost), 0);
    assert_eq!(sum(|a| a.system), info("arena"));
    assert_eq!(told, sum(|a| a.used.count + a.cached.count));
    near(sum(|a| a.free.bytes + a.fast.bytes + a.top), info("fordblks"), "free");
    near(sum(|a| a.fast.bytes), info("fsmblks"), "fast");
    near(sum(|a| a.used.bytes + a.cached.bytes), info("uordblks"), "used");
    assert!(sum(|a| a.cached.bytes) > 10_000 && survey.caches >= 5, "five threads freed into their caches: {}", survey.caches);
    let parameters = survey.parameters.unwrap();
    assert_eq!((parameters.mapped, parameters.mapped_bytes), (info("hblks"), info("hblkhd")));
    assert!(window.bytes_read() < 4 * info("arena"));
}

fn near(ours: u64, truth: u64, what: &str) {
    assert!(ours.abs_diff(truth) <= SLACK, "{what}: {ours}, malloc says {truth}");
}

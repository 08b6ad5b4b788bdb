//! The account of a live process: every resident page is put down to somebody, and to the right one.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::Target;
use lowtide_pyheap::native::account::{Account, What, account};
use lowtide_pyheap::native::area::Areas;
use lowtide_pyheap::native::owners::{Owner, Owners};
use lowtide_pyheap::native::resident::Resident;
use lowtide_pyheap::native::window::Window;
use serde_json::Value;
use std::path::Path;

const MIB: u64 = 1 << 20;

#[test]
fn every_page_has_an_owner() {
    for python in common::pythons() {
        let (said, account) = look(&python);
        let who = format!("{}: {:?}", python.display(), account.parts);
        assert_eq!(account.parts.values().sum::<u64>(), account.total, "{who}");
        let anon = said["rss_anon"].as_u64().unwrap();
        assert!(account.total.abs_diff(anon) < MIB, "{who}: the kernel says {anon}");
        let part = |what| account.part(what) as f64 / MIB as f64;
        let close = |what, from: f64, to: f64| assert!((from..to).contains(&part(what)), "{what:?} in {who}");
        close(What::Tensors, 64.0, 64.01);
        // A float takes a block of 32 bytes.
        close(What::PythonObjects, 30.5, 36.0);
        close(What::Native, 50.0, 62.0);
        close(What::Holes, 23.0, 26.0);
        close(What::Anonymous, 32.0, 34.0);
        close(What::Libraries, 0.1, 12.0);
        close(What::Stacks, 0.02, 4.0);
        assert_eq!(account.stacks, (3, 3), "{who}");
        assert!(account.unclaimed[0].resident >= 32 * MIB, "{who}: {:?}", account.unclaimed);
        assert!(account.owned_elsewhere <= 4096, "{who}");
    }
}

fn look(python: &Path) -> (Value, Account) {
    let target = Target::start(python, "account.py");
    let said = target.said.clone();
    let large = said["large"].as_u64().unwrap();
    let owners = Owners::new(vec![(large, large + 64 * MIB, Owner::Tensor)]);
    let (process, image) = target.look();
    let areas = Areas::new(image.maps());
    let resident = Resident::of(&process, image.maps()).unwrap();
    let mut account = account(&mut Window::new(&image), areas, &resident, &process.stack_pointers().unwrap(), &mut |_, _| {});
    account.own(&owners, &resident);
    (said, account)
}

//! How much a container takes at most is known where it says so.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{Target, pythons};
use std::collections::BTreeSet;

#[test]
fn containers_that_have_a_limit_say_so_and_no_others() {
    for python in pythons() {
        let target = Target::start(&python, "limits.py");
        let census = target.census(1);
        let of_ours = |path: &str| path.starts_with("module __main__");
        let limited: BTreeSet<(String, u64)> = census
            .objects()
            .ids()
            .filter_map(|id| Some((census.path(id).to_string(), census.limit(id)?)))
            .filter(|(path, _)| of_ours(path))
            .collect();
        let limit =
            |name: &str| limited.iter().filter(|(path, _)| path.contains(name)).map(|(_, limit)| *limit).collect::<BTreeSet<_>>();
        let at = format!("{} {}: {limited:?}", python.display(), target.said["version"]);
        assert_eq!(limit("-> window"), [500].into(), "{at}");
        assert_eq!(limit("-> recent"), [600].into(), "{at}");
        assert_eq!(limit("-> some"), [700].into(), "{at}");
        assert_eq!(limit("-> first_out"), [900].into(), "{at}");
        assert_eq!(limit("-> .ahead"), [800].into(), "{at}");
        assert!(limited.iter().any(|(path, _)| path.ends_with("<cache>: dict")), "the dict of the cache grows: {at}");
        assert_eq!(
            limited
                .iter()
                .filter(|(path, _)| !["window", "recent", "some", "first_out", ".ahead"].iter().any(|name| path.contains(name)))
                .count(),
            0,
            "{at}"
        );
    }
}

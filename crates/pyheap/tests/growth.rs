//! What grows between two looks is named, and what does not is not.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Target, pythons};

#[test]
fn growth_leads_to_the_names_that_hold_it() {
    for python in pythons() {
        let mut target = Target::start(&python, "grow.py");
        target.wait_for("done");
        target.say("go on");
        target.wait_for("done");
        let before = target.census(1).summary();
        target.say("go on");
        target.wait_for("done");
        let census = target.census(1);
        let growth = census.growth_since(&before);
        let paths: Vec<String> =
            growth.holders.iter().map(|holder| format!("{} {:?} {}", holder.path, holder.len, holder.bytes)).collect();
        let at = format!("{} {}:\n{}", python.display(), target.said["version"], paths.join("\n"));
        let is_named = |words: &str| paths.iter().any(|path| path.contains(words));
        assert!(is_named("-> .history: list Some((600, 900))"), "{at}");
        assert!(is_named("-> .by_key: defaultdict"), "{at}");
        assert!(is_named("-> .head: Node"), "{at}");
        assert!(is_named("-> .text: str"), "{at}");
        assert!(is_named("remember: _lru_cache_wrapper remember() -> <cache>: dict Some((600, 900))"), "{at}");
        assert!(is_named("-> whole: tuple"), "{at}");
        assert!(is_named("nothing (a cycle that waits for the garbage collector)"), "{at}");
        let filed = growth.holders.iter().find(|holder| holder.path.to_string().contains("-> .filed: list")).expect(&at);
        assert_eq!((filed.alike, filed.len), (12, Some((50, 75))), "one of many alike: {at}");
        assert!(filed.bytes > 300 * 1000 && !is_named("<__dict__>"), "{at}");
        assert!(!is_named(".steady") && !is_named(".recent"), "{at}");
        let node = growth.types.iter().find(|kind| kind.name == "__main__.Node").unwrap();
        assert_eq!(node.count, 300, "{at}");
    }
}

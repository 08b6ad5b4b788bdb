//! What grows between two looks is named, and what does not is not.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Target, pythons, torches};
use lowtide_pyheap::{Census, HolderGrowth, Keyed, Place, Python};
use std::path::Path;

/// `grow.py` after its first two rounds: what comes but once is there.
fn after_two_rounds(python: &Path) -> Target {
    let mut target = Target::start(python, "grow.py");
    target.wait_for("done");
    target.say("go on");
    target.wait_for("done");
    target
}

#[test]
fn growth_leads_to_the_names_that_hold_it() {
    for python in pythons() {
        let mut target = after_two_rounds(&python);
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
        let raw = growth.holders.iter().find(|holder| holder.path.to_string().contains("-> .raw: bytearray")).expect(&at);
        assert_eq!(raw.len, Some((600_000, 900_000)), "{at}");
        assert!((300_000..1_000_000).contains(&raw.bytes), "its elements are bytes: {at}");
        assert!(is_named("remember: _lru_cache_wrapper remember() -> <cache>: dict Some((600, 900))"), "{at}");
        assert!(is_named("-> whole: tuple"), "{at}");
        assert!(is_named("nothing (a cycle that waits for the garbage collector)"), "{at}");
        let lost = growth.holders.iter().find(|holder| holder.kind == "__main__.Lost").expect(&at);
        assert_eq!((lost.count, lost.path.root == Place::Native), (Some(300), true), "{at}");
        assert!(lost.bytes > 300 * 1000, "{at}");
        let filed = growth.holders.iter().find(|holder| holder.path.to_string().contains("-> .filed: list")).expect(&at);
        assert_eq!((filed.alike, filed.len), (12, Some((50, 75))), "one of many alike: {at}");
        assert!(filed.bytes > 300 * 1000 && !is_named("<__dict__>"), "{at}");
        assert!(!is_named(".steady") && !is_named(".recent"), "{at}");
        assert!(!is_named("module sys ->") && !is_named("native code -> item: dict"), "a module was imported: {at}");
        let node = growth.types.iter().find(|kind| kind.name == "__main__.Node").unwrap();
        assert_eq!(node.count, 300, "{at}");
    }
}

#[test]
fn a_dict_whose_keys_are_all_elsewhere_is_full_when_each_has_come() {
    for python in pythons() {
        let mut target = after_two_rounds(&python);
        let census = target.census(1);
        let (before, lengths) = (census.summary(), census.lengths());
        target.say("go on");
        target.wait_for("done");
        let census = target.census(1);
        for growth in [census.growth_since(&before), census.growth_since_lengths(&lengths)] {
            let keyed = |name: &str| {
                let named = |holder: &&HolderGrowth| holder.path.to_string().contains(name);
                let holder = growth.holders.iter().find(named).expect(name);
                holder.keyed.as_ref().map(|keyed| match keyed {
                    Keyed::Among { path, len } => format!("{path} {}", len.map_or_else(String::new, |len| len.to_string())),
                    Keyed::Modules => "modules".to_owned(),
                })
            };
            let at = format!("{} {}: {:?}", python.display(), target.said["version"], growth.holders);
            assert!(keyed("-> .by_text: dict").is_some_and(|said| said.ends_with("-> .samples: list ")), "{at}");
            let said = keyed("-> .by_pair: dict");
            assert!(said.is_some_and(|said| said.ends_with("-> .pairs: list ")), "each has two of them: {at}");
            assert!(keyed("-> .for_ids: dict").is_some_and(|said| said.ends_with("-> .ids: list 1200")), "{at}");
            let said = keyed("-> .by_sample: WeakKeyDictionary");
            assert!(said.is_some_and(|said| said.ends_with("-> .samples: list 1200")), "{at}");
            for goes_on in [
                "-> .for_every: dict",
                "-> .for_rows: dict",
                "-> .for_numbers: dict",
                "-> .by_user: dict",
                "-> .for_ring: dict",
                "-> <cache>: dict",
            ] {
                assert_eq!(keyed(goes_on), None, "{goes_on} may grow for ever: {at}");
            }
        }
    }
}

#[test]
fn what_an_optimizer_has_for_a_models_parameters_grows_as_the_model_does() {
    for python in torches() {
        let mut target = Target::start(&python, "grow_torch.py");
        target.wait_for("done");
        let before = target.census(1).summary();
        target.say("go on");
        target.wait_for("done");
        let growth = target.census(1).growth_since(&before);
        let find = |way: &str| growth.holders.iter().find(|holder| holder.path.to_string().ends_with(way));
        let at = format!("{} {}: {:?}", python.display(), target.said["torch"], growth.holders);
        let keeps = find("-> of_keeps: Adam -> .state: defaultdict").expect(&at);
        assert!(matches!(keeps.keyed, Some(Keyed::Modules)), "{at}");
        let replaces = find("-> of_replaces: Adam -> .state: defaultdict").expect(&at);
        assert!(replaces.keyed.is_none(), "what is no model's any longer may grow for ever: {at}");
    }
}

#[test]
fn lengths_seen_in_passing_lead_to_the_names_as_well() {
    for python in pythons() {
        let mut target = after_two_rounds(&python);
        // Nobody stops it.
        let (process, image) = target.look();
        let runtime = Python::runtime(&process, &image).unwrap();
        let found = Python::at(&image, runtime).unwrap();
        let before = Census::in_passing(image, found).unwrap().lengths();
        assert!(before.count() > 100);
        let unchanged = target.census(1).growth_since_lengths(&before);
        assert!(unchanged.holders.iter().all(|holder| holder.bytes < 10_000), "{:?}", unchanged.holders);
        target.say("go on");
        target.wait_for("done");
        let growth = target.census(1).growth_since_lengths(&before);
        let paths: Vec<String> =
            growth.holders.iter().map(|holder| format!("{} {:?} {}", holder.path, holder.len, holder.bytes)).collect();
        let at = format!("{} {}:\n{}", python.display(), target.said["version"], paths.join("\n"));
        let find = |words: &str| growth.holders.iter().find(|holder| holder.path.to_string().contains(words));
        let history = find("-> .history").expect(&at);
        // 300 dicts with a float and a text of their own.
        assert_eq!(history.len, Some((600, 900)), "{at}");
        assert!((300 * 200..300 * 500).contains(&history.bytes), "{at}");
        let filed = find("-> .filed: list").expect(&at);
        assert_eq!((filed.alike, filed.len), (12, Some((50, 75))), "one of many alike: {at}");
        assert!((300 * 1000..300 * 1200).contains(&filed.bytes), "{at}");
        assert!(find("-> .by_key: defaultdict").is_some() && find("remember() -> <cache>: dict").is_some(), "{at}");
        assert!(find(".steady").is_none() && find(".recent").is_none(), "{at}");
    }
}

//! Every way to hold an object leads back to the name that its author gave it.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Target, pythons};
use lowtide_pyheap::{Census, Parent};
use std::collections::BTreeMap;

/// The paths of all planted objects, by their markers.
fn paths(census: &Census) -> BTreeMap<String, String> {
    let (_, big) = census.types().iter().find(|(_, kind)| kind.name == "__main__.Big").expect("the planted type");
    let (slot, _) = big.members.first().expect("its slot");
    let mut paths = BTreeMap::new();
    for id in census.objects().ids() {
        if census.kind(id).is_some_and(|kind| kind.address == big.address) {
            let marker = census.reader().pointer(census.objects().address(id) + slot).unwrap();
            paths.insert(census.reader().text(marker).unwrap(), census.path(id).to_string());
        }
    }
    paths
}

#[test]
fn every_holder_is_named() {
    let mut wrong = Vec::new();
    for python in pythons() {
        let target = Target::start(&python, "holders.py");
        let paths = paths(&target.census(1));
        for (marker, words) in target.said["expect"].as_object().unwrap() {
            let Some(path) = paths.get(marker) else {
                wrong.push(format!("{}: {marker}: not found", target.said["version"]));
                continue;
            };
            let words = words.as_array().unwrap().iter().map(|word| word.as_str().unwrap());
            let mut rest = path.as_str();
            for word in words {
                match rest.split_once(word) {
                    Some((_, after)) => rest = after,
                    None => {
                        wrong.push(format!("{}: {marker}: no {word} in {path}", target.said["version"]));
                        break;
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// A look is not another for the number of threads that take it: what several modules know has its name by the first of them.
#[test]
fn what_many_modules_know_has_the_same_name_however_many_look() {
    for python in pythons() {
        let target = Target::start(&python, "modules.py");
        let by_one = paths(&target.census(1));
        assert_eq!(by_one.len() as u64, target.said["objects"].as_u64().unwrap());
        for (marker, path) in &by_one {
            let number: u32 = marker.split(' ').next().unwrap().parse().unwrap();
            assert!(path.starts_with(&format!("module part{number:04} ->")), "{marker}: {path}");
        }
        for _ in 0..3 {
            let by_two = paths(&target.census(2));
            let other = by_one.iter().find(|(marker, path)| by_two.get(*marker) != Some(path));
            assert!(
                other.is_none(),
                "{}: {other:?} is {:?}",
                target.said["version"],
                other.and_then(|(marker, _)| by_two.get(marker))
            );
        }
    }
}

/// A large level is visited in parts, a smaller one while the one before is put in order: whatever the way, each object is found once,
/// with its size and by what has it.
#[test]
fn all_objects_of_large_levels_are_found_however_many_look() {
    for python in pythons() {
        let target = Target::start(&python, "levels.py");
        let rows = target.said["rows"].as_u64().unwrap();
        let [by_one, by_two] = [1, 2].map(|threads| below(&target.census(threads), rows));
        assert_eq!([by_one.len() as u64, by_two.len() as u64], [4 * rows; 2], "lists, tuples and two texts each");
        let differ = by_one.iter().zip(&by_two).find(|(one, two)| one != two);
        assert!(differ.is_none(), "{}: {differ:?}", target.said["version"]);
    }
}

/// What was found through the list that has so many items: address, size, the address of what has it, in the order of the addresses.
fn below(census: &Census, rows: u64) -> Vec<(u64, u64, u64)> {
    let objects = census.objects();
    let list = objects.ids().find(|id| census.len_of(*id) == Some(rows)).expect("the list");
    let (mut found, mut held) = (Vec::new(), vec![false; objects.len()]);
    held[list.0 as usize] = true;
    for id in objects.ids() {
        if let Parent::Object(parent) = objects.parent(id)
            && held[parent.0 as usize]
        {
            held[id.0 as usize] = true;
            found.push((objects.address(id), objects.size(id), objects.address(parent)));
        }
    }
    found.sort();
    found
}

#[test]
fn names_of_the_program_come_before_those_of_libraries_that_run() {
    for python in pythons() {
        let mut target = Target::start(&python, "library.py");
        target.wait_for("done");
        let census = target.census(1);
        let paths: Vec<String> = census
            .objects()
            .ids()
            .filter(|id| census.kind(*id).is_some_and(|kind| kind.name == "__main__.Kept"))
            .map(|id| census.path(id).to_string())
            .collect();
        let at = format!("{} {}: {paths:?}", python.display(), target.said["version"]);
        assert_eq!(paths.len(), 2, "{at}");
        assert!(paths[0].starts_with("module __main__") && paths[0].contains("-> .optimizer: Optimizer -> .state: Kept"), "{at}");
        assert!(paths[1].contains("work()") && paths[1].contains("-> other: Kept"), "what only a library knows is its: {at}");
    }
}

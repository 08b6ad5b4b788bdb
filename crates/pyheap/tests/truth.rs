//! What a census says of a heap, against what the heap's own interpreter says.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Target, pythons};
use lowtide_pyheap::types::Kind;
use lowtide_pyheap::{ObjectId, Parent};
use std::cmp::Reverse;
use std::collections::HashMap;

/// One row of the target's own count.
struct Truth {
    name: String,
    count: u64,
    bytes: u64,
}

fn truth(said: &serde_json::Value) -> HashMap<u64, Truth> {
    let row = |(address, row): (&String, &serde_json::Value)| {
        let truth =
            Truth { name: row[0].as_str().unwrap().to_owned(), count: row[1].as_u64().unwrap(), bytes: row[2].as_u64().unwrap() };
        (address.parse().unwrap(), truth)
    };
    said["types"].as_object().unwrap().iter().map(row).collect()
}

/// Kinds whose size is `sys.getsizeof` to the byte.
fn is_exact(kind: Kind) -> bool {
    use Kind::*;
    matches!(
        kind,
        List | Set
            | Deque
            | ByteArray
            | Bytes
            | Array
            | Function
            | Cell
            | Method
            | Module
            | Generator
            | Frame
            | Weakref
            | LruLink
    )
}

/// Kinds of which code objects have some that `gc.get_referents` does not show.
fn is_in_code(kind: Kind) -> bool {
    matches!(kind, Kind::Str | Kind::Bytes | Kind::Int | Kind::Tuple | Kind::Code | Kind::Leaf | Kind::Set)
}

/// What differs, as one line each.
fn differences(target: &Target, threads: usize) -> Vec<String> {
    let census = target.census(threads);
    let mut ours = HashMap::new();
    for (id, total) in census.by_type() {
        ours.insert(census.types().get(id).unwrap().address, total);
    }
    let mut wrong = Vec::new();
    for (address, truth) in truth(&target.said) {
        let ours = ours.get(&address).copied().unwrap_or_default();
        let kind = census.types().find(address).and_then(|id| census.types().get(id)).map(|kind| kind.kind);
        let mut say = |what: &str| {
            wrong.push(format!(
                "{what}: {} {kind:?}: {} of {} bytes, but {} of {}",
                truth.name, ours.count, ours.bytes, truth.count, truth.bytes
            ));
        };
        // The target's own count makes and drops a few objects while it counts.
        let slack = 4 + truth.count / 500;
        if ours.count + slack < truth.count {
            say("missing");
        }
        let Some(kind) = kind else { continue };
        // Built-in types and their dicts, which newer interpreters keep where the collector does not look.
        let hidden = if matches!(kind, Kind::Dict | Kind::Type) { 20 } else { 0 };
        if !is_in_code(kind) && ours.count > truth.count + slack + hidden {
            say("too many");
        }
        if ours.count == truth.count && is_exact(kind) && ours.bytes != truth.bytes {
            say("size");
        }
    }
    wrong.sort();
    wrong
}

#[test]
fn objects_of_each_type_are_counted_as_the_interpreter_counts_them() {
    for python in pythons() {
        let target = Target::start(&python, "heap.py");
        let wrong = differences(&target, 1);
        assert!(wrong.is_empty(), "{} {}:\n{}", python.display(), target.said["version"], wrong.join("\n"));
        let wrong = differences(&target, 2);
        assert!(wrong.is_empty(), "{} {}, two threads:\n{}", python.display(), target.said["version"], wrong.join("\n"));
    }
}

#[test]
fn what_an_object_led_to_lies_side_by_side_however_many_threads_look() {
    let python = &pythons()[0];
    let target = Target::start(python, "heap.py");
    for threads in [1, 2] {
        let census = target.census(threads);
        let objects = census.objects();
        let mut last = 0;
        for id in objects.ids() {
            let Parent::Object(parent) = objects.parent(id) else { continue };
            assert!(parent.0 >= last, "{id:?} of {parent:?} comes after one of {last}, {threads} threads");
            last = parent.0;
        }
        let mut by_parent: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
        for id in objects.ids() {
            if let Parent::Object(parent) = objects.parent(id) {
                by_parent.entry(parent).or_default().push(id);
            }
        }
        let mut parents: Vec<_> = by_parent.into_iter().collect();
        parents.sort_by_key(|(_, children)| Reverse(children.len()));
        assert!(parents[0].1.len() > 100);
        for (parent, children) in parents.into_iter().take(100) {
            assert_eq!(objects.children(parent).collect::<Vec<_>>(), children, "{parent:?}, {threads} threads");
        }
    }
}

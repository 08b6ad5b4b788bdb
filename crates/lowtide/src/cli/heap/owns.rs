//! What a holder owns of what it holds, as text and as JSON.

use lowtide_pyheap::{Ownership, Path};
use serde_json::{Value, json};

use super::text::bytes;

/// Less than this part of what is held is not worth a word, in percent.
const PART: u64 = 1;
/// Those who together free nearly as much as all do are told as the ones who must let go, in percent.
const NEARLY: u64 = 90;

/// What there is to say of a holder: nothing where all that it holds is its own, unless that was asked for.
pub fn words(own: &Ownership, asked: bool) -> Vec<String> {
    let mut said = Vec::new();
    let shared = own.shared().bytes;
    let is_worth = shared * 100 > own.held.bytes * PART;
    if is_worth {
        said.push(format!("owns {} of it alone", bytes(own.alone.bytes)));
        said.extend(others(own));
        let rest = shared.saturating_sub(own.together.bytes).saturating_sub(own.with_unseen.bytes);
        if own.with_unseen.bytes * 100 > own.held.bytes * PART {
            said.push(format!(
                "{} more in {} with references that no Python object accounts for: C or C++ code, or never given back",
                bytes(own.with_unseen.bytes),
                objects(own.unseen)
            ));
        }
        if rest * 100 > own.held.bytes * PART {
            let else_ = if own.also.is_empty() { "others" } else { "others still" };
            said.push(format!("{} more is also held by {else_}", bytes(rest)));
        }
    } else if asked {
        said.push("owns all of it: that goes when it is emptied".to_owned());
    }
    if !own.itself.is_empty() {
        let ways: Vec<String> = own.itself.iter().map(ToString::to_string).collect();
        said.push(format!("is also {}: it goes itself when all of these let go", ways.join(" and ")));
    }
    if own.itself_unseen > 0 {
        let references =
            if own.itself_unseen == 1 { "1 reference".to_owned() } else { format!("{} references", own.itself_unseen) };
        said.push(format!("has {references} itself that no Python object accounts for"));
    }
    said
}

/// Who must let go of what, too.
fn others(own: &Ownership) -> Vec<String> {
    let together = own.together.bytes;
    if together * 100 <= own.held.bytes * PART {
        return Vec::new();
    }
    // One of them is enough for nearly all.
    if let Some(first) = own.also.first().filter(|first| first.both.bytes * 100 >= together * NEARLY) {
        return vec![format!("{} more also held by {}: both must let go", bytes(first.both.bytes), first.path)];
    }
    let names: Vec<String> = own.also.iter().map(|also| also.path.to_string()).collect();
    let parts: u64 = own.also.iter().map(|also| also.both.bytes).sum();
    if parts * 100 >= together * NEARLY {
        // Each has a part of its own.
        let part =
            |also: &lowtide_pyheap::Also| format!("{} more also held by {}: both must let go", bytes(also.both.bytes), also.path);
        return own.also.iter().filter(|also| also.both.bytes > 0).map(part).collect();
    }
    vec![format!("{} more also held by {}: all of them must let go", bytes(together), names.join(" and "))]
}

fn objects(count: u64) -> String {
    if count == 1 { "1 object".to_owned() } else { format!("{} objects", super::text::grouped(count)) }
}

/// The same for programs.
pub fn json(own: &Ownership, path: fn(&Path) -> Value) -> Value {
    json!({
        "alone": {"count": own.alone.count, "bytes": own.alone.bytes},
        "shared": {"count": own.shared().count, "bytes": own.shared().bytes},
        "also": own.also.iter().map(|also| json!({
            "path": path(&also.path), "count": also.both.count, "bytes": also.both.bytes,
        })).collect::<Vec<_>>(),
        "together": {"count": own.together.count, "bytes": own.together.bytes},
        "unaccounted": {
            "objects": own.unseen, "count": own.with_unseen.count, "bytes": own.with_unseen.bytes,
            "references_to_itself": own.itself_unseen,
        },
        "itself": own.itself.iter().map(path).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowtide_pyheap::{Also, ObjectId, Place, Total};

    fn way(name: &str) -> Path {
        Path { root: Place::Module { name: name.to_owned(), file: None }, steps: Vec::new(), left_out: 0 }
    }

    fn total(bytes: u64) -> Total {
        Total { count: bytes / 100, bytes }
    }

    fn own(alone: u64, also: &[(&str, u64)], together: u64) -> Ownership {
        Ownership {
            id: ObjectId(0),
            held: total(10_000),
            alone: total(alone),
            also: also.iter().map(|(name, both)| Also { path: way(name), both: total(*both) }).collect(),
            together: total(together),
            unseen: 0,
            with_unseen: total(0),
            itself: Vec::new(),
            itself_unseen: 0,
        }
    }

    #[test]
    fn who_must_let_go_is_said_as_it_was_proven() {
        assert!(words(&own(10_000, &[], 0), false).is_empty());
        assert_eq!(words(&own(10_000, &[], 0), true), ["owns all of it: that goes when it is emptied"]);
        assert_eq!(
            words(&own(100, &[("a", 9900)], 9900), false),
            ["owns 100 B of it alone", "9.7 KiB more also held by module a: both must let go"]
        );
        assert_eq!(
            words(&own(100, &[("a", 0), ("b", 0)], 9900), false),
            ["owns 100 B of it alone", "9.7 KiB more also held by module a and module b: all of them must let go"]
        );
        assert_eq!(
            words(&own(100, &[("a", 6000), ("b", 3900)], 9900), false),
            [
                "owns 100 B of it alone",
                "5.9 KiB more also held by module a: both must let go",
                "3.8 KiB more also held by module b: both must let go"
            ]
        );
        assert_eq!(words(&own(5000, &[], 0), false), ["owns 4.9 KiB of it alone", "4.9 KiB more is also held by others"]);
    }

    #[test]
    fn what_nothing_accounts_for_is_said_with_its_number() {
        let mut own = own(5000, &[], 0);
        (own.unseen, own.with_unseen, own.itself_unseen) = (5, total(5000), 1);
        own.itself = vec![way("b")];
        let said = words(&own, false);
        assert!(said[1].starts_with("4.9 KiB more in 5 objects with references that no Python object accounts for"), "{said:?}");
        assert_eq!(
            said[2..],
            [
                "is also module b: it goes itself when all of these let go".to_owned(),
                "has 1 reference itself that no Python object accounts for".to_owned()
            ]
        );
    }
}

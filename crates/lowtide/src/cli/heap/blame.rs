//! The lines that add to what a look shows, as text and as JSON.

use lowtide_lint::feeds::{Bound, Kind, Site, Statement};
use lowtide_pyheap::{HolderGrowth, Total};
use serde_json::{Value, json};

use super::text::row;
use super::view::Holder;
use crate::culprit::{self, Culprit, Facts, Sources, Standing, words};

/// Lines beside the first that the text shows.
const SHOWN: usize = 3;

/// The lines of what is shown: of what grew, and of containers.
pub struct Blame<'a> {
    sources: &'a Sources,
    pub grown: Vec<Culprit>,
    pub containers: Vec<Culprit>,
}

impl<'a> Blame<'a> {
    /// Reads the program's source for them. Containers of libraries have a line where they hold so many bytes at `least`.
    pub fn new(facts: Facts<'a, '_>, grown: &[HolderGrowth], containers: &[Holder], least: i64) -> Self {
        // A container has grown from nothing, some time ago.
        let whole = containers.iter().map(|container| {
            let Total { count, bytes } = container.held;
            HolderGrowth {
                id: container.id,
                kind: container.kind.clone(),
                path: container.path.clone(),
                len: Some((0, container.len)),
                count: i64::try_from(count).ok(),
                bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
                alike: 1,
                keyed: None,
            }
        });
        let mut culprits = culprit::culprits(facts, grown, &whole.collect::<Vec<_>>(), least);
        let containers = culprits.split_off(grown.len().min(culprits.len()));
        Self { sources: facts.sources, grown: culprits, containers }
    }

    /// Adds the lines of one that grew, with what to think of it.
    pub fn text_of_grown(&self, out: &mut String, culprit: &Culprit, indent: usize, width: usize) {
        self.lines(out, culprit, indent, width);
        let mut say = |label: &str, words: &str| out.push_str(&row(&[""], &format!("{label}  {words}"), &[indent], width));
        if culprit.site.is_some() || culprit.in_library {
            say("why ", &words::why(culprit, self.sources));
        }
        if let Some(near) = &culprit.near {
            say("near", &format!("{}:{}  in {}()", self.sources.shown(&near.file), near.line, near.function));
        }
    }

    /// Adds the lines of a container, if there are any.
    pub fn text_of_container(&self, out: &mut String, culprit: &Culprit, indent: usize, width: usize) {
        self.lines(out, culprit, indent, width);
    }

    fn lines(&self, out: &mut String, culprit: &Culprit, indent: usize, width: usize) {
        let mut say = |label: &str, site: &Site| {
            out.push_str(&row(&[""], &format!("{label}  {}", words::place(site, self.sources)), &[indent], width));
        };
        let Some(first) = &culprit.site else { return };
        let library = if first.library { " of a library" } else { "" };
        say(&format!("line{library}"), &first.site);
        first.via.iter().filter(|_| first.library).take(SHOWN).for_each(|site| say("by  ", site));
        culprit.others.iter().take(SHOWN).for_each(|other| say("also", &other.site));
    }

    /// Adds the lines to the JSON of a container.
    pub fn json_of_container(&self, culprit: &Culprit, mut container: Value) -> Value {
        container["site"] = culprit.site.as_ref().map_or(Value::Null, statement);
        container["sites"] = culprit.others.iter().map(statement).collect();
        container
    }

    /// Adds the lines to the JSON of a holder that grew, with what to think of it.
    pub fn json_of_grown(&self, culprit: &Culprit, mut holder: Value) -> Value {
        let standing = standing(&culprit.standing);
        holder["alike"] = culprit.holder.alike.into();
        holder["holds"] = culprit.holds.clone().into();
        holder["opens"] = culprit.opened().into();
        holder["limit"] = culprit.limit.into();
        holder["site"] = culprit.site.as_ref().map_or(Value::Null, statement);
        holder["sites"] = culprit.others.iter().map(statement).collect();
        holder["standing"] = standing.into();
        holder["why"] = words::why(culprit, self.sources).into();
        holder["library"] = culprit.in_library.into();
        holder["near"] = culprit
            .near
            .as_ref()
            .map_or(Value::Null, |near| json!({"file": near.file, "line": near.line, "function": near.function}));
        holder["changed"] = json!(culprit.changed);
        holder
    }
}

fn standing(standing: &Standing) -> &'static str {
    match standing {
        Standing::Culprit => "culprit",
        Standing::Suspect => "suspect",
        Standing::Bounded => "bounded",
        Standing::Unknown(_) => "unknown",
    }
}

fn statement(statement: &Statement) -> Value {
    let mut value = site(&statement.site);
    value["kind"] = kind(statement.kind).into();
    value["function"] = statement.function.clone().into();
    value["repeated"] = statement.repeated.into();
    value["library"] = statement.library.into();
    value["via"] = statement.via.iter().map(site).collect();
    value["bound"] = statement.bound.as_ref().map_or(Value::Null, bound);
    value
}

fn site(site: &Site) -> Value {
    json!({"file": site.file, "line": site.line, "text": site.text})
}

fn bound(bound: &Bound) -> Value {
    let (kind, at) = match bound {
        Bound::Ceiling(at, _) => ("ceiling", Some(at)),
        Bound::Emptied(at) => ("emptied", Some(at)),
        Bound::EmptiedIf(at) => ("emptied_if", Some(at)),
        Bound::Keys => ("keys", None),
        Bound::Samples => ("samples", None),
        Bound::Sizes => ("sizes", None),
        Bound::Making => ("making", None),
        Bound::Local => ("local", None),
    };
    json!({"kind": kind, "site": at.map(site)})
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Add => "add",
        Kind::Extend => "extend",
        Kind::Item => "item",
        Kind::Rebuilt => "rebuilt",
        Kind::Wrapped => "wrapped",
        Kind::Handed => "handed",
        Kind::Hook => "hook",
        Kind::Cache => "cache",
        Kind::Cycle => "cycle",
        Kind::Split => "split",
        Kind::Accumulated => "accumulated",
        Kind::Averaged => "averaged",
        Kind::Carried => "carried",
        Kind::Retained => "retained",
        Kind::Zeroed => "zeroed",
        Kind::CollectorOff => "collector_off",
        Kind::Assigned => "assigned",
        Kind::Call => "call",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// In the order of their declaration.
    const ALL: [Kind; 18] = [
        Kind::Add,
        Kind::Extend,
        Kind::Item,
        Kind::Rebuilt,
        Kind::Wrapped,
        Kind::Handed,
        Kind::Hook,
        Kind::Cache,
        Kind::Cycle,
        Kind::Split,
        Kind::Accumulated,
        Kind::Averaged,
        Kind::Carried,
        Kind::Retained,
        Kind::Zeroed,
        Kind::CollectorOff,
        Kind::Assigned,
        Kind::Call,
    ];

    #[test]
    fn every_kind_of_line_is_in_the_schema_and_no_other() {
        assert!(ALL.iter().enumerate().all(|(at, kind)| *kind as usize == at), "one is missing here");
        let schema: Value = serde_json::from_str(include_str!("../../../schema/lowtide.heap.1.json")).unwrap();
        let said: Vec<&str> = schema["$defs"]["statement"]["properties"]["kind"]["enum"]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap())
            .collect();
        assert_eq!(said, ALL.map(kind));
    }
}

//! The tables of looks: when a process was looked into, and what had grown there.

#![cfg_attr(not(all(feature = "sqlite", feature = "parquet")), allow(dead_code))]

use lowtide_model::{HolderGrown, LineGrown, Look, ObjectGrown, PartGrown, Site, Sort};

use super::table::{Table, Value, table, word};

table! {
    /// One row for each look.
    LOOKS "looks", look_row(look: &Look) {
        t_s: Real = look.t_s,
        process_index: Integer = look.id.0,
        copied: Integer = look.copied,
        pause_us: Integer = look.pause_us,
        objects: Integer = look.objects,
        since_first_s: Real = look.grown.as_ref().map(|grown| grown.seconds),
        grown_bytes: Integer = look.grown.as_ref().map(|grown| signed(grown.total)),
    }
}

table! {
    /// What had grown between a look and the first one: parts of the memory, holders, other lines that add to these, and the objects that a holder has more; or,
    /// by the history of PyTorch's allocator, lines that asked for what is in use.
    GROWN "grown", grown_row(look: &Look, what: &What) {
        t_s: Real = look.t_s,
        process_index: Integer = look.id.0,
        what: Text = what.what,
        name: Text = what.name,
        bytes: Integer = signed(what.bytes),
        sort: Text = what.part.map(|part| Value::Text(word::<Sort>(&part.sort))),
        path: Text = what.holder.map(|holder| holder.path.join(" -> ")).as_deref(),
        type: Text = what.object.map(|object| object.kind.as_str()).or(what.holder.map(|holder| holder.kind.as_str())),
        length_before: Integer = what.holder.and_then(|holder| holder.len).map(|len| len[0]),
        length: Integer = what.holder.and_then(|holder| holder.len).map(|len| len[1]),
        file: Text = what.site().map(|site| site.file.as_str()),
        line: Integer = what.site().map(|site| site.line),
        code: Text = what.site().map(|site| site.text.as_str()),
        why: Text = what.holder.map(|holder| holder.why.as_str()),
        bounded: Integer = what.holder.map(|holder| holder.bounded),
        cause: Text = what.holder.map(|holder| holder.cause.as_str()),
        count: Integer = what.object.map(|object| object.count_delta).or(what.line.map(|line| line.blocks)).map(signed),
        dtype: Text = what.object.map(|object| object.dtype.as_str()),
        device: Text = what.object.map(|object| object.device.as_str()),
        grad_fn: Integer = what.object.map(|object| object.grad_fn),
    }
}

/// A row of [`GROWN`] is about one of these.
#[derive(Default)]
pub(super) struct What<'a> {
    what: &'static str,
    name: &'a str,
    bytes: i64,
    part: Option<&'a PartGrown>,
    holder: Option<&'a HolderGrown>,
    object: Option<&'a ObjectGrown>,
    line: Option<&'a LineGrown>,
    site: Option<&'a Site>,
}

impl What<'_> {
    fn site(&self) -> Option<&Site> {
        let by_line = || self.line.and_then(|line| line.site.as_ref());
        self.holder.and_then(|holder| holder.site.as_ref()).or_else(by_line).or(self.site)
    }
}

/// All rows of [`GROWN`] that a look makes.
pub(super) fn look_rows(look: &Look) -> Vec<[Value; GROWN.columns.len()]> {
    let mut rows: Vec<What> = Vec::new();
    for line in look.allocated.iter().flat_map(|grown| &grown.lines) {
        rows.push(What { what: "line", name: &line.function, bytes: line.bytes, line: Some(line), ..What::default() });
    }
    let parts = look.grown.iter().flat_map(|grown| &grown.parts);
    for part in parts {
        rows.push(What { what: "part", name: &part.name, bytes: part.bytes, part: Some(part), ..What::default() });
    }
    for one in look.grown.iter().flat_map(|grown| &grown.holders) {
        rows.push(What { what: "holder", name: &one.name, bytes: one.bytes, holder: Some(one), ..What::default() });
        rows.extend(one.sites.iter().map(|site| What { what: "site", name: &one.name, site: Some(site), ..What::default() }));
        rows.extend(one.objects.iter().map(|object| What {
            what: "objects",
            name: &one.name,
            bytes: object.bytes_delta,
            object: Some(object),
            ..What::default()
        }));
    }
    rows.iter().map(|what| grown_row(look, what)).collect()
}

fn signed(number: i64) -> Value {
    Value::Integer(number)
}

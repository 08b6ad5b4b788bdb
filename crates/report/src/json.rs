//! The report as JSON: `lowtide.report/1`.
//!
//! A reader may rely on every name of the contract being there.

use lowtide_model::Report;
use serde_json::{Map, Value};

use crate::text::invisible;

/// The report as one pretty-printed JSON object that ends with a newline. Numbers that are not finite
/// become `null`.
#[must_use]
pub fn json(report: &Report) -> String {
    let mut value = serde_json::to_value(report).expect("a report holds only what JSON can hold");
    for finding in objects_of(&mut value, "findings") {
        fill_finding(finding);
    }
    plain(&format!("{value:#}\n"))
}

/// JSON in which nothing stands that a terminal would act on, or that nobody sees: controls, marks of direction, characters
/// without width are written by their numbers. Only in strings can such a character be.
pub(crate) fn plain(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c == '\n' || !invisible(c) {
            out.push(c);
        } else {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        }
    }
    out
}

fn objects_of<'a>(value: &'a mut Value, name: &str) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    value.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Adds the contract's names that the model does not have yet.
fn fill_finding(finding: &mut Map<String, Value>) {
    if let Some(process) = finding.get_mut("process").and_then(Value::as_object_mut) {
        fill(process, "node", Value::Null);
        fill(process, "round", Value::Null);
    }
}

fn fill(object: &mut Map<String, Value>, name: &str, empty: Value) {
    object.entry(name).or_insert(empty);
}

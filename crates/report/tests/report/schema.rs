//! Every output fulfils the published schema. The checker knows the few keywords that the schema uses and
//! fails on any other, so the schema cannot outgrow it.

use lowtide_report::{JSON_SCHEMA, json};
use serde_json::Value;

use super::samples;

#[test]
fn every_sort_of_report_fulfils_the_schema() {
    let schema: Value = serde_json::from_str(JSON_SCHEMA).unwrap();
    for (name, report) in samples::all() {
        let value: Value = serde_json::from_str(&json(&report)).unwrap();
        check(&schema, &schema, &value, name).unwrap();
    }
}

#[test]
fn the_contract_is_complete_even_where_a_stage_is_not_built() {
    let value: Value = serde_json::from_str(&json(&samples::leak())).unwrap();
    let finding = &value["findings"][0];
    assert_eq!(finding["objects"], serde_json::json!([]));
    for name in ["holder", "site", "cause", "why", "fix", "phase"] {
        assert!(finding.get(name).is_some_and(Value::is_null), "{name}");
    }
    assert_eq!(finding["process"]["pid"], 4242);
    assert_eq!(finding["growth"]["per"], "second");
    assert_eq!(value["processes"][0]["role"], "launcher");
    assert!(json(&samples::leak()).starts_with("{\n  \"schema\": \"lowtide.report/1\",\n  \"verdict\": \"leak\","));
}

#[test]
fn numbers_that_json_lacks_become_null() {
    let mut report = samples::leak();
    report.findings[0].growth.as_mut().unwrap().ci95 = [f64::NEG_INFINITY, f64::INFINITY];
    report.more_seconds_needed = f64::INFINITY;
    let schema: Value = serde_json::from_str(JSON_SCHEMA).unwrap();
    let value: Value = serde_json::from_str(&json(&report)).unwrap();
    check(&schema, &schema, &value, "infinite").unwrap();
    assert!(value["findings"][0]["growth"]["ci95"][0].is_null());
}

#[test]
fn the_checker_can_fail() {
    let schema: Value = serde_json::from_str(JSON_SCHEMA).unwrap();
    let good: Value = serde_json::from_str(&json(&samples::leak())).unwrap();
    for (path, bad) in [
        ("/verdict", Value::from("maybe")),
        ("/findings/0/confidence", Value::from(1.5)),
        ("/findings/0/growth/ci95", serde_json::json!([1])),
        ("/processes/0/pid", Value::from("4242")),
        ("/limits/0", serde_json::json!({})),
    ] {
        let mut value = good.clone();
        *value.pointer_mut(path).unwrap() = bad;
        assert!(check(&schema, &schema, &value, "broken").is_err(), "{path}");
    }
}

pub fn check(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    for (keyword, rule) in schema.as_object().ok_or("a schema is an object")? {
        let fine = match keyword.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" => true,
            "$ref" => {
                let target = root.pointer(rule.as_str().unwrap().trim_start_matches('#')).ok_or_else(|| format!("no {rule}"))?;
                return check(root, target, value, at);
            }
            "type" => match rule {
                Value::Array(types) => types.iter().any(|name| has_type(name, value)),
                name => has_type(name, value),
            },
            "const" => rule == value,
            "enum" => rule.as_array().unwrap().contains(value),
            "anyOf" => rule.as_array().unwrap().iter().any(|one| check(root, one, value, at).is_ok()),
            "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()),
            "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= rule.as_u64().unwrap()),
            "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= rule.as_u64().unwrap()),
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, rule, item, &format!("{at}/{index}"))?;
                }
                true
            }
            "required" => rule.as_array().unwrap().iter().all(|name| value.get(name.as_str().unwrap()).is_some()),
            "properties" => {
                for (name, rule) in rule.as_object().unwrap() {
                    if let Some(field) = value.get(name) {
                        check(root, rule, field, &format!("{at}/{name}"))?;
                    }
                }
                true
            }
            "additionalProperties" => {
                for (name, field) in value.as_object().into_iter().flatten() {
                    check(root, rule, field, &format!("{at}/{name}"))?;
                }
                true
            }
            other => return Err(format!("the checker does not know `{other}`")),
        };
        if !fine {
            return Err(format!("{at}: {keyword} {rule} does not hold of {value}"));
        }
    }
    Ok(())
}

fn has_type(name: &Value, value: &Value) -> bool {
    match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    }
}

//! Findings as SARIF 2.1.0, which code hosts and editors show beside the source
//! (<https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>).

use std::collections::BTreeMap;

use lowtide_model::{Class, Finding, Report, Site};
use serde_json::{Value, json};

use crate::github::is_telling;

/// One log of one run of lowtide.
#[must_use]
pub fn sarif(report: &Report) -> String {
    let telling: Vec<&Finding> = report.findings.iter().filter(|finding| is_telling(finding)).collect();
    let rules: BTreeMap<&str, Value> = telling.iter().map(|finding| (rule_id(finding), rule(finding))).collect();
    let index: BTreeMap<&str, usize> = rules.keys().zip(0..).map(|(id, at)| (*id, at)).collect();
    let results: Vec<Value> = telling.iter().map(|finding| result(finding, index[rule_id(finding)])).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "lowtide",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules.into_values().collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    crate::json::plain(&format!("{log:#}\n"))
}

fn rule_id(finding: &Finding) -> &str {
    finding.cause.as_deref().unwrap_or(match finding.class {
        Class::Oom => "out-of-memory",
        Class::Expectation => "expectation",
        _ => "leak",
    })
}

fn rule(finding: &Finding) -> Value {
    // One rule stands for all its findings: what it says is the catalogue's, not that of one place.
    let own = if finding.cause.is_some() { finding.text.as_str() } else { rule_id(finding) };
    let mut rule = json!({"id": rule_id(finding), "shortDescription": {"text": finding.title.as_deref().unwrap_or(own)}});
    if let Some(why) = finding.why.as_ref().filter(|_| finding.title.is_some()) {
        rule["fullDescription"] = json!({"text": why});
    }
    if let Some(fix) = &finding.fix {
        rule["help"] = json!({"text": fix});
    }
    rule
}

fn result(finding: &Finding, index: usize) -> Value {
    let level = if finding.class == Class::Source { "warning" } else { "error" };
    let mut result = json!({
        "ruleId": rule_id(finding),
        "ruleIndex": index,
        "level": level,
        "message": {"text": super::sentence(finding)},
    });
    if let Some(site) = &finding.site {
        result["locations"] = json!([location(site)]);
    }
    let beside = finding.beside.iter().filter_map(|other| other.site.as_ref());
    let related: Vec<Value> = finding.sites.iter().chain(beside).map(location).collect();
    if !related.is_empty() {
        result["relatedLocations"] = related.into();
    }
    result
}

fn location(site: &Site) -> Value {
    let mut region = json!({"startLine": site.line, "snippet": {"text": site.text}});
    if let Some(column) = site.column {
        region["startColumn"] = json!(column);
    }
    json!({"physicalLocation": {"artifactLocation": {"uri": uri(&site.file)}, "region": region}})
}

/// A path as a reference of RFC 3986: what is not plain is written as `%` and two digits.
fn uri(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    path.trim_start_matches("./").bytes().fold(String::new(), |uri, byte| {
        if plain(byte) { uri + char::from(byte).encode_utf8(&mut [0; 4]) } else { format!("{uri}%{byte:02X}") }
    })
}

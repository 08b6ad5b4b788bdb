//! A comparison in all its forms: it fulfils its schema, and nothing that a run is called comes through as markup.

use lowtide_model::{
    COMPARISON_SCHEMA, Change, ComparedRow, ComparedRun, Comparison, Matched, Measured, Quantity, Unit, Verdict,
};
use lowtide_report::{COMPARE_SCHEMA, TextOptions, compare_json, compare_markdown, compare_text};
use serde_json::Value;

use super::schema::check;

const HOSTILE: &str = "a\u{1b}[2J\n| b | <script>alert(1)</script> ![x](http://x.y/z) `c` @d \u{202e}";

fn comparison() -> Comparison {
    let measured = |value: f64| Some(Measured { value, ci95: Some([value - 1.0, value + 1.0]) });
    let run = ComparedRun {
        file: HOSTILE.to_owned(),
        command: HOSTILE.repeat(100_000),
        verdict: Verdict::Leak,
        duration_s: 60.0,
        steps: Some(100),
        processes: 2,
        ended: "broke off".to_owned(),
    };
    let row = ComparedRow {
        quantity: Quantity::Growth,
        unit: Unit::BytesPerStep,
        role: None,
        phase: None,
        resource: None,
        part: None,
        before: measured(4096.0),
        after: measured(0.0),
        difference: measured(-4096.0),
        differs: Some(true),
        smallest_seen: Some(2.0),
    };
    let unknown = ComparedRow {
        phase: Some(HOSTILE.to_owned()),
        before: None,
        difference: Some(Measured { value: f64::INFINITY, ci95: None }),
        differs: None,
        smallest_seen: None,
        ..row.clone()
    };
    let budget = ComparedRow {
        quantity: Quantity::Budget,
        unit: Unit::Bytes,
        role: Some("trainer".to_owned()),
        resource: Some("gpu0".to_owned()),
        part: Some(HOSTILE.to_owned()),
        ..row.clone()
    };
    Comparison {
        schema: COMPARISON_SCHEMA,
        outcome: Change::Fixed,
        summary: "fixed: the leak of 4 KiB per step is gone".to_owned(),
        price: "time per step: not known on both sides".to_owned(),
        budget: Some(format!("trainer at rest: 4 KiB less for {HOSTILE}")),
        matched: Matched { by: "step", until: Some(100.0) },
        before: vec![run.clone()],
        after: vec![run],
        rows: vec![row, unknown, budget],
        notes: vec![format!("before: {HOSTILE} breaks off")],
    }
}

#[test]
fn it_fulfils_its_schema() {
    let schema: Value = serde_json::from_str(COMPARE_SCHEMA).unwrap();
    let value: Value = serde_json::from_str(&compare_json(&comparison())).unwrap();
    check(&schema, &schema, &value, "comparison").unwrap();
    let mut broken = value.clone();
    broken["outcome"] = Value::from("mended");
    assert!(check(&schema, &schema, &broken, "broken").is_err());
}

#[test]
fn nothing_foreign_is_markup_or_control() {
    let options = TextOptions { verbose: true, ..TextOptions::default() };
    let (text, markdown) = (compare_text(&comparison(), &options), compare_markdown(&comparison()));
    for said in [&text, &markdown] {
        assert!(!said.contains('\u{1b}') && !said.contains('\u{202e}'), "{said}");
    }
    assert!(text.starts_with("fixed: the leak of 4 KiB per step is gone\n"), "{text}");
    assert!(markdown.len() < 10_000, "{}", markdown.len());
    // Outside of code there is no tag, no image and no mention; each row of a table has as many bars as its titles.
    for line in markdown.lines() {
        let outside: String = line.split("``").step_by(2).collect();
        assert!(!outside.contains("<script") && !outside.contains("![") && !outside.contains("@d"), "{line}");
    }
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    let tables: Vec<usize> = markdown.lines().filter(|line| line.starts_with('|')).map(bars).collect();
    assert_eq!(tables, [5, 5, 5, 5, 8, 8, 8, 8, 8], "{markdown}");
}

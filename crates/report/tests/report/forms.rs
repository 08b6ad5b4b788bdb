//! Markdown, `JUnit` and GitHub annotations of a run: what they say of expectations, and that nothing foreign is markup in them.

use lowtide_model::{ExpectationReport, ExpectationState, Report};
use lowtide_report::{Curve, github, html, json, junit, markdown, sarif};

use super::samples;

const HOSTILE: &str = "a\u{1b}[2J\n::error::x\n| b | <script>alert(1)</script> ]]> \" & `c` \u{202e}@d";

fn expectation(text: &str, state: ExpectationState, reason: &str) -> ExpectationReport {
    ExpectationReport { text: text.to_owned(), state, reason: reason.to_owned() }
}

fn expecting() -> Report {
    let mut report = samples::no_leak();
    report.expectations = vec![
        expectation("ram < 20 GiB", ExpectationState::Broken, "it was 21 GiB"),
        expectation("no-oom", ExpectationState::Unknown, "no limit was seen"),
        expectation("trainer.spike < 1 GiB", ExpectationState::Kept, "200 MiB"),
    ];
    report
}

#[test]
fn expectations_are_test_cases_and_annotations() {
    let xml = junit(&expecting());
    assert!(xml.contains("<testsuite name=\"lowtide\" tests=\"3\" failures=\"1\" skipped=\"1\" time="), "{xml}");
    assert!(xml.contains("name=\"ram &lt; 20 GiB\">\n      <failure message=\"it was 21 GiB\" type=\"expectation\"/>"), "{xml}");
    assert!(xml.contains("name=\"no-oom\">\n      <skipped message=\"no limit was seen\"/>"), "{xml}");
    assert!(xml.contains("name=\"trainer.spike &lt; 1 GiB\"/>"), "{xml}");
    let lines = github(&expecting());
    assert!(lines.contains("::error title=lowtide expectation::ram < 20 GiB is broken: it was 21 GiB\n"), "{lines}");
    assert!(lines.contains("::warning title=lowtide expectation::no-oom was not checked: no limit was seen\n"), "{lines}");
    assert!(!lines.contains("trainer.spike"), "{lines}");
    let text = markdown(&expecting());
    assert!(text.contains("| `ram < 20 GiB` | **broken** | it was 21 GiB |"), "{text}");
}

#[test]
fn each_line_that_adds_to_it_is_told() {
    let report = samples::held_by_two();
    let page = html(&report, &Curve::default(), &[]);
    for said in [markdown(&report), junit(&report), sarif(&report), json(&report), page] {
        let (first, other) = (said.find("outputs.append(out)"), said.find("outputs.append(logits)"));
        assert!(first.is_some() && first < other, "{said}");
        assert_eq!(
            said.contains("self.seen[step]"),
            !said.starts_with("<?xml"),
            "JUnit has no place for what grew beside it: {said}"
        );
    }
    let sarif: serde_json::Value = serde_json::from_str(&sarif(&report)).unwrap();
    let related = &sarif["runs"][0]["results"][0]["relatedLocations"][0]["physicalLocation"];
    assert_eq!(
        (&related["region"]["startLine"], &related["artifactLocation"]["uri"]),
        (&12.into(), &"/home/me/evaluate.py".into())
    );
}

#[test]
fn markdown_answers_first() {
    insta::assert_snapshot!("markdown_held", markdown(&samples::held()));
    insta::assert_snapshot!("markdown_no_leak", markdown(&samples::no_leak()));
}

#[test]
fn nothing_foreign_is_markup_or_control() {
    for (name, mut report) in samples::all() {
        let foreign = HOSTILE.repeat(if name == "leak" { 100_000 } else { 1 });
        report.run.command.clone_from(&foreign);
        report.warnings.push(foreign.clone());
        report.expectations.push(expectation(&foreign, ExpectationState::Broken, &foreign));
        for finding in &mut report.findings {
            finding.text.clone_from(&foreign);
            finding.evidence.push(foreign.clone());
            if let Some(process) = &mut finding.process {
                process.name.clone_from(&foreign);
            }
            for site in finding.site.iter_mut().chain(&mut finding.sites) {
                (site.file, site.text) = (foreign.clone(), foreign.clone());
            }
        }
        let (text, xml, lines) = (markdown(&report), junit(&report), github(&report));
        for said in [&text, &xml, &lines] {
            assert!(!said.contains('\u{1b}'), "{name}: {said}");
            assert!(said.len() < 200_000, "{name}: {}", said.len());
        }
        assert!(!text.contains('\u{202e}') && !xml.contains("<script"), "{name}");
        // Outside of code there is no tag but our own.
        let outside: String = text.split("``").step_by(2).collect();
        assert!(!outside.contains("<script"), "{name}: {text}");
        assert!(lines.lines().all(|line| line.starts_with("::")), "{name}");
        // What is foreign begins no line of its own.
        assert!(lines.lines().all(|line| !line.starts_with("::error::x")), "{name}: {lines}");
    }
}

//! Names that want to do harm, in every form that a report or a comparison has.

use lowtide_model::{Class, ExpectationReport, ExpectationState, Finding, Report, Site};
use lowtide_report::{Curve, TextOptions, github, html, json, junit, markdown, sarif, text};

use super::samples;

/// Clears a screen, rings, turns the direction of writing, hides letters, and wants to be markup or a workflow command.
const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{1b}[2J\u{9b}31m\u{7}\r\n::error::x\u{202e}\u{2066}\u{200b}\u{feff}\u{2028}]]>&\"'`|@all https://x.invalid";

fn hostile(name: &str) -> Report {
    let mut report = samples::held();
    report.run.command = name.to_owned();
    report.run.host = name.to_owned();
    report.summary = name.to_owned();
    report.warnings.push(name.to_owned());
    report.blind_spots.push(name.to_owned());
    report.limits[0].path = name.to_owned();
    for process in &mut report.processes {
        process.name = name.to_owned();
    }
    let expectation = |state| ExpectationReport { text: name.to_owned(), state, reason: name.to_owned() };
    report.expectations = vec![expectation(ExpectationState::Broken), expectation(ExpectationState::Unknown)];
    let mut source = Finding::new(Class::Source, "ram", name);
    source.cause = Some("LT103".to_owned());
    report.findings.push(source);
    for finding in &mut report.findings {
        finding.text = name.to_owned();
        finding.evidence = vec![name.to_owned()];
        (finding.why, finding.fix, finding.phase) = (Some(name.to_owned()), Some(name.to_owned()), Some(name.to_owned()));
        finding.site = Some(Site { file: name.to_owned(), line: 1, column: None, text: name.to_owned() });
        if let Some(process) = &mut finding.process {
            process.name = name.to_owned();
        }
        if let Some(holder) = &mut finding.holder {
            (holder.name, holder.path) = (name.to_owned(), vec![name.to_owned()]);
        }
    }
    report
}

fn forms(report: &Report) -> Vec<(&'static str, String)> {
    vec![
        ("text", text(report, &TextOptions { verbose: true, ..TextOptions::default() })),
        ("json", json(report)),
        ("html", html(report, &Curve::default(), &[])),
        ("markdown", markdown(report)),
        ("sarif", sarif(report)),
        ("junit", junit(report)),
        ("github", github(report)),
    ]
}

#[test]
fn nothing_acts_or_hides_in_any_form() {
    let report = hostile(HOSTILE);
    let lines_before = github(&hostile("x")).lines().count();
    for (form, out) in forms(&report) {
        let acts = |c: char| c.is_control() && c != '\n' && !(c == '\t' && form == "junit");
        assert!(!out.contains(acts), "{form}: {out:?}");
        assert!(!out.contains(['\u{202e}', '\u{2066}', '\u{200b}', '\u{feff}', '\u{2028}']), "{form}: {out:?}");
        match form {
            // The page's own scripts stand behind the foreign text, and images it has none.
            "html" => assert!(!out.contains("<img") && !out.contains("</script><"), "{form}"),
            "markdown" => {
                // Without its backtick, code is told from text by every second one.
                let out = markdown(&hostile(&HOSTILE.replace('`', "")));
                let bare = out.split('`').step_by(2).collect::<String>();
                assert!(!bare.contains("<img") && !bare.contains("@all") && !bare.contains("https://x"), "{bare}");
            }
            "junit" => assert!(!out.contains("<img") && !out.contains("]]>"), "{form}: {out}"),
            "github" => assert_eq!(out.lines().count(), lines_before, "{out}"),
            "json" | "sarif" => assert!(serde_json::from_str::<serde_json::Value>(&out).is_ok(), "{form}"),
            _ => {}
        }
        if form == "json" {
            let value: serde_json::Value = serde_json::from_str(&out).expect("it is JSON");
            // What programs read is what there is.
            assert_eq!(value["summary"], HOSTILE);
        }
    }
}

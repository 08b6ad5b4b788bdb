//! The report as Markdown, for an issue or a pull request: the answer first, what it rests on folded away.

pub(crate) mod pieces;

use std::fmt::Write;

use lowtide_model::{Bytes, Class, ExpectationReport, ExpectationState, Finding, Rate, Report, RoleReport};

use crate::text::words;
use pieces::{code, plain, table};

/// The most rows of a table: an issue that is longer is not read, and some hosts refuse it.
const MOST: usize = 50;

/// The report as Markdown that GitHub and GitLab show; nothing that a run or a file is called becomes markup.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let verdict = report.verdict.words();
    let sources: Vec<&Finding> = report.findings.iter().filter(|finding| finding.class == Class::Source).collect();
    // Of source alone there is no run to judge.
    let judged = report.duration_s > 0.0 || sources.is_empty();
    let mut out = if judged {
        format!("**lowtide: {verdict}**\n\n{}\n", plain(&report.summary))
    } else {
        format!("**lowtide: {} in source**\n", words::pieces(sources.len() as u64, "finding", "findings"))
    };
    answer(&mut out, report);
    section(&mut out, expectations(&report.expectations));
    section(&mut out, source(&sources));
    section(&mut out, roles(&report.roles));
    let rest = rest(report);
    if !rest.is_empty() {
        let _ = write!(out, "\n<details><summary>what it rests on</summary>\n\n{rest}\n</details>\n");
    }
    out
}

fn section(out: &mut String, text: String) {
    if !text.is_empty() {
        out.push('\n');
        out.push_str(&text);
    }
}

/// Where, what, who holds it, which line, and when memory ends.
fn answer(out: &mut String, report: &Report) {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |name: &str, text: String| rows.push(vec![name.to_owned(), text]);
    if let Some(leak) = report.leak() {
        if let Some(process) = &leak.process {
            let pid = if process.pid > 0 { format!(", pid {}", process.pid) } else { String::new() };
            let phase = leak.phase.as_ref().map_or(String::new(), |phase| format!(", in {}", plain(phase)));
            let name = if process.name.is_empty() { String::new() } else { format!(" {}", code(&process.name)) };
            row("where", format!("{}{pid}{name}{phase}", plain(&process.role_label)));
        }
        row("what", plain(&leak.text));
        if let Some(holder) = &leak.holder {
            let items = holder.length.map_or(String::new(), |[before, now]| format!(", {before} to {now} items"));
            row("held", format!("{} ({}{items})", code(&holder.name), plain(&holder.kind)));
        }
        if let Some(site) = &leak.site {
            let cause = leak.cause.as_ref().map_or(String::new(), |cause| format!(" {}", plain(cause)));
            row("line", format!("{} {}{cause}", code(&format!("{}:{}", site.file, site.line)), code(site.text.trim())));
        }
        for site in &leak.sites {
            row("and", format!("{} {}", code(&format!("{}:{}", site.file, site.line)), code(site.text.trim())));
        }
        for (name, text) in [("why", &leak.why), ("fix", &leak.fix)] {
            if let Some(text) = text {
                row(name, plain(text));
            }
        }
        for other in &leak.beside {
            let line = other.site.as_ref().map_or(String::new(), |site| {
                format!(": {} {}", code(&format!("{}:{}", site.file, site.line)), code(site.text.trim()))
            });
            let cause = other.cause.as_ref().map_or(String::new(), |cause| format!(" {}", plain(cause)));
            let share = words::percent(other.holder.explains);
            row(
                "beside",
                format!("{} ({}), {share} of the growth{line}{cause}", code(&other.holder.name), plain(&other.holder.kind)),
            );
        }
    }
    for kill in report.findings.iter().filter(|finding| finding.is_kill()) {
        row("killed", plain(&kill.text));
    }
    if let Some([low, middle, high]) = report.forecast().and_then(|oom| oom.seconds) {
        let limit = report.forecast().map_or(String::new(), |oom| format!("{} ({})", Bytes(oom.limit_bytes), plain(&oom.limit)));
        row("memory ends in", format!("{} ({} to {}): limit {limit}", words::span(middle), words::span(low), words::span(high)));
    }
    if !report.run.command.is_empty() {
        row("run", format!("{} {}", code(&report.run.command), plain(&report.run.ended)));
    }
    if !rows.is_empty() {
        section(out, table(&["", ""], rows));
    }
}

fn expectations(all: &[ExpectationReport]) -> String {
    let rows = all.iter().take(MOST).map(|one| {
        let state = match one.state {
            ExpectationState::Kept => "kept",
            ExpectationState::Broken => "**broken**",
            ExpectationState::Unknown => "not checked",
        };
        vec![code(&one.text), state.to_owned(), plain(&one.reason)]
    });
    if all.is_empty() { String::new() } else { table(&["expected", "", ""], rows) }
}

fn source(findings: &[&Finding]) -> String {
    let rows = findings.iter().take(MOST).map(|finding| {
        let place = finding.site.as_ref().map_or(String::new(), |site| code(&format!("{}:{}", site.file, site.line)));
        let fix = finding.fix.as_deref().map_or(String::new(), plain);
        vec![place, finding.cause.as_deref().map_or(String::new(), plain), plain(&crate::sentence(finding)), fix]
    });
    if findings.is_empty() {
        return String::new();
    }
    let more = findings.len().saturating_sub(MOST);
    table(&["line", "cause", "", "fix"], rows) + &if more > 0 { format!("\nand {more} more\n") } else { String::new() }
}

fn roles(all: &[RoleReport]) -> String {
    let size = |bytes: u64| Bytes(bytes).to_string();
    let rows = all.iter().map(|role| {
        let growth = role.growth.map_or_else(|| "-".to_owned(), |rate| format!("{} per minute", Rate(60.0 * rate)));
        vec![
            plain(&role.label),
            role.count.to_string(),
            size(role.floor_bytes),
            size(role.peak_bytes),
            size(role.spike_bytes),
            growth,
        ]
    });
    if all.is_empty() { String::new() } else { table(&["memory", ">processes", ">floor", ">peak", ">spike", ">growth"], rows) }
}

/// Proof, side findings, what was weighed, what could not be seen: one line each.
fn rest(report: &Report) -> String {
    let mut out = String::new();
    let head = report.leak().map(std::ptr::from_ref);
    let proof = report.leak().into_iter().flat_map(|leak| &leak.evidence).map(|text| ("proof", text.clone()));
    let beside = report.findings.iter().filter(|finding| Some(std::ptr::from_ref(*finding)) != head);
    let also = beside.filter(|f| f.class != Class::Source && !f.is_kill()).map(|finding| ("also", finding.text.clone()));
    let weighed = report.hypotheses.iter().map(|one| {
        let state = one.state.words();
        ("weighed", format!("{}: {state}; {}", one.name, one.evidence))
    });
    let blind = report.blind_spots.iter().map(|spot| ("not seen", spot.clone()));
    let warned = report.warnings.iter().map(|text| ("note", text.clone()));
    for (name, text) in proof.chain(also).chain(weighed).chain(blind).chain(warned).take(MOST) {
        let _ = writeln!(out, "- {name}: {}", plain(&text));
    }
    out
}

//! What the template is given: the text report's pieces and, beside them, what only a page has room for.

use lowtide_model::{Bytes, Class, Finding, HypothesisState, Report, Verdict};
use minijinja::{Value, context};

use super::{Context, verdict_words};
use crate::curve::{Card, Curve, LoggedCurve, Row, SORTS};
use crate::text::page::{Block, Page, Span, Style};
use crate::text::{budgets, epochs, gpus, head, logged, nodes, phases, snapshots, tables, words};

/// What stands folded up below the answer: it is long, so that the curve would not be on the first screen.
const DETAILS: [&str; 3] = ["proof", "saw", "run"];
/// Rows of the curve's table.
const SAMPLES: usize = 48;
/// Series of a log that have a table each.
const MOST_LOGGED: usize = 16;

pub fn values(report: &Report, curve: &Curve, sources: &[Context]) -> Value {
    let (class, mark, word) = verdict_words(report.verdict);
    let shown = if report.run.command.is_empty() { &report.run.source } else { &report.run.command };
    if report.run.source == "check" {
        let none = report.findings.is_empty();
        return context! {
            title => format!("lowtide check: {}", report.summary),
            subject => "check",
            verdict => context! {
                class => if none { "fine" } else { "likely" },
                mark => if none { "✓" } else { "△" },
                word => if none { "NOTHING FOUND" } else { "FOUND" },
                answer => &report.summary,
            },
            patterns => report.findings.iter().map(|finding| pattern(finding, sources)).collect::<Vec<_>>(),
            footer => footer(report),
        };
    }
    let mut head = entries(report);
    let answer = head.first().and_then(|first| first.lines.first()).map_or_else(String::new, |line| words_of(line));
    if let Some(first) = head.first_mut() {
        first.lines.remove(0);
        // What stood beside the verdict says what was seen.
        first.label = "seen".to_owned();
        first.style = "";
    }
    // A log has nothing beside its verdict.
    head.retain(|entry| entry.lines.iter().any(|line| !words_of(line).is_empty()));
    let (more, head): (Vec<Entry>, Vec<Entry>) = head.into_iter().partition(|entry| DETAILS.contains(&entry.label.as_str()));
    context! {
        title => format!("{word}: {shown}"),
        subject => shown,
        facts => facts(report),
        verdict => context! { class, mark, word, answer },
        head => head.iter().map(Entry::value).collect::<Vec<_>>(),
        more => more.iter().map(Entry::value).collect::<Vec<_>>(),
        more_title => more_title(report, &more),
        curve => curve.is_drawn(),
        curve_title => if curve.logged.is_empty() { "Memory over time" } else { "The file's numbers" },
        curve_label => label(report, curve),
        curve_note => note(curve),
        samples => samples(curve),
        sections => sections(report),
        limits => limits(report),
        holders => holders(report),
        sites => sites(report, sources),
        weighed => weighed(report),
        findings => report.findings.iter().map(|finding| context! {
            class => class_words(finding.class), text => head::beside(finding), evidence => &finding.evidence,
        }).collect::<Vec<_>>(),
        blind_spots => &report.blind_spots,
        warnings => &report.warnings,
        cost => cost(report),
        footer => footer(report),
    }
}

/// Whether a run was watched; a log and a snapshot are read.
fn watched(report: &Report) -> bool {
    report.sampling.ticks > 0 && report.logged.is_empty()
}

/// A label and what stands beside it.
struct Entry {
    label: String,
    style: &'static str,
    /// It is a line of source.
    code: bool,
    lines: Vec<Vec<Span>>,
}

impl Entry {
    fn value(&self) -> Value {
        let lines: Vec<Vec<Value>> = self.lines.iter().map(|line| spans(line)).collect();
        context! { label => &self.label, style => self.style, code => self.code, lines => lines }
    }
}

/// What is folded up, and how much could not be seen: that belongs to every verdict.
fn more_title(report: &Report, more: &[Entry]) -> String {
    let proof = if more.iter().any(|entry| entry.label == "proof") { "The proof, and how" } else { "How" };
    let blind = report.blind_spots.len() as u64;
    let unseen =
        if blind > 0 { format!("; {} could not be seen", words::pieces(blind, "thing", "things")) } else { String::new() };
    let done = if watched(report) { "watched" } else { "read" };
    format!("{proof} it was {done}{unseen}")
}

/// The first lines of the text report, label by label.
fn entries(report: &Report) -> Vec<Entry> {
    let blocks = Page::blocks(|page| {
        head::verdict(page, report);
        head::blame(page, report, true);
        head::end_of_memory(page, report);
        head::also(page, report, true);
        head::expectations(page, report);
        head::seen(page, report, false);
    });
    let mut all: Vec<Entry> = Vec::new();
    for block in blocks {
        let Block::Line((style, label), body) = block else { continue };
        let label = label.trim();
        match all.last_mut() {
            Some(last) if label.is_empty() => last.lines.push(body),
            _ => {
                all.push(Entry { label: label.to_owned(), style: style_class(style), code: label == "line", lines: vec![body] });
            }
        }
    }
    all
}

fn spans(line: &[Span]) -> Vec<Value> {
    line.iter().map(|(style, text)| context! { style => style_class(*style), text => text.trim() }).collect()
}

fn words_of(line: &[Span]) -> String {
    line.iter().map(|(_, text)| text.trim()).collect::<Vec<_>>().join(" ")
}

fn style_class(style: Style) -> &'static str {
    match style {
        Style::Plain => "plain",
        Style::Bold => "bold",
        Style::Dim => "dim",
        Style::Red => "red",
        Style::Yellow => "yellow",
        Style::Green => "green",
        Style::Cyan => "cyan",
    }
}

/// The tables of the text report, with all rows that are kept.
fn sections(report: &Report) -> Vec<Value> {
    let section = |id: &str, title: &str, intro: &str, write: &dyn Fn(&mut Page)| {
        // Whoever is read the page is told the tables of a section apart.
        let name = |at: usize| if at == 0 { title.to_owned() } else { format!("{title}, {}", at + 1) };
        let blocks: Vec<Value> =
            Page::blocks(write).into_iter().enumerate().map(|(at, block)| laid_out(block, &name(at))).collect();
        (!blocks.is_empty()).then(|| context! { id => id, title => title, intro => intro, blocks => blocks })
    };
    let all = [
        section("tree", "Processes", "→ is the one to watch; equal ones stand in one row.", &|page| {
            tables::processes(page, report, false);
        }),
        section(
            "budget",
            "Budget by role",
            "Floor: what it comes back down to. Spike: the highest rise above it that came back.",
            &|page| {
                tables::roles(page, report);
            },
        ),
        section("gpus", "GPUs", "Held: all that PyTorch's allocator has. Outside: what the driver counts beside it.", &|page| {
            gpus::table(page, report, true);
        }),
        section("phases", "Phases", "", &|page| phases::table(page, report, true)),
        section("budgets", "What memory is for", "", &|page| budgets::table(page, report, true)),
        section(
            "epochs",
            "Epochs and rounds",
            "Delta: the floor less the one of the row before. Live: live bytes of the C heap at its end less those at its beginning.",
            &|page| {
                epochs::table(page, report, true);
            },
        ),
        section("nodes", "Federated nodes", "", &|page| nodes::table(page, report, true)),
        section("snapshots", "GPU memory by line", "", &|page| snapshots::tables(page, &report.snapshots, true)),
        section("logged", "Numbers in the file", "", &|page| logged::table(page, &report.logged, true)),
    ];
    all.into_iter().flatten().collect()
}

fn laid_out(block: Block, name: &str) -> Value {
    match block {
        Block::Line((_, label), body) => {
            context! { label => label.trim(), spans => spans(&body) }
        }
        Block::Table(columns, rows) => {
            let cells = |cells: Vec<String>| -> Vec<Value> {
                cells.into_iter().zip(&columns).map(|(cell, column)| laid_out_cell(&cell, column.1)).collect()
            };
            let rows: Vec<Value> =
                rows.into_iter().map(|(style, row)| context! { style => style_class(style), cells => cells(row) }).collect();
            let columns: Vec<Value> = columns.iter().map(|(title, right)| context! { title => title, right => right }).collect();
            context! { name => name, columns => columns, rows => rows }
        }
    }
}

/// Branches of a tree become indentation; their lines are for a grid of characters.
fn laid_out_cell(cell: &str, right: bool) -> Value {
    let bare = cell.trim_start_matches(['│', '├', '└', ' ']);
    let depth = if right { 0 } else { cell[..cell.len() - bare.len()].chars().count() / 2 };
    context! { text => if bare == "->" { "→" } else { bare }, right => right, depth => depth }
}

fn limits(report: &Report) -> Vec<Value> {
    let one = |limit: &lowtide_model::LimitReport| {
        let share = if limit.bytes > 0 { limit.used as f64 / limit.bytes as f64 } else { 0.0 };
        context! {
            name => &limit.name, path => &limit.path, used => Bytes(limit.used).to_string(), bytes => Bytes(limit.bytes).to_string(),
            percent => words::percent(share), width => format!("{:.1}", (100.0 * share).clamp(0.0, 100.0)),
        }
    };
    report.limits.iter().map(one).collect()
}

/// Who holds what grows, each once: processes, their threads and their pipes have one holder.
fn holders(report: &Report) -> Vec<Value> {
    let mut told = Vec::new();
    let findings = report.findings.iter().filter(|finding| {
        let way = finding.holder.as_ref().map(|holder| (&holder.name, &holder.path));
        let new = !told.contains(&way);
        told.push(way);
        new
    });
    findings.filter_map(holder).collect()
}

/// What grows, who holds it, and the way to it.
fn holder(finding: &Finding) -> Option<Value> {
    let holder = finding.holder.as_ref()?;
    let items = holder.length.map_or(String::new(), |[before, now]| format!("{before} to {now} items, "));
    let bytes = words::signed(holder.bytes_delta as f64);
    let rows = finding.objects.iter().map(|object| {
        let about = if object.device.is_empty() {
            String::new()
        } else {
            format!(
                "{} {:?} {}{}",
                object.dtype,
                object.shape,
                object.device,
                if object.grad_fn { ", with its graph" } else { "" }
            )
        };
        (
            Style::Plain,
            vec![object.kind.clone(), about, format!("{:+}", object.count_delta), words::signed(object.bytes_delta as f64)],
        )
    });
    let columns = [("type", false), ("of a tensor", false), ("more of them", true), ("more bytes", true)];
    let table = Block::Table(columns.map(|(title, right)| (title.to_owned(), right)).to_vec(), rows.collect());
    let name = format!("What became more in {}", holder.name);
    let objects: Vec<Value> = if finding.objects.is_empty() { Vec::new() } else { vec![laid_out(table, &name)] };
    Some(context! {
        name => &holder.name, kind => &holder.kind, path => &holder.path, objects => objects,
        text => format!("{items}{bytes} in {}; explains {} of the growth", words::span(holder.seconds), words::percent(holder.explains)),
    })
}

/// Lines of source that findings name, each once, with what stands around them.
fn sites(report: &Report, sources: &[Context]) -> Vec<Value> {
    let mut told: Vec<(&str, u32)> = Vec::new();
    let mut all = Vec::new();
    for finding in &report.findings {
        for (site, is_first) in finding.lines().zip(std::iter::once(finding.site.is_some()).chain(std::iter::repeat(false))) {
            // A place without its text is in the head already.
            if site.text.is_empty() && !sources.iter().any(|context| context.file == site.file && context.line == site.line) {
                continue;
            }
            if told.contains(&(site.file.as_str(), site.line)) {
                continue;
            }
            told.push((&site.file, site.line));
            let said = [&finding.why, &finding.fix].into_iter().flatten().cloned().collect::<Vec<_>>().join(" → ");
            let (cause, note) =
                if is_first { (finding.cause.as_deref().unwrap_or_default(), said) } else { ("", "adds to the same".to_owned()) };
            all.push(context! { place => place(site), cause => cause, lines => code(site, sources), note => note });
        }
    }
    all
}

fn place(site: &lowtide_model::Site) -> String {
    let column = site.column.map_or(String::new(), |column| format!(":{column}"));
    format!("{}:{}{column}", site.file, site.line)
}

fn code(site: &lowtide_model::Site, sources: &[Context]) -> Vec<Value> {
    let found = sources.iter().find(|context| context.file == site.file && context.line == site.line);
    let Some(found) = found else {
        return vec![context! { number => site.line, text => &site.text, here => true }];
    };
    let numbers = found.first..;
    numbers
        .zip(&found.lines)
        .map(|(number, text)| context! { number => number, text => text, here => number == site.line })
        .collect()
}

fn pattern(finding: &Finding, sources: &[Context]) -> Value {
    context! {
        cause => &finding.cause, text => &finding.text, evidence => &finding.evidence, why => &finding.why, fix => &finding.fix,
        place => finding.site.as_ref().map_or(String::new(), place),
        code => finding.site.as_ref().map(|site| code(site, sources)),
    }
}

fn weighed(report: &Report) -> Vec<Value> {
    let one = |hypothesis: &lowtide_model::Hypothesis| {
        let (class, mark) = match hypothesis.state {
            HypothesisState::Holds => ("holds", "●"),
            HypothesisState::RuledOut => ("ruled", "○"),
            HypothesisState::Open => ("undecided", "◐"),
        };
        let state = hypothesis.state.words();
        context! { class, mark, state, name => &hypothesis.name, evidence => &hypothesis.evidence, action => &hypothesis.action }
    };
    report.hypotheses.iter().map(one).collect()
}

fn class_words(class: Class) -> &'static str {
    match class {
        Class::Leak => "leak",
        Class::BoundedGrowth => "bounded growth",
        Class::AllocatorRetention => "allocator retention",
        Class::GpuReservedGrowth => "GPU reserved growth",
        Class::Spikes => "spikes",
        Class::Sawtooth => "sawtooth",
        Class::Overhead => "overhead",
        Class::FileCache => "file cache",
        Class::Oom => "out of memory",
        Class::Expectation => "expectation",
        Class::Source => "source",
    }
}

fn cost(report: &Report) -> Vec<(&'static str, String)> {
    let (cost, sampling) = (&report.cost, &report.sampling);
    if !watched(report) {
        return Vec::new();
    }
    let mut rows = vec![
        ("watched for", words::span(report.duration_s)),
        ("measurements", format!("{}, every {}", sampling.ticks, words::step(sampling.interval_s))),
    ];
    if cost.core_share > 0.0 {
        rows.push(("processor", format!("{} of a core", words::percent(cost.core_share))));
    }
    if cost.recorder_rss_bytes > 0 {
        rows.push(("lowtide's own memory", Bytes(cost.recorder_rss_bytes).to_string()));
    }
    if sampling.rollup_reads > 0 {
        let longest = words::three_digits(cost.longest_read_ms);
        rows.push(("reads of smaps_rollup", format!("{}, the longest {longest} ms", sampling.rollup_reads)));
    }
    let stops: Vec<String> = cost.stops_ms.iter().take(16).map(|ms| words::three_digits(*ms)).collect();
    if !stops.is_empty() {
        let more = if cost.stops_ms.len() > stops.len() { ", ..." } else { "" };
        rows.push(("stops of the run", format!("{} ({}{more} ms)", cost.stops_ms.len(), stops.join(", "))));
    }
    if cost.looks > 0 {
        rows.push(("looks into processes", format!("{}, held still for {} in all", cost.looks, words::step(cost.held_seconds))));
    }
    rows
}

/// Host and time, in few words.
fn facts(report: &Report) -> String {
    let mut parts = Vec::new();
    if !report.run.host.is_empty() {
        parts.push(report.run.host.clone());
    }
    if report.run.started_unix_s > 0.0 {
        parts.push(day(report.run.started_unix_s));
    }
    parts.join(" · ")
}

/// `2026-11-28 21:05 UTC`, by the civil calendar.
fn day(unix_s: f64) -> String {
    let seconds = unix_s.clamp(0.0, 4e11) as i64;
    let (year, month, date) = lowtide_model::civil(seconds / 86_400);
    let rest = seconds % 86_400;
    format!("{year:04}-{month:02}-{date:02} {:02}:{:02} UTC", rest / 3600, rest % 3600 / 60)
}

/// What the curve shows, for those who do not see it.
fn label(report: &Report, curve: &Curve) -> String {
    if !curve.logged.is_empty() {
        let names: Vec<&str> = curve.logged.iter().take(8).map(|one| one.name.as_str()).collect();
        return format!("Numbers of the file: {}. {}", names.join(", "), report.summary);
    }
    let sizes = || curve.rows.iter().map(Row::tree);
    let (first, most, last) = (sizes().next().unwrap_or(0), sizes().max().unwrap_or(0), sizes().next_back().unwrap_or(0));
    let verdict = match report.verdict {
        Verdict::Leak => "The low-water line rises",
        Verdict::LikelyLeak => "The low-water line rises as far as was seen",
        Verdict::NoLeak => "The low-water line does not rise for ever",
        Verdict::Undecided => "Whether the low-water line rises is not told yet",
    };
    format!(
        "Memory over {}: {} at the beginning, {} at most, {} at the end. {verdict}.",
        words::span(report.duration_s),
        Bytes(first),
        Bytes(most),
        Bytes(last)
    )
}

fn note(curve: &Curve) -> String {
    let mut notes = Vec::new();
    if let Some(pid) = curve.phases_of.filter(|_| !curve.phases.is_empty()) {
        notes.push(format!("Phases are those of pid {pid}."));
    }
    if curve.left_out > 0 {
        notes.push(format!("{} short phases, processes or stops are left out of the picture.", curve.left_out));
    }
    if !curve.gaps.is_empty() {
        notes.push(format!("Measurements are missing {}.", words::times(curve.gaps.len() as u64)));
    }
    notes.join(" ")
}

/// The curves' numbers at times that lie evenly: of host memory, with the least that comes after each, and of each card.
fn samples(curve: &Curve) -> Vec<Value> {
    let mut tables = Vec::new();
    if curve.rows.len() > 1 {
        tables.push(of_host(curve));
    }
    tables.extend(curve.cards.iter().filter(|card| card.rows.len() > 1).map(of_card));
    tables.extend(curve.logged.iter().filter(|one| one.points.len() > 1).take(MOST_LOGGED).map(of_logged));
    tables
}

fn of_host(curve: &Curve) -> Value {
    let mut low = vec![0; curve.rows.len()];
    let mut least = u64::MAX;
    for (at, row) in curve.rows.iter().enumerate().rev() {
        least = least.min(row.tree());
        low[at] = least;
    }
    let sum = |row: &Row, sort: usize| row.sorts.iter().map(|sorts| sorts[sort]).fold(0, u64::saturating_add);
    let used: Vec<usize> = (0..SORTS.len()).filter(|sort| curve.rows.iter().any(|row| sum(row, *sort) > 0)).collect();
    let mut titles: Vec<&str> = used.iter().map(|sort| SORTS[*sort]).collect();
    titles.extend(["without files", "least from here on"]);
    let rows = curve.rows.iter().zip(low).map(|(row, low)| {
        let sorts = used.iter().map(|sort| sum(row, *sort));
        (row.t_s, sorts.chain([row.tree(), low]).collect())
    });
    context! { name => "Host memory as a table", titles => titles, rows => evenly(rows.collect()) }
}

fn of_card(card: &Card) -> Value {
    let name = format!("{} as a table", card.resource);
    let titles = ["live tensors", "held by PyTorch beside them", "outside of PyTorch", "others on the card"];
    let rows = card.rows.iter().map(|row| (row.t_s, vec![row.tensors, row.cached, row.outside, row.others]));
    context! { name => name, titles => titles, rows => evenly(rows.collect()) }
}

fn of_logged(one: &LoggedCurve) -> Value {
    let value = |v: f64| if one.percent { format!("{v:.1} %") } else { Bytes(v.max(0.0) as u64).to_string() };
    let at = |t: f64| if one.per == "second" { words::span(t) } else { format!("{} {t:.0}", one.per) };
    let mut low: Vec<f64> = one.points.iter().map(|point| point.1).collect();
    for at in (1..low.len()).rev() {
        low[at - 1] = low[at - 1].min(low[at]);
    }
    let every = one.points.len().div_ceil(SAMPLES);
    let rows = one.points.iter().zip(&low).step_by(every);
    let rows: Vec<Vec<String>> = rows.map(|((t, v), low)| vec![at(*t), value(*v), value(*low)]).collect();
    context! { name => format!("{} as a table", one.name), titles => ["value", "least from here on"], rows => rows }
}

/// Rows of sizes at about [`SAMPLES`] times, in words.
fn evenly(rows: Vec<(f64, Vec<u64>)>) -> Vec<Vec<String>> {
    let (start, end) = (rows.first().map_or(0.0, |row| row.0), rows.last().map_or(0.0, |row| row.0));
    let mut shown: Vec<Vec<String>> = Vec::new();
    let mut next_s = start;
    for (t_s, sizes) in rows {
        if t_s < next_s {
            continue;
        }
        next_s = t_s + (end - start) / SAMPLES as f64;
        shown.push(std::iter::once(words::span(t_s)).chain(sizes.into_iter().map(|size| Bytes(size).to_string())).collect());
    }
    shown
}

fn footer(report: &Report) -> String {
    let recording = report.run.recording.as_ref().map_or(String::new(), |file| format!(" · recording {file}"));
    format!("lowtide {}{recording}. This page is complete: it asks nothing of any network.", env!("CARGO_PKG_VERSION"))
}

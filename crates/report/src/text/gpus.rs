//! GPUs: what each has, and what each process of the run has of it.

use lowtide_model::{Bytes, GpuHolder, GpuPart, GpuPhase, GpuReport, Report};

use super::page::{Page, Style};
use super::table::{self, Column, Row};
use super::words;

/// Cards shown where not all was asked for.
const SHORT: usize = 4;

/// A table for each card that the run was on; none where it was on none.
pub fn table(page: &mut Page, report: &Report, verbose: bool) {
    let used: Vec<&GpuReport> = report.gpus.iter().filter(|gpu| verbose || !gpu.processes.is_empty()).collect();
    let shown = if verbose { used.len() } else { used.len().min(SHORT) };
    for gpu in &used[..shown] {
        page.blank();
        page.paragraph((Style::Bold, gpu.resource.clone()), gpu.resource.len() + 1, &[(Style::Plain, card(gpu))]);
        if !gpu.processes.is_empty() {
            write(page, &gpu.processes);
        }
        // Without a look at the objects it says no more than the table above.
        let told = |holder: &&GpuHolder| verbose || holder.budget.iter().any(|part| part.source == "objects");
        for holder in gpu.processes.iter().filter(told) {
            budget(page, &gpu.resource, holder);
            phases(page, &gpu.resource, holder);
        }
    }
    if shown < used.len() {
        let text = format!("{} left out; --verbose shows all", words::pieces((used.len() - shown) as u64, "GPU", "GPUs"));
        page.remark(text);
    }
}

/// `NVIDIA H100: 68.2 of 79.6 GiB used (86 %), the most 70.1 GiB, other processes 4.1 GiB`.
fn card(gpu: &GpuReport) -> String {
    let mut text = if gpu.name.is_empty() { "no driver tells of it".to_owned() } else { gpu.name.clone() };
    if gpu.emulated {
        text.push_str(" (EMULATED: there is no such card)");
    }
    if let Some(used) = gpu.used_bytes {
        text.push_str(&format!(": {} used", Bytes(used)));
        if let Some(total) = gpu.total_bytes.filter(|total| *total > 0) {
            text.push_str(&format!(" of {} ({})", Bytes(total), words::percent(used as f64 / total as f64)));
        }
        text.push_str(&format!(", the most {}", Bytes(gpu.peak_bytes)));
    }
    if let Some(others) = gpu.others_bytes.filter(|others| *others > 0) {
        text.push_str(&format!(", processes that are none of this run {}", Bytes(others)));
    }
    text
}

/// What a process has of a card, by what it is for.
fn budget(page: &mut Page, resource: &str, holder: &GpuHolder) {
    if holder.budget.is_empty() {
        return;
    }
    page.blank();
    let title = format!("what pid {} has of {resource} is for", holder.pid);
    let columns = [Column::number("bytes", 0), Column::text(&title, 20, 0), Column::text("told by", 7, 1)];
    let row = |part: &GpuPart| {
        let source = match part.source {
            "objects" => "objects, at the last look",
            "allocator" => "PyTorch's allocator",
            other => other,
        };
        let bytes = Bytes(part.bytes).to_string();
        let cells = vec![if part.at_peak { format!("+{bytes}") } else { bytes }, part.name.clone(), source.to_owned()];
        Row { style: if part.at_peak { Style::Dim } else { Style::Plain }, cells }
    };
    let rows: Vec<Row> = holder.budget.iter().map(row).collect();
    table::write(page, &columns, &rows);
}

/// The most of each phase, side by side.
fn phases(page: &mut Page, resource: &str, holder: &GpuHolder) {
    if holder.phases.is_empty() {
        return;
    }
    page.blank();
    let title = format!("pid {}, at the peak on {resource}", holder.pid);
    let mut columns = vec![Column::text(&title, 24, 0)];
    columns.extend(holder.phases.iter().map(|phase| Column::number(&phase.phase, 0)));
    let mut names: Vec<&str> = Vec::new();
    for part in holder.phases.iter().flat_map(|phase| &phase.parts).filter(|part| !part.at_peak) {
        if !names.contains(&part.name.as_str()) {
            names.push(&part.name);
        }
    }
    // What is left over comes last.
    let rest = holder.phases.iter().flat_map(|phase| &phase.parts).find(|part| part.at_peak);
    names.extend(rest.map(|part| part.name.as_str()));
    let size = |bytes: u64| if bytes == 0 { "-".to_owned() } else { Bytes(bytes).to_string() };
    let of = |phase: &GpuPhase, name: &str| phase.parts.iter().filter(|part| part.name == name).map(|part| part.bytes).sum();
    let row = |name: &str, cell: &dyn Fn(&GpuPhase) -> String| Row {
        style: Style::Plain,
        cells: std::iter::once(name.to_owned()).chain(holder.phases.iter().map(cell)).collect(),
    };
    let mut rows: Vec<Row> = names.iter().map(|name| row(name, &|phase| size(of(phase, name)))).collect();
    rows.push(row("all tensors", &|phase| format!("{}{}", if phase.at_least { ">= " } else { "" }, Bytes(phase.peak_bytes))));
    table::write(page, &columns, &rows);
}

/// A size of what a process has.
type Size = fn(&GpuHolder) -> Option<u64>;

fn write(page: &mut Page, holders: &[GpuHolder]) {
    let any = |of: Size| holders.iter().any(|holder| of(holder).is_some_and(|bytes| bytes > 0));
    let mut columns = vec![
        Column::text("process", 8, 0),
        Column::number("tensors", 0),
        Column::number("at most", 3),
        Column::number("held", 0),
    ];
    let optional: [(&str, Size, u8); 5] = [
        ("fragments", |holder| holder.fragments_bytes, 2),
        ("pools", |holder| holder.private_pools_bytes, 4),
        ("outside", |holder| holder.outside_bytes, 1),
        ("by driver", |holder| holder.used_bytes, 1),
        ("pinned in RAM", |holder| holder.pinned_host_bytes, 5),
    ];
    let optional: Vec<_> = optional.into_iter().filter(|(_, of, _)| any(*of)).collect();
    columns.extend(optional.iter().map(|(name, _, spare)| Column::number(name, *spare)));
    let size = |bytes: Option<u64>| bytes.map_or_else(|| "-".to_owned(), |bytes| Bytes(bytes).to_string());
    let row = |holder: &GpuHolder| {
        let rank = holder.rank.map_or(String::new(), |rank| format!("rank {rank}, "));
        let mut cells = vec![
            format!("{rank}pid {}", holder.pid),
            size(holder.allocated_bytes),
            size(holder.peak_allocated_bytes),
            size(holder.reserved_bytes),
        ];
        cells.extend(optional.iter().map(|(_, of, _)| size(of(holder))));
        Row { style: Style::Plain, cells }
    };
    let rows: Vec<Row> = holders.iter().map(row).collect();
    table::write(page, &columns, &rows);
}

//! A look as text for people.

use super::blame::Blame;
use super::look::{Look, seconds};
use super::owns;
use super::view::View;
use lowtide_pyheap::Ownership;

/// The answer.
pub fn text(look: &Look, view: &View, blame: &Blame, width: usize) -> String {
    let census = &look.census;
    let (python, threads) = (census.python(), look.threads());
    let (what, held) = match &look.core {
        Some(core) => (format!("{core}: "), String::new()),
        None => (String::new(), format!("; held still for {}", seconds(look.pause))),
    };
    let mut out = format!(
        "{what}pid {}: CPython {}, {threads} thread{}; {} objects, {}{held}\n",
        look.pid,
        python.version,
        if threads == 1 { "" } else { "s" },
        grouped(census.objects().len() as u64),
        bytes(view.bytes),
    );
    for note in &look.notes {
        out.push_str(&format!("note: {note}\n"));
    }
    if let Some(growth) = &view.growth {
        let between = look.between.as_ref().map_or_else(String::new, |between| format!(" (between the looks: {between})"));
        out.push_str(&format!("\ngrew, by holder{between}\n"));
        for (index, culprit) in blame.grown.iter().enumerate() {
            let holder = &culprit.holder;
            let len = holder.len.map_or_else(String::new, |(before, now)| format!("{before} -> {now} items"));
            let alike = if holder.alike > 1 { format!(" (one of {} alike)", holder.alike) } else { String::new() };
            out.push_str(&row(&[&signed(holder.bytes), &len], &format!("{}{alike}", holder.path), &[12, 24], width));
            owns(&mut out, view.grown_own.get(index), view.by_name, 38, width);
            blame.text_of_grown(&mut out, culprit, 38, width);
        }
        if blame.grown.is_empty() {
            out.push_str("  nothing\n");
        }
        out.push_str("\ngrew, by type\n");
        for kind in &growth.types {
            out.push_str(&row(&[&signed(kind.bytes), &format!("{:+} objects", kind.count)], &kind.name, &[12, 24], width));
        }
        if growth.types.is_empty() {
            out.push_str("  nothing\n");
        }
    }
    out.push_str("\nobjects, by type\n");
    for (name, total) in &view.types {
        out.push_str(&row(&[&bytes(total.bytes), &grouped(total.count)], name, &[12, 14], width));
    }
    left(&mut out, view.types_left);
    if !view.of_type.is_empty() {
        out.push_str("\nwho holds them (one way of many, with how many are held the same way)\n");
        for (path, total) in &view.of_type {
            out.push_str(&row(&[&bytes(total.bytes), &grouped(total.count)], &path.to_string(), &[12, 14], width));
        }
    }
    out.push_str("\ncontainers, by what they hold\n");
    for (index, (holder, culprit)) in view.holders.iter().zip(&blame.containers).enumerate() {
        let items = format!("{} items", grouped(holder.len));
        out.push_str(&row(&[&bytes(holder.held.bytes), &items], &holder.path.to_string(), &[12, 18], width));
        owns(&mut out, view.holders_own.get(index), view.by_name, 32, width);
        blame.text_of_container(&mut out, culprit, 32, width);
    }
    left(&mut out, view.holders_left);
    if let Some(memory) = &view.memory {
        super::memory::text(&mut out, memory, width);
    }
    out
}

/// What a holder owns, and who else has it.
fn owns(out: &mut String, own: Option<&Ownership>, asked: bool, indent: usize, width: usize) {
    for words in own.into_iter().flat_map(|own| owns::words(own, asked)) {
        out.push_str(&row(&[""], &words, &[indent], width));
    }
}

pub fn left(out: &mut String, count: usize) {
    if count > 0 {
        out.push_str(&format!("  and {} more: --all\n", grouped(count as u64)));
    }
}

/// Numbers aligned to the right, then words, broken where the line ends.
pub fn row(numbers: &[&str], words: &str, widths: &[usize], width: usize) -> String {
    let mut line = String::new();
    for (number, wide) in numbers.iter().zip(widths) {
        line.push_str(&format!("{number:>wide$}"));
    }
    line.push_str("  ");
    let indent = widths.iter().sum::<usize>() + 2;
    let room = width.saturating_sub(indent).max(40);
    let mut used = 0;
    for word in words.split_inclusive(" -> ") {
        let length = word.trim_end().chars().count();
        if used > 0 && used + length > room {
            line.truncate(line.trim_end().len());
            line.push('\n');
            line.push_str(&" ".repeat(indent + 2));
            used = 2;
        }
        line.push_str(word);
        used += word.chars().count();
    }
    line.push('\n');
    line
}

/// Thousands, separated.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && index % 3 == first {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if value < 10.0 { format!("{value:.1} {}", UNITS[unit]) } else { format!("{value:.0} {}", UNITS[unit]) }
}

fn signed(number: i64) -> String {
    format!("{}{}", if number < 0 { "-" } else { "+" }, bytes(number.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!((grouped(7), grouped(1234), grouped(1_234_567)), ("7".into(), "1,234".into(), "1,234,567".into()));
        assert_eq!((bytes(1023), bytes(1024), bytes(1 << 20)), ("1023 B".into(), "1.0 KiB".into(), "1.0 MiB".into()));
        assert_eq!(bytes(15 << 30), "15 GiB");
        assert_eq!((signed(-2048), signed(0)), ("-2.0 KiB".into(), "+0 B".into()));
    }

    #[test]
    fn long_paths_are_broken_between_steps() {
        let words = "module train -> trainer: Trainer -> .history_of_everything: list -> [0]: Tensor";
        let text = row(&["1 B"], words, &[6], 60);
        assert_eq!(text, "   1 B  module train -> trainer: Trainer ->\n          .history_of_everything: list -> [0]: Tensor\n");
    }
}

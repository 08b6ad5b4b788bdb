//! What a process has of a card, in two lines: the largest parts of it, and the most of each phase.

use lowtide_model::{Bytes, GpuHolder, GpuPart};

/// Parts that are named.
const NAMED: usize = 4;

/// The lines; none where nothing is known of it.
pub fn lines(holder: &GpuHolder) -> Vec<String> {
    let mut parts: Vec<&GpuPart> = holder.budget.iter().filter(|part| !part.at_peak).collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
    let mut named: Vec<String> =
        parts.iter().take(NAMED).map(|part| format!("{} {}", Bytes(part.bytes), start(&part.name))).collect();
    let rest: u64 = parts.iter().skip(NAMED).map(|part| part.bytes).fold(0, u64::saturating_add);
    if rest > 0 {
        named.push(format!("{} more", Bytes(rest)));
    }
    let phases: Vec<String> = holder
        .phases
        .iter()
        .map(|phase| {
            let more = if phase.at_least { " or more" } else { "" };
            format!("{} {}{more}", phase.phase, Bytes(phase.peak_bytes))
        })
        .collect();
    let line = |what: &str, of: Vec<String>| (!of.is_empty()).then(|| format!("pid {}{what}: {}", holder.pid, of.join(", ")));
    line("", named).into_iter().chain(line(", tensors at most", phases)).collect()
}

/// A name without what explains it.
fn start(name: &str) -> &str {
    name.split([',', '(']).next().unwrap_or(name).trim_end()
}

#[cfg(test)]
mod tests {
    use lowtide_model::GpuPhase;

    use super::*;

    #[test]
    fn the_largest_parts_and_the_most_of_each_phase() {
        let part = |name: &str, mib: u64| GpuPart {
            name: name.to_owned(),
            bytes: mib << 20,
            source: "objects",
            at_peak: name == "peak",
        };
        let phase = |name: &str, mib: u64, at_least| GpuPhase {
            phase: name.to_owned(),
            peak_bytes: mib << 20,
            at_least,
            parts: Vec::new(),
        };
        let names =
            ["gradients", "parameters", "optimizer state", "CUDA context and libraries, from the start", "free (cache)", "peak"];
        let holder = GpuHolder {
            pid: 7,
            budget: names.iter().enumerate().map(|(at, name)| part(name, 10 * (at as u64 + 1))).collect(),
            phases: vec![phase("train", 300, true), phase("validation", 500, false)],
            ..GpuHolder::default()
        };
        let expected = [
            "pid 7: 50 MiB free, 40 MiB CUDA context and libraries, 30 MiB optimizer state, 20 MiB parameters, 10 MiB more",
            "pid 7, tensors at most: train 300 MiB or more, validation 500 MiB",
        ];
        assert_eq!(lines(&holder), expected);
        assert!(lines(&GpuHolder::default()).is_empty());
    }
}

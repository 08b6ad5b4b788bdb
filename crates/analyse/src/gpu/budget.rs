//! What a process has on a GPU, by what it is for.
//!
//! Three sources, each of which knows a part: a look at the objects tells parameters, gradients, optimizer state and other tensors
//! that Python holds; PyTorch's allocator, at marks, all tensors that live, their peak, and what it keeps free; the driver the
//! rest. What the allocator has given out and no object explains is a row of its own, never dropped. The parts of the peak lie in what is
//! free else, and are not added.

use lowtide_model::{GpuPart, OnDevice};

use super::Inner;

/// Sources.
const OBJECTS: &str = "objects";
const ALLOCATOR: &str = "allocator";
const DRIVER: &str = "driver";

/// The rows of a device. `objects`: of all devices, where the process was looked into; `used`: what the driver counts.
pub fn budget(device: u32, inner: &Inner, used: Option<u64>, objects: &[OnDevice]) -> Vec<GpuPart> {
    let facts = inner.last;
    let mut rows: Vec<GpuPart> = Vec::new();
    let mut put = |name: &str, bytes: u64, source| {
        if bytes > 0 {
            rows.push(GpuPart { name: name.to_owned(), bytes, source, at_peak: false });
        }
    };
    let mut explained = 0_u64;
    for part in objects.iter().filter(|part| is_on(&part.device, device)) {
        // The allocator's number is of another moment: no more is explained than it has.
        let bytes = part.bytes.min(facts.allocated - explained);
        explained += bytes;
        put(&part.name, bytes, OBJECTS);
    }
    let rest = if explained > 0 { "tensors that no object explains (C++, or made since the look)" } else { "tensors that live" };
    put(rest, facts.allocated - explained, ALLOCATOR);
    let free = facts.reserved.saturating_sub(facts.allocated);
    let fragments = facts.inactive_split.unwrap_or(0).min(free);
    put("free between blocks in use (fragments)", fragments, ALLOCATOR);
    put("free, kept by the allocator (cache)", free - fragments, ALLOCATOR);
    if let Some(outside) = used.map(|used| used.saturating_sub(facts.reserved)) {
        let from_start = inner.outside.windows().first().map_or(outside, |window| window.low as u64).min(outside);
        put("CUDA context and libraries, from the start", from_start, DRIVER);
        put("outside the allocator, since", outside - from_start, DRIVER);
    }
    let more = facts.peak.saturating_sub(facts.allocated);
    if more > 0 {
        let name = "more at the peak (activations, temporaries)".to_owned();
        rows.push(GpuPart { name, bytes: more, source: ALLOCATOR, at_peak: true });
    }
    rows
}

/// Whether a device of torch's, `cuda:1` or `xpu:1 (fake)`, has this number.
fn is_on(name: &str, device: u32) -> bool {
    let name = name.strip_suffix(" (fake)").unwrap_or(name);
    name.split_once(':').is_some_and(|(_, number)| number.parse() == Ok(device))
}

#[cfg(test)]
mod tests {
    use lowtide_model::DeviceFacts;

    use super::*;

    const MIB: u64 = 1 << 20;

    fn told(used: Option<u64>, objects: &[(&str, &str, u64)]) -> Vec<(String, u64, &'static str, bool)> {
        let facts = DeviceFacts { allocated: 100 * MIB, reserved: 180 * MIB, peak: 150 * MIB, ..DeviceFacts::default() };
        let last = DeviceFacts { inactive_split: Some(30 * MIB), ..facts };
        let mut inner = Inner { last, ..Inner::default() };
        inner.outside.push(1.0, (400 * MIB) as f64);
        let objects: Vec<OnDevice> = objects
            .iter()
            .map(|(device, name, bytes)| OnDevice { device: (*device).to_owned(), name: (*name).to_owned(), bytes: *bytes })
            .collect();
        budget(0, &inner, used, &objects).into_iter().map(|row| (row.name, row.bytes / MIB, row.source, row.at_peak)).collect()
    }

    #[test]
    fn rows_at_rest_add_up_to_what_the_process_has() {
        let objects =
            [("cuda:0", "parameters", 40 * MIB), ("cuda:1", "parameters", 7 * MIB), ("cuda:0", "optimizer state", 50 * MIB)];
        let rows = told(Some(600 * MIB), &objects);
        let names: Vec<(&str, u64, &str)> =
            rows.iter().map(|row| (row.0.split(" (").next().unwrap_or(""), row.1, row.2)).collect();
        let expected = [
            ("parameters", 40, OBJECTS),
            ("optimizer state", 50, OBJECTS),
            ("tensors that no object explains", 10, ALLOCATOR),
            ("free between blocks in use", 30, ALLOCATOR),
            ("free, kept by the allocator", 50, ALLOCATOR),
            ("CUDA context and libraries, from the start", 400, DRIVER),
            ("outside the allocator, since", 20, DRIVER),
            ("more at the peak", 50, ALLOCATOR),
        ];
        assert_eq!(names, expected);
        let at_rest: u64 = rows.iter().filter(|row| !row.3).map(|row| row.1).sum();
        assert_eq!(at_rest, 600);
    }

    #[test]
    fn without_a_look_or_a_driver_what_is_left_adds_up_all_the_same() {
        let rows = told(None, &[]);
        assert_eq!(rows[0], ("tensors that live".to_owned(), 100, ALLOCATOR, false));
        assert_eq!(rows.iter().filter(|row| !row.3).map(|row| row.1).sum::<u64>(), 180);
        let more = told(None, &[("cuda:0 (fake)", "parameters", 900 * MIB), ("cuda:0", "gradients", 1)]);
        assert_eq!(more.iter().filter(|row| !row.3).map(|row| row.1).sum::<u64>(), 180, "objects of a later moment: {more:?}");
    }
}

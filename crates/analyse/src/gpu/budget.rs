//! What a process has on a GPU, by what it is for.
//!
//! Three sources, each of which knows a part: a look at the objects tells parameters, gradients, optimizer state and other tensors
//! that Python holds; PyTorch's allocator, at marks, all tensors that live, their peak, and what it keeps free; the driver the
//! rest. What the allocator has given out and no object explains is a row of its own, never dropped. The parts of the peak lie in what is
//! free else, and are not added.

use lowtide_model::{GpuPart, GpuPhase, OnDevice};

use super::Inner;

/// Sources.
const OBJECTS: &str = "objects";
const ALLOCATOR: &str = "allocator";
const DRIVER: &str = "driver";
/// The row of all tensors, where nothing more is known of them.
const TENSORS: &str = "tensors that live";
/// Those of all rows that a look at the objects leaves over.
const UNEXPLAINED: &str = "tensors that no object explains (C++, or made since the look)";
const TEMPORARY: &str = "activations, temporaries, and what no object explains";

/// What a part is called where others were not looked into: tensors in one, whatever they are for.
pub fn coarse(part: &GpuPart) -> &str {
    if part.source == OBJECTS || [UNEXPLAINED, TEMPORARY].contains(&part.name.as_str()) { TENSORS } else { &part.name }
}

/// Whether objects tell what a process has.
pub fn is_looked_into(parts: &[GpuPart]) -> bool {
    parts.iter().any(|part| part.source == OBJECTS)
}

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
    for (name, bytes) in within(facts.allocated, device, objects) {
        explained += bytes;
        put(name, bytes, OBJECTS);
    }
    let rest = if explained > 0 { UNEXPLAINED } else { TENSORS };
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

/// What objects have of a device. The allocator's number is of another moment: no more is explained than it has.
fn within(mut left: u64, device: u32, objects: &[OnDevice]) -> impl Iterator<Item = (&str, u64)> {
    objects.iter().filter(move |part| is_on(&part.device, device)).map(move |part| {
        let bytes = part.bytes.min(left);
        left -= bytes;
        (part.name.as_str(), bytes)
    })
}

/// The most of each phase, by what it was for: what objects had near that peak, where the process was looked into there, else what
/// they have at rest; the rest is what the phase makes and gives back.
pub fn phases<'a>(device: u32, inner: &Inner, objects: impl Fn(&str) -> &'a [OnDevice]) -> Vec<GpuPhase> {
    let phase = |(name, peak): (&str, super::phases::Peak)| {
        let mut left = peak.low;
        let mut parts: Vec<GpuPart> = Vec::new();
        for (name, bytes) in within(peak.low, device, objects(name)).filter(|(_, bytes)| *bytes > 0) {
            left -= bytes;
            parts.push(GpuPart { name: name.to_owned(), bytes, source: OBJECTS, at_peak: false });
        }
        if left > 0 {
            let rest = if parts.is_empty() { TENSORS } else { TEMPORARY };
            parts.push(GpuPart { name: rest.to_owned(), bytes: left, source: ALLOCATOR, at_peak: !parts.is_empty() });
        }
        GpuPhase { phase: name.to_owned(), peak_bytes: peak.low, at_least: !peak.is_exact(), parts }
    };
    let all = inner.phases.all().into_iter().filter(|(_, peak)| peak.low > 0);
    all.map(phase).collect()
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
    fn the_most_of_a_phase_is_parted_by_the_look_near_it() {
        let mut inner = Inner::default();
        let facts = |allocated, peak| DeviceFacts { allocated: allocated * MIB, peak: peak * MIB, ..DeviceFacts::default() };
        inner.phases.begin("train", &facts(90, 90));
        inner.phases.begin("validation", &facts(90, 150));
        inner.phases.end(&facts(90, 150));
        let part = |name: &str, bytes| OnDevice { device: "cuda:0".to_owned(), name: name.to_owned(), bytes: bytes * MIB };
        let rest = [part("parameters", 40), part("optimizer state", 50)];
        let near = [part("parameters", 40), part("tensors kept by autograd graphs", 55)];
        let told = phases(0, &inner, |phase| if phase == "train" { &near } else { &rest });
        let told: Vec<_> = told
            .iter()
            .map(|one| {
                let parts: Vec<_> =
                    one.parts.iter().map(|part| (part.name.split(',').next().unwrap_or(""), part.bytes / MIB)).collect();
                (one.phase.as_str(), one.peak_bytes / MIB, one.at_least, parts)
            })
            .collect();
        let train = vec![("parameters", 40), ("tensors kept by autograd graphs", 55), ("activations", 55)];
        let validation = vec![("parameters", 40), ("optimizer state", 50)];
        assert_eq!(told, [("train", 150, false, train), ("validation", 90, true, validation)]);
        assert_eq!(phases(1, &inner, |_| &rest)[0].parts[0].name, TENSORS, "nothing is known of that device");
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

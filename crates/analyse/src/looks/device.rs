//! Who holds what became more on a GPU, and which line asked for it.

use lowtide_model::{Bytes, Finding, HolderGrown, LineGrown, ObjectGrown, ProcId, Seconds};

use super::blame::blame;
use super::{BESIDE, MATERIAL, PLAUSIBLE};
use crate::analyser::Analyser;

/// Names who holds the tensors of a GPU that became more, by `rate` bytes per second.
pub fn complete_on_gpu(run: &Analyser, process: ProcId, rate: f64, finding: &mut Finding) {
    let Some(grown) = run.looks().by_process.get(&process) else { return };
    let share = |holder: &HolderGrown| holder.elsewhere as f64 / (rate * grown.seconds);
    let fits = |holder: &&HolderGrown| !holder.bounded && (MATERIAL..=PLAUSIBLE).contains(&share(holder));
    // Of those that hold one another, the one nearest to the tensors.
    let nearest = grown.holders.iter().filter(fits).max_by_key(|holder| (holder.elsewhere, holder.path.len()));
    let Some(holder) = nearest else { return };
    finding.evidence.push(format!(
        "two looks {} apart: {} grew by {} on the GPU, {:.0} % of what became more there in that time",
        Seconds(grown.seconds),
        holder.name,
        Bytes(holder.elsewhere.unsigned_abs()),
        100.0 * share(holder)
    ));
    blame(holder, grown, share(holder), finding);
    if let Some(held) = &mut finding.holder {
        held.bytes_delta = holder.elsewhere;
    }
}

/// Names the line that asked for what became more on a device, by `rate` bytes per second, where the allocator has history of it.
pub fn complete_by_history(run: &Analyser, process: ProcId, device: u32, rate: f64, finding: &mut Finding) {
    let Some((grown, held_us)) = run.looks().allocated.get(&(process, device)) else { return };
    let share = |bytes: i64| bytes as f64 / (rate * grown.seconds);
    let kept = if grown.files.is_empty() { String::new() } else { format!(" ({})", grown.files.join(", ")) };
    let mut said = vec![format!(
        "two snapshots of PyTorch's allocator {} apart, which held it up for {:.1} ms in all: {} more, {:.0} % of what became more in that \
         time{kept}",
        Seconds(grown.seconds),
        *held_us as f64 * 1e-3,
        Bytes(grown.bytes.unsigned_abs()),
        100.0 * share(grown.bytes)
    )];
    let worth = |line: &&LineGrown| share(line.bytes) >= BESIDE;
    for line in grown.lines.iter().filter(worth) {
        let by = match &line.site {
            Some(site) => format!("{}:{} in {}()", site.file.rsplit('/').next().unwrap_or(&site.file), site.line, line.function),
            None => "a place that nothing was recorded of".to_owned(),
        };
        let blocks = if line.blocks == 1 { "1 block".to_owned() } else { format!("{} blocks", line.blocks) };
        said.push(format!("{} of it in {blocks} were asked for by {by}", Bytes(line.bytes.unsigned_abs())));
    }
    // Behind how sure the growth is, and before all else.
    let at = finding.evidence.len().min(1);
    finding.evidence.splice(at..at, said);
    let Some(first) = grown.lines.iter().find(|line| line.site.is_some()) else { return };
    if finding.site.is_some() || !(MATERIAL..=PLAUSIBLE).contains(&share(first.bytes)) {
        return;
    }
    finding.site.clone_from(&first.site);
    finding.why = Some("it asks for the memory that stays in use; who keeps it may be another line".to_owned());
    finding.objects = vec![ObjectGrown {
        kind: "block of the CUDA caching allocator".to_owned(),
        device: format!("cuda:{device}"),
        count_delta: first.blocks,
        bytes_delta: first.bytes,
        ..ObjectGrown::default()
    }];
}

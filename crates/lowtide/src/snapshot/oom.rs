//! Out-of-memory errors of a trace: what was asked for, what there was, what lived.

use lowtide_ingest::snapshot::Snapshot;
use lowtide_ingest::snapshot::sums;
use lowtide_ingest::snapshot::timeline::{Oom, Timeline, Trace};
use lowtide_model::{Bytes, Class, Finding, Kind, OomForecast, Seconds};

use super::{finding, holders, most_of, place, resource, site};

/// A request for more than this share of all that the process could have is too large by itself.
const LARGE: f64 = 0.5;

/// The last error of the trace; those before it are counted.
pub fn findings(snapshot: &Snapshot, device: u32, trace: &Trace, timeline: &Timeline) -> Option<Finding> {
    let oom = timeline.ooms.last()?;
    let live = trace.live_at(&[oom.at.after]);
    let lines = sums::by_line(snapshot, &live[0]);
    let asker = oom.stack.and_then(|stack| snapshot.stacks.site(stack));
    let times = if timeline.ooms_seen > 1 { format!(" (the last of {} errors)", timeline.ooms_seen) } else { String::new() };
    let text = format!(
        "out of memory on GPU {device}{times}: {} asked for {}; {}{}",
        place(asker.as_ref()),
        Bytes(oom.requested),
        why(oom),
        most_of(&lines)
    );
    let mut found = finding(Class::Oom, Kind::GpuAllocated, device, text);
    found.site = asker.as_ref().and_then(site);
    found.evidence = holders(&lines, 5);
    if let (Some(start), Some(at)) =
        (timeline.start.time_us.or(timeline.lows.first().and_then(|low| low.time_us)), oom.at.time_us)
    {
        found.evidence.push(format!("{} into the trace", Seconds((at - start) as f64 / 1e6)));
    }
    found.oom = Some(numbers(device, oom, timeline.ooms_seen));
    Some(found)
}

/// Which of the things it was that run memory out.
fn why(oom: &Oom) -> String {
    let within = oom.at.reserved.saturating_sub(oom.at.allocated);
    let free = oom.device_free.map_or(String::new(), |free| format!("{} were free on the device, ", Bytes(free)));
    let had = format!("{free}{} reserved, {} of them allocated", Bytes(oom.at.reserved), Bytes(oom.at.allocated));
    let could = oom.at.reserved.saturating_add(oom.device_free.unwrap_or(0));
    if oom.requested as f64 > LARGE * could as f64 {
        format!("{had}: one request for more than half of all that this process could have")
    } else if within >= oom.requested {
        format!(
            "{had}: {} lay free inside the allocator, in pieces that were too small, or of another pool or stream (fragmentation)",
            Bytes(within)
        )
    } else {
        format!("{had}: what was allocated left no room")
    }
}

fn numbers(device: u32, oom: &Oom, errors: usize) -> OomForecast {
    let mut numbers = std::collections::BTreeMap::new();
    let named = [("requested", oom.requested), ("allocated", oom.at.allocated), ("reserved", oom.at.reserved)];
    numbers.extend(named.map(|(name, bytes)| (name.to_owned(), bytes as f64)));
    numbers.insert("oom_errors".to_owned(), errors as f64);
    let within = oom.at.reserved.saturating_sub(oom.at.allocated);
    numbers.insert("reserved_unallocated".to_owned(), within as f64);
    if let Some(free) = oom.device_free {
        numbers.insert("device_free".to_owned(), free as f64);
    }
    OomForecast {
        limit: resource(device),
        limit_bytes: oom.at.reserved.saturating_add(oom.device_free.unwrap_or(0)),
        seconds: None,
        steps: None,
        epoch: None,
        round: None,
        numbers,
    }
}

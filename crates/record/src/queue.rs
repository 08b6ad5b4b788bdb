//! The queue between the collector and the disk: bounded, and never waited for.

use std::collections::VecDeque;

use lowtide_model::{Event, MarkKind, Note, NoteKind};

/// Ticks are dropped beyond this many bytes: more than half an hour of 30 processes at 1 Hz, should the disk hang that long.
const MAX_TICK_BYTES: usize = 8 << 20;
/// Rare events (who lives, what went wrong) are dropped beyond this many.
const MAX_BYTES: usize = 9 << 20;

/// Events that wait for the disk.
#[derive(Default)]
pub(crate) struct Queue {
    events: VecDeque<Event>,
    bytes: usize,
    /// Notes of our own among them.
    notes: u64,
    gap: Option<Gap>,
    pub(crate) dropped: u64,
}

/// Events that were dropped since the last one that was taken in.
struct Gap {
    from_s: f64,
    until_s: f64,
    ticks: u64,
    others: u64,
}

impl Queue {
    /// Takes `event` in, or drops and counts it where the queue is full. A note marks where some are missing as soon as
    /// there is room again; `why` goes into it.
    pub(crate) fn push(&mut self, event: &Event, why: Option<&str>) {
        let size = size(event);
        let limit = if matches!(event, Event::Tick(_)) { MAX_TICK_BYTES } else { MAX_BYTES };
        if self.bytes + size > limit {
            self.drop(event);
            return;
        }
        if matches!(event, Event::Tick(_) | Event::End(_))
            && let Some(gap) = self.gap.take()
        {
            let note = Event::Note(gap.note(why));
            self.bytes += self::size(&note);
            self.events.push_back(note);
            self.notes += 1;
        }
        self.bytes += size;
        self.events.push_back(event.clone());
    }

    fn drop(&mut self, event: &Event) {
        self.dropped += 1;
        let last_s = self.gap.as_ref().map_or(0.0, |gap| gap.until_s);
        let t_s = if let Event::Tick(tick) = event { tick.t_s } else { last_s };
        let gap = self.gap.get_or_insert(Gap { from_s: t_s, until_s: t_s, ticks: 0, others: 0 });
        gap.until_s = t_s;
        if matches!(event, Event::Tick(_)) { gap.ticks += 1 } else { gap.others += 1 }
    }

    /// All that waits.
    pub(crate) fn take(&mut self) -> VecDeque<Event> {
        (self.bytes, self.notes) = (0, 0);
        std::mem::take(&mut self.events)
    }

    /// Those that wait, without notes of our own about what is missing.
    pub(crate) fn given(&self) -> u64 {
        self.events.len() as u64 - self.notes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

impl Gap {
    fn note(&self, why: Option<&str>) -> Note {
        let Self { from_s, until_s, ticks, others } = self;
        let others = if *others > 0 { format!(" and {others} other events") } else { String::new() };
        let why = why.map_or(String::new(), |why| format!(" ({why})"));
        let text =
            format!("{ticks} ticks{others} from {from_s:.0} s to {until_s:.0} s are missing: the disk did not take them{why}");
        Note { t_s: *from_s, kind: NoteKind::Gap, text, process: None }
    }
}

/// About how much memory an event takes, in bytes.
fn size(event: &Event) -> usize {
    let text = match event {
        Event::Start(run) => run.command.iter().map(|word| word.len() + 24).sum(),
        Event::Process(process) => process.name.len() + process.command.len() + process.role_reason.len(),
        Event::Tick(tick) => {
            let gpus = size_of_val(tick.gpus.as_slice()) + size_of_val(tick.gpu_users.as_slice());
            size_of_val(tick.procs.as_slice()) + size_of_val(tick.cgroups.as_slice()) + gpus
        }
        Event::Cgroup(cgroup) => cgroup.path.len(),
        Event::Gpu(gpu) => gpu.resource.len() + gpu.name.len() + gpu.uuid.len(),
        Event::GpuUser(user) => user.name.len(),
        Event::Note(note) => note.text.len(),
        Event::End(end) => end.reason.len(),
        Event::Mark(mark) => match &mark.what {
            MarkKind::On(text) | MarkKind::Off(text) => text.len(),
            MarkKind::Begin(scope) => scope.name.len(),
            _ => 0,
        },
        Event::Look(look) => {
            let holders = look.grown.iter().flat_map(|grown| &grown.holders);
            let held = holders.map(|holder| size_of_val(holder) + holder.path.iter().map(String::len).sum::<usize>());
            let lines = look.allocated.iter().map(|grown| size_of_val(grown) + size_of_val(grown.lines.as_slice()));
            let parts = look.budget.iter().flat_map(|budget| &budget.parts).map(|part| size_of_val(part) + part.name.len());
            held.sum::<usize>() + lines.sum::<usize>() + parts.sum::<usize>() + size_of_val(look.devices.as_slice())
        }
        Event::Exit(_) | Event::Cost(_) => 0,
    };
    size_of::<Event>() + text
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowtide_model::{Exit, ProcId, ProcSample, Tick};

    fn tick(t_s: f64) -> Event {
        Event::Tick(Tick { t_s, procs: vec![ProcSample::empty(ProcId(0)); 1000], ..Tick::default() })
    }

    #[test]
    fn drops_the_newest_ticks_keeps_rare_events_and_marks_the_gap() {
        let mut queue = Queue::default();
        let exit = Event::Exit(Exit { id: ProcId(3), t_s: 5.0 });
        for t in 0..200 {
            queue.push(&tick(t.into()), None);
        }
        queue.push(&exit, None);
        let taken = queue.take();
        let kept = taken.len() as u64 - 1;
        assert!(kept > 10 && queue.dropped == 200 - kept, "{kept}");
        assert_eq!(taken[0], tick(0.0));
        assert_eq!(taken.back(), Some(&exit));

        queue.push(&tick(200.0), Some("no space"));
        assert_eq!(queue.given(), 1, "our own note is none that could be lost");
        let after = queue.take();
        let Event::Note(note) = &after[0] else { panic!("{after:?}") };
        assert_eq!((note.kind, note.t_s), (NoteKind::Gap, kept as f64));
        assert!(note.text.contains("no space") && note.text.contains("to 199 s"), "{}", note.text);
        assert_eq!(after[1], tick(200.0));
        queue.push(&tick(201.0), None);
        assert_eq!(queue.take().len(), 1, "a gap is marked once");
    }
}

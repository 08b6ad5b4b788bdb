//! Events to bytes.

use lowtide_model::{
    AllocatedGrown, BudgetAt, Event, Exit, Gpu, GpuUser, Grown, HolderGrown, LineGrown, Look, MOST_ALLOCATED, MOST_ALSO,
    MOST_HOLDERS, MOST_LINES, MOST_OBJECTS, MOST_ON_DEVICES, MOST_PARTS, MOST_SITES, MOST_UNTOUCHED, Mark, Note, OnDevice,
    Process, RunEnd, RunInfo, Site, Tick, UntouchedData, WatchCost,
};

use crate::format::{Kind, MAX_PAYLOAD, keep_time, to_us};
use crate::frame;
use crate::tick::TickCodec;
use crate::varint;

/// Every so many ticks one is complete in itself, so that a damaged frame costs no more than these.
const KEY_TICKS: u32 = 64;
/// As [`KEY_TICKS`], for slow ticking. Microseconds.
const KEY_US: i64 = 60_000_000;
/// Of what watching costs, only the last word counts; it is written this often. Microseconds.
const COST_US: i64 = 60_000_000;
/// Longer command lines are cut: they are for people, and a frame has its bound.
const MAX_TEXT: usize = 16 << 10;
/// The most steps of the way to a holder, and the most bytes of each.
const MOST_STEPS: usize = 64;
const MAX_STEP: usize = 512;
/// The most words of a command that are kept.
const MAX_WORDS: usize = 1 << 10;

/// Turns events into frames, each against the ones before it.
pub(crate) struct Encoder {
    codec: TickCodec,
    /// Events of the run so far, those that compaction left out included.
    ordinal: u64,
    ticks_since_key: u32,
    key_us: i64,
    last_us: i64,
    /// The newest cost, not yet written.
    cost: Option<WatchCost>,
    cost_us: i64,
    payload: Vec<u8>,
}

impl Encoder {
    pub(crate) fn new() -> Self {
        Self {
            codec: TickCodec::default(),
            ordinal: 0,
            ticks_since_key: KEY_TICKS,
            key_us: 0,
            last_us: 0,
            cost: None,
            cost_us: i64::MIN,
            payload: Vec::new(),
        }
    }

    /// The time of the newest tick, microseconds after the run's start.
    pub(crate) fn last_us(&self) -> i64 {
        self.last_us
    }

    /// Makes the next tick a key tick: what was written before is not what the codec remembers.
    pub(crate) fn force_key(&mut self) {
        self.ticks_since_key = KEY_TICKS;
    }

    /// Appends what `event` is in the file; false where it cannot be kept.
    pub(crate) fn put(&mut self, out: &mut Vec<u8>, event: &Event) -> bool {
        match event {
            Event::Start(run) => self.json(out, Kind::Start, &tidy_run(run)),
            Event::Process(process) => self.json(out, Kind::Process, &tidy_process(process)),
            Event::Exit(exit) => self.json(out, Kind::Exit, &Exit { t_s: keep_time(exit.t_s), ..*exit }),
            Event::Cgroup(cgroup) => self.json(out, Kind::Cgroup, cgroup),
            Event::Gpu(gpu) => self.json(out, Kind::Gpu, &tidy_gpu(gpu)),
            Event::GpuUser(user) => self.json(out, Kind::GpuUser, &GpuUser { name: cut(&user.name), ..user.clone() }),
            Event::Tick(tick) => self.tick(out, tick),
            Event::Mark(mark) => self.json(out, Kind::Mark, &Mark { t_s: keep_time(mark.t_s), ..mark.clone() }),
            Event::Look(look) => self.json(out, Kind::Look, &tidy_look(look)),
            Event::Note(note) => {
                self.json(out, Kind::Note, &Note { t_s: keep_time(note.t_s), text: cut(&note.text), ..note.clone() })
            }
            Event::Cost(cost) => self.cost(out, cost),
            Event::End(end) => {
                self.flush_cost(out);
                self.json(out, Kind::End, &RunEnd { t_s: keep_time(end.t_s), reason: cut(&end.reason), ..end.clone() })
            }
        }
    }

    fn cost(&mut self, out: &mut Vec<u8>, cost: &WatchCost) -> bool {
        let finite = |value: f64| if value.is_finite() { value } else { 0.0 };
        let (cpu_s, longest_rollup_ms) = (finite(cost.cpu_s), finite(cost.longest_rollup_ms));
        self.cost = Some(WatchCost { t_s: keep_time(cost.t_s), cpu_s, longest_rollup_ms, ..*cost });
        let due = self.cost_us.saturating_add(COST_US);
        if to_us(cost.t_s) >= due { self.flush_cost(out) } else { true }
    }

    /// Writes the newest cost if it is not written yet.
    pub(crate) fn flush_cost(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(cost) = self.cost.take() else { return true };
        self.cost_us = to_us(cost.t_s);
        self.json(out, Kind::Cost, &cost)
    }

    fn json<T: serde::Serialize>(&mut self, out: &mut Vec<u8>, kind: Kind, value: &T) -> bool {
        match serde_json::to_vec(value) {
            Ok(payload) => self.frame(out, kind, &payload),
            Err(_) => false,
        }
    }

    fn frame(&mut self, out: &mut Vec<u8>, kind: Kind, payload: &[u8]) -> bool {
        let fits = payload.len() <= MAX_PAYLOAD;
        if fits {
            frame::put(out, kind, payload);
            self.ordinal += 1;
        }
        fits
    }

    /// Says that the events up to the `ordinal`th of the run are not in the file.
    pub(crate) fn skip_to(&mut self, out: &mut Vec<u8>, ordinal: u64) {
        if ordinal > self.ordinal {
            let mut payload = Vec::new();
            varint::put(&mut payload, ordinal - self.ordinal);
            frame::put(out, Kind::Thinned, &payload);
            self.ordinal = ordinal;
        }
    }

    fn tick(&mut self, out: &mut Vec<u8>, tick: &Tick) -> bool {
        self.last_us = to_us(tick.t_s);
        let key = self.ticks_since_key >= KEY_TICKS || self.last_us - self.key_us >= KEY_US;
        self.put_tick(out, tick, key)
    }

    /// As [`Encoder::put`] of a tick, for ticks that are far apart: keys go by their number alone.
    pub(crate) fn put_sparse_tick(&mut self, out: &mut Vec<u8>, tick: &Tick) -> bool {
        self.put_tick(out, tick, self.ticks_since_key >= KEY_TICKS)
    }

    fn put_tick(&mut self, out: &mut Vec<u8>, tick: &Tick, key: bool) -> bool {
        let mut payload = std::mem::take(&mut self.payload);
        payload.clear();
        let kind = if key {
            self.codec.put_key(&mut payload, self.ordinal, tick);
            self.ticks_since_key = 0;
            self.key_us = to_us(tick.t_s);
            Kind::KeyTick
        } else {
            self.codec.put_delta(&mut payload, tick);
            Kind::Tick
        };
        self.ticks_since_key += 1;
        let kept = self.frame(out, kind, &payload);
        if !kept {
            self.force_key();
        }
        self.payload = payload;
        kept
    }
}

fn tidy_run(run: &RunInfo) -> RunInfo {
    let finite = |value: f64| if value.is_finite() { value } else { 0.0 };
    let mut room = MAX_TEXT;
    let words = run.command.iter().take(MAX_WORDS).map(|word| {
        let kept = cut_to(word, room);
        room -= kept.len().min(room);
        kept
    });
    RunInfo {
        command: words.collect(),
        host: cut(&run.host),
        started_unix_s: finite(run.started_unix_s),
        interval_s: finite(run.interval_s),
        ..run.clone()
    }
}

fn tidy_process(process: &Process) -> Process {
    Process {
        start_s: keep_time(process.start_s),
        name: cut(&process.name),
        command: cut(&process.command),
        role_reason: cut(&process.role_reason),
        ..process.clone()
    }
}

fn tidy_gpu(gpu: &Gpu) -> Gpu {
    Gpu { resource: cut(&gpu.resource), name: cut(&gpu.name), uuid: cut(&gpu.uuid), ..gpu.clone() }
}

fn tidy_look(look: &Look) -> Look {
    let site = |site: &Site| Site { file: cut(&site.file), text: cut_to(&site.text, MAX_STEP), ..*site };
    let holder = |holder: &HolderGrown| HolderGrown {
        path: holder.path.iter().take(MOST_STEPS).map(|step| cut_to(step, MAX_STEP)).collect(),
        name: cut_to(&holder.name, MAX_STEP),
        opens: cut_to(&holder.opens, MAX_STEP),
        file: cut_to(&holder.file, MAX_STEP),
        kind: cut_to(&holder.kind, MAX_STEP),
        objects: holder.objects.iter().take(MOST_OBJECTS).cloned().collect(),
        why: cut_to(&holder.why, MAX_STEP),
        cause: cut_to(&holder.cause, MAX_STEP),
        site: holder.site.as_ref().map(site),
        sites: holder.sites.iter().take(MOST_SITES).map(site).collect(),
        also: holder.also.iter().take(MOST_ALSO).map(|other| cut_to(other, MAX_STEP)).collect(),
        ..*holder
    };
    let grown = look.grown.as_ref().map(|grown| Grown {
        seconds: keep_time(grown.seconds),
        holders: grown.holders.iter().take(MOST_HOLDERS).map(holder).collect(),
        ..grown.clone()
    });
    let line =
        |line: &LineGrown| LineGrown { site: line.site.as_ref().map(site), function: cut_to(&line.function, MAX_STEP), ..*line };
    let allocated = |grown: &AllocatedGrown| AllocatedGrown {
        seconds: keep_time(grown.seconds),
        lines: grown.lines.iter().take(MOST_LINES).map(line).collect(),
        files: grown.files.iter().take(2).map(|file| cut(file)).collect(),
        ..*grown
    };
    let allocated = look.allocated.iter().take(MOST_ALLOCATED).map(allocated).collect();
    let device = |on: &OnDevice| OnDevice { device: cut_to(&on.device, MAX_STEP), name: cut_to(&on.name, MAX_STEP), ..*on };
    let devices = look.devices.iter().take(MOST_ON_DEVICES).map(device).collect();
    let untouched =
        |data: &UntouchedData| UntouchedData { name: cut_to(&data.name, MAX_STEP), kind: cut_to(&data.kind, MAX_STEP), ..*data };
    let budget = look.budget.as_ref().map(|budget| BudgetAt {
        phase: cut_to(&budget.phase, MAX_STEP),
        parts: budget.parts.iter().take(MOST_PARTS).cloned().collect(),
        untouched: budget.untouched.iter().take(MOST_UNTOUCHED).map(untouched).collect(),
        ..*budget
    });
    Look { t_s: keep_time(look.t_s), grown, allocated, devices, budget, ..*look }
}

fn cut(text: &str) -> String {
    cut_to(text, MAX_TEXT)
}

/// The beginning of `text`, at most `most` bytes and an ellipsis.
fn cut_to(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    format!("{}\u{2026}", &text[..text.floor_char_boundary(most)])
}

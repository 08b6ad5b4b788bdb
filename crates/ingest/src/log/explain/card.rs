//! A card that ran out of memory: whether it was growth, fragmentation, another process, or one request too large, by the figures
//! of PyTorch's allocator. What a message lacks is not made up: without PyTorch's own figures nobody else is accused.

use lowtide_model::Kind;

use super::super::messages::{Family, Message};
use super::{GIB, Told, exact, percent};

/// What a CUDA context and its libraries take outside PyTorch's allocator; more is somebody else's.
const CONTEXT: f64 = 1.5 * GIB;
/// The share by which an amount of two decimals may differ from what it stands for.
const ROUNDED: f64 = 0.005;
/// What is reserved and not in use is worth a word from this share of what is in use.
const LOOSE: f64 = 0.05;

fn device_name(main: &Message) -> &'static str {
    match main.family {
        Family::Hip => "HIP",
        Family::Xpu => "XPU",
        Family::Npu => "NPU",
        _ => "CUDA",
    }
}

/// PyTorch's allocator on a card.
pub(super) fn device(main: &Message) -> Told {
    let number = |name: &str| main.number(name);
    let gpu = number("gpu").map_or("gpu0".to_owned(), |gpu| format!("gpu{gpu:.0}"));
    let name = device_name(main);
    let mut told = Told { resource: gpu.clone(), limit: gpu, confidence: 1.0, ..Told::default() };
    let total = number("total_capacity").unwrap_or(0.0);
    let allowed = number("allowed");
    told.limit_bytes = allowed.unwrap_or(total);
    if let Some(what) = main.words.get("vllm") {
        vllm(main, what, &mut told);
        return told;
    }
    if main.words.contains_key("cupy") {
        cupy(main, &mut told);
        return told;
    }
    let Some(request) = number("tried_to_allocate") else {
        let figures = Figures::of(main, 0.0, total, allowed);
        if figures.allocated.is_some() {
            told.text = format!("{name} ran out of memory on {}{}", told.resource, figures.held());
            figures.without_request(&mut told);
            return told;
        }
        let said = main.words.get("said").cloned().unwrap_or_else(|| format!("{name} out of memory"));
        told.text = format!("the card had no memory left: {said}, without figures");
        told.why = "the message has no figures, so that it cannot be told from growth, another process or a request too large"
            .to_owned();
        told.fix = "Watch the next run with `lowtide run`; `nvidia-smi` shows other processes on the card.".to_owned();
        if main.words.contains_key("unsure") {
            told.confidence = 0.3;
        }
        return told;
    };
    let figures = Figures::of(main, request, total, allowed);
    told.text =
        format!("{name} ran out of memory on {}: a request of {} failed{}", told.resource, exact(request), figures.held());
    figures.judge(&mut told);
    told
}

/// What vLLM says of the card that it was to take a share of.
fn vllm(main: &Message, what: &str, told: &mut Told) {
    let figure = |name: &str| main.number(name).map_or("?".to_owned(), exact);
    told.kind = Some(Kind::GpuAllocated);
    let (text, why) = match what {
        "free" => (
            format!(
                "vLLM did not start: it was to take {}, and {} of {} were free",
                figure("tried_to_allocate"),
                figure("free"),
                figure("total_capacity")
            ),
            "another process, or the training in this one, had the rest of the card already",
        ),
        "cache" => (
            format!(
                "vLLM did not start: its cache needs {} for one request, and {} are left for it",
                figure("tried_to_allocate"),
                figure("cache_available")
            ),
            "the model's weights and activations leave too little of vLLM's share of the card",
        ),
        _ => (
            "vLLM did not start: nothing of its share of the card was left for its cache".to_owned(),
            "the model's weights and activations, or other processes, take all of vLLM's share of the card",
        ),
    };
    told.text = text;
    told.why = why.to_owned();
    told.fix = "See who holds the card (`nvidia-smi`); then a larger `gpu_memory_utilization`, a shorter `max_model_len`, or more cards.".to_owned();
}

/// CuPy's pool, which tells what it has itself and nothing of the card.
fn cupy(main: &Message, told: &mut Told) {
    let figure = |name: &str| main.number(name).map_or("?".to_owned(), exact);
    told.kind = Some(Kind::GpuAllocated);
    told.text = format!("CuPy could not get {}; it held {}", figure("tried_to_allocate"), figure("allocated"));
    let wanted = main.number("tried_to_allocate").zip(main.number("allocated")).map(|(request, held)| request + held);
    told.why = match wanted.zip(main.number("allowed")) {
        Some((wanted, limit)) if wanted > limit => format!("the limit of its pool, {} (`set_limit`)", exact(limit)),
        _ => "the card had no more: PyTorch's cache in the same process and other processes have the rest".to_owned(),
    };
    told.fix =
        "See who holds the card (`nvidia-smi`); both caches of one process can be given back, CuPy's by `free_all_blocks()`."
            .to_owned();
}

/// The figures of such a message.
struct Figures {
    request: f64,
    total: f64,
    allowed: Option<f64>,
    free: Option<f64>,
    allocated: Option<f64>,
    /// Reserved by PyTorch, not allocated.
    unallocated: Option<f64>,
    pools: f64,
    /// Other processes on the card.
    others: f64,
    /// Of this process, outside PyTorch's allocator.
    outside: f64,
    /// Whether what is outside may be of other processes too.
    outside_unknown: bool,
}

impl Figures {
    fn of(main: &Message, request: f64, total: f64, allowed: Option<f64>) -> Self {
        let number = |name: &str| main.number(name);
        let (allocated, free) = (number("allocated"), number("free"));
        let unallocated =
            number("reserved_unallocated").or_else(|| Some((number("reserved")? - allocated.unwrap_or(0.0)).max(0.0)));
        let reserved = allocated.unwrap_or(0.0) + unallocated.unwrap_or(0.0);
        let listed: Vec<f64> = main
            .numbers
            .iter()
            .filter(|(name, _)| name.starts_with("process_") && name.ends_with("_in_use") && *name != "process_in_use")
            .map(|(_, value)| *value)
            .collect();
        let mut own = number("process_in_use");
        let mut others: f64 = listed.iter().sum();
        // Of a message that is cut what PyTorch holds is not known, and so not what others do.
        let whole = allocated.is_some() && unallocated.is_some();
        if own.is_none() && !whole {
            // Which of them is this one cannot be told.
            others = 0.0;
        } else if own.is_none() && !listed.is_empty() {
            // All processes are listed, this one too: the one whose memory PyTorch's fits into best.
            let fits = listed.iter().copied().filter(|used| *used >= 0.99 * reserved);
            own = fits.min_by(f64::total_cmp);
            others -= own.unwrap_or(0.0);
        }
        let (mut outside, mut outside_unknown) = (own.filter(|_| whole).map_or(0.0, |own| (own - reserved).max(0.0)), false);
        if let (true, Some(free)) = (total > 0.0, free) {
            let rest = (total - free - own.unwrap_or(0.0) - others).max(0.0);
            if own.is_some() {
                others += rest;
            } else if listed.is_empty() && whole {
                // An old message: what PyTorch has not reserved is of the context, of others, or both.
                outside = (total - free - reserved).max(0.0);
                outside_unknown = true;
            }
        }
        Self {
            request,
            total,
            allowed,
            free,
            allocated,
            unallocated,
            pools: number("private_pools").unwrap_or(0.0),
            others,
            outside,
            outside_unknown,
        }
    }

    fn held(&self) -> String {
        let mut parts = Vec::new();
        if let Some(allocated) = self.allocated {
            parts.push(format!("tensors held {}", exact(allocated)));
        }
        if let Some(unallocated) = self.unallocated {
            parts.push(format!("{} reserved by PyTorch but not in use", exact(unallocated)));
        }
        if let Some(free) = self.free {
            parts.push(format!("{} free", exact(free)));
        }
        let of = if self.total > 0.0 { format!(" of {}", exact(self.total)) } else { String::new() };
        match (parts.is_empty(), self.total > 0.0) {
            (false, _) => format!("; {}{of}", parts.join(", ")),
            (true, true) => format!("; the card has {}", exact(self.total)),
            (true, false) => String::new(),
        }
    }

    /// How much was asked for is missing: nothing but what was there can be told.
    fn without_request(&self, told: &mut Told) {
        let allocated = self.allocated.unwrap_or(0.0);
        told.kind = Some(Kind::GpuAllocated);
        told.confidence = 0.8;
        let pieces = self.unallocated.filter(|unallocated| *unallocated >= LOOSE * allocated).map_or(String::new(), |unallocated| {
            format!(
                " {} were reserved but not in use: a request of less than that failed for want of one piece that is large enough \
                 (fragmentation)",
                exact(unallocated)
            )
        });
        told.why = format!("the amount that was asked for is missing. Live tensors: {} were in use.{pieces}", exact(allocated));
        told.fix = "Give the whole message, or watch the next run with `lowtide run`.".to_owned();
    }

    fn judge(&self, told: &mut Told) {
        let card_free = self.free.unwrap_or(0.0);
        // What PyTorch may still take: of the card, or of what it is allowed.
        let within =
            self.allowed.map(|allowed| (allowed - self.allocated.unwrap_or(0.0) - self.unallocated.unwrap_or(0.0)).max(0.0));
        let free = within.map_or(card_free, |within| within.min(card_free));
        let unallocated = self.unallocated.unwrap_or(0.0);
        let allocated = self.allocated.unwrap_or(0.0);
        let request = exact(self.request);
        let foreign = self.others + if self.outside_unknown { (self.outside - CONTEXT).max(0.0) } else { 0.0 };
        let limit = self.allowed.unwrap_or(self.total);
        let at_its_limit = card_free >= self.request
            && self.allowed.is_some_and(|allowed| allocated + unallocated + self.request > allowed * (1.0 - ROUNDED));
        if limit > 0.0 && self.request > limit {
            told.kind = Some(Kind::GpuAllocated);
            told.why = format!("one request too large: {request} is more than the {} there are in all", exact(limit));
            told.fix = "Ask for less at once: a smaller batch, shorter sequences, the tensor in parts.".to_owned();
        } else if unallocated >= self.request && (unallocated > free || at_its_limit) {
            told.kind = Some(Kind::GpuReserved);
            told.cause = Some("LT507");
            let pools = if self.pools > 0.0 {
                format!("; {} of what was allocated lay in pools of their own (of graphs), which lend nothing", exact(self.pools))
            } else {
                String::new()
            };
            let more = if at_its_limit {
                format!(
                    ". More than {} it may not have (`set_per_process_memory_fraction`), though {} were free on the card",
                    exact(limit),
                    exact(card_free)
                )
            } else {
                String::new()
            };
            told.why = format!(
                "fragmentation: PyTorch had {} reserved and not in use, more than the {request} asked for, but in no single piece \
                 that is large enough{pools}{more}",
                exact(unallocated)
            );
            told.fix =
                "Pad to a few shapes and run the largest batch first; `max_split_size_mb` or `expandable_segments:True` in \
                        PYTORCH_CUDA_ALLOC_CONF help against pieces (the latter can hide a leak for a while)."
                    .to_owned();
        } else if let Some(allowed) = self.allowed.filter(|_| at_its_limit) {
            told.kind = Some(Kind::GpuAllocated);
            told.why = format!(
                "the process's own limit: it may have {} (`set_per_process_memory_fraction`), and {} were free on the card",
                exact(allowed),
                exact(card_free)
            );
            told.fix = "Raise the fraction if the card is this process's alone, else make the batch smaller.".to_owned();
        } else if free >= self.request {
            told.why = format!(
                "not the card as a whole: {} were free when {request} failed. A limit of the driver or of a partition (MIG, a quota), \
                 pieces too small, or another process that took and gave back memory at that moment",
                exact(free)
            );
            told.fix = "Look at the card while it runs (`nvidia-smi`), and whether the process may use all of it.".to_owned();
            told.confidence = 0.8;
        } else if foreign >= self.request - free && foreign >= 0.1 * self.total {
            told.kind = Some(Kind::GpuOutside);
            let who = if self.outside_unknown {
                "outside PyTorch (other processes, or libraries of this one)"
            } else {
                "of other processes"
            };
            told.why = format!(
                "another process: {} of {} ({}) were {who}; without them the {request} had fitted",
                exact(foreign),
                exact(self.total),
                percent(foreign, self.total)
            );
            told.fix =
                "Find who else uses the card (`nvidia-smi`; a run that hangs keeps its memory), or use another one.".to_owned();
        } else if !self.outside_unknown && self.outside > CONTEXT.max(0.2 * self.total) {
            told.kind = Some(Kind::GpuOutside);
            told.why = format!(
                "memory of this process outside PyTorch's allocator: {} of {} (context, NCCL, cuBLAS, other libraries)",
                exact(self.outside),
                exact(self.total)
            );
            told.fix =
                "Look for what allocates outside PyTorch: another framework in the same process, many contexts, NCCL's buffers."
                    .to_owned();
        } else if self.request > allocated && self.request > 0.25 * self.total && self.total > 0.0 {
            told.kind = Some(Kind::GpuAllocated);
            told.why = format!(
                "one request too large: {request} at once, {} of the card, where all tensors together hold {}",
                percent(self.request, self.total),
                exact(allocated)
            );
            told.fix = "Ask for less at once: a smaller batch, shorter sequences, the tensor in parts.".to_owned();
        } else if self.allocated.is_none() {
            told.why = "the figures that tell growth from fragmentation and other processes are missing".to_owned();
            told.fix = "Give the whole message, or watch the next run with `lowtide run`.".to_owned();
        } else {
            told.kind = Some(Kind::GpuAllocated);
            let spare = if self.unallocated.is_none() {
                " How much more PyTorch had reserved is missing, so that fragmentation is not ruled out.".to_owned()
            } else if unallocated + free >= self.request && unallocated > 0.0 {
                format!(
                    " {} reserved but not in use and {} free would together have been enough, but not as one piece.",
                    exact(unallocated),
                    exact(free)
                )
            } else {
                format!(
                    " Fragmentation is ruled out: only {} were reserved but not in use, less than the {request} asked for.",
                    exact(unallocated)
                )
            };
            let pools = if self.pools > 0.0 {
                format!(" {} of it in private pools (CUDA graphs).", exact(self.pools))
            } else {
                String::new()
            };
            let beyond = if self.total > 0.0 && allocated > self.total {
                " That is more than the card has: its driver put the rest into main memory, as it does on Windows."
            } else {
                ""
            };
            let share = if self.total > 0.0 { format!(" ({})", percent(allocated, self.total)) } else { String::new() };
            told.why = format!(
                "live tensors: {}{share} were in use.{beyond}{pools}{spare} Growth over time, or a model and batch that never fitted: one message \
                 cannot tell; when it came can (in the first steps: too large; after hours: growth)",
                exact(allocated)
            );
            told.fix = "If it came late, look for what is kept: `lowtide run` names it, `lowtide causes` has the usual ones (LT501, LT101). \
                        If it came at once: a smaller batch, gradient checkpointing, a smaller auxiliary batch."
                .to_owned();
        }
    }
}

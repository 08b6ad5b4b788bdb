//! What the words around a number say that it measures.

use crate::words::words;

/// Whose memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Whose {
    /// One process's.
    Process,
    /// The whole machine's: other programs are in it.
    Machine,
    /// A card's, as its driver counts it: other programs are in it.
    Card,
    /// PyTorch's allocator, on a card.
    Allocator,
    /// The words do not say.
    Unsaid,
}

/// What of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// What is in use.
    Used,
    /// What PyTorch's allocator holds, used or not: it never comes down by itself.
    Reserved,
    /// The most that was ever in use: it only rises.
    Peak,
}

/// What a name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Memory that is measured.
    Memory(Whose, What),
    /// A name of memory, but no amount in use; with the reason.
    Not(&'static str),
    /// Nothing of memory.
    Nothing,
}

/// Words that mean memory by themselves.
const MEMORY: [&str; 18] = [
    "ram",
    "rss",
    "uss",
    "pss",
    "mem",
    "memory",
    "vram",
    "hbm",
    "memusage",
    "memused",
    "maxrss",
    "hwm",
    "maxmem",
    "vmrss",
    "vmhwm",
    "resident",
    "workingset",
    "swap",
];
/// Words that mean memory beside a card's or an allocator's name.
const HELD: [&str; 5] = ["allocated", "reserved", "alloc", "cached", "active"];

/// What the words of a name mean; `unit` tells that a unit of memory stands at the number.
pub(super) fn meaning(name: &str, unit: bool) -> Meaning {
    let words = words(name);
    let has = |any: &[&str]| words.iter().any(|word| any.contains(&word.as_str()));
    let card = has(&["gpu", "cuda", "vram", "hbm", "hip", "xpu", "mps", "npu", "nvidia", "device"]);
    let held = has(&HELD);
    // A card's name alone will do for a number with a unit: `GPU 0: 3 GB`.
    let of_card = card && unit && (words.len() <= 2 || has(&["used", "usage", "util"]));
    if !(has(&MEMORY) || (held && (unit || card)) || of_card) {
        return Meaning::Nothing;
    }
    if has(&[
        "bandwidth",
        "throughput",
        "clock",
        "freq",
        "speed",
        "disk",
        "file",
        "network",
        "power",
        "temp",
        "temperature",
        "efficient",
        "bank",
        "loss",
        "size",
        "ratio",
    ]) && !has(&["rss", "resident"])
    {
        return Meaning::Nothing;
    }
    if has(&[
        "delta",
        "diff",
        "difference",
        "change",
        "increase",
        "increased",
        "growth",
        "grew",
        "leaked",
        "freed",
        "saved",
        "released",
        "requested",
        "request",
        "need",
        "needed",
        "needs",
        "estimated",
        "estimate",
        "expected",
    ]) {
        return Meaning::Not("a difference or an estimate, not what is in use");
    }
    // `allocated_bytes.all.allocated` of torch.cuda.memory_stats: all that ever was.
    let counted = words
        .windows(2)
        .any(|pair| matches!(pair[0].as_str(), "all" | "pool") && matches!(pair[1].as_str(), "allocated" | "freed"));
    if counted {
        return Meaning::Not("all that was ever allocated, not what is in use");
    }
    if has(&["pool"]) && has(&["small", "large"]) {
        return Meaning::Not("a part of what is in use, which stands beside it");
    }
    if has(&["free", "available", "avail", "left", "remaining", "unused", "headroom"]) {
        return Meaning::Not("what is left, not what is in use");
    }
    if has(&["total", "capacity", "limit", "budget", "threshold", "quota", "installed"])
        && !has(&["used", "usage", "allocated", "rss"])
    {
        return Meaning::Not("what there is, not what is in use");
    }
    if has(&["vms", "vsz", "vsize", "virt", "vmsize", "vmpeak", "vmdata"]) {
        return Meaning::Not("address space, not memory");
    }
    if has(&["mean", "avg", "average", "median"]) {
        return Meaning::Not("an average: it has no low tide");
    }
    let peak = has(&["peak", "max", "maximum", "highest", "hwm", "vmhwm", "maxrss", "maxmem", "high", "most"]);
    let reserved = has(&["reserved", "cached"]);
    let whose = match () {
        () if held && (card || !has(&["ram", "rss", "system", "host", "process"])) => Whose::Allocator,
        () if card => Whose::Card,
        // `system/rss_mb` is a process's all the same.
        () if has(&["rss", "uss", "pss", "vmrss", "maxrss", "hwm", "vmhwm"]) => Whose::Process,
        () if has(&["system", "host", "machine", "node", "sys", "swap"]) => Whose::Machine,
        () if has(&["resident", "process", "proc", "worker", "trainer"]) => Whose::Process,
        () => Whose::Unsaid,
    };
    let what = match () {
        () if peak => What::Peak,
        () if reserved => What::Reserved,
        () => What::Used,
    };
    Meaning::Memory(whose, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_memory() {
        for (name, whose, what) in [
            ("RAM", Whose::Unsaid, What::Used),
            ("rss_mb", Whose::Process, What::Used),
            ("VmRSS", Whose::Process, What::Used),
            ("Memory usage", Whose::Unsaid, What::Used),
            ("GPU mem", Whose::Card, What::Used),
            ("cuda memory allocated", Whose::Allocator, What::Used),
            ("reserved", Whose::Allocator, What::Reserved),
            ("max allocated", Whose::Allocator, What::Peak),
            ("max_mem", Whose::Unsaid, What::Peak),
            ("Max RSS", Whose::Process, What::Peak),
            ("system memory used", Whose::Machine, What::Used),
            ("peak_gpu_mem", Whose::Card, What::Peak),
            ("GPU", Whose::Card, What::Used),
            ("system/rss_mb", Whose::Process, What::Used),
            ("DeviceStatsMonitor.on_train_batch_start/allocated_bytes.all.current", Whose::Allocator, What::Used),
            ("reserved_bytes.all.current", Whose::Allocator, What::Reserved),
            ("allocated_bytes.all.peak", Whose::Allocator, What::Peak),
        ] {
            assert_eq!(meaning(name, true), Meaning::Memory(whose, what), "{name}");
        }
    }

    #[test]
    fn names_of_something_else() {
        for name in [
            "loss",
            "model size",
            "param",
            "frame",
            "program",
            "downloaded",
            "memory bandwidth",
            "batch",
            "dataset",
            "checkpoint",
        ] {
            assert_eq!(meaning(name, true), Meaning::Nothing, "{name}");
        }
        for name in [
            "free memory",
            "RAM total",
            "train_mem_cpu_alloc_delta",
            "available RAM",
            "gpu mem left",
            "allocated_bytes.all.allocated",
            "allocated_bytes.large_pool.current",
        ] {
            assert!(matches!(meaning(name, true), Meaning::Not(_)), "{name}");
        }
        assert_eq!(meaning("allocated", false), Meaning::Nothing, "without a unit it may be anything");
    }
}

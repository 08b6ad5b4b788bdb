//! What the words of a header say about a column: what it measures, of whom, in which unit.

use crate::words::{group_of, unit_of, words};

/// What a column is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// When.
    Time,
    /// Which process.
    Pid,
    /// Whose child.
    Ppid,
    /// Its command line.
    Command,
    /// A name: of the process, or of whatever the row is about.
    Name,
    /// Which process, by its number in a run of lowtide: unlike a pid it is never used again.
    Process,
    /// Its role, by lowtide's names.
    Role,
    /// Its rank.
    Rank,
    /// A measurement.
    Measure(Measure),
    /// Of no use here; with the reason where a reader may wonder.
    Unused(&'static str),
}

/// What is measured. The first ones are of a process, those from `Total` on of the machine, the last ones of a cgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Measure {
    Rss,
    Anon,
    File,
    Shmem,
    Swap,
    Pss,
    Uss,
    PssAnon,
    PssFile,
    PssShmem,
    PrivateDirty,
    Threads,
    Fds,
    Maps,
    Total,
    Available,
    Used,
    SystemShmem,
    Cached,
    SwapTotal,
    SwapUsed,
    DevShm,
    DevShmSize,
    OomKills,
    PsiFull,
    CgroupUsage,
    CgroupInactive,
    CgroupLimit,
}

/// What a measure is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    Process,
    Machine,
    Cgroup,
}

impl Measure {
    /// What it is of.
    pub(crate) fn whose(self) -> Whose {
        match self {
            _ if self >= Self::CgroupUsage => Whose::Cgroup,
            _ if self >= Self::Total => Whose::Machine,
            _ => Whose::Process,
        }
    }

    /// A count, not an amount of memory.
    pub(crate) fn is_count(self) -> bool {
        matches!(self, Self::Threads | Self::Fds | Self::Maps | Self::OomKills | Self::PsiFull)
    }

    /// Says how much memory a process has.
    pub(crate) fn is_memory(self) -> bool {
        matches!(self, Self::Rss | Self::Anon | Self::Pss | Self::Uss | Self::PssAnon)
    }
}

/// Where the unit of a column is from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unit {
    /// Bytes in one, as the header says.
    Named(f64),
    /// `MB` or `GB` in a header: decimal by its name, binary in what many tools write.
    Megabytes(f64),
    /// Nothing is said.
    Unsaid,
}

/// A column, told by its header.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    pub field: Field,
    pub unit: Unit,
    /// Words that are left: whose measurement it is, as `rank0` in `rank0_rss_mb`.
    pub group: String,
    /// The word `memory` and nothing more exact: what it measures is guessed.
    pub vague: bool,
}

/// How good a name is for a column of time; smaller is better.
pub(crate) fn time_rank(name: &str) -> Option<usize> {
    const NAMES: [&str; 16] = [
        "timestamp",
        "datetime",
        "t",
        "ts",
        "time",
        "elapsed",
        "walltime",
        "wall",
        "clock",
        "runtime",
        "date",
        "seconds",
        "secs",
        "sec",
        "uptime",
        "relative",
    ];
    // Words of durations: how long a step took is not when it was.
    const NOT: [&str; 16] = [
        "cpu", "user", "sys", "step", "load", "data", "gpu", "forward", "backward", "per", "iter", "batch", "delta", "train",
        "eval", "start",
    ];
    let words = words(name);
    if words.iter().any(|word| NOT.contains(&word.as_str())) {
        return None;
    }
    NAMES.iter().position(|known| words.iter().any(|word| word == known))
}

/// Tell what a column is by its name.
pub(crate) fn tell(name: &str) -> Told {
    // docker stats: `MEM USAGE / LIMIT`.
    let name = name.split_once(" / ").map_or(name, |(used, _)| used);
    let words = words(name);
    let unit = unit_of(&words);
    let unused = |why| Told { field: Field::Unused(why), unit, group: String::new(), vague: false };
    let has = |any: &[&str]| words.iter().any(|word| any.contains(&word.as_str()));
    if let Some(field) = name_field(&words) {
        return Told { field, unit, group: String::new(), vague: false };
    }
    if name.contains('%') || has(&["percent", "percentage", "pct", "perc", "ratio", "fraction"]) {
        return unused("a share, not an amount");
    }
    if name.contains("/s") || has(&["minflt", "majflt", "pgfault", "faults", "read", "write", "commit", "kbcommit"]) {
        return unused("");
    }
    if has(&["cgroup"]) {
        let measure = match () {
            () if has(&["inactive"]) => Measure::CgroupInactive,
            () if has(&["limit", "max"]) => Measure::CgroupLimit,
            () if has(&["usage", "current", "used"]) => Measure::CgroupUsage,
            () => return unused("a part of the cgroup's memory"),
        };
        return Told { field: Field::Measure(measure), unit, group: String::new(), vague: false };
    }
    if has(&["gpu", "cuda", "vram", "nvidia"]) {
        return unused("memory of a GPU");
    }
    if has(&["virtual", "vms", "vsz", "vsize", "virt", "vmsize"]) {
        return unused("address space, not memory");
    }
    if has(&["peak", "hwm", "maxrss", "vmhwm", "max", "min", "maximum", "high", "limit"]) {
        return unused("a highest or lowest value, which never comes back down");
    }
    let Some((measure, vague)) = measure_of(&words) else { return unused("") };
    Told { field: Field::Measure(measure), unit, group: group_of(&words), vague }
}

fn name_field(words: &[String]) -> Option<Field> {
    let joined = words.join("_");
    Some(match joined.as_str() {
        "pid" | "process_id" | "proc_pid" => Field::Pid,
        "ppid" | "parent" | "parent_pid" => Field::Ppid,
        "cmd" | "command" | "cmdline" | "args" | "command_line" => Field::Command,
        "name" | "comm" | "process" | "process_name" | "container" | "container_name" | "pod" | "worker" | "series"
        | "metric" => Field::Name,
        "process_index" => Field::Process,
        "role" => Field::Role,
        "rank" | "global_rank" => Field::Rank,
        _ => return None,
    })
}

/// What is measured, and whether that is a guess.
fn measure_of(words: &[String]) -> Option<(Measure, bool)> {
    use Measure as M;
    let has = |any: &[&str]| words.iter().any(|word| any.contains(&word.as_str()));
    let shared_memory = has(&["shmem", "shm", "vmshmem", "rssshmem"]);
    let anonymous = has(&["anon", "anonymous", "rssanon"]);
    let file = has(&["file", "rssfile"]);
    let machine = has(&["system", "sys", "host", "machine", "node", "total"]);
    let exact = |measure| Some((measure, false));
    if has(&["swap", "vmswap", "swpd"]) {
        return match () {
            () if has(&["total"]) => exact(M::SwapTotal),
            () if has(&["used"]) || machine => exact(M::SwapUsed),
            () if has(&["free", "cached"]) => None,
            () => exact(M::Swap),
        };
    }
    if has(&["oom"]) {
        return has(&["kills", "kill"]).then_some((M::OomKills, false));
    }
    if has(&["psi"]) {
        return (has(&["full"]) && has(&["us"])).then_some((M::PsiFull, false));
    }
    if has(&["pss"]) {
        return match () {
            () if anonymous => exact(M::PssAnon),
            () if file => exact(M::PssFile),
            () if shared_memory => exact(M::PssShmem),
            () => exact(M::Pss),
        };
    }
    if has(&["uss", "unique"]) {
        return exact(M::Uss);
    }
    if has(&["private"]) {
        return has(&["dirty"]).then_some((M::PrivateDirty, false));
    }
    if has(&["dev"]) && shared_memory {
        return exact(if has(&["size", "total"]) { M::DevShmSize } else { M::DevShm });
    }
    if anonymous && !machine {
        return exact(M::Anon);
    }
    if shared_memory {
        return exact(if machine { M::SystemShmem } else { M::Shmem });
    }
    if file && (has(&["rss", "bytes", "kb", "mb", "rssfile", "mem", "memory"]) || words.len() == 1) {
        return exact(M::File);
    }
    if has(&["rss", "resident", "vmrss", "res", "wset"])
        || (has(&["real"]) && words.len() > 1)
        || (has(&["working"]) && has(&["set"]))
    {
        return exact(M::Rss);
    }
    counts_and_machine(words)
}

fn counts_and_machine(words: &[String]) -> Option<(Measure, bool)> {
    use Measure as M;
    let has = |any: &[&str]| words.iter().any(|word| any.contains(&word.as_str()));
    let exact = |measure| Some((measure, false));
    if has(&["threads", "nlwp"]) {
        return exact(M::Threads);
    }
    if has(&["fds", "nfds"]) {
        return exact(M::Fds);
    }
    if has(&["maps"]) {
        return exact(M::Maps);
    }
    if has(&["kbavail", "memavailable", "available", "avail"]) {
        return exact(M::Available);
    }
    if has(&["kbmemused", "memused"]) {
        return exact(M::Used);
    }
    if has(&["cached", "kbcached"]) {
        return exact(M::Cached);
    }
    if has(&["free", "kbmemfree", "memfree", "buffers", "active", "inactive", "slab", "dirty", "text", "lib", "data", "shared"]) {
        return None;
    }
    let memory = has(&["memory", "mem", "ram", "memtotal"]);
    let machine = has(&["system", "sys", "host", "machine", "node"]);
    if has(&["total", "memtotal"]) && (memory || machine || words.len() <= 2) && !has(&["used", "usage"]) {
        return exact(M::Total);
    }
    if machine {
        return (memory || has(&["used"])).then_some((M::Used, !has(&["used"])));
    }
    if has(&["used"]) && words.len() <= 2 && !memory {
        return exact(M::Used);
    }
    memory.then_some((M::Rss, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(name: &str) -> (Measure, Unit, String) {
        let told = tell(name);
        match told.field {
            Field::Measure(measure) => (measure, told.unit, told.group),
            field => panic!("{name}: {field:?}"),
        }
    }

    #[test]
    fn tells_measure_unit_and_owner() {
        let mib = Unit::Named(1_048_576.0);
        let mb = Unit::Megabytes(1e6);
        let kib = Unit::Named(1024.0);
        for (name, expected, unit, group) in [
            ("rss_mb", Measure::Rss, mb, ""),
            ("RSS (MiB)", Measure::Rss, mib, ""),
            ("mem_bytes", Measure::Rss, Unit::Named(1.0), ""),
            ("VmRSS_kB", Measure::Rss, kib, ""),
            ("system/proc.memory.rssMB", Measure::Rss, mb, ""),
            ("rank0_rss_mb", Measure::Rss, mb, "rank0"),
            ("pss_anon", Measure::PssAnon, Unit::Unsaid, ""),
            ("rss_shmem", Measure::Shmem, Unit::Unsaid, ""),
            ("rss_file", Measure::File, Unit::Unsaid, ""),
            ("RssAnon", Measure::Anon, Unit::Unsaid, ""),
            ("anon_bytes", Measure::Anon, Unit::Named(1.0), ""),
            ("kbmemused", Measure::Used, kib, "kbmemused"),
            ("mem_real", Measure::Rss, Unit::Unsaid, ""),
            ("MEM USAGE / LIMIT", Measure::Rss, Unit::Unsaid, ""),
        ] {
            assert_eq!(measure(name), (expected, unit, group.to_owned()), "{name}");
        }
    }

    #[test]
    fn leaves_out_what_is_no_memory_in_use() {
        for name in ["cpu_percent", "%MEM", "VSZ", "gpu_mem_mb", "minflt/s", "peak_rss_mb", "loss", "epoch", "step", "lr"] {
            assert!(matches!(tell(name).field, Field::Unused(_)), "{name}");
        }
    }

    #[test]
    fn finds_time() {
        for name in ["t", "time_s", "timestamp", "Relative Time (Wall)", "elapsed_ms", "_runtime", "# Elapsed time"] {
            assert!(time_rank(name).is_some(), "{name}");
        }
        for name in ["step_time", "cpu_time", "data_load_time", "epoch", "loss"] {
            assert!(time_rank(name).is_none(), "{name}");
        }
    }
}

//! One explanation of an incident: who was killed, at which limit, who held the memory, and whether by what the
//! figures say it was growth, fragmentation, another process, or one request too large.

mod card;

use std::collections::BTreeMap;

use lowtide_model::{Bytes, Class, Finding, Kind, OomForecast, ProcessRef};

use super::incident::Incident;
use super::messages::{Family, Message};

const GIB: f64 = 1_073_741_824.0;
/// Messages and tasks shown.
const SHOWN: usize = 4;

/// What was concluded.
#[derive(Default)]
struct Told {
    /// The sentence.
    text: String,
    /// Why, by the figures.
    why: String,
    fix: String,
    cause: Option<&'static str>,
    kind: Option<Kind>,
    resource: String,
    limit: String,
    limit_bytes: f64,
    /// Killed by somebody, not an error of its own.
    killed: bool,
    confidence: f64,
}

/// An incident as a finding.
pub(super) fn finding(incident: &Incident) -> Finding {
    let main = incident.main();
    let told = match main.family {
        Family::Cuda | Family::Hip | Family::Xpu | Family::Npu => card::device(main),
        Family::Mps => apple(main),
        Family::Kernel | Family::KernelPart => kernel(main),
        _ => host(main),
    };
    let mut numbers = incident.numbers();
    add_tasks(&mut numbers, main);
    let (count_name, count) =
        if told.killed { ("oom_kills", kills(incident)) } else { ("oom_errors", incident.messages.len() as f64) };
    numbers.insert(count_name.to_owned(), count);
    let mut finding = Finding::new(Class::Oom, &told.resource, told.text);
    finding.confidence = told.confidence;
    finding.kind = told.kind;
    finding.cause = told.cause.map(str::to_owned);
    finding.why = (!told.why.is_empty()).then_some(told.why);
    finding.fix = (!told.fix.is_empty()).then_some(told.fix);
    finding.process = process(incident);
    finding.evidence = evidence(incident);
    finding.oom = Some(OomForecast {
        limit: told.limit,
        limit_bytes: told.limit_bytes.max(0.0) as u64,
        seconds: None,
        steps: None,
        epoch: None,
        round: None,
        numbers,
    });
    finding
}

/// Kills that an incident tells of: Slurm counts them.
fn kills(incident: &Incident) -> f64 {
    let told = ["oom_kill_events", "workers_killed", "processes_killed"];
    let counted = incident.messages.iter().flat_map(|message| told.iter().filter_map(|name| message.number(name)));
    counted.fold(1.0, f64::max)
}

/// The tasks of a kernel's table with the most memory, by pid.
fn add_tasks(numbers: &mut BTreeMap<String, f64>, main: &Message) {
    const MOST: usize = 16;
    for task in main.tasks.iter().take(MOST) {
        let mut add = |name: &str, value: f64| {
            numbers.insert(format!("task_{}_{name}", task.pid), value);
        };
        add("total_vm", task.total_vm);
        add("rss", task.rss);
        add("swap", task.swap);
        add("tgid", f64::from(task.tgid));
        add("uid", f64::from(task.uid));
        add("oom_score_adj", task.oom_score_adj);
        for (name, value) in
            [("pgtables", task.pgtables), ("rss_anon", task.rss_anon), ("rss_file", task.rss_file), ("rss_shmem", task.rss_shmem)]
        {
            if let Some(value) = value {
                add(name, value);
            }
        }
    }
}

fn size(bytes: f64) -> String {
    Bytes(bytes.max(0.0) as u64).to_string()
}

/// `78.9 of 79.2 GiB` needs the digits that the message has.
fn exact(bytes: f64) -> String {
    let unit = |unit: f64, name: &str| format!("{:.2} {name}", bytes / unit);
    match bytes {
        1_099_511_627_776.0.. => unit(1024.0 * GIB, "TiB"),
        GIB.. => unit(GIB, "GiB"),
        1_048_576.0.. => unit(1_048_576.0, "MiB"),
        1024.0.. => unit(1024.0, "KiB"),
        _ => format!("{bytes:.0} bytes"),
    }
}

fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.0} %", 100.0 * part / whole) } else { "?".to_owned() }
}

fn process(incident: &Incident) -> Option<ProcessRef> {
    let first = |name: &str| incident.messages.iter().find_map(|message| message.number(name));
    let word = |name: &str| incident.messages.iter().find_map(|message| message.words.get(name).cloned());
    let source = &incident.main().source;
    let worker = incident.main().family == Family::DataLoader;
    let pid = first("pid").or_else(|| source.pid.map(f64::from));
    let rank = source.rank.or_else(|| first("rank").map(|rank| rank as u32));
    let name = word("victim").or_else(|| word("command")).unwrap_or_default();
    let host = word("host").unwrap_or_else(|| source.host.clone());
    if pid.is_none() && rank.is_none() && name.is_empty() && host.is_empty() {
        return None;
    }
    let (role, role_label) = if worker { ("dataloader_worker", "DataLoader worker") } else { ("other", "process") };
    Some(ProcessRef {
        pid: pid.map_or(0, |pid| pid as u32),
        role,
        role_label: role_label.to_owned(),
        name,
        rank,
        host,
        node: None,
    })
}

fn evidence(incident: &Incident) -> Vec<String> {
    let main = incident.main();
    let mut lines: Vec<String> = Vec::new();
    for message in incident.messages.iter().take(SHOWN) {
        let rank = message.source.rank.map_or(String::new(), |rank| format!(", rank {rank}"));
        lines.push(format!("line {}{rank}: {}", message.line, message.excerpt));
    }
    let more = incident.messages.len().saturating_sub(SHOWN) as u64 + incident.more;
    if more > 0 {
        lines.push(format!("and {more} more messages of the same end"));
    }
    if !main.tasks.is_empty() {
        let tasks = main.tasks.iter().take(SHOWN);
        let named: Vec<String> = tasks.map(|task| format!("{} (pid {}) {}", task.name, task.tgid, size(task.rss))).collect();
        lines.push(format!("the kernel's table, pages of 4 KiB: most memory had {}", named.join(", ")));
    }
    lines.extend(main.refused.iter().take(SHOWN).cloned());
    lines
}

/// MPS.
fn apple(main: &Message) -> Told {
    let number = |name: &str| main.number(name);
    let mut told = Told {
        resource: "gpu0".to_owned(),
        limit: "gpu0".to_owned(),
        confidence: 1.0,
        kind: Some(Kind::GpuAllocated),
        ..Told::default()
    };
    let (own, other) = (number("mps_allocated"), number("other_allocations"));
    let (most, request) = (number("max_allowed"), number("tried_to_allocate"));
    told.limit_bytes = most.unwrap_or(0.0);
    let asked = request.map_or(String::new(), |request| format!(": a request of {} failed", exact(request)));
    told.text = format!("MPS ran out of memory{asked}");
    if let (Some(own), Some(other), Some(most)) = (own, other, most) {
        told.text.push_str(&format!("; {} by PyTorch, {} others, {} allowed", exact(own), exact(other), exact(most)));
        let request = request.unwrap_or(0.0);
        told.why = if request > most {
            format!("one request too large: {} is more than the {} allowed", exact(request), exact(most))
        } else if other > own && other > 0.25 * most {
            told.kind = Some(Kind::GpuOutside);
            format!(
                "memory outside PyTorch's MPS allocator: {} ({} of what is allowed) is held by other users of Metal",
                exact(other),
                percent(other, most)
            )
        } else {
            format!(
                "live tensors: PyTorch held {} of the {} allowed. Growth or too large a batch: one message cannot tell",
                exact(own),
                exact(most)
            )
        };
    }
    told.fix = "A smaller batch or model. PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 only takes the limit away, and the whole system may stall.".to_owned();
    told
}

/// A kill by the kernel.
fn kernel(main: &Message) -> Told {
    let number = |name: &str| main.number(name);
    let word = |name: &str| main.words.get(name).map(String::as_str).unwrap_or_default();
    let constraint = word("constraint").to_ascii_uppercase();
    let cgroup = match constraint.as_str() {
        "CONSTRAINT_MEMCG" => true,
        "" => word("scope") == "cgroup" || (word("scope").is_empty() && number("memory_limit").is_some()),
        _ => false,
    };
    let mut told = Told {
        resource: "ram".to_owned(),
        limit: if cgroup { "cgroup" } else { "system" }.to_owned(),
        killed: true,
        confidence: 1.0,
        kind: Some(Kind::Anonymous),
        ..Told::default()
    };
    told.limit_bytes = if cgroup { number("memory_limit") } else { number("machine_memory") }.unwrap_or(0.0);
    let victim = match (word("victim"), number("pid")) {
        ("", Some(pid)) => format!("pid {pid:.0}"),
        (name, Some(pid)) => format!("{name} (pid {pid:.0})"),
        ("", None) => "a process".to_owned(),
        (name, None) => name.to_owned(),
    };
    let held = ["anon_rss", "file_rss", "shmem_rss"].iter().filter_map(|name| number(name)).reduce(|a, b| a + b);
    let at = match (told.limit_bytes > 0.0, cgroup) {
        (true, _) => format!(" at the {} limit of {}", told.limit, exact(told.limit_bytes)),
        (false, true) => " at its cgroup's limit".to_owned(),
        (false, false) => " since the whole machine ran out of memory".to_owned(),
    };
    let path = if word("path").is_empty() { String::new() } else { format!(" ({})", word("path")) };
    let holding = held.map_or(String::new(), |held| format!("; it held {}", exact(held)));
    told.text = format!("killed by the kernel{at}{path}: {victim}{holding}");
    // Who held the memory.
    let victim_is_main = main.tasks.first().map(|most| {
        let of_victim = number("pid").is_some_and(|pid| f64::from(most.tgid) == pid || f64::from(most.pid) == pid);
        (of_victim, most)
    });
    let all = number("tasks_rss");
    told.why = match (victim_is_main, held, told.limit_bytes) {
        (Some((false, most)), _, _) => format!(
            "another process held most: {} (pid {}) had {}; the victim was chosen by its score",
            most.name,
            most.tgid,
            size(most.rss)
        ),
        // File pages may be charged to somebody else's limit.
        (_, Some(_), limit) if limit > 0.0 => {
            let own = number("anon_rss").unwrap_or(0.0) + number("shmem_rss").unwrap_or(0.0);
            format!(
                "the victim's anonymous and shared memory was {}, {} of the limit; whether it grew is not in this message",
                exact(own),
                percent(own, limit)
            )
        }
        (Some((true, _)), Some(held), _) if all.is_some() => {
            format!("the victim held {} of what all tasks had", percent(held, all.unwrap_or(0.0)))
        }
        _ => "the message says who was killed, not whether its memory grew".to_owned(),
    };
    if number("shmem_rss").zip(held).is_some_and(|(shared, held)| shared > 0.5 * held) {
        told.kind = Some(Kind::Shmem);
    }
    told.fix = if cgroup {
        "Watch the next run with `lowtide run`: it says whether it grows, who holds what, and when it would be killed. Raise the limit only \
         if it does not grow."
    } else {
        "Watch the next run with `lowtide run`. On a shared machine set a limit for the run, so that others do not decide over its end."
    }
    .to_owned();
    told
}

/// Everything else that happens in main memory.
fn host(main: &Message) -> Told {
    let number = |name: &str| main.number(name);
    let word = |name: &str| main.words.get(name).map(String::as_str).unwrap_or_default();
    let mut told = Told {
        resource: "ram".to_owned(),
        limit: "system".to_owned(),
        confidence: 1.0,
        kind: Some(Kind::Anonymous),
        ..Told::default()
    };
    let request = number("tried_to_allocate").or(number("array_bytes")).or(number("tensor_bytes"));
    let asked = request.map_or("memory".to_owned(), exact);
    let watch = "Watch the next run with `lowtide run`: it says whether it grows, and who holds what.";
    match main.family {
        Family::CpuAllocator | Family::Numpy => {
            let whose = if main.family == Family::Numpy { "numpy" } else { "PyTorch's allocator of main memory" };
            let shape = if word("shape").is_empty() {
                String::new()
            } else {
                format!(" for an array of shape {} {}", word("shape"), word("type"))
            };
            told.text = format!("{whose} could not get {asked}{shape}");
            told.kind = Some(if main.family == Family::Numpy { Kind::PythonObjects } else { Kind::Tensor });
            let large = request.is_some_and(|request| request > 64.0 * GIB);
            told.why = if large {
                format!(
                    "one request too large: {asked} at once is more than most machines have; the system refused it, nobody was killed"
                )
            } else {
                "the system refused this request: by the rest of the memory at that moment, or by a limit on the address space (`ulimit -v`). \
                 The message does not say what was in use"
                    .to_owned()
            };
            told.fix = if large {
                "Look at the shapes: a wrong broadcast, a dense matrix of all pairs, or a data type too wide; work in parts or from a \
                 mapped file."
                    .to_owned()
            } else {
                watch.to_owned()
            };
        }
        Family::TensorFlow => {
            let on_host =
                word("device").to_ascii_lowercase().starts_with("cpu") || word("allocator").to_ascii_lowercase().contains("cpu");
            if !on_host {
                let gpu = number("gpu").map_or("gpu0".to_owned(), |gpu| format!("gpu{gpu:.0}"));
                (told.resource, told.limit) = (gpu.clone(), gpu);
                told.kind = Some(Kind::GpuAllocated);
            }
            told.limit_bytes = number("total_capacity").unwrap_or(0.0);
            let shape = if word("shape").is_empty() {
                String::new()
            } else {
                format!(" for a tensor of shape {} {}", word("shape"), word("type"))
            };
            let asked = number("used").filter(|_| request.is_none()).map_or(asked, exact);
            told.text = format!("TensorFlow or JAX ran out of memory on {}: {asked} could not be had{shape}", told.resource);
            told.why = "growth or too large a batch: one message cannot tell".to_owned();
            told.fix = "If it came in the first steps, a smaller batch; if late, look for what is kept. JAX and TensorFlow take most of the card \
                        at the start (XLA_PYTHON_CLIENT_PREALLOCATE, set_memory_growth): another process on it then has nothing left."
                .to_owned();
        }
        Family::SharedMemory => shared_memory(main, &mut told),
        Family::DataLoader if number("signal") == Some(7.0) => shared_memory(main, &mut told),
        Family::Slurm if word("said").eq_ignore_ascii_case("bus error") => shared_memory(main, &mut told),
        Family::Ray => {
            told.killed = true;
            told.limit_bytes = number("node_total").unwrap_or(0.0);
            let who = if word("victim").is_empty() { "a task".to_owned() } else { word("victim").to_owned() };
            let used = number("task_used").map_or(String::new(), |used| format!(", which held {}", exact(used)));
            let node = match (number("node_used"), number("node_total")) {
                (Some(used), Some(total)) => format!(": {} of the node's {} were in use", exact(used), exact(total)),
                _ => String::new(),
            };
            told.text = format!("killed by Ray's memory monitor: {who}{used}{node}");
            told.why = match (number("task_used"), number("node_used")) {
                (Some(task), Some(node)) => {
                    format!("the killed task held {} of what was in use on the node; the rest was others'", percent(task, node))
                }
                _ => "Ray kills the newest task, not the one that grows".to_owned(),
            };
            if let Some(used) = main.words.get("most_used").and_then(|used| used.parse().ok()) {
                told.why.push_str(&format!("; most had {} with {}", word("most"), exact(used)));
            }
            told.fix = format!("{watch} Fewer tasks at a time (`num_cpus`, `memory=` of the task) make room.");
        }
        Family::EarlyOom | Family::Systemd => {
            told.killed = true;
            let by = match (main.family, word("said")) {
                (Family::EarlyOom, _) => "earlyoom",
                (_, "systemd-oomd") => "systemd-oomd",
                _ => "the kernel (as systemd tells)",
            };
            told.limit_bytes = number("total").unwrap_or(0.0);
            let who = match (word("victim"), word("path")) {
                ("", "") => "a process".to_owned(),
                ("", path) => path.to_owned(),
                (name, _) => name.to_owned(),
            };
            let held = number("rss").map_or(String::new(), |rss| format!(", which held {}", exact(rss)));
            told.text = format!("killed by {by}: {who}{held}");
            told.why = if by.starts_with("the kernel") {
                "systemd does not say whether the unit's own limit (`MemoryMax=`) or the whole machine was reached: the kernel's log does (`dmesg`)"
            } else {
                "the machine was short of memory; the victim was chosen by its size or its group's pressure"
            }
            .to_owned();
            told.fix = watch.to_owned();
        }
        Family::Slurm | Family::Lsf | Family::Pbs => {
            told.killed = true;
            told.limit = "cgroup".to_owned();
            told.limit_bytes = number("limit").or(number("requested_memory")).unwrap_or(0.0);
            let who = match main.family {
                Family::Slurm => "Slurm's memory limit",
                Family::Lsf => "LSF's memory limit",
                _ => "PBS's memory limit",
            };
            let step = if word("step").is_empty() { String::new() } else { format!(" (step {})", word("step")) };
            let used = number("used").or(number("max_memory")).map_or(String::new(), |used| format!(": {} used", exact(used)));
            let limit = if told.limit_bytes > 0.0 { format!(", {} allowed", exact(told.limit_bytes)) } else { String::new() };
            let count = number("oom_kill_events")
                .map_or(String::new(), |count| format!(", {count:.0} {}", if count == 1.0 { "kill" } else { "kills" }));
            told.text = format!("killed at {who}{step}{used}{limit}{count}");
            told.why =
                "the job's processes together reached what was asked for at submission; which of them grew is not in the message"
                    .to_owned();
            told.fix = format!("{watch} Ask for more (`--mem`) only if it does not grow.");
        }
        Family::Kubernetes | Family::Docker => {
            told.killed = true;
            let evicted = matches!(word("reason"), "Evicted" | "SystemOOM");
            told.limit = if evicted { "system" } else { "cgroup" }.to_owned();
            told.limit_bytes = number("limit").unwrap_or(0.0);
            let code = number("exit_code").map_or(String::new(), |code| format!(", exit code {code:.0}"));
            let limit = if told.limit_bytes > 0.0 { format!(" of {}", exact(told.limit_bytes)) } else { String::new() };
            let who = if word("victim").is_empty() { String::new() } else { format!(": {}", word("victim")) };
            told.text = match word("reason") {
                "Evicted" => "evicted by the kubelet: the node was low on memory".to_owned(),
                "SystemOOM" => format!("killed since the whole node ran out of memory: {}", word("victim")),
                "Error" => {
                    told.confidence = 0.7;
                    format!(
                        "killed by signal 9{code}; the container's state does not say by whom, a kill for memory of a child looks like this{who}"
                    )
                }
                _ => format!("killed at the container's memory limit{limit}{code}{who}"),
            };
            told.why = if evicted {
                "all pods of the node together, not this one's limit".to_owned()
            } else {
                "the container's processes together reached its limit; which of them grew is not in the message".to_owned()
            };
            told.fix = format!("{watch} Raise `resources.limits.memory` only if it does not grow.");
        }
        Family::DataLoader => {
            told.killed = true;
            told.confidence = 0.9;
            told.text = format!("a DataLoader worker was killed by signal 9{}", pid(main));
            told.why = "signal 9 comes from the kernel's killer for memory in nearly all such cases; workers copy the data set as they touch it, or \
                        keep a cache each"
                .to_owned();
            told.fix = "Fewer workers for a test; arrays instead of lists of Python objects in the data set, no cache in it \
                        (`lowtide causes LT401`, `LT404`). The kernel's log has the kill (`dmesg`)."
                .to_owned();
        }
        Family::BadAlloc | Family::MemoryError | Family::Fork => {
            told.text = match main.family {
                Family::BadAlloc => "C++ code could not get memory (std::bad_alloc)".to_owned(),
                Family::Fork if number("winerror").is_some() => {
                    "Windows refused memory: its paging file is too small for all that is promised (error 1455)".to_owned()
                }
                Family::Fork => "the system refused memory for a process (errno 12)".to_owned(),
                _ => format!("Python could not get {asked} (MemoryError)"),
            };
            let figures = if request.is_some() { "" } else { ". The message has no figures" };
            told.why = if number("winerror").is_some() {
                "each process that loads torch's libraries is promised memory for them, DataLoader workers too: nobody was killed"
                    .to_owned()
            } else {
                format!(
                    "the system refused it, nobody was killed: a limit on the address space (`ulimit -v`), no overcommit, or a request too \
                     large{figures}"
                )
            };
            told.fix = if number("winerror").is_some() {
                "Fewer workers (`num_workers`), or a larger paging file.".to_owned()
            } else {
                watch.to_owned()
            };
        }
        Family::Shell | Family::ExitCode | Family::Elastic => {
            told.killed = true;
            told.confidence = 0.6;
            let pid = number("pid").map(|pid| format!("pid {pid:.0}"));
            let code = number("exit_code").map(|code| format!("exit code {code:.0}"));
            let who: Vec<String> = pid.into_iter().chain(code).collect();
            let who = if who.is_empty() { String::new() } else { format!(" ({})", who.join(", ")) };
            told.text = format!("killed by signal 9{who}");
            told.why =
                "by whom is not in this log: the kernel's killer for memory is the usual one, a scheduler or a person can be"
                    .to_owned();
            told.fix = "The kernel's log has it if it was memory: `dmesg -T | grep -i -A1 'killed process'`; give that to `lowtide report`, \
                        too. Or watch the next run with `lowtide run`."
                .to_owned();
        }
        Family::Cuda | Family::Hip | Family::Xpu | Family::Npu | Family::Mps | Family::Kernel | Family::KernelPart => {}
    }
    told
}

fn pid(main: &Message) -> String {
    main.number("pid").map_or(String::new(), |pid| format!(" (pid {pid:.0})"))
}

fn shared_memory(main: &Message, told: &mut Told) {
    told.resource = "shm".to_owned();
    told.limit = "shm".to_owned();
    told.kind = Some(Kind::Shmem);
    told.cause = Some("LT405");
    let asked = main.number("tried_to_allocate").map_or(String::new(), |bytes| format!(": {} could not be had", exact(bytes)));
    told.text = format!("shared memory (/dev/shm) was full{asked}");
    told.why =
        "batches of workers lie in /dev/shm, which has 64 MiB in a container by default, until the last process lets go of them"
            .to_owned();
    told.fix = "Give the container more (`--shm-size=8g`, an `emptyDir` of medium Memory) if the need is constant; if it grows, copy what is \
                kept (`.clone()`)."
        .to_owned();
}

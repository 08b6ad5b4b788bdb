//! Messages that tell of the same end become one incident.
//!
//! A run out of memory tells of it many times: each rank its own error, then torchrun what became of the ranks; the
//! kernel its report in a dozen parts, then the shell, Slurm and Kubernetes that something was killed.

use std::collections::BTreeMap;

use super::messages::{Family, Message};

/// Parts of a kernel's report are within so many lines of its last one.
const REPORT_LINES: u64 = 6000;
/// Ray's table of users is within so many lines of what it says of the node, which may be wrapped.
const TABLE_LINES: u64 = 40;
/// What tells of the same end follows within so many lines.
const NEAR_LINES: u64 = 300;
/// The same rank's next error is another incident if it is so far away.
const AGAIN_LINES: u64 = 60;
/// And by their times, within so many seconds.
const NEAR_S: f64 = 180.0;
/// Messages of one incident whose figures are kept.
const MOST_TOLD: usize = 64;

/// One end, by all messages that tell of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Incident {
    /// The message that says most first, the others in the order of the log.
    pub messages: Vec<Message>,
    /// Messages beyond those that are kept.
    pub more: u64,
}

impl Incident {
    fn new(message: Message) -> Self {
        Self { messages: vec![message], more: 0 }
    }

    /// The message that says most.
    #[must_use]
    pub fn main(&self) -> &Message {
        &self.messages[0]
    }

    /// All figures of all messages. Where two have one of the same name, the later one has its rank, or its place among
    /// the messages, before its name.
    #[must_use]
    pub fn numbers(&self) -> BTreeMap<String, f64> {
        let mut numbers = self.main().numbers.clone();
        for (at, message) in self.messages.iter().enumerate().skip(1) {
            for (name, value) in &message.numbers {
                match numbers.get(name) {
                    None => drop(numbers.insert(name.clone(), *value)),
                    Some(told) if told == value => {}
                    Some(_) => {
                        let who = message.source.rank.map_or_else(|| format!("message{}", at + 1), |rank| format!("rank{rank}"));
                        let whole = format!("{who}_{name}");
                        let whole = if numbers.contains_key(&whole) { format!("message{}_{name}", at + 1) } else { whole };
                        numbers.insert(whole, *value);
                    }
                }
            }
        }
        numbers
    }

    fn add(&mut self, message: Message) {
        if self.messages.len() >= MOST_TOLD {
            self.more += 1;
        } else {
            self.messages.push(message);
        }
    }

    /// Whether one of its messages has this one's line and figures.
    fn tells(&self, message: &Message) -> bool {
        let all = |told: &Message| message.numbers.iter().all(|(name, value)| told.number(name) == Some(*value));
        self.messages.iter().any(|told| told.line == message.line && all(told))
    }

    fn last_line(&self) -> u64 {
        self.messages.iter().map(|message| message.line).max().unwrap_or(0)
    }

    /// The message that says most comes first.
    fn order(&mut self) {
        let best = (0..self.messages.len()).min_by_key(|at| (rank_of(&self.messages[*at]), *at)).unwrap_or(0);
        let main = self.messages.remove(best);
        self.messages.insert(0, main);
    }
}

/// How much a message says of an end, the least first.
fn rank_of(message: &Message) -> u8 {
    let bare = message.numbers.is_empty();
    match message.family {
        Family::Kernel => 0,
        Family::Cuda
        | Family::Hip
        | Family::Xpu
        | Family::Npu
        | Family::Mps
        | Family::CpuAllocator
        | Family::Numpy
        | Family::TensorFlow => 1 + 2 * u8::from(bare),
        Family::SharedMemory => 2,
        Family::EarlyOom | Family::Pbs | Family::Lsf => 2,
        Family::Ray => 2 + 2 * u8::from(bare),
        Family::KernelPart | Family::Systemd | Family::Slurm => 4,
        Family::Kubernetes | Family::Docker => 5,
        Family::DataLoader => 6,
        Family::BadAlloc | Family::MemoryError | Family::Fork => 7,
        Family::Shell => 8,
        Family::Elastic => 9,
        Family::ExitCode => 10,
    }
}

/// Messages in the order of the log as incidents. What says too little for one is told in a sentence.
pub(super) fn join(messages: Vec<Message>, said: &mut Vec<String>) -> Vec<Incident> {
    const MOST_SAID: usize = 20;
    let mut incidents: Vec<Incident> = Vec::new();
    for message in reports(messages) {
        for refused in &message.refused {
            if said.len() < MOST_SAID {
                said.push(refused.clone());
            }
        }
        // The newest incidents first; a log of many has few that are near.
        match incidents.iter_mut().rev().take(16).find(|incident| belongs(incident, &message)) {
            // A code that another message of the same line has, too; numpy's error is a `MemoryError` by its name.
            Some(incident) if matches!(message.family, Family::ExitCode | Family::MemoryError) && incident.tells(&message) => {}
            Some(incident) => incident.add(message),
            None => incidents.push(Incident::new(message)),
        }
    }
    incidents.iter_mut().for_each(Incident::order);
    incidents.retain(|incident| {
        let weak = incident.messages.iter().all(is_weak);
        if weak && said.len() < MOST_SAID {
            said.push(format!("line {}: `{}` says nothing of memory by itself", incident.main().line, incident.main().excerpt));
        }
        !weak
    });
    incidents
}

/// A message that tells of an end, but not of memory.
fn is_weak(message: &Message) -> bool {
    match message.family {
        // 9 is what the killer sends, a bus error what a full /dev/shm gives.
        Family::DataLoader => !matches!(message.number("signal"), Some(9.0 | 7.0)),
        Family::Elastic => message.number("exit_code").is_none_or(|code| code != -9.0 && code != -7.0),
        Family::Slurm => message.words.get("said").is_some_and(|said| said.eq_ignore_ascii_case("bus error")),
        Family::Cuda | Family::SharedMemory => message.words.contains_key("unsure"),
        Family::KernelPart => {
            matches!(message.words.get("part").map(String::as_str), Some("usage" | "stats" | "pages" | "reaped"))
        }
        _ => false,
    }
}

/// The parts of each kernel's report put into one message.
fn reports(messages: Vec<Message>) -> Vec<Message> {
    let mut whole: Vec<Message> = Vec::new();
    let mut parts: Vec<Message> = Vec::new();
    for message in messages {
        let part = message.words.get("part").cloned();
        match (message.family, part.as_deref()) {
            (Family::KernelPart, Some("reaped")) => {
                let of = whole
                    .iter_mut()
                    .rev()
                    .find(|kill| kill.family == Family::Kernel && kill.number("pid") == message.number("pid"));
                match of {
                    Some(kill) => take(kill, message),
                    None => whole.push(message),
                }
            }
            (Family::KernelPart, Some("invoked")) => {
                // A new report begins; the one before had no end.
                whole.extend(without_kill(std::mem::take(&mut parts)));
                parts.push(message);
            }
            (Family::KernelPart, _) => parts.push(message),
            (Family::Kernel, _) => {
                let mut kill = message;
                let near = parts.drain(..).filter(|part| kill.line.saturating_sub(part.line) <= REPORT_LINES);
                for part in near.collect::<Vec<_>>() {
                    take(&mut kill, part);
                }
                whole.push(kill);
            }
            (Family::Ray, Some("users")) => {
                // Somebody else may print such a table.
                let before = |said: &&mut Message| message.line.saturating_sub(said.line) <= TABLE_LINES;
                let of =
                    whole.iter_mut().rev().take_while(before).find(|said| said.family == Family::Ray && !said.numbers.is_empty());
                if let Some(said) = of {
                    take(said, message);
                }
            }
            _ => whole.push(message),
        }
    }
    whole.extend(without_kill(parts));
    whole.sort_by_key(|message| message.line);
    whole
}

/// Parts of a report whose kill was cut off: the part that names the victim stands for it.
fn without_kill(mut parts: Vec<Message>) -> Option<Message> {
    let named = |part: &Message| part.number("pid").is_some();
    let at = parts.iter().position(named).or_else(|| (!parts.is_empty()).then_some(0))?;
    let mut main = parts.remove(at);
    for part in parts {
        take(&mut main, part);
    }
    Some(main)
}

/// Adds a part's figures and words to a report.
fn take(report: &mut Message, part: Message) {
    let kind = part.words.get("part").cloned().unwrap_or_default();
    for (name, value) in part.numbers {
        // The task that was to be killed first may be another one than the one that was.
        let name = if kind == "killing" && report.number("pid") != Some(value) && name == "pid" {
            "chosen_pid".to_owned()
        } else {
            name
        };
        report.numbers.entry(name).or_insert(value);
    }
    for (name, word) in part.words {
        if name != "part" {
            report.words.entry(name).or_insert(word);
        }
    }
    if !part.tasks.is_empty() {
        report.tasks = part.tasks;
    }
    report.refused.extend(part.refused);
}

/// Whether a message tells of the same end as an incident.
fn belongs(incident: &Incident, message: &Message) -> bool {
    let apart = message.line.saturating_sub(incident.last_line());
    if apart > 4 * NEAR_LINES && !same_pid(incident, message) {
        return false;
    }
    if !same_time(incident, message) {
        return false;
    }
    let is_kill = |family: Family| matches!(family, Family::Kernel | Family::KernelPart);
    let others = || incident.messages.iter();
    // Two kills by the kernel are two, whatever is near; unless it killed the same process's threads.
    if is_kill(message.family) && others().any(|other| is_kill(other.family)) {
        return same_pid(incident, message);
    }
    if same_pid(incident, message) {
        return true;
    }
    let same_family = others().rfind(|other| other.family == message.family);
    match same_family {
        Some(before) => {
            let other_rank = match (before.source.rank, message.source.rank) {
                (Some(a), Some(b)) => {
                    a != b && others().all(|other| other.source.rank != message.source.rank || other.family != message.family)
                }
                _ => false,
            };
            let again = message.line.saturating_sub(before.line) <= AGAIN_LINES;
            (other_rank && apart <= NEAR_LINES) || again || (is_consequence(message.family) && apart <= NEAR_LINES)
        }
        None => {
            let main = others().map(|other| other.family).min_by_key(|family| is_consequence(*family)).unwrap_or(message.family);
            let leads = is_consequence(message.family) || is_consequence(main) || related(main, message.family);
            leads && apart <= NEAR_LINES && fits(incident, message)
        }
    }
}

/// Families that tell how something ended, not what was asked for.
fn is_consequence(family: Family) -> bool {
    matches!(
        family,
        Family::Elastic
            | Family::ExitCode
            | Family::Shell
            | Family::DataLoader
            | Family::Slurm
            | Family::Kubernetes
            | Family::Docker
            | Family::Systemd
            | Family::Ray
            | Family::Lsf
            | Family::Pbs
            | Family::Kernel
            | Family::KernelPart
            | Family::EarlyOom
    )
}

/// Families that are two faces of one error.
fn related(a: Family, b: Family) -> bool {
    let host = |family: Family| {
        matches!(
            family,
            Family::Numpy | Family::MemoryError | Family::BadAlloc | Family::Fork | Family::CpuAllocator | Family::SharedMemory
        )
    };
    let device = |family: Family| matches!(family, Family::Cuda | Family::Hip | Family::TensorFlow);
    (host(a) && host(b)) || (device(a) && device(b))
}

/// A kill by signal 9 is no consequence of an error that a program reports itself, and the other way round.
fn fits(incident: &Incident, message: &Message) -> bool {
    let killed = |message: &Message| match message.family {
        Family::Kernel | Family::KernelPart | Family::EarlyOom | Family::Shell | Family::ExitCode => true,
        // The memory of the host: a card that is full sends no signal. A bus error is none of it either.
        Family::Slurm | Family::Systemd => true,
        Family::Kubernetes | Family::Docker => message.number("exit_code") != Some(1.0),
        Family::DataLoader => message.number("signal") == Some(9.0),
        Family::Elastic => message.number("exit_code") == Some(-9.0),
        _ => false,
    };
    let device = |family: Family| matches!(family, Family::Cuda | Family::Hip | Family::Xpu | Family::Npu | Family::Mps);
    let device_error = device(incident.main().family) || device(message.family);
    !(device_error && (killed(message) || incident.messages.iter().any(killed)))
}

fn same_pid(incident: &Incident, message: &Message) -> bool {
    let pid = |message: &Message| message.number("pid").filter(|pid| *pid > 0.0);
    pid(message).is_some_and(|wanted| incident.messages.iter().any(|other| pid(other) == Some(wanted)))
}

/// By their times, where both have one; times of the day and since boot cannot be compared.
fn same_time(incident: &Incident, message: &Message) -> bool {
    let last = incident.messages.iter().rev().find_map(|other| other.source.time_s);
    match (last, message.source.time_s) {
        (Some(last), Some(now)) => {
            let apart = (now - last).abs();
            // So far apart that they count from different starts: nothing is told by it.
            apart <= NEAR_S || apart > 30.0 * 86_400.0 || (last < 1e7) != (now < 1e7)
        }
        _ => true,
    }
}

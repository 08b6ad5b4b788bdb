//! What messages of memory look like: one file per family.
//!
//! Each family has words that it is looked for by, without blanks, and a function that reads the message around
//! them: by its structure, numbers with units near the words that say what they are, so that shortened and wrapped
//! messages are read too. What cannot be read for certain is refused by its place, never guessed.

mod bad_alloc;
mod caching_allocator;
mod cpu_allocator;
mod cuda;
mod dataloader;
mod docker;
mod earlyoom;
mod elastic;
mod exit_code;
mod fork;
mod hip;
mod kernel;
pub(super) mod kernel_table;
mod kubernetes;
mod lsf;
mod memory_error;
mod mps;
mod npu;
mod numpy;
mod pbs;
mod ray;
pub(super) mod ray_table;
mod shared_memory;
mod shell;
mod slurm;
mod systemd;
mod tensorflow;
mod vllm;
mod xpu;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::bytes::{Captures, Regex};

use super::amount;
use super::prefix::Source;
use super::stream::{FORWARD, LINE, Text};

/// What a message is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// PyTorch's CUDA allocator, or CUDA itself.
    Cuda,
    /// The same on AMD.
    Hip,
    /// The same on Intel.
    Xpu,
    /// The same on Ascend.
    Npu,
    /// The same on Apple.
    Mps,
    /// PyTorch's allocator of main memory.
    CpuAllocator,
    /// A worker of a DataLoader ended.
    DataLoader,
    /// torchrun tells how a rank ended.
    Elastic,
    /// Ray killed a task, or told of it.
    Ray,
    /// TensorFlow or JAX.
    TensorFlow,
    /// The kernel killed for memory.
    Kernel,
    /// A part of a kernel's report: its table of tasks, its counters.
    KernelPart,
    /// systemd-oomd, or systemd about the kernel.
    Systemd,
    /// earlyoom.
    EarlyOom,
    /// Slurm.
    Slurm,
    /// LSF.
    Lsf,
    /// PBS or Torque.
    Pbs,
    /// Kubernetes, as kubectl shows it.
    Kubernetes,
    /// `docker inspect`.
    Docker,
    /// A shell's `Killed`.
    Shell,
    /// An exit code that a kill leaves.
    ExitCode,
    /// numpy.
    Numpy,
    /// Python's `MemoryError`.
    MemoryError,
    /// C++.
    BadAlloc,
    /// A process could not be made.
    Fork,
    /// /dev/shm is full.
    SharedMemory,
}

/// A message that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// What it is of.
    pub family: Family,
    /// The line it begins in, counted from 1.
    pub line: u64,
    /// Its figures by name: bytes, or the pid, count or code that it is.
    pub numbers: BTreeMap<String, f64>,
    /// What it says in words, by name: the victim, the path of the limit.
    pub words: BTreeMap<&'static str, String>,
    /// The kernel's table of tasks, for that part of its report.
    pub tasks: Vec<kernel_table::Task>,
    /// Who wrote it.
    pub(crate) source: Source,
    /// As it stands in the log, in one line and cut.
    pub excerpt: String,
    /// What could not be read, and why.
    pub refused: Vec<String>,
    /// Where its text ends.
    pub(super) end: usize,
}

impl Message {
    /// A message at these places of a text.
    pub(super) fn new(family: Family, text: &Text, range: Range<usize>) -> Self {
        Self {
            family,
            line: text.line(range.start),
            numbers: BTreeMap::new(),
            words: BTreeMap::new(),
            tasks: Vec::new(),
            source: text.source(range.start),
            excerpt: excerpt(text, range.clone()),
            refused: Vec::new(),
            end: range.end,
        }
    }

    /// A figure.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        self.numbers.get(name).copied()
    }

    fn set(&mut self, name: &str, value: f64) {
        self.numbers.entry(name.to_owned()).or_insert(value);
    }

    fn word(&mut self, name: &'static str, value: impl Into<String>) {
        const LONGEST: usize = 300;
        let value: String = value.into();
        self.words.entry(name).or_insert_with(|| value.trim().chars().take(LONGEST).collect());
    }

    /// An amount that a pattern's group matched.
    fn amount(&mut self, text: &Text, caps: &Captures, group: &str, name: &str) {
        let Some(found) = caps.name(group) else { return };
        match amount::bytes(text, found.range()) {
            Ok(value) => self.set(name, value),
            Err(why) => self.refuse(text, found.range(), name, &why),
        }
    }

    /// A count that a pattern's group matched, with something behind it.
    fn count(&mut self, text: &Text, caps: &Captures, group: &str, name: &str) {
        if let Some(value) = caps.name(group).and_then(|found| amount::count(text, found.range(), true)) {
            self.set(name, value);
        }
    }

    /// A count that may be the last of its line.
    fn last_count(&mut self, text: &Text, caps: &Captures, group: &str, name: &str) {
        if let Some(value) = caps.name(group).and_then(|found| amount::count(text, found.range(), false)) {
            self.set(name, value);
        }
    }

    /// A count of KiB.
    fn kib(&mut self, text: &Text, caps: &Captures, group: &str, name: &str) {
        let Some(found) = caps.name(group) else { return };
        // In the number and before it only a bare line end may be, and then the message must go on behind `kB`: else the next
        // line may be somebody else's.
        let within = text.flags_within(found.range());
        let next = text.chars.get(found.end() + 2).filter(|_| text.flags_at(found.end() + 2) & LINE == 0);
        let crosses = (within | text.flags_at(found.start())) & LINE != 0;
        let torn = within & !LINE != 0 || (crosses && !matches!(next, Some(b',' | b'o')));
        match amount::count(text, found.range(), true).filter(|_| !torn) {
            Some(value) => self.set(name, value * 1024.0),
            None => self.refuse(text, found.range(), name, &amount::Refused::Torn),
        }
    }

    fn refuse(&mut self, text: &Text, range: Range<usize>, name: &str, why: &amount::Refused) {
        let line = text.line(range.start);
        self.refused.push(format!("line {line}: `{}` ({name}) is not read: {why}", excerpt(text, range)));
    }
}

/// A piece of a text in one line, cut to some length.
fn excerpt(text: &Text, range: Range<usize>) -> String {
    const LONGEST: usize = 400;
    let end = range.end.min(range.start + LONGEST);
    let text = text.original(range.start..end);
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().trim().to_owned()
}

/// A pattern over a text without blanks; case does not matter.
fn pattern(text: &str) -> Regex {
    let text = text.replace("AMOUNT", amount::AMOUNT);
    Regex::new(&format!("(?i-u){text}")).expect("a correct pattern")
}

macro_rules! patterns {
    ($($name:ident = $text:expr;)*) => {
        $(static $name: std::sync::LazyLock<regex::bytes::Regex> = std::sync::LazyLock::new(|| super::pattern($text));)*
    };
}
use patterns;

/// Where a family's words were found.
#[derive(Clone, Copy)]
struct At<'a> {
    text: Text<'a>,
    /// The first character of the words.
    start: usize,
    /// Behind the last one.
    end: usize,
}

impl<'a> At<'a> {
    /// The characters before the words, at most so many.
    fn before(&self, most: usize) -> &'a [u8] {
        &self.text.chars[self.start.saturating_sub(most)..self.start]
    }

    fn before_ends_with(&self, word: &str) -> bool {
        let before = self.before(word.len());
        before.eq_ignore_ascii_case(word.as_bytes())
    }

    /// A pattern that must match right at the words' beginning. The captures' places are those of the text.
    fn here(&self, pattern: &Regex) -> Option<Captures<'a>> {
        self.from(pattern, self.start)
    }

    /// A pattern that must match right at a place.
    fn from(&self, pattern: &Regex, place: usize) -> Option<Captures<'a>> {
        self.within(pattern, place, 1500)
    }

    /// The same, and end within so many characters: where it does not match, no more is searched.
    fn within(&self, pattern: &Regex, place: usize, most: usize) -> Option<Captures<'a>> {
        let end = self.text.chars.len().min(place + most);
        let caps = pattern.captures_at(&self.text.chars[..end], place.min(end))?;
        (caps.get(0)?.start() == place).then_some(caps)
    }

    /// A pattern that must match right behind the words.
    fn behind(&self, pattern: &Regex) -> Option<Captures<'a>> {
        self.from(pattern, self.end)
    }

    /// A pattern that matches at a place at most so many characters before the words, and reaches over them.
    fn around(&self, pattern: &Regex, most: usize) -> Option<Captures<'a>> {
        let end = self.text.chars.len().min(self.end + FORWARD);
        let caps = pattern.captures_at(&self.text.chars[..end], self.start.saturating_sub(most))?;
        let all = caps.get(0)?;
        (all.start() <= self.start && all.end() >= self.end).then_some(caps)
    }

    /// A pattern that matches within so many characters behind the words.
    fn near(&self, pattern: &Regex, most: usize) -> Option<Captures<'a>> {
        let end = self.text.chars.len().min(self.end + most.min(FORWARD));
        pattern.captures_at(&self.text.chars[..end], self.end)
    }

    /// The line of the words, without its prefix; of a long one what is near.
    fn line(&self) -> Range<usize> {
        const NEAR: usize = 1 << 10;
        let start = self.text.line_start(self.start).max(self.start.saturating_sub(NEAR));
        start..self.text.line_end(self.start).min(self.end + NEAR).max(self.end)
    }

    /// Whether [`Self::line`] begins where the line does.
    fn line_is_whole(&self) -> bool {
        self.line().start == self.text.line_start(self.start)
    }
}

type Reader = fn(&At) -> Option<Message>;

/// The words that families are looked for by.
const WORDS: &[(&str, Reader)] = &[
    ("outofmemory", device),
    ("triedtoallocate", device),
    ("cublas_status_alloc_failed", cuda::library),
    ("cudnn_status_alloc_failed", cuda::library),
    ("cuda_error_out_of_memory", cuda::driver),
    ("noavailablememoryforthecacheblocks", vllm::no_blocks),
    ("freememoryondevice", vllm::free),
    ("whichislargerthantheavailablekvcache", vllm::cache),
    ("cudnn_status_not_supported", cuda::library),
    ("[enforcefailat", cpu_allocator::read),
    ("defaultcpuallocator", cpu_allocator::read),
    ("dataloaderworker(pid", dataloader::read),
    ("unexpectedbuserrorencountered", dataloader::bus_error),
    ("failed(exitcode:", elastic::failed),
    ("signal9(sigkill)received", elastic::signal),
    ("exitcode:-", elastic::table),
    ("runninglowonmemory", ray::killed),
    ("memoryonthenode", ray::node),
    ("killedduetomemorypressure", ray::raylet),
    ("rayoutofmemoryerror", ray::old),
    ("oomwhenallocatingtensor", tensorflow::tensor),
    ("resource_exhausted", tensorflow::exhausted),
    ("outofmemorywhiletryingtoallocate", tensorflow::exhausted),
    ("ranoutofmemorytryingtoallocate", tensorflow::allocator),
    ("ranoutofmemoryinmemoryspace", tensorflow::hbm),
    ("invokedoom-killer", kernel::invoked),
    ("oom-kill:constraint", kernel::constraint),
    ("killedprocess", kernel::killed),
    ("killprocess", kernel::killing),
    ("memory:usage", kernel::usage),
    ("memory+swap:usage", kernel::usage),
    ("swap:usage", kernel::usage),
    ("kmem:usage", kernel::usage),
    ("memorycgroupstatsfor", kernel::stats),
    ("oom_reaper:reapedprocess", kernel::reaped),
    ("pagesram", kernel::pages),
    ("systemd-oomd", systemd::oomd),
    ("killedbytheoomkiller", systemd::unit),
    ("result'oom-kill'", systemd::unit),
    ("lowmemory!", earlyoom::low),
    ("sendingsig", earlyoom::sending),
    ("oom-killevent", slurm::detected),
    ("oom_killevent", slurm::detected),
    (":outofmemory", slurm::task),
    (":buserror", slurm::task),
    ("exceededmemorylimit", slurm::limit),
    ("exceededjobmemorylimit", slurm::limit),
    ("out_of_memory", slurm::state),
    ("out_of_me+", slurm::state),
    ("term_memlimit", lsf::read),
    ("pbs:jobkilled", pbs::read),
    ("oomkilled", kubernetes::oom_killed),
    ("laststate:terminated", kubernetes::last_state),
    ("lowonresource:memory", kubernetes::evicted),
    ("systemoomencountered", kubernetes::system_oom),
    ("killed", shell::killed),
    ("exitcode", exit_code::read),
    ("exitstatus", exit_code::read),
    ("withcode", exit_code::read),
    ("returncode", exit_code::read),
    ("signals.sigkill", exit_code::signal),
    ("unabletoallocate", numpy::read),
    ("memoryerror", memory_error::read),
    ("bad_alloc", bad_alloc::read),
    ("[errno12]", fork::read),
    ("cannotallocatememory", fork::read),
    ("[winerror1455]", fork::paging_file),
    ("nospaceleftondevice", shared_memory::read),
    ("unabletoallocatesharedmemory", shared_memory::torch),
    ("unabletommap", shared_memory::torch),
    ("unabletowritetofile", shared_memory::torch),
    ("unabletoresizefile", shared_memory::torch),
    ("unabletoopensharedmemoryobject", shared_memory::torch),
];

static FINDER: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder().ascii_case_insensitive(true).build(WORDS.iter().map(|(word, _)| word)).expect("few short words")
});

/// All messages whose words begin in this range.
pub(super) fn find(text: Text, range: Range<usize>, covered: &mut Vec<usize>, mut found: impl FnMut(Message)) {
    covered.resize(Family::SharedMemory as usize + 1, 0);
    let end = text.chars.len().min(range.end + 64);
    let mut places: Vec<(usize, usize, Reader)> = FINDER
        .find_overlapping_iter(&text.chars[range.start..end])
        .map(|hit| (range.start + hit.start(), range.start + hit.end(), WORDS[hit.pattern().as_usize()].1))
        .filter(|(start, _, _)| *start < range.end)
        .collect();
    places.sort_unstable_by_key(|(start, end, _)| (*start, *end));
    for (start, end, read) in places {
        let Some(message) = read(&At { text, start, end }) else { continue };
        let covered = &mut covered[group(message.family)];
        // Words inside a message of the same family that was read.
        if start >= *covered {
            *covered = message.end.max(end);
            found(message);
        }
    }
}

/// Families of which only one has a message at a place.
fn group(family: Family) -> usize {
    match family {
        Family::Hip | Family::Xpu | Family::Npu | Family::Mps => Family::Cuda as usize,
        family => family as usize,
    }
}

/// `... out of memory` of a device.
fn device(at: &At) -> Option<Message> {
    cuda::read(at)
        .or_else(|| hip::read(at))
        .or_else(|| xpu::read(at))
        .or_else(|| npu::read(at))
        .or_else(|| mps::read(at))
        .or_else(|| cuda::other(at))
}

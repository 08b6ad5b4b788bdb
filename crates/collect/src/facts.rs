//! What is known of one process beyond its memory: its names, its relation to its parent, what it has loaded. Read
//! when it appears and when it execs, since these files cost more than the counters.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use crate::parse::nul_separated;
use crate::parse::stat::Stat;
use crate::root::{Root, Scratch};

/// Arguments kept of a command line, and the bytes of it that reach a recording.
const MOST_ARGS: usize = 256;
const COMMAND_BYTES: usize = 4096;
/// `maps` of a torch process has about 100 KiB; a longer one is read up to here.
const MAPS_BYTES: u64 = 4 << 20;

/// Libraries that only a process which trains (or a copy of one) has in memory, and what to call them.
/// File names begin so.
const LIBRARIES: [(&[u8], &str); 6] = [
    (b"libtorch", "torch"),
    (b"xla_extension", "jax"),
    (b"libjax", "jax"),
    (b"libtensorflow", "tensorflow"),
    (b"libpaddle", "paddle"),
    (b"libmxnet", "mxnet"),
];

/// Variables that tell a process's rank, the best first; no other part of an environment is kept.
const RANKS: [&str; 5] = ["RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "LOCAL_RANK"];

/// The variables that choose and number the GPUs of a process, the first one that is there.
const VISIBLE: [&str; 2] = ["CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"];

/// What is known of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Its comm.
    pub comm: String,
    /// Its command line as it is: never to be shown before [`crate::mask_secrets`].
    pub args: Vec<String>,
    /// The file name of its program; empty where it cannot be read.
    pub exe: String,
    /// Whether it was forked and has not execed since, so that its command line is its parent's.
    pub forked: bool,
    /// Its rank, and the variable that says so.
    pub rank: Option<(&'static str, u32)>,
    /// The training library in its memory.
    pub library: Option<&'static str>,
    /// The GPUs that it may see, as it was started.
    pub visible_gpus: Option<String>,
}

impl Facts {
    /// Reads all but the library. What cannot be read stays empty.
    pub fn read(root: &Root, stat: &Stat, parent: Option<(&Stat, &Self)>, scratch: &mut Scratch) -> Self {
        let pid = stat.pid;
        let mut facts = Self::default();
        if let Ok(comm) = scratch.read(&root.of(pid, "comm")) {
            facts.comm = String::from_utf8_lossy(comm.trim_ascii_end()).into_owned();
        }
        if let Ok(line) = scratch.read(&root.of(pid, "cmdline")) {
            facts.args = nul_separated(line, MOST_ARGS);
        }
        if let Ok(link) = std::fs::read_link(root.of(pid, "exe")) {
            let name = link.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            facts.exe = name.strip_suffix(" (deleted)").unwrap_or(&name).to_owned();
        }
        if let Ok(environ) = scratch.read(&root.of(pid, "environ")) {
            facts.rank = rank(environ);
            facts.visible_gpus =
                VISIBLE.iter().find_map(|name| variable(environ, name)).map(|value| String::from_utf8_lossy(value).into_owned());
            // The rest of it is none of our business.
            scratch.wipe();
        }
        if let Some((parent_stat, parent)) = parent {
            facts.forked = parent_stat.forked(stat).unwrap_or_else(|| facts.same_program(parent));
        }
        facts
    }

    /// The command with secrets masked, for people.
    pub fn command(&self) -> String {
        let mut command = crate::mask_secrets(&self.args).join(" ");
        if command.len() > COMMAND_BYTES {
            let end = (0..=COMMAND_BYTES).rev().find(|at| command.is_char_boundary(*at)).unwrap_or(0);
            command.truncate(end);
            command.push_str("...");
        }
        command
    }

    /// Whether its program is a Python interpreter.
    pub fn is_python(&self) -> bool {
        let first = self.args.first().map(|arg| base_name(arg)).unwrap_or_default();
        [self.exe.as_str(), first].iter().any(|name| name.starts_with("python") || name.starts_with("pypy"))
    }

    /// Where layouts are hidden: a Python child that runs the same program with the same arguments was most likely forked.
    fn same_program(&self, parent: &Self) -> bool {
        self.is_python() && !self.args.is_empty() && self.args == parent.args && self.exe == parent.exe
    }
}

/// The file name of a path.
pub fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn rank(environ: &[u8]) -> Option<(&'static str, u32)> {
    RANKS.iter().find_map(|name| {
        let value = variable(environ, name)?;
        Some((*name, std::str::from_utf8(value).ok()?.parse().ok()?))
    })
}

fn variable<'a>(environ: &'a [u8], name: &str) -> Option<&'a [u8]> {
    environ.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

/// Which training library a process has mapped. Reads `maps` piece by piece: the kernel lets go of the target's lock
/// between the pieces.
pub fn library(root: &Root, pid: u32) -> Option<&'static str> {
    let file = BufReader::with_capacity(16 << 10, File::open(root.of(pid, "maps")).ok()?.take(MAPS_BYTES));
    file.split(b'\n').map_while(Result::ok).find_map(|line| library_of(&line))
}

fn library_of(line: &[u8]) -> Option<&'static str> {
    let slash = line.iter().rposition(|byte| *byte == b'/')?;
    let name = &line[slash + 1..];
    LIBRARIES.iter().find(|(library, _)| name.starts_with(library)).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_global_rank_before_the_local_one() {
        assert_eq!(rank(b"HOME=/\0LOCAL_RANK=1\0RANK=5\0"), Some(("RANK", 5)));
        assert_eq!(rank(b"LOCAL_RANK=1"), Some(("LOCAL_RANK", 1)));
        assert_eq!(rank(b"MY_RANK=1\0RANK=x\0"), None);
    }

    #[test]
    fn shortens_a_long_command_at_a_character() {
        let facts = Facts { args: vec!["é".repeat(5000)], ..Facts::default() };
        assert!(facts.command().len() <= COMMAND_BYTES + 3);
    }

    #[test]
    fn knows_a_library_by_its_file() {
        let line = b"7f00-7f10 r-xp 00000000 fe:00 99 /usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13";
        assert_eq!(library_of(line), Some("torch"));
        assert_eq!(library_of(b"7f00-7f10 r-xp 00000000 fe:00 99 /home/libtorch/train.so"), None);
        assert_eq!(library_of(b"7f00-7f10 rw-p 00000000 00:00 0 [heap]"), None);
    }

    #[test]
    fn masks_secrets_of_the_command() {
        let facts = Facts { args: ["python", "t.py", "--token", "abc"].map(String::from).to_vec(), ..Facts::default() };
        assert_eq!(facts.command(), "python t.py --token ***");
    }
}

//! What can be seen on this machine, and how to get what cannot.

use std::io::ErrorKind;
use std::path::Path;

use lowtide_model::{Bytes, CgroupVersion};

use crate::cgroup::Cgroups;
use crate::gpu;
use crate::link;
use crate::parse::stat::Stat;
use crate::root::{Root, Scratch};
use crate::{sys, system};

/// How one source stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckState {
    /// It can be read.
    Fine,
    /// It can be read in part, or only for some processes.
    Limited,
    /// It cannot be read.
    Missing,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What: `cgroup`, `smaps_rollup`, ...
    pub name: &'static str,
    /// How it stands.
    pub state: CheckState,
    /// What was found.
    pub text: String,
    /// What to do about it; empty where it is fine.
    pub mend: String,
}

/// Looks at every source that lowtide reads: for `pid`, or for this process where none is given.
#[must_use]
pub fn doctor(root: &Path, pid: Option<u32>) -> Vec<Check> {
    let root = Root::new(root);
    let mut scratch = Scratch::default();
    let target = pid.unwrap_or_else(std::process::id);
    let mut checks = vec![proc(&root), other_users(&root)];
    if let Some(pid) = pid {
        checks.push(process(&root, pid, &mut scratch));
    }
    checks.extend([
        rollup(&root, target, &mut scratch),
        new_processes(&root, &mut scratch),
        ptrace(&root, &mut scratch),
        open_files(&root),
        namespaces(&root, target),
        connections(&root, target),
        cgroup(&root, target, &mut scratch),
        machine(&root, &mut scratch),
        pressure(&root, &mut scratch),
        shm(&root, target),
        swap(&root, &mut scratch),
    ]);
    checks.extend(gpu::checks(&root));
    checks.extend([clock(&root, &mut scratch), state_folder()]);
    checks
}

pub(crate) fn fine(name: &'static str, text: impl Into<String>) -> Check {
    Check { name, state: CheckState::Fine, text: text.into(), mend: String::new() }
}

pub(crate) fn limited(name: &'static str, text: impl Into<String>, mend: impl Into<String>) -> Check {
    Check { name, state: CheckState::Limited, text: text.into(), mend: mend.into() }
}

pub(crate) fn missing(name: &'static str, text: impl Into<String>, mend: impl Into<String>) -> Check {
    Check { name, state: CheckState::Missing, text: text.into(), mend: mend.into() }
}

fn proc(root: &Root) -> Check {
    let mut pids = Vec::new();
    match root.pids(&mut pids) {
        Ok(()) => fine("/proc", format!("{} processes are visible", pids.len())),
        Err(error) => missing("/proc", error.to_string(), "mount -t proc proc /proc"),
    }
}

/// hidepid of proc(5): with 1 and 2 other users' processes are closed or invisible.
fn other_users(root: &Root) -> Check {
    const NAME: &str = "other users' processes";
    let mounts = std::fs::read_to_string(root.proc("self/mounts")).unwrap_or_default();
    let options = mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        (words.next()? == "/proc").then_some(())?;
        words.nth(1)
    });
    let hidden = options.unwrap_or_default().split(',').find_map(|option| option.strip_prefix("hidepid="));
    match hidden {
        None | Some("0" | "off") => fine(NAME, "visible in /proc"),
        Some(mode) => limited(
            NAME,
            format!("/proc is mounted with hidepid={mode}"),
            "watch your own runs, or run lowtide as root or in the group that gid= of the mount names",
        ),
    }
}

fn process(root: &Root, pid: u32, scratch: &mut Scratch) -> Check {
    const NAME: &str = "process";
    match scratch.read(&root.of(pid, "stat")).map(Stat::parse) {
        Ok(Some(stat)) if stat.ended() => {
            missing(NAME, format!("{pid} has ended and waits for its parent"), "start it again with `lowtide run`")
        }
        Ok(Some(_)) => fine(NAME, format!("{pid} is there")),
        Ok(None) => {
            missing(NAME, format!("/proc/{pid}/stat is not in the format of proc(5)"), "check that /proc is a proc file system")
        }
        Err(error) => {
            missing(NAME, format!("{pid}: {error}"), format!("check with `ps -p {pid}`; it may be in another pid namespace"))
        }
    }
}

fn rollup(root: &Root, pid: u32, scratch: &mut Scratch) -> Check {
    const NAME: &str = "smaps_rollup";
    match scratch.read(&root.of(pid, "smaps_rollup")) {
        Ok(_) => fine(NAME, "private and shared pages can be told apart"),
        Err(error) if error.kind() == ErrorKind::NotFound => missing(
            NAME,
            "not there: a kernel before 4.14, or the process is gone",
            "anonymous and shared memory are watched all the same",
        ),
        Err(error) => limited(
            NAME,
            error.to_string(),
            "run as the user of the process, or as root; anonymous and shared memory are watched all the same",
        ),
    }
}

fn new_processes(root: &Root, scratch: &mut Scratch) -> Check {
    const NAME: &str = "new processes";
    let known = sys::is_proc(&root.proc("loadavg")) && scratch.read(&root.proc("loadavg")).is_ok();
    let pidfd = sys::pidfd_open(std::process::id()).is_some();
    match (root.is_ours() && known, pidfd) {
        (true, true) => fine(NAME, "found and lost cheaply (/proc/loadavg, pidfd)"),
        (true, false) => limited(
            NAME,
            "no pidfd: a kernel before 5.3, or a sandbox",
            "nothing to do; ends of processes are noticed a little later",
        ),
        (false, _) => limited(
            NAME,
            "/proc/loadavg cannot be trusted here",
            "nothing to do; on machines with thousands of processes new ones are noticed later",
        ),
    }
}

fn open_files(root: &Root) -> Check {
    const NAME: &str = "open files";
    if root.folders_tell_files() {
        fine(NAME, "the kernel tells how many a process has")
    } else {
        limited(NAME, "counted one by one, every 5 s or more rarely (a kernel before 6.2)", "nothing to do")
    }
}

/// What links a server outside the tree to the run.
fn connections(root: &Root, pid: u32) -> Check {
    const NAME: &str = "connections";
    const WHY: &str = "so that a server that does the work outside the tree is known to belong to the run";
    if !link::has_our_network(root, pid) {
        let text = format!("{pid} has another network: its Unix sockets are not seen from here");
        limited(NAME, text, format!("run lowtide in the same container, {WHY}"))
    } else if root.is_ours() && link::unix_peers_are_told() {
        fine(NAME, "the kernel tells whom the run is connected to")
    } else {
        let text = "TCP and pipes only: the kernel does not tell the peers of Unix sockets (CONFIG_UNIX_DIAG, or a sandbox)";
        limited(NAME, text, format!("modprobe unix_diag, {WHY}"))
    }
}

fn ptrace(root: &Root, scratch: &mut Scratch) -> Check {
    const NAME: &str = "ptrace";
    let scope = scratch.read(&root.proc("sys/kernel/yama/ptrace_scope")).ok().and_then(crate::parse::number);
    match scope {
        None | Some(0) => fine(NAME, "own processes may be looked into"),
        Some(1) => limited(
            NAME,
            "yama ptrace_scope is 1: only children may be looked into",
            "nothing to do: watching reads /proc only; to look inside, start the run with `lowtide run`, or: sysctl kernel.yama.ptrace_scope=0",
        ),
        Some(scope) => limited(
            NAME,
            format!("yama ptrace_scope is {scope}: only root may look into processes"),
            "nothing to do: watching reads /proc only; to look inside, run as root, or: sysctl kernel.yama.ptrace_scope=1",
        ),
    }
}

/// Whether the target lives in other namespaces than we do.
fn namespaces(root: &Root, pid: u32) -> Check {
    const NAME: &str = "namespaces";
    let link = |who: &str, kind: &str| std::fs::read_link(root.proc(&format!("{who}/ns/{kind}")));
    let target = pid.to_string();
    if let Err(error) = link(&target, "mnt") {
        return limited(
            NAME,
            format!("those of {pid} cannot be read: {error}"),
            "run as its user or as root, so that its own cgroup and /dev/shm are read",
        );
    }
    let other: Vec<&str> = ["mnt", "pid", "cgroup", "user"]
        .into_iter()
        .filter(|kind| link(&target, kind).is_ok_and(|there| link("self", kind).is_ok_and(|here| here != there)))
        .collect();
    if other.is_empty() {
        fine(NAME, if pid == std::process::id() { "those of this shell".to_owned() } else { format!("{pid} shares ours") })
    } else {
        fine(NAME, format!("{pid} has its own ({}): its cgroup and /dev/shm are read through /proc/{pid}/root", other.join(", ")))
    }
}

fn cgroup(root: &Root, pid: u32, scratch: &mut Scratch) -> Check {
    const NAME: &str = "cgroup";
    let mut cgroups = Cgroups::new(root, pid, scratch);
    if let Some(why) = cgroups.missing.take() {
        return missing(NAME, why, "the machine's memory is taken as the limit");
    }
    let mut samples = Vec::new();
    cgroups.sample(0.0, scratch, &mut samples);
    let version = match cgroups.version() {
        Some(CgroupVersion::V1) => "version 1",
        Some(CgroupVersion::V2) => "version 2",
        None => return missing(NAME, "none that can be read", "mount the cgroup file system here"),
    };
    let place = format!("{version}, {} {}", samples.len(), if samples.len() == 1 { "level" } else { "levels" });
    match samples.iter().filter_map(|sample| Some((sample.limit?, sample.usage))).min() {
        Some((limit, usage)) => fine(NAME, format!("{place}, limit {}, used {}", Bytes(limit), Bytes(usage))),
        None => fine(NAME, format!("{place}, no limit: the machine's memory is the limit")),
    }
}

fn machine(root: &Root, scratch: &mut Scratch) -> Check {
    match scratch.read(&root.proc("meminfo")).map(system::meminfo) {
        Ok(memory) if memory.total > 0 => {
            fine("memory", format!("{} in all, {} available", Bytes(memory.total), Bytes(memory.available)))
        }
        Ok(_) => missing("memory", "/proc/meminfo has no MemTotal", "check that /proc is a proc file system"),
        Err(error) => missing("memory", format!("/proc/meminfo: {error}"), "mount /proc whole"),
    }
}

fn pressure(root: &Root, scratch: &mut Scratch) -> Check {
    match scratch.read(&root.proc("pressure/memory")) {
        Ok(_) => fine("pressure", "stalls for want of memory are counted (PSI)"),
        Err(error) => limited(
            "pressure",
            format!("/proc/pressure/memory: {error}"),
            "boot with psi=1 (kernel 4.20 and newer); only stalls go unseen",
        ),
    }
}

fn shm(root: &Root, pid: u32) -> Check {
    /// DataLoader workers hand batches over through it; containers get 64 MiB by default, which is soon full.
    const SMALL: u64 = 256 << 20;
    const NAME: &str = "/dev/shm";
    let own = root.of(pid, "root/dev/shm");
    let path = if own.exists() { own } else { root.path("dev/shm") };
    match sys::file_system(&path) {
        None => missing(NAME, "not there", "mount -t tmpfs tmpfs /dev/shm; DataLoader workers need it"),
        Some((size, used)) if size < SMALL => limited(
            NAME,
            format!("{} of {} used: small for DataLoader workers", Bytes(used), Bytes(size)),
            "start the container with --shm-size or --ipc=host",
        ),
        Some((size, used)) => fine(NAME, format!("{} of {} used", Bytes(used), Bytes(size))),
    }
}

fn swap(root: &Root, scratch: &mut Scratch) -> Check {
    match scratch.read(&root.proc("meminfo")).map(system::meminfo) {
        Ok(memory) if memory.swap_total > 0 => limited(
            "swap",
            format!("{} of {} used: swapped memory is counted apart", Bytes(memory.swap_used), Bytes(memory.swap_total)),
            "nothing to do",
        ),
        _ => fine("swap", "none: resident memory is all there is"),
    }
}

fn clock(root: &Root, scratch: &mut Scratch) -> Check {
    match root.uptime_s(scratch) {
        Some(_) => fine("clock", "start times of processes can be told"),
        None => {
            missing("clock", "/proc/uptime cannot be read", "mount /proc whole; only the target itself is watched without it")
        }
    }
}

/// Where `report` without a file finds the newest run (XDG base directory specification).
fn state_folder() -> Check {
    const NAME: &str = "state folder";
    let base = std::env::var_os("XDG_STATE_HOME")
        .map(Into::into)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".local/state")));
    let Some(base) = base else {
        return limited(NAME, "neither XDG_STATE_HOME nor HOME is set", "set HOME, or name files with --record");
    };
    let nearest = base.ancestors().find(|folder| folder.is_dir()).unwrap_or_else(|| Path::new("/"));
    if sys::is_writable(nearest) {
        fine(NAME, format!("{}: where `lowtide report` looks for the newest run", base.join("lowtide").display()))
    } else {
        limited(
            NAME,
            format!("{} cannot be written", base.display()),
            "set XDG_STATE_HOME to a folder of yours, or name files with --record",
        )
    }
}

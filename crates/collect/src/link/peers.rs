//! Whom the run is connected to, and was: a client may send its job in the first second, hang up, and wait.
//!
//! The open files of the run's processes are looked at now and then, a millisecond's worth at a time, and never for more
//! than [`SHARE`] of a core; in the first seconds, when a client sends its job, ten times as often. A connection that was
//! too short to be seen is missed; a client that asks again and again is caught sooner or later. A process that had the
//! same ends look after look is passed over for a while, as long as its number of open files stays as it is: that number
//! costs a tenth of a look. What the run inherited from those who started it (their terminal, a pipe of the shell, a
//! build's jobserver) says nothing about anybody, nor do standard input, output and error.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::SocketAddr;

use super::ends::{self, End};
use super::family::Families;
use super::sockets::{self, UnixSockets};
use crate::parse::tcp::TcpState;
use crate::parse::unix_diag::UnixName;
use crate::root::Root;
use crate::sys;

/// The part of a core that looking may use, and in the first seconds.
const SHARE: f64 = 0.0005;
const FIRST_SHARE: f64 = 0.005;
/// CPU seconds after which a look pauses until the next tick.
const STEP_S: f64 = 0.001;
/// Seconds between looks, at first and later on, and how long "at first" is.
const FIRST_EVERY_S: f64 = 0.02;
const EVERY_S: f64 = 2.0;
const FIRST_S: f64 = 10.0;
/// The first file number that is not standard input, output or error.
const FIRST_OWN_FILE: u32 = 3;
/// Sockets and pipes of the run that are kept in mind, and listeners that it was connected to.
const MOST_ENDS: usize = 16_384;
const MOST_PLACES: usize = 1024;
/// A socket that is not connected yet is looked at again after this time, and then after twice as long each time.
const RETRY_S: f64 = 0.02;
const LONGEST_RETRY_S: f64 = 60.0;

/// The most looks in a row that pass over a process where nothing changes.
const MOST_PASSED_OVER: u32 = 15;

/// How much a process's ends have changed of late.
#[derive(Clone, Copy, Debug, Default)]
struct Quiet {
    /// Its open files at the last look.
    files: Option<u64>,
    /// Looks that may pass over it, and that have.
    may_pass: u32,
    passed: u32,
}

/// What is known of a socket of the run.
#[derive(Clone, Copy, Debug)]
enum Known {
    /// Not connected, or of a sort that connects nobody.
    Nothing {
        again_s: f64,
        wait_s: f64,
    },
    Listening,
    Unix {
        peer: u32,
    },
    Tcp {
        local: SocketAddr,
        remote: SocketAddr,
    },
}

/// The connections of the run.
#[derive(Debug)]
pub struct Peers {
    unix: Option<UnixSockets>,
    inherited: HashSet<End>,
    /// What each process of the run held at the last look.
    held: BTreeMap<u32, Vec<End>>,
    quiet: BTreeMap<u32, Quiet>,
    known: HashMap<u64, Known>,
    /// Listeners on this machine that the run was connected to, with the process that was.
    names: HashMap<UnixName, u32>,
    addresses: HashMap<SocketAddr, u32>,
    /// The process at which the look goes on.
    cursor: u32,
    next_s: f64,
    first_s: Option<f64>,
}

/// The connections at one moment, by their other ends; each with a process of the run.
#[derive(Debug, Default)]
pub struct Ends {
    pub pipes: HashMap<u64, u32>,
    pub unix: HashMap<u64, u32>,
    /// By the other end's own address and the one that it is connected to.
    pub tcp: HashMap<(SocketAddr, SocketAddr), u32>,
}

impl Peers {
    /// `unix`: the run's Unix sockets can be asked for.
    pub fn new(root: &Root, target: u32, families: &Families, unix: bool) -> Self {
        let mut inherited = HashSet::new();
        for ancestor in families.ancestors(target) {
            inherited.extend(ends::of(root, ancestor, 0));
        }
        Self {
            unix: if unix { UnixSockets::open() } else { None },
            inherited,
            held: BTreeMap::new(),
            quiet: BTreeMap::new(),
            known: HashMap::new(),
            names: HashMap::new(),
            addresses: HashMap::new(),
            cursor: 0,
            next_s: f64::NEG_INFINITY,
            first_s: None,
        }
    }

    /// Whether it is time to look. Ticks are not quite as regular as they are meant to be.
    pub fn is_due(&self, now_s: f64) -> bool {
        now_s >= self.next_s - 0.01
    }

    /// When to look next in the first seconds, when ticks come too rarely for it.
    pub fn glance_due_s(&self) -> Option<f64> {
        Some(self.next_s).filter(|next_s| self.first_s.is_some_and(|first_s| next_s - first_s < FIRST_S))
    }

    /// Looks at some of the run's processes, given in rising order, from where the last look ended.
    pub fn look(&mut self, root: &Root, now_s: f64, pids: &[u32]) {
        let before = sys::thread_cpu_ns();
        let spent_s = || (sys::thread_cpu_ns() - before) as f64 * 1e-9;
        if self.cursor == 0 {
            self.forget(|pid| pids.binary_search(&pid).is_ok());
        }
        let mut tcp = Vec::new();
        let mut rest = pids[pids.partition_point(|pid| *pid < self.cursor)..].iter().copied().peekable();
        let mut first = true;
        let eager = self.first_s.is_none_or(|first_s| now_s - first_s < FIRST_S);
        // One at least, however long the rest of the look took.
        while let Some(pid) = rest.next_if(|_| std::mem::take(&mut first) || spent_s() < STEP_S) {
            if eager || !self.passes_over(root, pid) {
                self.visit(root, now_s, pid, &mut tcp);
            }
        }
        let next = rest.next();
        self.cursor = next.unwrap_or(0);
        if !tcp.is_empty() {
            self.ask_tcp(root, now_s, &tcp);
        }
        let first_s = *self.first_s.get_or_insert(now_s);
        let (every_s, share) = if now_s - first_s < FIRST_S { (FIRST_EVERY_S, FIRST_SHARE) } else { (EVERY_S, SHARE) };
        let pause_s = if next.is_none() { every_s } else { 0.0 };
        self.next_s = now_s + pause_s.max(spent_s() / share);
    }

    /// Forgets what nobody of the run holds any more.
    fn forget(&mut self, alive: impl Fn(u32) -> bool) {
        self.held.retain(|pid, _| alive(*pid));
        self.quiet.retain(|pid, _| alive(*pid));
        let held: HashSet<End> = self.held.values().flatten().copied().collect();
        self.known.retain(|inode, _| held.contains(&End::Socket(*inode)));
    }

    /// What the run is connected to, as of the last look at each of its processes.
    pub fn ends(&self) -> Ends {
        let mut ends = Ends::default();
        for (pid, end) in self.held.iter().flat_map(|(pid, own)| own.iter().map(|end| (*pid, *end))) {
            match end {
                End::Pipe(inode) => drop(ends.pipes.entry(inode).or_insert(pid)),
                End::Socket(inode) => match self.known.get(&inode) {
                    Some(Known::Unix { peer }) => drop(ends.unix.entry(u64::from(*peer)).or_insert(pid)),
                    Some(Known::Tcp { local, remote }) => drop(ends.tcp.entry((*remote, *local)).or_insert(pid)),
                    _ => {}
                },
            }
        }
        ends
    }

    /// Whether a socket of somebody else listens where the run was connected to; with the run's process.
    pub fn was_connected_to(&mut self, inode: u64) -> Option<(UnixName, u32)> {
        if self.names.is_empty() {
            return None;
        }
        let bound = self.unix.as_mut()?.get(inode).filter(|socket| socket.listening)?.bound?;
        let pid = *self.names.get(&bound)?;
        Some((bound, pid))
    }

    /// Whether the run was connected to any listener of this machine by TCP.
    pub fn had_addresses(&self) -> bool {
        !self.addresses.is_empty()
    }

    /// The same for an address that somebody listens at: the address that the run was connected to.
    pub fn was_connected_to_tcp(&self, listener: SocketAddr) -> Option<(SocketAddr, u32)> {
        self.addresses.iter().find(|(address, _)| answers_at(listener, **address)).map(|(address, pid)| (*address, *pid))
    }

    /// Whether this look may pass over a process: its ends were the same for some looks, it has as many open files as
    /// then, and no socket of it waits to be connected.
    fn passes_over(&mut self, root: &Root, pid: u32) -> bool {
        let files = root.open_files(pid);
        let quiet = self.quiet.entry(pid).or_default();
        let same = files.is_some() && quiet.files == files;
        quiet.files = files;
        if !same || quiet.passed >= quiet.may_pass {
            return false;
        }
        let waits =
            |end: &End| matches!(end, End::Socket(inode) if matches!(self.known.get(inode), None | Some(Known::Nothing { .. })));
        if self.held.get(&pid).is_none_or(|own| own.iter().any(waits)) {
            return false;
        }
        quiet.passed += 1;
        true
    }

    /// Looks at one process; sockets that may be TCP go to `tcp`.
    fn visit(&mut self, root: &Root, now_s: f64, pid: u32, tcp: &mut Vec<(u64, u32)>) {
        let before = self.held.remove(&pid);
        let room = MOST_ENDS.saturating_sub(self.held.values().map(Vec::len).sum());
        let mut own = ends::of(root, pid, FIRST_OWN_FILE);
        own.retain(|end| !self.inherited.contains(end));
        own.truncate(room);
        for end in &own {
            if let End::Socket(inode) = *end
                && self.must_ask(inode, now_s)
            {
                match self.ask_unix(inode, pid) {
                    Some(Some(known)) => drop(self.known.insert(inode, known)),
                    Some(None) => self.retry_later(inode, now_s),
                    None => tcp.push((inode, pid)),
                }
            }
        }
        let quiet = self.quiet.entry(pid).or_default();
        quiet.passed = 0;
        quiet.may_pass = if before.as_ref() == Some(&own) { (2 * quiet.may_pass + 1).min(MOST_PASSED_OVER) } else { 0 };
        self.held.insert(pid, own);
    }

    fn must_ask(&self, inode: u64, now_s: f64) -> bool {
        match self.known.get(&inode) {
            None => true,
            Some(Known::Nothing { again_s, .. }) => now_s >= *again_s,
            Some(_) => false,
        }
    }

    /// `None` where it is no Unix socket (or nobody can tell), `Some(None)` where it is one that is not connected.
    fn ask_unix(&mut self, inode: u64, pid: u32) -> Option<Option<Known>> {
        let unix = self.unix.as_mut()?;
        let socket = unix.get(inode)?;
        if socket.listening {
            return Some(Some(Known::Listening));
        }
        let Some(peer) = socket.peer else { return Some(None) };
        // The far end has the name of its listener if it was accepted, and none if it is a client of ours.
        if let Some(name) = unix.get(u64::from(peer)).and_then(|far| far.bound)
            && self.names.len() < MOST_PLACES
        {
            self.names.entry(name).or_insert(pid);
        }
        Some(Some(Known::Unix { peer }))
    }

    fn ask_tcp(&mut self, root: &Root, now_s: f64, wanted: &[(u64, u32)]) {
        let table = sockets::tcp(root, wanted[0].1);
        let by_inode: HashMap<u64, usize> = table.iter().enumerate().map(|(index, socket)| (socket.inode, index)).collect();
        let ends: HashSet<(SocketAddr, SocketAddr)> = table.iter().map(|socket| (socket.local, socket.remote)).collect();
        let listeners: Vec<SocketAddr> =
            table.iter().filter(|socket| socket.state == TcpState::Listening).map(|socket| socket.local).collect();
        for (inode, pid) in wanted {
            match by_inode.get(inode).map(|index| table[*index]) {
                Some(socket) if socket.state == TcpState::Listening => drop(self.known.insert(*inode, Known::Listening)),
                Some(socket) => {
                    let (local, remote) = (socket.local, socket.remote);
                    self.known.insert(*inode, Known::Tcp { local, remote });
                    // Only what is on this machine too: elsewhere the same port is somebody else's.
                    let here = remote.ip().is_loopback() || ends.contains(&(remote, local));
                    let listens = listeners.iter().any(|listener| answers_at(*listener, remote));
                    if here && listens && self.addresses.len() < MOST_PLACES {
                        self.addresses.entry(remote).or_insert(*pid);
                    }
                }
                None => self.retry_later(*inode, now_s),
            }
        }
    }

    fn retry_later(&mut self, inode: u64, now_s: f64) {
        let wait_s = match self.known.get(&inode) {
            Some(Known::Nothing { wait_s, .. }) => (wait_s * 2.0).min(LONGEST_RETRY_S),
            _ => RETRY_S,
        };
        self.known.insert(inode, Known::Nothing { again_s: now_s + wait_s, wait_s });
    }
}

/// Whether a listener takes connections for an address. One that listens at no address in particular does so at all of
/// them, and on IPv6 often at those of IPv4 too.
fn answers_at(listener: SocketAddr, address: SocketAddr) -> bool {
    let at_all = listener.ip().is_unspecified() && (listener.is_ipv6() || address.is_ipv4());
    listener.port() == address.port() && (listener.ip() == address.ip() || at_all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_quiet_process_is_passed_over_until_it_opens_something() {
        let root = Root::new("/".as_ref());
        let us = std::process::id();
        let families = Families::default();
        let mut peers = Peers::new(&root, us, &families, false);
        let mut child = std::process::Command::new("sleep").arg("600").spawn().expect("sleep starts");
        let pid = child.id();
        let mut tcp = Vec::new();
        let mut looks = 0;
        for tick in 0..64 {
            if !peers.passes_over(&root, pid) {
                looks += 1;
                peers.visit(&root, f64::from(tick), pid, &mut tcp);
            }
        }
        child.kill().expect("kill");
        child.wait().expect("wait");
        if !root.folders_tell_files() {
            assert_eq!(looks, 64);
            return;
        }
        assert!((4..16).contains(&looks), "{looks}");
        // Ours are looked at until they are quiet too; then a new pipe is seen at the next look.
        for tick in 0..8 {
            if !peers.passes_over(&root, us) {
                peers.visit(&root, f64::from(tick), us, &mut tcp);
            }
        }
        let (reader, _writer) = std::io::pipe().expect("a pipe");
        assert!(!peers.passes_over(&root, us));
        peers.visit(&root, 9.0, us, &mut tcp);
        let link = std::fs::read_link(format!("/proc/self/fd/{}", reader.as_raw_fd())).expect("its link");
        let inode: u64 = link.to_string_lossy().trim_start_matches("pipe:[").trim_end_matches(']').parse().expect("a number");
        assert!(peers.held[&us].contains(&End::Pipe(inode)));
    }
}

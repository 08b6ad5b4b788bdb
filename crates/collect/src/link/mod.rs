//! Whether a process outside the watched tree has to do with the run.
//!
//! On a shared machine other people's jobs grow all the time. One that grows is the run's business if a connection
//! leads from the run to it, or to a relative of it that may have started it: a Unix socket, TCP within the machine, a
//! pipe; now, or seen earlier. (The other proof, a cgroup with a limit that holds both, is in `cgroup/`.)

mod ends;
mod family;
mod peers;
mod sockets;

use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use crate::parse::tcp::TcpState;
use crate::parse::unix_diag::UnixName;
use crate::root::{Root, Scratch};
use crate::sys;
use ends::End;
use family::{Families, Kinship};
use peers::{Ends, Peers};
use sockets::UnixSockets;

/// A suspect without a link is asked again after so many seconds, or after so many as keep that within this part of a
/// core.
const ASK_AGAIN_S: f64 = 10.0;
const SHARE: f64 = 0.0005;
/// Of a suspect and its relatives at most this many sockets and pipes are looked at.
const MOST_ENDS_OF_KIN: usize = 4096;

/// Finds the links between the run and suspects outside it.
#[derive(Debug)]
pub struct Links {
    target: u32,
    /// The run's network namespace; addresses of another one mean other things.
    network: Option<PathBuf>,
    peers: Peers,
    ask_again_s: f64,
}

impl Links {
    /// Takes note of what the run has inherited.
    pub fn new(root: &Root, target: u32, scratch: &mut Scratch) -> Self {
        let unix = root.is_ours() && has_our_network(root, target);
        let peers = Peers::new(root, target, &Families::read(root, scratch), unix);
        Self { target, network: network(root, target), peers, ask_again_s: f64::NEG_INFINITY }
    }

    /// Looks at the run's own connections if it is time. `pids`: its processes, in rising order.
    pub fn look(&mut self, root: &Root, now_s: f64, pids: impl Iterator<Item = u32>) {
        if self.peers.is_due(now_s) {
            self.peers.look(root, now_s, &pids.collect::<Vec<_>>());
        }
    }

    /// When [`Self::look`] should be called between ticks; `None` once the first seconds are over.
    pub fn glance_due_s(&self) -> Option<f64> {
        self.peers.glance_due_s()
    }

    /// Whether suspects that had no link may be asked about again.
    pub fn may_ask_again(&self, now_s: f64) -> bool {
        now_s >= self.ask_again_s
    }

    /// For each suspect the proof that it has to do with the run, in words, where there is one.
    pub fn prove(
        &mut self,
        root: &Root,
        now_s: f64,
        suspects: &[u32],
        ours: impl Fn(u32) -> bool,
        scratch: &mut Scratch,
    ) -> Vec<Option<String>> {
        let before = sys::thread_cpu_ns();
        let families = Families::read(root, scratch);
        let ends = self.peers.ends();
        let proofs = suspects
            .iter()
            .map(|suspect| {
                let kin = families.kin(*suspect, self.target, &ours);
                self.prove_one(root, *suspect, &kin, &ends)
            })
            .collect();
        let cost_s = (sys::thread_cpu_ns() - before) as f64 * 1e-9;
        self.ask_again_s = now_s + ASK_AGAIN_S.max(cost_s / SHARE);
        proofs
    }

    fn prove_one(&mut self, root: &Root, suspect: u32, kin: &[(u32, Kinship)], ends: &Ends) -> Option<String> {
        let mut sockets = Vec::new();
        for (pid, kinship) in kin {
            let who = Who { pid: *pid, kinship: *kinship };
            for end in ends::of(root, *pid, 0) {
                match end {
                    End::Pipe(inode) => {
                        if let Some(own) = ends.pipes.get(&inode) {
                            return Some(format!("{}a pipe with pid {own} of the run", who.begin("shares")));
                        }
                    }
                    End::Socket(inode) => {
                        if let Some(own) = ends.unix.get(&inode) {
                            return Some(format!("{}connected to pid {own} of the run by a Unix socket", who.begin("is")));
                        }
                        sockets.push((inode, who));
                    }
                }
            }
            if sockets.len() >= MOST_ENDS_OF_KIN {
                break;
            }
        }
        self.by_tcp(root, suspect, &sockets, ends).or_else(|| self.by_earlier_unix(&sockets))
    }

    fn by_tcp(&self, root: &Root, suspect: u32, sockets: &[(u64, Who)], ends: &Ends) -> Option<String> {
        if sockets.is_empty() || (ends.tcp.is_empty() && !self.peers.had_addresses()) {
            return None;
        }
        let here = network(root, suspect) == self.network;
        let mut earlier = None;
        for socket in sockets::tcp(root, suspect) {
            let Some((_, who)) = sockets.iter().find(|(inode, _)| *inode == socket.inode) else { continue };
            if socket.state == TcpState::Listening {
                if here && let Some((address, own)) = self.peers.was_connected_to_tcp(socket.local) {
                    earlier = Some(format!("pid {own} of the run was connected to {address}, where {} listens", who.name()));
                }
            } else if let Some(own) =
                ends.tcp.get(&(socket.local, socket.remote)).filter(|_| here || !socket.local.ip().is_loopback())
            {
                return Some(format!("{}connected to pid {own} of the run by TCP ({})", who.begin("is"), socket.local));
            }
        }
        earlier
    }

    fn by_earlier_unix(&mut self, sockets: &[(u64, Who)]) -> Option<String> {
        sockets.iter().find_map(|(inode, who)| {
            let (bound, own) = self.peers.was_connected_to(*inode)?;
            Some(format!("pid {own} of the run was connected to the Unix socket {}, where {} listens", shown(&bound), who.name()))
        })
    }
}

/// Whether the kernel tells who is at the other end of a Unix socket: asked for one of our own.
pub fn unix_peers_are_told() -> bool {
    let Ok((one, _other)) = UnixStream::pair() else { return false };
    let inode = std::fs::metadata(format!("/proc/self/fd/{}", one.as_raw_fd())).map(|socket| socket.ino());
    inode.is_ok_and(|inode| UnixSockets::open().and_then(|mut sockets| sockets.get(inode)).is_some())
}

/// The suspect or a relative of it.
#[derive(Clone, Copy, Debug)]
struct Who {
    pid: u32,
    kinship: Kinship,
}

impl Who {
    /// The beginning of a sentence about the suspect.
    fn begin(self, verb: &str) -> String {
        match (self.kinship, verb) {
            (Kinship::Itself, "is") => String::new(),
            (Kinship::Itself, _) => format!("{verb} "),
            _ => format!("{} {verb} ", self.name()),
        }
    }

    fn name(self) -> String {
        match self.kinship {
            Kinship::Itself => "it".to_owned(),
            Kinship::Parent => format!("its parent, pid {},", self.pid),
            Kinship::Ancestor => format!("its ancestor, pid {},", self.pid),
            Kinship::Descendant => format!("its descendant, pid {},", self.pid),
        }
    }
}

/// The network namespace of a process; `None` where we may not see it.
fn network(root: &Root, pid: u32) -> Option<PathBuf> {
    std::fs::read_link(root.of(pid, "ns/net")).ok()
}

/// Whether a process has the same network as we have.
pub fn has_our_network(root: &Root, pid: u32) -> bool {
    network(root, pid) == std::fs::read_link(root.proc("self/ns/net")).ok()
}

/// A foreign name, short and fit for a terminal. The NUL of an abstract name is written as `@`, as everywhere.
fn shown(bound: &UnixName) -> String {
    const LONGEST: usize = 108;
    let name = String::from_utf8_lossy(&bound.name);
    let at = |(index, c): (usize, char)| if index == 0 && c == '\0' { '@' } else { c };
    name.chars().enumerate().map(at).map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect()
}

#[cfg(test)]
mod tests;

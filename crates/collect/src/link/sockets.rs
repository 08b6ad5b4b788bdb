//! The kernel's tables of sockets: Unix ones by sock_diag(7), TCP ones by `/proc/PID/net`.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};

use crate::parse::tcp::{self, TcpSocket};
use crate::parse::unix_diag::{self, Answer, UnixSocket};
use crate::root::Root;
use crate::sys;

/// A door to sock_diag, for the Unix sockets of our own network namespace.
#[derive(Debug)]
pub struct UnixSockets {
    door: File,
    sequence: u32,
}

impl UnixSockets {
    /// `None` where the kernel or a sandbox does not have it.
    pub fn open() -> Option<Self> {
        Some(Self { door: File::from(sys::sock_diag()?), sequence: 0 })
    }

    /// The Unix socket of this inode, if it is one that keeps a connection.
    pub fn get(&mut self, inode: u64) -> Option<UnixSocket> {
        /// Late answers to earlier questions are passed over.
        const MOST_ANSWERS: u32 = 8;
        let inode = u32::try_from(inode).ok()?;
        self.sequence = self.sequence.wrapping_add(1);
        self.door.write_all(&unix_diag::request(inode, self.sequence)).ok()?;
        let mut buffer = [0; 1024];
        for _ in 0..MOST_ANSWERS {
            // The kernel answers before it returns from the write; the door never waits.
            let len = self.door.read(&mut buffer).ok()?;
            match unix_diag::answer(buffer.get(..len)?, self.sequence) {
                Some(Answer::Socket(socket)) => return Some(socket).filter(|socket| socket.inode == inode),
                Some(Answer::None) => return None,
                None => {}
            }
        }
        None
    }
}

/// The TCP sockets in the network namespace of a process that somebody holds, connected or listening.
pub fn tcp(root: &Root, pid: u32) -> Vec<TcpSocket> {
    /// Some 25,000 sockets. What is beyond is not seen, and proves nothing.
    const MOST_BYTES: u64 = 4 << 20;
    let mut found = Vec::new();
    for name in ["net/tcp", "net/tcp6"] {
        let Ok(file) = File::open(root.of(pid, name)) else { continue };
        let mut reader = BufReader::with_capacity(32 << 10, file.take(MOST_BYTES));
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            found.extend(tcp::socket(&line));
            line.clear();
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "test code")]

    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;
    use crate::parse::tcp::TcpState;

    fn inode(socket: &impl AsRawFd) -> u64 {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
        link.to_str().unwrap().trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap()
    }

    #[test]
    fn the_kernel_tells_the_peers_of_unix_sockets() {
        let Some(mut sockets) = UnixSockets::open() else { return };
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("x")).unwrap();
        let client = UnixStream::connect(folder.path().join("x")).unwrap();
        // A kernel without CONFIG_UNIX_DIAG opens the door and knows nobody.
        let Some(listening) = sockets.get(inode(&listener)) else { return };
        assert!(listening.listening);
        assert_eq!(sockets.get(inode(&client)).unwrap().peer, None, "not accepted yet");
        let (server, _) = listener.accept().unwrap();
        let near = sockets.get(inode(&client)).unwrap();
        assert_eq!(near.peer.map(u64::from), Some(inode(&server)));
        let far = sockets.get(inode(&server)).unwrap();
        assert!(far.bound.is_some() && far.bound == listening.bound && !far.listening, "{far:?}");
        assert!(far.bound.unwrap().name.ends_with(b"/x"));
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(sockets.get(inode(&tcp)), None);
    }

    #[test]
    fn both_ends_of_a_tcp_connection_are_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        let found = tcp(&Root::new("/".as_ref()), std::process::id());
        let of = |inode: u64| found.iter().find(|socket| socket.inode == inode).unwrap();
        let (near, far) = (of(inode(&client)), of(inode(&server)));
        assert_eq!((near.local, near.remote), (far.remote, far.local));
        assert_eq!(of(inode(&listener)).state, TcpState::Listening);
        assert_eq!(near.remote, listener.local_addr().unwrap());
    }
}

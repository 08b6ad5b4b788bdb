//! What a process holds: the sockets and pipes among its open files, by the links in `/proc/PID/fd` (proc(5)).

use std::os::unix::ffi::OsStrExt;

use crate::parse::number;
use crate::root::Root;

/// Of one process at most this many open files are looked at.
pub const MOST_FILES: usize = 1024;

/// One end of something that connects processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum End {
    /// A socket's inode. No other socket of the machine has it.
    Socket(u64),
    /// A pipe's inode: both its ends have the same.
    Pipe(u64),
}

/// The ends that a process holds under the numbers from `from` on; none where we may not look. The links alone are
/// read: following one could wait for a file server.
pub fn of(root: &Root, pid: u32, from: u32) -> Vec<End> {
    let Ok(folder) = std::fs::read_dir(root.of(pid, "fd")) else { return Vec::new() };
    let mut ends: Vec<End> = folder
        .flatten()
        .take(MOST_FILES)
        .filter(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok()).is_some_and(|fd: u32| fd >= from))
        .filter_map(|entry| end(std::fs::read_link(entry.path()).ok()?.as_os_str().as_bytes()))
        .collect();
    ends.sort_unstable();
    ends.dedup();
    ends
}

/// `socket:[4711]` or `pipe:[4711]`.
fn end(link: &[u8]) -> Option<End> {
    let inode = |prefix: &[u8]| link.strip_prefix(prefix)?.strip_suffix(b"]").and_then(number);
    inode(b"socket:[").map(End::Socket).or_else(|| inode(b"pipe:[").map(End::Pipe))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "test code")]

    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn finds_our_own() {
        let (one, other) = std::os::unix::net::UnixStream::pair().expect("sockets");
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let link = |fd: i32| end(std::fs::read_link(format!("/proc/self/fd/{fd}")).unwrap().as_os_str().as_bytes()).unwrap();
        let pipe = link(reader.as_raw_fd());
        assert!(matches!(pipe, End::Pipe(_)) && pipe == link(writer.as_raw_fd()));
        let found = of(&Root::new("/".as_ref()), std::process::id(), 3);
        for expected in [link(one.as_raw_fd()), link(other.as_raw_fd()), pipe] {
            assert!(found.contains(&expected), "{expected:?} in {found:?}");
        }
    }

    #[test]
    fn other_links_are_none() {
        for link in ["/dev/null", "anon_inode:[eventpoll]", "socket:[x]", "socket:[12", "/tmp/socket:[12]", ""] {
            assert_eq!(end(link.as_bytes()), None, "{link}");
        }
    }
}

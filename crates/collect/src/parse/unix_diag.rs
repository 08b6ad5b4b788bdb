//! Messages of sock_diag(7) about Unix sockets: who is at the other end of one. No file of /proc tells that.

/// What a Unix socket is bound to. A path alone would not do: containers have the same paths for different files.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UnixName {
    /// The path; abstract names begin with NUL.
    pub name: Vec<u8>,
    /// Inode and device of the socket's file.
    pub file: Option<(u32, u32)>,
}

/// A Unix socket that keeps a connection (a stream or a sequence of packets).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnixSocket {
    pub inode: u32,
    pub listening: bool,
    /// The inode of the other end, once that was accepted.
    pub peer: Option<u32>,
    /// What it is bound to. An accepted socket has the name of the one that listens.
    pub bound: Option<UnixName>,
}

/// What the kernel answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Socket(UnixSocket),
    /// No Unix socket that keeps a connection has this inode.
    None,
}

/// Sizes of `nlmsghdr`, `unix_diag_req` and `unix_diag_msg` (include/uapi/linux/{netlink,unix_diag}.h).
const HEAD: usize = 16;
const REQUEST: usize = 24;
const MESSAGE: usize = 16;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const AF_UNIX: u8 = 1;
const STREAM: u8 = 1;
const SEQPACKET: u8 = 5;
const LISTEN: u8 = 10;

/// Asks for one socket by its inode: its name, its file, its peer.
pub fn request(inode: u32, sequence: u32) -> [u8; HEAD + REQUEST] {
    const SHOW_NAME_VFS_PEER: u32 = 1 | 2 | 4;
    let mut bytes = [0; HEAD + REQUEST];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, &40_u32.to_ne_bytes());
    put(4, &SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    put(6, &NLM_F_REQUEST.to_ne_bytes());
    put(8, &sequence.to_ne_bytes());
    put(HEAD, &[AF_UNIX]);
    // All states; then the inode, what to show, and the cookie that means "any".
    put(HEAD + 4, &u32::MAX.to_ne_bytes());
    put(HEAD + 8, &inode.to_ne_bytes());
    put(HEAD + 12, &SHOW_NAME_VFS_PEER.to_ne_bytes());
    put(HEAD + 16, &u64::MAX.to_ne_bytes());
    bytes
}

/// The answer to the request of this number; `None` where these bytes are not it.
pub fn answer(bytes: &[u8], sequence: u32) -> Option<Answer> {
    let len = usize::try_from(u32_at(bytes, 0)?).ok()?;
    let message = bytes.get(..len)?;
    if u32_at(message, 8)? != sequence {
        return None;
    }
    match u16_at(message, 4)? {
        SOCK_DIAG_BY_FAMILY => Some(socket(message.get(HEAD..)?).map_or(Answer::None, Answer::Socket)),
        NLMSG_ERROR => Some(Answer::None),
        _ => None,
    }
}

fn socket(message: &[u8]) -> Option<UnixSocket> {
    const NAME: u16 = 0;
    const VFS: u16 = 1;
    const PEER: u16 = 2;
    let [family, kind, state, ..] = *message else { return None };
    if family != AF_UNIX || (kind != STREAM && kind != SEQPACKET) {
        return None;
    }
    let mut found = UnixSocket { inode: u32_at(message, 4)?, listening: state == LISTEN, peer: None, bound: None };
    let (mut name, mut file) = (None, None);
    let mut rest = message.get(MESSAGE..)?;
    while let (Some(len), Some(kind)) = (u16_at(rest, 0), u16_at(rest, 2)) {
        let len = usize::from(len);
        let Some(value) = rest.get(4..len) else { break };
        match kind {
            // A path comes with the NUL at its end; in an abstract name every NUL counts.
            NAME => name = Some(value.strip_suffix(&[0]).filter(|path| path.first() != Some(&0)).unwrap_or(value).to_vec()),
            VFS => file = u32_at(value, 0).zip(u32_at(value, 4)),
            PEER => found.peer = u32_at(value, 0).filter(|peer| *peer > 0),
            _ => {}
        }
        // Attributes begin at multiples of four.
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    found.bound = name.filter(|name| !name.is_empty()).map(|name| UnixName { name, file });
    Some(found)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "test code")]

    use super::*;

    fn reply(kind: u8, state: u8, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0; HEAD + MESSAGE];
        bytes[HEAD] = AF_UNIX;
        bytes[HEAD + 1] = kind;
        bytes[HEAD + 2] = state;
        bytes[HEAD + 4..HEAD + 8].copy_from_slice(&77_u32.to_ne_bytes());
        for (kind, value) in attributes {
            let len = u16::try_from(4 + value.len()).unwrap();
            bytes.extend([len.to_ne_bytes(), kind.to_ne_bytes()].concat());
            bytes.extend_from_slice(value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        let len = u32::try_from(bytes.len()).unwrap();
        bytes[..4].copy_from_slice(&len.to_ne_bytes());
        bytes[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        bytes[8..12].copy_from_slice(&5_u32.to_ne_bytes());
        bytes
    }

    #[test]
    fn reads_name_and_peer() {
        let file = [9_u32.to_ne_bytes(), 3_u32.to_ne_bytes()].concat();
        let bytes = reply(STREAM, 1, &[(0, b"/run/x\0"), (1, &file), (2, &42_u32.to_ne_bytes()), (9, b"new")]);
        let bound = Some(UnixName { name: b"/run/x".to_vec(), file: Some((9, 3)) });
        let expected = UnixSocket { inode: 77, listening: false, peer: Some(42), bound };
        assert_eq!(answer(&bytes, 5), Some(Answer::Socket(expected)));
        assert_eq!(answer(&bytes, 6), None, "the answer to another request");
        assert_eq!(answer(&bytes[..bytes.len() - 1], 5), None, "cut off");
        assert_eq!(answer(&reply(2, 1, &[(2, &42_u32.to_ne_bytes())]), 5), Some(Answer::None), "datagrams keep no connection");
        assert_eq!(answer(&reply(STREAM, LISTEN, &[]), 5).map(|a| matches!(a, Answer::Socket(s) if s.listening)), Some(true));
    }
}

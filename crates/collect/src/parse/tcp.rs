//! `/proc/PID/net/tcp` and `tcp6`: the TCP sockets of a network namespace (kernel: net/ipv4/tcp_ipv4.c,
//! `tcp4_seq_show`; Documentation/networking/proc_net_tcp.rst).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// What a socket is at, as far as we care (include/net/tcp_states.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpState {
    /// It waits for connections.
    Listening,
    /// It is connected, or its connection is being closed.
    Connected,
}

/// One socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpSocket {
    pub local: SocketAddr,
    pub remote: SocketAddr,
    pub state: TcpState,
    /// The socket's inode, as the links of `/proc/PID/fd` name it.
    pub inode: u64,
}

/// A line of the table; `None` for the head line, for sockets that no process holds any more, for those that are
/// neither connected nor listening, and for anything else.
pub fn socket(line: &[u8]) -> Option<TcpSocket> {
    const LISTEN: u64 = 0x0a;
    const SYN_SENT: u64 = 0x02;
    const SYN_RECEIVED: u64 = 0x03;
    let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).skip(1);
    let (local, remote) = (address(words.next()?)?, address(words.next()?)?);
    let state = match super::hex(words.next()?)? {
        LISTEN => TcpState::Listening,
        SYN_SENT | SYN_RECEIVED => return None,
        _ => TcpState::Connected,
    };
    // Queues, timer, retransmits, uid and timeout lie between.
    let inode = super::number(words.nth(5)?).filter(|inode| *inode > 0)?;
    Some(TcpSocket { local, remote, state, inode })
}

/// `0100007F:1F90`, or four such groups for IPv6: each is a word of the machine as it stands in memory. A version 4
/// address in the dress of version 6 is given as what it is, so that both ends of a connection look alike.
fn address(word: &[u8]) -> Option<SocketAddr> {
    let colon = word.iter().position(|byte| *byte == b':')?;
    let port = u16::from_str_radix(std::str::from_utf8(&word[colon + 1..]).ok()?, 16).ok()?;
    let mut groups = word[..colon].chunks(8).map(|digits| {
        let value = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        Some(value.to_ne_bytes())
    });
    let ip = match colon {
        8 => IpAddr::V4(Ipv4Addr::from(groups.next()??)),
        32 => {
            let mut bytes = [0; 16];
            for place in bytes.chunks_mut(4) {
                place.copy_from_slice(&groups.next()??);
            }
            IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "test code")]

    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn reads_both_versions() {
        let head = b"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
        assert_eq!(socket(head), None);
        let listens =
            b"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0000000000000000 100 0 0 10 0";
        let found = socket(listens).expect("a socket");
        assert_eq!((found.local, found.state, found.inode), ("127.0.0.1:8080".parse().unwrap(), TcpState::Listening, 4711));
        let mapped = b"  12: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 99 1";
        let found = socket(mapped).expect("a socket");
        assert_eq!((found.local, found.remote), ("127.0.0.1:8080".parse().unwrap(), "127.0.0.1:40000".parse().unwrap()));
        let six = b"   1: 00000000000000000000000001000000:1F90 00000000000000000000000001000000:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 7 1";
        assert_eq!(socket(six).expect("a socket").local, "[::1]:8080".parse().unwrap());
    }

    #[test]
    fn leaves_out_what_nobody_holds() {
        let time_wait =
            b"   3: 0100007F:9C40 0100007F:1F90 06 00000000:00000000 03:00000F6A 00000000     0        0 0 3 0000000000000000";
        assert_eq!(socket(time_wait), None);
        assert_eq!(socket(b"   3: 0100007F:9C40 0100007F:1F90 02 00000000:00000000 01:0 0 0 0 55 2"), None, "not connected yet");
        assert_eq!(socket(b"   3: zz 0100007F:1F90 06"), None);
    }
}

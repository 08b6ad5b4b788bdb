//! Whatever bytes a parser is given, it returns.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{keyed, mounts, nul_separated, number, stat, status, tcp, unix_diag};

/// Arbitrary bytes, and the shapes that parsers branch on with arbitrary bytes between them.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        vec(any::<u8>(), 0..24),
        prop::sample::select(vec![
            "Name:\t",
            "VmRSS:",
            " kB\n",
            "SigCgt:",
            "Pss:",
            "(",
            ")",
            " S ",
            "0::",
            ":memory:",
            " - ",
            "cgroup2",
            "\\04",
            "total=",
            "full ",
            "0100007F:1F90 ",
            "0000000000000000FFFF00000100007F:1F90 ",
            "0A ",
            "99999999999999999999",
            "-1",
            "\n",
            "\0",
            " ",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    vec(word, 0..80).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn no_parser_panics(bytes in bytes()) {
        let _ = number(&bytes);
        let _ = super::hex(&bytes);
        let _ = stat::Stat::parse(&bytes);
        let _ = status::Status::parse(&bytes);
        let _ = keyed::rollup(&bytes);
        let _ = keyed::psi_full_us(&bytes);
        let _ = keyed::value_of(&bytes, b"MemTotal");
        prop_assert!(mounts::cgroup_mounts(&bytes).len() <= 64);
        let _ = mounts::cgroup_paths(&bytes);
        let _ = tcp::socket(&bytes);
        prop_assert!(nul_separated(&bytes, 7).len() <= 7);
    }

    /// The head of an answer is right, and what follows is anything.
    #[test]
    fn no_answer_of_the_kernel_panics(kind in prop::sample::select(vec![2_u16, 20]), len in any::<u8>(), rest in vec(any::<u8>(), 0..120)) {
        let head = [&u32::from(len).to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 2], &7_u32.to_ne_bytes(), &[0; 4], &[1, 1, 1, 0]];
        let _ = unix_diag::answer(&[&head.concat()[..], &rest].concat(), 7);
        let _ = unix_diag::answer(&rest, 7);
    }

    /// Addresses of the right form give what they say.
    #[test]
    fn lines_of_the_tcp_table_are_read(ip in any::<u32>(), port in any::<u16>(), inode in 1..u64::MAX) {
        let line = format!("  4: {ip:08X}:{port:04X} {ip:08X}:{port:04X} 01 0:0 00:0 0  1000        0 {inode} 1");
        let socket = tcp::socket(line.as_bytes()).expect("a socket");
        let expected = std::net::SocketAddr::from((std::net::Ipv4Addr::from(ip.to_ne_bytes()), port));
        prop_assert_eq!((socket.local, socket.remote, socket.inode), (expected, expected, inode));
    }
}

//! Whatever bytes a parser is given, it returns.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{keyed, mounts, nul_separated, number, stat, status};

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
        prop_assert!(nul_separated(&bytes, 7).len() <= 7);
    }
}

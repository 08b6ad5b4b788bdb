//! A log of a dead run.

use lowtide_ingest::log::{self, Log};

/// A log, read whole and through a reader that gives it in small pieces: the same comes out.
pub fn log(bytes: &[u8]) {
    let whole = log::read(bytes).expect("bytes in memory can be read");
    for finding in whole.findings() {
        let oom = finding.oom.as_ref().expect("an end has its figures");
        assert!(oom.numbers.values().all(|value| value.is_finite()), "figures are numbers");
        assert!(finding.evidence.iter().all(|line| line.len() < 4096) && finding.text.len() < 4096, "texts that can be read");
    }
    assert!(whole.incidents.len() <= bytes.len(), "an end takes at least a byte");
    assert_eq!(whole, in_pieces(bytes), "how a log is read does not matter");
}

fn in_pieces(bytes: &[u8]) -> Log {
    let middle = bytes.len() / 2;
    let pieces = std::io::Read::chain(&bytes[..middle], &bytes[middle..]);
    log::read(pieces).expect("bytes in memory can be read")
}

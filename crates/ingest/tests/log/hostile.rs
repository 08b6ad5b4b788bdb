//! Any bytes are a log, and memory does not grow with it.

use std::io::Read;

use lowtide_ingest::log::read;
use proptest::prelude::*;

const PIECES: [&str; 36] = [
    "CUDA out of memory. Tried to allocate ",
    "12.50 MiB",
    " (GPU 0; ",
    "GiB total capacity; ",
    "Killed process ",
    "123 (py",
    ") total-vm:",
    "9999999999999999999999",
    "kB, anon-rss:",
    "[ pid ]   uid  tgid total_vm      rss nr_ptes swapents oom_score_adj name\n",
    "[ 7747]     0  7748  3226957  2875051    5692        0             0 python\n",
    "Memory cgroup stats for /a:\n",
    "anon 12\n",
    "oom-kill:constraint=",
    "exit code ",
    "137",
    "\r",
    "\n",
    "2026-01-01 10:00:00 ",
    "RAM: 12.3GB ",
    "GPU 0: 1234 MiB / 24576 MiB",
    "rss=",
    "1e308 GB",
    "ram=0.1G]",
    "[00:12<00:15, ",
    "step 5 ",
    "memory (MB) | allocated: ",
    "svmem(total=1, available=9",
    "\u{2588}\u{e9}mem: 3 GB",
    "{\"rss_mb\": 12.5, \"step\": 3}",
    "\u{1b}[31m",
    "[rank1]: ",
    "Unable to allocate 1.0 GiB for an array with shape (",
    "9999999999,9999999999,9999999999) and data type float64",
    "{\"log\":\"",
    "\u{a0}\u{2502}é",
];

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let log = read(&bytes[..]).unwrap();
        prop_assert!(log.incidents.len() <= bytes.len());
    }

    #[test]
    fn pieces_of_messages_in_any_order_are_read(at in proptest::collection::vec(0..PIECES.len(), 0..60)) {
        let text: String = at.iter().map(|at| PIECES[*at]).collect();
        let log = read(text.as_bytes()).unwrap();
        for finding in log.findings() {
            let oom = finding.oom.unwrap();
            prop_assert!(oom.numbers.values().all(|value| value.is_finite()));
        }
    }
}

/// Text without end, made as it is read.
struct Endless {
    left: u64,
    line: &'static [u8],
    at: usize,
}

impl Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = into.len().min(self.left as usize);
        for byte in &mut into[..count] {
            *byte = self.line[self.at];
            self.at = (self.at + 1) % self.line.len();
        }
        self.left -= count as u64;
        Ok(count)
    }
}

#[test]
fn a_line_without_end_many_empty_ones_and_thousands_of_messages() {
    for line in [
        &b"x"[..],
        b"\n",
        b"\r",
        b"CUDA out of memory. Tried to allocate 1.00 MiB\n",
        b"Killed\n",
        b"\x1b[",
        b"Killed process 1 (a",
    ] {
        let log = read(Endless { left: 400_000, line, at: 0 }).unwrap();
        assert!(log.incidents.len() <= 4096 && log.said.len() <= 20);
    }
}

#[test]
fn messages_are_found_at_any_place_of_a_long_text() {
    for before in [0, 65_530, 65_536, 70_000, 200_000] {
        let mut text = "loss 0.1 lr 0.001\n".repeat(before / 18);
        text.push_str("DataLoader worker (pid 19597) is killed by signal: Killed.\n");
        text.push_str(&"more lines\n".repeat(10_000));
        let log = read(text.as_bytes()).unwrap();
        assert_eq!(log.incidents.len(), 1, "{before}");
        assert_eq!(log.incidents[0].main().line, before as u64 / 18 + 1);
    }
}

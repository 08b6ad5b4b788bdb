//! `/proc/PID/status`: the memory counters that cost little, and the signals that tell roles apart.

use super::{hex, kibibytes, lines, number};

/// The fields of proc(5) `status` that lowtide reads. Sizes in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status<'a> {
    /// Name: the comm, at most 15 bytes, special bytes escaped by the kernel.
    pub name: &'a [u8],
    /// First letter of State.
    pub state: u8,
    /// Tgid: differs from the pid for a thread that is not the leader.
    pub tgid: u32,
    /// VmHWM, the most ever resident. It falls only when the process execs (or somebody resets it).
    pub high_water: u64,
    /// VmRSS; `None` for a kernel thread, a zombie, or a process that is just leaving.
    pub rss: Option<u64>,
    /// RssAnon; `None` on kernels before 4.5 and in sandboxes that leave it out.
    pub anon: Option<u64>,
    /// RssFile.
    pub file: u64,
    /// RssShmem.
    pub shmem: u64,
    /// VmSwap.
    pub swap: u64,
    /// VmData: private writable memory that was asked for, touched or not.
    pub data: Option<u64>,
    /// VmSize: all that is mapped.
    pub size: Option<u64>,
    /// Threads.
    pub threads: u32,
    /// SigIgn: bit n-1 is set where signal n is ignored.
    pub ignored: u64,
    /// SigCgt: bit n-1 is set where signal n is caught.
    pub caught: u64,
}

impl<'a> Status<'a> {
    /// Reads what is there; a missing line is zero or `None`.
    #[must_use]
    pub fn parse(bytes: &'a [u8]) -> Self {
        let mut status = Self::default();
        for line in lines(bytes) {
            let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
            let value = &line[colon + 1..];
            match &line[..colon] {
                b"Name" => status.name = value.trim_ascii(),
                b"State" => status.state = value.trim_ascii().first().copied().unwrap_or(0),
                b"Tgid" => status.tgid = narrow(value),
                b"VmHWM" => status.high_water = kibibytes(value).unwrap_or(0),
                b"VmRSS" => status.rss = kibibytes(value),
                b"RssAnon" => status.anon = kibibytes(value),
                b"RssFile" => status.file = kibibytes(value).unwrap_or(0),
                b"RssShmem" => status.shmem = kibibytes(value).unwrap_or(0),
                b"VmSize" => status.size = kibibytes(value),
                b"VmData" => status.data = kibibytes(value),
                b"VmSwap" => status.swap = kibibytes(value).unwrap_or(0),
                b"Threads" => status.threads = narrow(value),
                b"SigIgn" => status.ignored = hex(value).unwrap_or(0),
                b"SigCgt" => {
                    status.caught = hex(value).unwrap_or(0);
                    // Nothing that lowtide reads comes after it.
                    break;
                }
                _ => {}
            }
        }
        status
    }

    /// Whether it has ended: a zombie without a living thread, or dead.
    #[must_use]
    pub fn ended(&self) -> bool {
        matches!(self.state, b'X' | b'x') || (self.state == b'Z' && self.threads <= 1)
    }
}

fn narrow(value: &[u8]) -> u32 {
    number(value).and_then(|value| u32::try_from(value).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: &[u8] = b"Name:\tpython3\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t14462\nPid:\t14462\nPPid:\t14460\nVmPeak:\t 4345000 kB\nVmHWM:\t  190000 kB\nVmRSS:\t  152000 kB\nRssAnon:\t  100000 kB\nRssFile:\t   50000 kB\nRssShmem:\t    2000 kB\nVmData:\t  900000 kB\nVmSwap:\t     12 kB\nThreads:\t2\nSigIgn:\t0000000001001006\nSigCgt:\t00000001000044c0\n";

    #[test]
    fn reads_memory_and_signals() {
        let status = Status::parse(REAL);
        assert_eq!(status.name, b"python3");
        assert_eq!((status.state, status.tgid, status.threads), (b'S', 14462, 2));
        assert_eq!(status.anon, Some(100_000 * 1024));
        assert_eq!((status.file, status.shmem, status.swap), (50_000 * 1024, 2000 * 1024, 12 * 1024));
        assert_eq!((status.ignored, status.caught), (0x0100_1006, 0x1_0000_44c0));
        assert_eq!(status.high_water, 190_000 * 1024);
    }

    #[test]
    fn a_zombie_has_no_memory_and_has_ended_unless_a_thread_lives() {
        let status = Status::parse(b"Name:\tx\nState:\tZ (zombie)\nThreads:\t1\n");
        assert_eq!(status.rss, None);
        assert!(status.ended());
        assert!(!Status::parse(b"State:\tZ (zombie)\nThreads:\t3\n").ended());
    }
}

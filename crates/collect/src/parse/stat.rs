//! `/proc/PID/stat`: the cheapest file that says who started a process, and when.

use super::number;

/// The fields of proc(5) `stat` that lowtide reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Field 1.
    pub pid: u32,
    /// Field 3: `R`, `S`, `D`, `T`, `t`, `Z`, `X`, `I`.
    pub state: u8,
    /// Field 4.
    pub ppid: u32,
    /// Field 5, the process group.
    pub pgrp: u32,
    /// Field 6.
    pub session: u32,
    /// Fields 14 and 15, user and system time in clock ticks.
    pub cpu_ticks: u64,
    /// Field 20.
    pub threads: u32,
    /// Field 22, clock ticks after boot. With the pid it names a process for ever: pids are reused.
    pub start_ticks: u64,
    /// Field 38 is zero: nobody is sent a signal when it ends. So are children that clone(2) makes without one, until they exec.
    pub silent: bool,
    /// Fields 28 and 48, where the stack and the arguments lie; zero where ptrace access is missing. The kernel puts
    /// them at a random place on each exec, so a child that has its parent's was forked from it and has not execed.
    pub layout: [u64; 2],
}

impl Stat {
    /// Reads the file; `None` where it is not one.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        // The name may hold blanks and brackets, so only the last bracket ends it.
        let open = bytes.iter().position(|byte| *byte == b'(')?;
        let close = bytes.iter().rposition(|byte| *byte == b')')?;
        let pid = u32::try_from(number(&bytes[..open])?).ok()?;
        let mut stat = Self { pid, ..Self::default() };
        let mut seen = 0;
        for (index, field) in bytes.get(close + 1..)?.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).enumerate()
        {
            // Negative values (an unset tty, a priority) are of no use here.
            let value = number(field).unwrap_or(0);
            let narrow = u32::try_from(value).unwrap_or(0);
            match index + 3 {
                3 => stat.state = field[0],
                4 => stat.ppid = narrow,
                5 => stat.pgrp = narrow,
                6 => stat.session = narrow,
                14 | 15 => stat.cpu_ticks = stat.cpu_ticks.saturating_add(value),
                20 => stat.threads = narrow,
                22 => stat.start_ticks = value,
                28 => stat.layout[0] = value,
                38 => stat.silent = field == b"0",
                48 => stat.layout[1] = value,
                _ => {}
            }
            seen = index + 3;
        }
        (seen >= 22).then_some(stat)
    }

    /// Whether it has ended: a zombie without a living thread, or dead.
    #[must_use]
    pub fn ended(&self) -> bool {
        matches!(self.state, b'X' | b'x') || (self.state == b'Z' && self.threads <= 1)
    }

    /// Whether `child` has this process's memory layout, so was forked from it and did not exec. `None` where the
    /// kernel does not show layouts.
    #[must_use]
    pub fn forked(&self, child: &Self) -> Option<bool> {
        let known = |layout: [u64; 2]| layout[0] > 1 && layout[1] > 1;
        (known(self.layout) && known(child.layout)).then(|| self.layout == child.layout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: &[u8] = b"14462 (py) (thon3) S 14460 14455 6177 0 -1 4194368 5021 0 0 0 7 3 0 0 20 0 2 0 155301 4345368576 38912 18446744073709551615 4321280 7000000 140722644134912 0 0 0 0 16781318 17600 0 0 0 17 1 0 0 0 0 0 1 2 3 140722644142784 140722644142804 140722644142804 140722644144104 0\n";

    #[test]
    fn reads_the_fields_behind_a_strange_name() {
        let stat = Stat::parse(REAL).expect("a stat line");
        assert_eq!((stat.pid, stat.state, stat.ppid, stat.pgrp, stat.session), (14462, b'S', 14460, 14455, 6177));
        assert_eq!((stat.cpu_ticks, stat.threads, stat.start_ticks), (10, 2, 155_301));
        assert_eq!(stat.layout, [140_722_644_134_912, 140_722_644_142_784]);
        assert!(!stat.silent, "SIGCHLD");
        let text = String::from_utf8_lossy(REAL).replace(" 17 1 0 0 0 0 0 1", " 0 1 0 0 0 0 0 1");
        assert!(Stat::parse(text.as_bytes()).expect("a stat line").silent);
    }

    #[test]
    fn a_fork_shares_the_layout_and_an_exec_does_not() {
        let parent = Stat::parse(REAL).expect("a stat line");
        let hidden = Stat { layout: [0, 0], ..parent };
        let execed = Stat { layout: [140_722_644_134_913, 7], ..parent };
        assert_eq!(parent.forked(&parent), Some(true));
        assert_eq!(parent.forked(&execed), Some(false));
        assert_eq!(parent.forked(&hidden), None);
    }

    #[test]
    fn refuses_what_is_cut_off() {
        assert_eq!(Stat::parse(b"14462 (python3) S 1 2 3"), None);
        assert_eq!(Stat::parse(b"no brackets"), None);
        assert_eq!(Stat::parse(b")("), None);
    }
}

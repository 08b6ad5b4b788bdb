//! A process of a fake /proc. All sizes in bytes.

use std::fmt::Write;

/// What `smaps_rollup` shows of a fake process.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "the kernel's names")]
pub struct FakeRollup {
    pub pss: u64,
    pub pss_anon: u64,
    pub pss_file: u64,
    pub pss_shmem: u64,
    pub private_clean: u64,
    pub private_dirty: u64,
}

/// A process as a fake /proc shows it. Change its fields and give it to [`crate::FakeRoot::set`] again.
#[derive(Clone, Debug)]
pub struct FakeProcess {
    /// Its pid.
    pub pid: u32,
    /// Its parent.
    pub ppid: u32,
    /// Its process group.
    pub pgrp: u32,
    /// Its session.
    pub session: u32,
    /// Seconds after boot when it started.
    pub start_s: f64,
    /// `S`, `R`, `T`, `Z`, ...
    pub state: char,
    /// Its name.
    pub comm: String,
    /// Its command line.
    pub args: Vec<String>,
    /// The path of its program.
    pub exe: String,
    /// Its environment, `NAME=value` each.
    pub environ: Vec<String>,
    /// RssAnon.
    pub anon: u64,
    /// RssFile.
    pub file: u64,
    /// RssShmem.
    pub shmem: u64,
    /// VmSwap.
    pub swap: u64,
    /// Threads.
    pub threads: u32,
    /// SigCgt.
    pub caught: u64,
    /// User CPU time in clock ticks.
    pub cpu_ticks: u64,
    /// Where its stack and its arguments lie: equal to its parent's after a fork, another number after an exec.
    pub layout: u64,
    /// Files that it has mapped, by path.
    pub mapped: Vec<String>,
    /// The text of its `cgroup` file.
    pub cgroup: String,
    /// Its `smaps_rollup`; without it there is no such file.
    pub rollup: Option<FakeRollup>,
}

impl FakeProcess {
    /// A process that execed, with one thread and 10 MiB of its own.
    #[must_use]
    pub fn new(pid: u32, ppid: u32, start_s: f64, command: &str) -> Self {
        let args: Vec<String> = command.split_ascii_whitespace().map(String::from).collect();
        let program = args.first().cloned().unwrap_or_default();
        Self {
            pid,
            ppid,
            pgrp: 0,
            session: 0,
            start_s,
            state: 'S',
            comm: program.rsplit('/').next().unwrap_or_default().chars().take(15).collect(),
            exe: if program.starts_with('/') { program } else { format!("/usr/bin/{program}") },
            args,
            environ: Vec::new(),
            anon: 10 << 20,
            file: 4 << 20,
            shmem: 0,
            swap: 0,
            threads: 1,
            caught: 0,
            cpu_ticks: 0,
            layout: 0x7f00_0000_0000 + u64::from(pid) * 4096,
            mapped: Vec::new(),
            cgroup: "0::/\n".to_owned(),
            rollup: None,
        }
    }

    /// A child that it forks, which has not execed.
    #[must_use]
    pub fn fork(&self, pid: u32, start_s: f64) -> Self {
        Self { pid, ppid: self.pid, start_s, cpu_ticks: 0, threads: 1, ..self.clone() }
    }

    /// The text of `stat`.
    #[must_use]
    pub fn stat(&self) -> String {
        let mut text = format!("{} ({}) {} {} {} {} 0 -1 0", self.pid, self.comm, self.state, self.ppid, self.pgrp, self.session);
        let start_ticks = (self.start_s * 100.0).round() as u64;
        // Fields 10 to 52 of proc(5).
        for field in 10..=52 {
            let value = match field {
                14 => self.cpu_ticks,
                20 => u64::from(self.threads),
                22 => start_ticks,
                28 => self.layout,
                48 => self.layout + 0x1000,
                _ => 0,
            };
            let _ = write!(text, " {value}");
        }
        text.push('\n');
        text
    }

    /// The text of `status`.
    #[must_use]
    pub fn status(&self) -> String {
        let mut text = format!(
            "Name:\t{}\nState:\t{} (fake)\nTgid:\t{}\nPid:\t{}\nPPid:\t{}\n",
            self.comm, self.state, self.pid, self.pid, self.ppid
        );
        if self.state != 'Z' {
            let rss = self.anon + self.file + self.shmem;
            for (name, bytes) in [
                ("VmHWM", rss),
                ("VmRSS", rss),
                ("RssAnon", self.anon),
                ("RssFile", self.file),
                ("RssShmem", self.shmem),
                ("VmSwap", self.swap),
            ] {
                let _ = writeln!(text, "{name}:\t{:8} kB", bytes / 1024);
            }
        }
        let _ = writeln!(text, "Threads:\t{}\nSigIgn:\t{:016x}\nSigCgt:\t{:016x}", self.threads, 0, self.caught);
        text
    }

    /// The text of `statm`, in pages of 4 KiB.
    #[must_use]
    pub fn statm(&self) -> String {
        let shared = (self.file + self.shmem) / 4096;
        let resident = shared + self.anon / 4096;
        format!("{} {resident} {shared} 1 0 {resident} 0\n", resident + 1000)
    }

    /// The text of `maps`.
    #[must_use]
    pub fn maps(&self) -> String {
        let mut text = String::from("5500-5600 rw-p 00000000 00:00 0                          [heap]\n");
        for path in &self.mapped {
            let _ = writeln!(text, "7f00-7f10 r-xp 00000000 fe:00 42                         {path}");
        }
        text
    }
}

impl FakeRollup {
    /// The text of `smaps_rollup`.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::from("5500-7f10 ---p 00000000 00:00 0                          [rollup]\n");
        for (name, bytes) in [
            ("Pss", self.pss),
            ("Pss_Anon", self.pss_anon),
            ("Pss_File", self.pss_file),
            ("Pss_Shmem", self.pss_shmem),
            ("Private_Clean", self.private_clean),
            ("Private_Dirty", self.private_dirty),
        ] {
            let _ = writeln!(text, "{:16}{:8} kB", format!("{name}:"), bytes / 1024);
        }
        text
    }
}

//! A fake file system root.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{FakeCgroupV1, FakeCgroupV2, FakeProcess};

/// A folder with a `/proc` and cgroups in it, removed on drop.
#[derive(Debug)]
pub struct FakeRoot {
    folder: TempDir,
    cgroup_mounts: Vec<String>,
}

impl FakeRoot {
    /// A machine of 16 GiB, 12 of them available, up for 1000 s, without processes.
    #[must_use]
    pub fn new() -> Self {
        let root = Self { folder: tempfile::tempdir().unwrap(), cgroup_mounts: Vec::new() };
        root.uptime(1000.0);
        root.memory(16 << 30, 12 << 30);
        root.write("proc/vmstat", "nr_free_pages 1\noom_kill 0\n");
        root.write("proc/self/mountinfo", "");
        root.write("proc/sys/kernel/pid_max", "32768\n");
        fs::create_dir_all(root.path().join("dev/shm")).unwrap();
        root
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes any file below the root, in one step: a reader sees the old or the new one.
    pub fn write(&self, relative: &str, text: &str) {
        let path = self.path().join(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // In place: the kernel's files are the same files with other contents.
        fs::write(path, text).unwrap();
    }

    /// Removes a file or a folder below the root.
    pub fn remove_path(&self, relative: &str) {
        let path = self.path().join(relative);
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }

    /// Seconds since boot.
    pub fn uptime(&self, seconds: f64) {
        self.write("proc/uptime", &format!("{seconds:.2} 0.00\n"));
    }

    /// The machine's memory in bytes.
    pub fn memory(&self, total: u64, available: u64) {
        let (total, available) = (total / 1024, available / 1024);
        self.write(
            "proc/meminfo",
            &format!("MemTotal: {total} kB\nMemFree: {available} kB\nMemAvailable: {available} kB\nCached: 0 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\nShmem: 0 kB\n"),
        );
    }

    /// Makes or changes a process.
    pub fn set(&self, process: &FakeProcess) {
        let folder = format!("proc/{}", process.pid);
        let nul = |words: &[String]| words.iter().map(|word| format!("{word}\0")).collect::<String>();
        for (name, text) in [
            ("stat", process.stat()),
            ("status", process.status()),
            ("statm", process.statm()),
            ("comm", format!("{}\n", process.comm)),
            ("cmdline", nul(&process.args)),
            ("environ", nul(&process.environ)),
            ("maps", process.maps()),
            ("cgroup", process.cgroup.clone()),
        ] {
            self.write(&format!("{folder}/{name}"), &text);
        }
        if let Some(rollup) = &process.rollup {
            self.write(&format!("{folder}/smaps_rollup"), &rollup.text());
        }
        let exe = self.path().join(&folder).join("exe");
        let _ = fs::remove_file(&exe);
        if !process.exe.is_empty() {
            std::os::unix::fs::symlink(&process.exe, exe).unwrap();
        }
    }

    /// Ends a process and forgets it.
    pub fn remove(&self, pid: u32) {
        self.remove_path(&format!("proc/{pid}"));
    }

    /// Mounts a cgroup hierarchy of version 2 at `/sys/fs/cgroup`; `mount_root` is the part that is mounted, `/` for all.
    pub fn mount_v2(&mut self, mount_root: &str) {
        self.mount(&format!("31 23 0:28 {mount_root} /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw"));
    }

    /// Mounts the memory hierarchy of version 1 at `/sys/fs/cgroup/memory`.
    pub fn mount_v1(&mut self, mount_root: &str) {
        self.mount(&format!("35 31 0:32 {mount_root} /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory"));
    }

    /// Makes or changes a cgroup of version 2 at a path below its mount.
    pub fn cgroup_v2(&self, path: &str, cgroup: &FakeCgroupV2) {
        self.cgroup(Path::new("sys/fs/cgroup"), path, cgroup.files());
    }

    /// Makes or changes a memory cgroup of version 1 at a path below its mount.
    pub fn cgroup_v1(&self, path: &str, cgroup: &FakeCgroupV1) {
        self.cgroup(Path::new("sys/fs/cgroup/memory"), path, cgroup.files());
    }

    fn mount(&mut self, line: &str) {
        self.cgroup_mounts.push(format!("{line}\n"));
        self.write("proc/self/mountinfo", &self.cgroup_mounts.concat());
    }

    fn cgroup(&self, mount: &Path, path: &str, files: Vec<(&'static str, String)>) {
        let folder: PathBuf = mount.join(path.trim_start_matches('/'));
        for (name, text) in files {
            self.write(&folder.join(name).to_string_lossy(), &text);
        }
    }
}

impl Default for FakeRoot {
    fn default() -> Self {
        Self::new()
    }
}

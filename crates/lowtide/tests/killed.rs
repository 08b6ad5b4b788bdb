//! A run that its cgroup's limit kills: by what, at which limit, who held the memory, and that it was foretold.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::PathBuf;

use common::{lowtide, output, text};

/// A version 1 memory cgroup of this test's own.
struct Cgroup(PathBuf);

impl Cgroup {
    /// `None` where the machine does not allow it (no version 1 controller, no rights).
    fn limited(bytes: u64) -> Option<Self> {
        let folder = PathBuf::from(format!("/sys/fs/cgroup/memory/lowtide-test-{}", std::process::id()));
        std::fs::create_dir(&folder).ok()?;
        let cgroup = Self(folder);
        std::fs::write(cgroup.0.join("memory.limit_in_bytes"), bytes.to_string()).ok()?;
        Some(cgroup)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
#[allow(clippy::print_stderr, reason = "a test that cannot run here says so")]
fn by_the_limit_of_its_cgroup() {
    const LIMIT: u64 = 160 << 20;
    let Some(cgroup) = Cgroup::limited(LIMIT) else {
        eprintln!("not tested: no version 1 memory cgroup can be made here");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("r.json");
    // The target enters the cgroup by itself: lowtide stays outside and lives. Then it leaks 4 MiB a second.
    let script = format!(
        "import os, time\n\
         open('{}', 'w').write(str(os.getpid()))\n\
         kept = []\n\
         while True:\n    kept.append(bytearray(400 << 10))\n    time.sleep(0.1)\n",
        cgroup.0.join("cgroup.procs").display()
    );
    let mut command = lowtide(folder.path());
    command.args(["run", "--fail-on", "oom", "-o"]).arg(&out).args(["--", "python3", "-c", &script]);
    let output = output(&mut command);
    assert_eq!(output.status.code(), Some(137), "{}", text(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    let first = &report["findings"][0];
    assert_eq!(first["class"], "oom", "{report:#}");
    assert_eq!((&first["oom"]["limit"], first["oom"]["limit_bytes"].as_u64()), (&"cgroup".into(), Some(LIMIT)), "{report:#}");
    assert!(first["oom"]["numbers"]["held"].as_f64().unwrap() > 0.7 * LIMIT as f64, "{report:#}");
    assert_eq!(first["process"]["role"], "trainer", "{report:#}");
    let evidence: Vec<&str> = first["evidence"].as_array().unwrap().iter().filter_map(|e| e.as_str()).collect();
    assert!(evidence.iter().any(|line| line.contains("foretold")), "{evidence:#?}");
    assert!(matches!(report["verdict"].as_str(), Some("leak" | "likely_leak")), "{report:#}");
    assert_eq!(report["run"]["ended"], "signal 9");
}

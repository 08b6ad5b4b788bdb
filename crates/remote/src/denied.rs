//! Why the kernel does not let us look into a process, and what to do about it.
//!
//! The rules are those of ptrace(2), "Ptrace access mode checking": the same user or a capability, a process that has not
//! made itself unreadable, and what a security module (Yama, above all) adds.

use std::fs;
use std::path::Path;

/// Says it in words, from what can be read without any right.
pub fn why(root: &Path, pid: u32) -> String {
    let proc = root.join("proc");
    let ours = Status::read(&proc.join("self/status"));
    let theirs = Status::read(&proc.join(format!("{pid}/status")));
    let privileged = ours.as_ref().is_some_and(Status::may_trace);
    if let (Some(ours), Some(theirs)) = (&ours, &theirs)
        && ours.uid != theirs.uid
        && !privileged
    {
        return format!("it belongs to user {} and we are user {}; run as that user or as root", theirs.uid, ours.uid);
    }
    let scope = fs::read_to_string(proc.join("sys/kernel/yama/ptrace_scope")).ok();
    match scope.as_deref().map(str::trim) {
        Some("3") => {
            return "kernel.yama.ptrace_scope is 3: nobody may, until the next boot with another value; start the run with \
                    `lowtide run`, whose part inside the process says what it can"
                .into();
        }
        Some("2") if !privileged => {
            return "kernel.yama.ptrace_scope is 2: only root may; run as root (sudo), or in a container with \
                    `--cap-add SYS_PTRACE`"
                .into();
        }
        Some("1") if !privileged => {
            return "kernel.yama.ptrace_scope is 1: only its parents may; start the run with `lowtide run`, or run as root \
                    (sudo), or allow it until the next boot: `sudo sysctl kernel.yama.ptrace_scope=0`"
                .into();
        }
        _ => {}
    }
    if privileged {
        return "we have CAP_SYS_PTRACE here, but not in its user namespace, or a security module (SELinux, AppArmor, seccomp) \
                forbids it; run on the host, or in its container"
            .into();
    }
    "it has more rights than we have, or has made itself unreadable (PR_SET_DUMPABLE, a program that may not be read), or the \
     container forbids it; run as root, or start the container with `--cap-add SYS_PTRACE`"
        .into()
}

struct Status {
    uid: u32,
    capabilities: u64,
}

impl Status {
    fn read(path: &Path) -> Option<Self> {
        let text = fs::read_to_string(path).ok()?;
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next());
        Some(Self { uid: field("Uid:")?.parse().ok()?, capabilities: u64::from_str_radix(field("CapEff:")?, 16).ok()? })
    }

    /// CAP_SYS_PTRACE, number 19 in capability.h.
    fn may_trace(&self) -> bool {
        self.capabilities & (1 << 19) != 0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn told(ours: (u32, &str), theirs: u32, scope: Option<&str>) -> String {
        let root = tempfile::tempdir().unwrap();
        let proc = root.path().join("proc");
        for (who, uid, caps) in [("self", ours.0, ours.1), ("7", theirs, "0")] {
            fs::create_dir_all(proc.join(who)).unwrap();
            fs::write(proc.join(who).join("status"), format!("Name:\tx\nUid:\t{uid}\t{uid}\nCapEff:\t{caps}\n")).unwrap();
        }
        if let Some(scope) = scope {
            fs::create_dir_all(proc.join("sys/kernel/yama")).unwrap();
            fs::write(proc.join("sys/kernel/yama/ptrace_scope"), format!("{scope}\n")).unwrap();
        }
        why(root.path(), 7)
    }

    #[test]
    fn each_reason_has_its_mend() {
        assert!(told((1000, "0"), 1001, None).contains("run as that user or as root"));
        assert!(told((1000, "0"), 1000, Some("1")).contains("lowtide run"));
        assert!(told((1000, "0"), 1000, Some("2")).contains("sudo"));
        assert!(told((0, "1ffffffffff"), 0, Some("3")).contains("next boot"));
        assert!(told((0, "1ffffffffff"), 1000, Some("1")).contains("namespace"));
        assert!(told((1000, "0"), 1000, None).contains("SYS_PTRACE"));
    }
}

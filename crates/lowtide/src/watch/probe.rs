//! When a process is asked to have its C library give free memory back, which tells holes in the allocator from memory in
//! use.
//!
//! It costs the process a pause at the end of a step, which it bounds itself, and what goes back is lost to the measurement
//! of its growth. So it is asked only where growth is established and looks like holes by what the process says of its heap;
//! each process once, and few of them.

use std::collections::BTreeSet;

use lowtide_model::{Kind, Report, Verdict};

/// The most processes of a run that are asked.
const MOST: usize = 3;

/// Who was asked already.
#[derive(Debug, Default)]
pub struct Probe {
    asked: BTreeSet<u32>,
}

impl Probe {
    /// Whom to ask by this report of the run so far. Each comes once. `waits`: who was asked for something else and has not answered.
    pub fn wish(&mut self, report: &Report, waits: impl Fn(u32) -> bool) -> Option<u32> {
        if report.verdict != Verdict::Leak || self.asked.len() >= MOST {
            return None;
        }
        let growing = report.findings.iter().filter(|f| f.class.grows() && f.kind == Some(Kind::AllocatorHoles));
        let mut pids = growing.filter_map(|finding| finding.process.as_ref()).map(|process| process.pid);
        // Without a pid it is of a role.
        let pid = pids.find(|pid| *pid != 0 && !self.asked.contains(pid) && !waits(*pid))?;
        self.asked.insert(pid);
        Some(pid)
    }
}

#[cfg(test)]
mod tests {
    use lowtide_model::{Class, Finding, ProcessRef, Role};

    use super::*;
    use crate::fail_on::tests::report;

    #[test]
    fn it_is_asked_once_where_a_leak_looks_like_holes() {
        let growing = |kind, verdict| {
            let mut finding = Finding::new(Class::Leak, "ram", "");
            finding.kind = Some(kind);
            finding.process = Some(ProcessRef { pid: 7, ..ProcessRef::of_role(Role::Trainer, String::new(), String::new()) });
            let mut report = report(verdict);
            report.findings = vec![finding];
            report
        };
        let mut probe = Probe::default();
        let free = |_| false;
        assert_eq!(probe.wish(&growing(Kind::Anonymous, Verdict::Leak), free), None);
        assert_eq!(probe.wish(&growing(Kind::AllocatorHoles, Verdict::LikelyLeak), free), None);
        assert_eq!(
            probe.wish(&growing(Kind::AllocatorHoles, Verdict::Leak), |pid| pid == 7),
            None,
            "it waits for something else"
        );
        assert_eq!(probe.wish(&growing(Kind::AllocatorHoles, Verdict::Leak), free), Some(7));
        assert_eq!(probe.wish(&growing(Kind::AllocatorHoles, Verdict::Leak), free), None);
    }
}

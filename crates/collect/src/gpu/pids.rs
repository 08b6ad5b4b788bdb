//! Pids as a driver has them, against the run's.
//!
//! A driver names processes by the pids of its own world, which need not be ours in a container. A pid is matched with the run's
//! processes, then with what they are called in the namespaces inside ours (`NSpid`). What matches nothing is somebody else's.

use std::collections::HashMap;

use lowtide_model::ProcId;

use super::Member;
use crate::inner::inner_pids;
use crate::root::{Root, Scratch};

/// What the run's processes are called in the namespaces inside ours: it never changes while they live.
#[derive(Debug, Default)]
pub(super) struct Inner {
    of: HashMap<ProcId, Vec<u32>>,
}

impl Inner {
    /// Lets go of processes that have ended.
    pub fn keep(&mut self, members: &[Member]) {
        if self.of.len() > members.len() {
            self.of.retain(|id, _| members.iter().any(|member| member.id == *id));
        }
    }
}

/// Pids of one driver.
pub(super) struct Pids<'a> {
    pub root: &'a Root,
    pub members: &'a [Member],
    pub scratch: &'a mut Scratch,
    /// A pid means the same there as here.
    pub trusted: bool,
    pub inner: &'a mut Inner,
}

impl<'a> Pids<'a> {
    /// The run's process that a driver calls so. `before`: which one it was when it was last asked for.
    pub fn member(&mut self, pid: u32, before: Option<ProcId>) -> Option<&'a Member> {
        let direct = self.members.iter().find(|member| member.pid == pid);
        let same = |member: &&Member| Some(member.id) == before;
        if let Some(member) = direct.filter(|member| self.trusted || same(member) || self.has_gpu_open(pid)) {
            return Some(member);
        }
        let mut found = None;
        for member in self.members {
            if self.inner(member).contains(&pid) {
                // Two containers may both have a process of this number.
                if found.is_some() {
                    return None;
                }
                found = Some(member);
            }
        }
        found
    }

    fn inner(&mut self, member: &Member) -> &[u32] {
        let (root, scratch) = (self.root, &mut *self.scratch);
        self.inner.of.entry(member.id).or_insert_with(|| {
            let status = scratch.read(&root.of(member.pid, "status")).unwrap_or_default();
            inner_pids(status).flatten().collect()
        })
    }

    /// A process that has memory on an NVIDIA card has its device open.
    fn has_gpu_open(&self, pid: u32) -> bool {
        let Ok(files) = std::fs::read_dir(self.root.of(pid, "fd")) else { return false };
        let gpu = |file: std::fs::DirEntry| {
            let target = std::fs::read_link(file.path()).unwrap_or_default();
            target.to_str().is_some_and(|target| target.starts_with("/dev/nvidia") || target.starts_with("/dev/dri"))
        };
        files.flatten().any(gpu)
    }

    /// The name of a process that is none of the run; empty where its pid may mean another one here.
    pub fn name(&mut self, pid: u32) -> String {
        if !self.trusted {
            return String::new();
        }
        let comm = self.scratch.read(&self.root.of(pid, "comm")).unwrap_or_default();
        String::from_utf8_lossy(comm.trim_ascii_end()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_pids_are_those_after_the_first() {
        let inner = |status: &[u8]| inner_pids(status).flatten().collect::<Vec<u32>>();
        assert_eq!(inner(b"Name:\tpython\nNSpid:\t4711\t23\t7\n"), [23, 7]);
        assert_eq!(inner(b"NSpid:\t4711\n"), [0_u32; 0]);
        assert_eq!(inner(b"Name:\tpython\n"), [0_u32; 0]);
    }
}

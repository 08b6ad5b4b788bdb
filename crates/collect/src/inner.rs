//! What processes in pid namespaces of their own, containers mostly, are called in there.

use crate::collector::Collector;
use crate::parse::{lines, number};
use crate::root::{Root, Scratch};
use std::path::Path;

impl Collector {
    /// Pids of the run's processes as we and as they themselves know them, of those for whom the two differ.
    #[must_use]
    pub fn inner_pids(&self) -> Vec<(u32, u32)> {
        let mut scratch = Scratch::default();
        let inner = |pid: u32| innermost(scratch.read(&self.root().of(pid, "status")).ok()?).map(|inner| (pid, inner));
        self.pids().filter_map(inner).collect()
    }
}

/// What a process calls itself, where that is known and is not `pid`.
#[must_use]
pub fn inner_pid(root: &Path, pid: u32) -> Option<u32> {
    innermost(Scratch::default().read(&Root::new(root).of(pid, "status")).ok()?)
}

/// The last number of `NSpid` in proc(5) `status`, where there is more than one (kernel 4.1 and newer).
fn innermost(status: &[u8]) -> Option<u32> {
    inner_pids(status).next_back()?
}

/// All but the first number of `NSpid` in proc(5) `status`: the pids of the namespaces inside ours. `None` for what is no pid.
pub fn inner_pids(status: &[u8]) -> impl DoubleEndedIterator<Item = Option<u32>> {
    let value = lines(status).find_map(|line| line.strip_prefix(b"NSpid:")).unwrap_or_default();
    let mut pids = value.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    pids.next();
    pids.map(|word| u32::try_from(number(word)?).ok())
}

#[cfg(test)]
mod tests {
    use super::innermost;

    #[test]
    fn the_last_of_several_is_the_innermost() {
        assert_eq!(innermost(b"Name:\tpython3\nTgid:\t9\nNSpid:\t4711\t23\t7\nSeccomp:\t0\n"), Some(7));
        assert_eq!(innermost(b"NSpid:\t4711\n"), None);
        assert_eq!(innermost(b"Name:\tpython3\n"), None);
        assert_eq!(innermost(b"NSpid:\t1\t99999999999\n"), None);
    }
}

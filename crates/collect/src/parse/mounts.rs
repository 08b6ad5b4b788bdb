//! `/proc/PID/mountinfo` and `/proc/PID/cgroup`: where a process's cgroups are.

use super::lines;

/// A mount of a cgroup hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupMount {
    /// The part of the hierarchy that is mounted, seen from our cgroup namespace.
    pub root: String,
    /// Where it is mounted.
    pub point: String,
    /// The unified hierarchy (`cgroup2`), or version 1.
    pub unified: bool,
    /// Controllers of a version 1 mount (super options).
    pub options: String,
}

impl CgroupMount {
    /// Whether this is the version 1 memory controller.
    #[must_use]
    pub fn is_v1_memory(&self) -> bool {
        !self.unified && self.options.split(',').any(|option| option == "memory")
    }
}

/// The mounts of cgroup hierarchies in a mountinfo file, in order, at most 64.
#[must_use]
pub fn cgroup_mounts(bytes: &[u8]) -> Vec<CgroupMount> {
    lines(bytes).filter_map(cgroup_mount).take(64).collect()
}

/// `31 23 0:28 / /sys/fs/cgroup rw,relatime shared:1 - cgroup2 cgroup2 rw`, see proc(5).
fn cgroup_mount(line: &[u8]) -> Option<CgroupMount> {
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').take(64).collect();
    let dash = words.iter().skip(6).position(|word| *word == b"-")? + 6;
    let unified = match *words.get(dash + 1)? {
        b"cgroup2" => true,
        b"cgroup" => false,
        _ => return None,
    };
    let options = words.get(dash + 3).copied().unwrap_or_default();
    Some(CgroupMount {
        root: unescape(words[3]),
        point: unescape(words[4]),
        unified,
        options: String::from_utf8_lossy(options).into_owned(),
    })
}

/// The kernel writes blanks, tabs, line ends and backslashes of a path as `\040` and so on.
fn unescape(word: &[u8]) -> String {
    let mut plain = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, tail)) = rest.split_first() {
        if *first == b'\\'
            && let Some(octal) = tail.get(..3)
            && octal.iter().all(|digit| (b'0'..=b'7').contains(digit))
        {
            let value = octal.iter().fold(0_u32, |value, digit| value * 8 + u32::from(digit - b'0'));
            plain.push((value & 0xff) as u8);
            rest = &tail[3..];
        } else {
            plain.push(*first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// The paths of a process in the two hierarchies that know memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CgroupPaths {
    /// In the version 1 memory hierarchy.
    pub v1_memory: Option<String>,
    /// In the unified hierarchy.
    pub unified: Option<String>,
}

/// Reads `/proc/PID/cgroup` (cgroups(7)): `ID:controllers:path` a line.
#[must_use]
pub fn cgroup_paths(bytes: &[u8]) -> CgroupPaths {
    let mut paths = CgroupPaths::default();
    for line in lines(bytes).take(64) {
        let mut parts = line.splitn(3, |byte| *byte == b':');
        let (Some(id), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        // A deleted cgroup is marked so at the end of its path.
        let path = String::from_utf8_lossy(path.strip_suffix(b" (deleted)").unwrap_or(path)).into_owned();
        if id == b"0" && controllers.is_empty() {
            paths.unified = Some(path);
        } else if controllers.split(|byte| *byte == b',').any(|controller| controller == b"memory") {
            paths.v1_memory = Some(path);
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_hierarchies_of_a_hybrid_machine() {
        let text = b"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n41 31 0:38 / /sys/fs/cgroup/uni\\040fied rw,relatime - cgroup2 cgroup2 rw\nbroken line\n";
        let mounts = cgroup_mounts(text);
        assert_eq!(mounts.len(), 2);
        assert!(mounts[0].is_v1_memory());
        assert_eq!(mounts[0].point, "/sys/fs/cgroup/memory");
        assert!(mounts[1].unified);
        assert_eq!(mounts[1].point, "/sys/fs/cgroup/uni fied");
    }

    #[test]
    fn reads_the_paths_of_both_versions() {
        let paths = cgroup_paths(b"9:name=systemd:/x\n4:cpu,memory:/job:1/step\n0::/user.slice (deleted)\n");
        assert_eq!(paths.v1_memory.as_deref(), Some("/job:1/step"));
        assert_eq!(paths.unified.as_deref(), Some("/user.slice"));
    }
}

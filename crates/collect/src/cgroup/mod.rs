//! The memory cgroups that hold the target: where they are, of version 1, 2, or both beside each other.

mod read;

use std::path::{Path, PathBuf};

use lowtide_model::{Bytes, Cgroup, CgroupId, CgroupSample, CgroupVersion};

use crate::parse::mounts::{self, CgroupMount};
use crate::root::{Root, Scratch};
use read::Files;

/// Deeper nesting than this is not looked at.
const MOST_LEVELS: usize = 32;
/// A process may be moved to another cgroup while it runs: look this often, in seconds.
const LOOK_EVERY_S: f64 = 10.0;

/// A memory cgroup and its open files.
#[derive(Debug)]
struct Level {
    cgroup: Cgroup,
    files: Files,
    /// Kills that its counter showed when watching began, and those seen since at the last sample.
    kills_before: Option<u64>,
    kills: u64,
}

/// The cgroups of the target, innermost first.
#[derive(Debug)]
pub struct Cgroups {
    pid: u32,
    levels: Vec<Level>,
    paths: mounts::CgroupPaths,
    next_id: u32,
    next_look_s: f64,
    /// Kills seen in cgroups that the target has left.
    kills_left: u64,
    /// Why there are none, if there are none.
    pub missing: Option<String>,
}

impl Cgroups {
    pub fn new(root: &Root, pid: u32, scratch: &mut Scratch) -> Self {
        let mut cgroups = Self {
            pid,
            levels: Vec::new(),
            paths: mounts::CgroupPaths::default(),
            next_id: 0,
            next_look_s: f64::NEG_INFINITY,
            kills_left: 0,
            missing: None,
        };
        cgroups.look(root, scratch, &mut Vec::new());
        cgroups
    }

    /// The version of the hierarchy that was found.
    pub fn version(&self) -> Option<CgroupVersion> {
        self.levels.first().map(|level| level.cgroup.version)
    }

    /// Finds the cgroups again if the target was moved; pushes those that are new.
    pub fn look_now_and_then(&mut self, root: &Root, now_s: f64, scratch: &mut Scratch, new: &mut Vec<Cgroup>) {
        if now_s >= self.next_look_s {
            if self.next_look_s == f64::NEG_INFINITY {
                new.extend(self.levels.iter().map(|level| level.cgroup.clone()));
            } else {
                self.look(root, scratch, new);
            }
            self.next_look_s = now_s + LOOK_EVERY_S;
        }
    }

    fn look(&mut self, root: &Root, scratch: &mut Scratch, new: &mut Vec<Cgroup>) {
        let paths = match scratch.read(&root.of(self.pid, "cgroup")) {
            Ok(bytes) => mounts::cgroup_paths(bytes),
            Err(error) => {
                if self.levels.is_empty() {
                    self.missing =
                        Some(format!("/proc/{}/cgroup: {error}; the machine's memory is the only limit that is known", self.pid));
                }
                return;
            }
        };
        if paths == self.paths {
            return;
        }
        let found = find(root, self.pid, &paths, scratch);
        self.paths = paths;
        self.kills_left += self.kills_now(scratch);
        self.levels.clear();
        for place in found {
            let cgroup = Cgroup { id: CgroupId(self.next_id), path: place.path, version: place.version };
            self.next_id += 1;
            let files = Files::new(&place.folder, place.version, place.pressure);
            let kills_before = files.oom_kills(scratch);
            new.push(cgroup.clone());
            self.levels.push(Level { cgroup, files, kills_before, kills: 0 });
        }
        self.missing = self.levels.is_empty().then(|| {
            "no memory cgroup of the target is visible; mount the cgroup file system here, or run where it is, to see the target's limit".to_owned()
        });
    }

    /// Samples all levels.
    pub fn sample(&mut self, now_s: f64, scratch: &mut Scratch, samples: &mut Vec<CgroupSample>) {
        let outermost = self.levels.len().saturating_sub(1);
        for (index, level) in self.levels.iter_mut().enumerate() {
            if let Some(mut sample) = level.files.sample(level.cgroup.id, now_s, scratch) {
                level.kills = level.kills_before.map_or(0, |before| sample.oom_kills.saturating_sub(before));
                // An ancestor that cannot be seen from here still counts: version 1 tells the smallest limit above.
                if index == outermost
                    && let Some(above) = level.files.limit_above
                {
                    sample.limit = Some(sample.limit.map_or(above, |limit| limit.min(above)));
                }
                samples.push(sample);
            }
        }
    }

    /// The innermost cgroup with a limit below the machine's size that holds the target, if it holds `pid` too, with that
    /// limit in words: whatever grows there brings the target nearer to its end.
    pub fn limit_shared_with(
        &self,
        root: &Root,
        pid: u32,
        samples: &[CgroupSample],
        machine: u64,
        scratch: &mut Scratch,
    ) -> Option<String> {
        let limited = |sample: &&CgroupSample| sample.limit.is_some_and(|limit| limit < machine);
        let sample = samples.iter().find(limited)?;
        let cgroup = &self.levels.iter().find(|level| level.cgroup.id == sample.id)?.cgroup;
        let innermost = &self.levels.first()?.cgroup;
        let theirs = mounts::cgroup_paths(scratch.read(&root.of(pid, "cgroup")).ok()?);
        let of_version = |paths: &mounts::CgroupPaths| match cgroup.version {
            CgroupVersion::V1 => paths.v1_memory.clone(),
            CgroupVersion::V2 => paths.unified.clone(),
        };
        let (ours, theirs) = (of_version(&self.paths)?, of_version(&theirs)?);
        // What is mounted may be a part of what /proc names, so the group's path in /proc is counted from its inner end.
        let depth = |path: &str| parts_of(path).count();
        let above = depth(&innermost.path).checked_sub(depth(&cgroup.path))?;
        let group: Vec<&str> = parts_of(&ours).collect();
        let group = &group[..group.len().checked_sub(above)?];
        let mut rest = parts_of(&theirs);
        let inside = group.iter().all(|part| rest.next() == Some(part)) && rest.all(|part| part != "..");
        inside.then(|| format!("in the same limited cgroup {} (limit {})", cgroup.path, Bytes(sample.limit.unwrap_or_default())))
    }

    /// Kills for memory since watching began, in the target's cgroups; `None` where no cgroup counts them. The same
    /// kill is counted in several levels, so the most of them counts, not the sum.
    pub fn oom_kills(&self, scratch: &mut Scratch) -> Option<u64> {
        let counted = self.levels.iter().any(|level| level.kills_before.is_some());
        counted.then(|| self.kills_left + self.kills_now(scratch))
    }

    fn kills_now(&self, scratch: &mut Scratch) -> u64 {
        // The hierarchy's root counts everybody's kills.
        let counts = self.levels.iter().filter(|level| level.cgroup.path != "/" || self.levels.len() == 1);
        counts.map(|level| level.kills_since(scratch).unwrap_or(level.kills)).max().unwrap_or(0)
    }
}

fn parts_of(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty())
}

impl Level {
    /// Kills since watching began; `None` where they are not counted, or no more since the group was removed.
    fn kills_since(&self, scratch: &mut Scratch) -> Option<u64> {
        Some(self.files.oom_kills(scratch)?.saturating_sub(self.kills_before?))
    }
}

/// Where one cgroup is.
struct Place {
    path: String,
    folder: PathBuf,
    version: CgroupVersion,
    /// A version 1 group's pressure file is in the unified hierarchy.
    pressure: Option<PathBuf>,
}

/// All levels from the target's cgroup outwards.
fn find(root: &Root, pid: u32, paths: &mounts::CgroupPaths, scratch: &mut Scratch) -> Vec<Place> {
    // Our own mounts first: from the host they show a container's ancestors too. Then the target's own view.
    let views = [(root.proc("self/mountinfo"), root.path("")), (root.of(pid, "mountinfo"), root.of(pid, "root"))];
    for (mountinfo, base) in views {
        let Ok(mounts) = scratch.read(&mountinfo).map(mounts::cgroup_mounts) else { continue };
        let unified = paths.unified.as_deref();
        if let Some(path) = unified {
            for mount in mounts.iter().filter(|mount| mount.unified) {
                let levels = levels_of(&base, mount, path, pid, scratch, "memory.current");
                if !levels.is_empty() {
                    return levels
                        .into_iter()
                        .map(|(path, folder)| Place { path, folder, version: CgroupVersion::V2, pressure: None })
                        .collect();
                }
            }
        }
        if let Some(path) = paths.v1_memory.as_deref() {
            for mount in mounts.iter().filter(|mount| mount.is_v1_memory()) {
                let levels = levels_of(&base, mount, path, pid, scratch, "memory.usage_in_bytes");
                if !levels.is_empty() {
                    let pressure = unified_pressure(&base, &mounts, unified);
                    return levels
                        .into_iter()
                        .enumerate()
                        .map(|(index, (path, folder))| Place {
                            path,
                            folder,
                            version: CgroupVersion::V1,
                            pressure: pressure.clone().filter(|_| index == 0),
                        })
                        .collect();
                }
            }
        }
    }
    Vec::new()
}

/// The cgroup at `path` and its ancestors below one mount, as (path, folder); empty where it is not there.
fn levels_of(
    base: &Path,
    mount: &CgroupMount,
    path: &str,
    pid: u32,
    scratch: &mut Scratch,
    file: &str,
) -> Vec<(String, PathBuf)> {
    let top = base.join(mount.point.trim_start_matches('/'));
    let Some(below) = below_mount(&top, mount, path, pid, scratch) else { return Vec::new() };
    let parts: Vec<&str> = below.split('/').filter(|part| !part.is_empty()).collect();
    (0..=parts.len())
        .rev()
        .take(MOST_LEVELS)
        .map(|depth| (format!("/{}", parts[..depth].join("/")), top.join(parts[..depth].join("/"))))
        .filter(|(_, folder)| folder.join(file).exists())
        .collect()
}

/// The part of `path` below the mount. What /proc says need not be what is mounted: in a container without a cgroup
/// namespace the path is the host's while the mount shows the container's part as its root. So a path counts if its
/// folder exists, and a shortened one only if the target is listed there.
fn below_mount(top: &Path, mount: &CgroupMount, path: &str, pid: u32, scratch: &mut Scratch) -> Option<String> {
    let safe = |below: &str| !below.split('/').any(|part| part == "..");
    let root = mount.root.trim_end_matches('/');
    if let Some(below) = path.strip_prefix(root).filter(|below| below.is_empty() || below.starts_with('/'))
        && safe(below)
        && top.join(below.trim_start_matches('/')).is_dir()
    {
        return Some(below.to_owned());
    }
    let mut rest = path.trim_start_matches("/..");
    for _ in 0..MOST_LEVELS {
        if !safe(rest) {
            return None;
        }
        if lists(&top.join(rest.trim_start_matches('/')).join("cgroup.procs"), pid, scratch) {
            return Some(rest.to_owned());
        }
        if rest.is_empty() {
            return None;
        }
        rest = rest[1..].find('/').map_or("", |slash| &rest[1 + slash..]);
    }
    None
}

fn lists(procs: &Path, pid: u32, scratch: &mut Scratch) -> bool {
    scratch
        .read(procs)
        .is_ok_and(|bytes| crate::parse::lines(bytes).any(|line| crate::parse::number(line) == Some(u64::from(pid))))
}

/// On a hybrid machine the unified hierarchy has the pressure that version 1 lacks.
fn unified_pressure(base: &Path, mounts: &[CgroupMount], path: Option<&str>) -> Option<PathBuf> {
    let mount = mounts.iter().find(|mount| mount.unified)?;
    let below = path?.strip_prefix(mount.root.trim_end_matches('/'))?;
    let file = base.join(mount.point.trim_start_matches('/')).join(below.trim_start_matches('/')).join("memory.pressure");
    // The root's pressure is the machine's, not the target's.
    (!below.trim_matches('/').is_empty() && file.exists()).then_some(file)
}

#[cfg(test)]
mod tests;

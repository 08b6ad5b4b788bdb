//! Growth of /dev/shm that no process of the run has mapped.
//!
//! A segment of shared memory that is never unlinked stays in /dev/shm when the last process has closed it: it is in nobody's memory,
//! and only the file system has more in it. Others use that too. So it counts as the run's where the run has a resource tracker
//! (Python starts one for whoever makes such segments by name), and else it is a warning beside a verdict that does not depend on it.

use lowtide_model::{Bytes, Role, Seconds};

use crate::growth::SMALL;
use crate::judge::{Ask, judge};
use crate::pyramid::Pyramid;
use crate::series::Store;

/// Whether the run has shared memory of its own in its processes.
pub fn maps(store: &Store) -> bool {
    store.tree.shm_peak as f64 >= SMALL
}

/// Whether what /dev/shm has more of counts for the run.
pub fn is_used(store: &Store) -> bool {
    maps(store) || store.tracks.values().any(|track| track.process.role == Role::ResourceTracker)
}

/// Why growth is taken for the run's that none of its processes has mapped.
pub fn evidence(store: &Store) -> Option<String> {
    let said = "no process of the run has it mapped, but its resource tracker shows that it makes segments of shared memory by name: \
                those that nobody unlinks stay (`ls -lt /dev/shm` has them)";
    (!maps(store)).then(|| said.to_owned())
}

/// What is said of growth that nothing links to the run.
pub fn warning(store: &Store, dev_shm: &Pyramid, over: bool) -> Option<String> {
    if is_used(store) || dev_shm.windows().len() < 2 {
        return None;
    }
    let judged = judge(dev_shm.windows(), Ask::bytes(over, false));
    judged.grows().then(|| {
        format!(
            "/dev/shm rose by {} in {}, and no process of the run has it mapped: files that the run left there, or another program's; \
             `ls -lt /dev/shm` tells",
            Bytes(judged.rise.max(0.0) as u64),
            Seconds(judged.until_s - judged.since_s)
        )
    })
}

//! The series whose minima and maxima a compaction keeps.

use std::collections::HashMap;

use lowtide_model::{CgroupId, Event, GpuId, GpuUserId, ProcId, Role, Tick};

/// A number that is followed from tick to tick. All sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Series {
    /// Anonymous and shared memory of all processes of the tree.
    Tree,
    /// How many they are.
    TreeProcesses,
    /// Their threads, open files and maps.
    TreeThreads,
    TreeFds,
    TreeMaps,
    /// Anonymous and shared memory of all processes of a role.
    Role(Role),
    /// Anonymous and shared memory of a process.
    Process(ProcId),
    /// Its private pages that were written: where copy-on-write shows.
    ProcessPrivate(ProcId),
    /// What the machine has left.
    Available,
    /// /dev/shm.
    DevShm,
    /// A cgroup's working set, which the kubelet looks at.
    CgroupWorkingSet(CgroupId),
    /// A cgroup's usage, which its limit bounds.
    CgroupUsage(CgroupId),
    /// What is used of a GPU.
    Gpu(GpuId),
    /// What a process has on a GPU.
    GpuUser(GpuUserId),
}

impl Series {
    /// Whether it is about one process.
    pub(crate) fn is_of_process(self) -> bool {
        matches!(self, Self::Process(_) | Self::ProcessPrivate(_))
    }
}

/// What each process is, as far as it is known.
#[derive(Default)]
pub(crate) struct Roles(HashMap<ProcId, Role>);

impl Roles {
    /// Learns from an event.
    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::Process(process) => {
                self.0.insert(process.id, process.role);
            }
            // Ids are not used again, so that this does not grow with all the processes that ever were.
            Event::Exit(exit) => {
                self.0.remove(&exit.id);
            }
            _ => {}
        }
    }

    fn of(&self, id: ProcId) -> Role {
        self.0.get(&id).copied().unwrap_or(Role::Other)
    }
}

/// All series at one tick.
pub(crate) fn series_of(tick: &Tick, roles: &Roles, mut each: impl FnMut(Series, u64)) {
    let mut by_role: HashMap<Role, u64> = HashMap::new();
    let [mut tree, mut processes, mut threads, mut fds, mut maps] = [0u64; 5];
    let add = |sum: &mut u64, value: u64| *sum = sum.saturating_add(value);
    for sample in &tick.procs {
        let role = roles.of(sample.id);
        let bytes = sample.anon.saturating_add(sample.shmem);
        each(Series::Process(sample.id), bytes);
        if let Some(private) = sample.rollup.map(|rollup| rollup.private_dirty).or(sample.private_anon) {
            each(Series::ProcessPrivate(sample.id), private);
        }
        add(by_role.entry(role).or_default(), bytes);
        if role != Role::Outside {
            add(&mut tree, bytes);
            add(&mut processes, 1);
            add(&mut threads, sample.threads.into());
            add(&mut fds, sample.fds.unwrap_or(0).into());
            add(&mut maps, sample.maps.unwrap_or(0).into());
        }
    }
    each(Series::Tree, tree);
    each(Series::TreeProcesses, processes);
    each(Series::TreeThreads, threads);
    each(Series::TreeFds, fds);
    each(Series::TreeMaps, maps);
    for role in Role::ALL {
        each(Series::Role(role), by_role.get(&role).copied().unwrap_or(0));
    }
    if let Some(system) = &tick.system {
        each(Series::Available, system.available);
        each(Series::DevShm, system.dev_shm_used);
    }
    for cgroup in &tick.cgroups {
        each(Series::CgroupWorkingSet(cgroup.id), cgroup.working_set());
        each(Series::CgroupUsage(cgroup.id), cgroup.usage);
    }
    for gpu in &tick.gpus {
        each(Series::Gpu(gpu.id), gpu.used);
    }
    for user in &tick.gpu_users {
        if let Some(used) = user.used {
            each(Series::GpuUser(user.id), used);
        }
    }
}

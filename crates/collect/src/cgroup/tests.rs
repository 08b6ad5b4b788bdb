//! Where cgroups are found, in all the ways that containers hide them; on fake trees.

use lowtide_testkit::{FakeCgroupV1, FakeCgroupV2, FakeProcess, FakeRoot, mib};

use super::*;

const PID: u32 = 100;

fn fake(cgroup: &str) -> FakeRoot {
    let root = FakeRoot::new();
    root.set(&FakeProcess { cgroup: cgroup.to_owned(), ..FakeProcess::new(PID, 1, 900.0, "python3 train.py") });
    root
}

fn look(root: &FakeRoot) -> (Vec<Cgroup>, Vec<CgroupSample>, Cgroups, Scratch) {
    let root = Root::new(root.path());
    let mut scratch = Scratch::default();
    let mut cgroups = Cgroups::new(&root, PID, &mut scratch);
    let (mut new, mut samples) = (Vec::new(), Vec::new());
    cgroups.look_now_and_then(&root, 0.0, &mut scratch, &mut new);
    cgroups.sample(0.0, &mut scratch, &mut samples);
    (new, samples, cgroups, scratch)
}

fn paths(cgroups: &[Cgroup]) -> Vec<&str> {
    cgroups.iter().map(|cgroup| cgroup.path.as_str()).collect()
}

#[test]
fn version_2_with_all_ancestors_innermost_first() {
    let mut root = fake("0::/user.slice/job\n");
    root.mount_v2("/");
    let job = FakeCgroupV2 {
        current: mib(500),
        peak: mib(600),
        anon: mib(400),
        file: mib(90),
        shmem: mib(10),
        inactive_file: mib(60),
        oom_kill: 2,
        limit_hits: 7,
        psi_full_us: 99,
        ..FakeCgroupV2::default()
    };
    root.cgroup_v2("/user.slice/job", &job);
    root.cgroup_v2(
        "/user.slice",
        &FakeCgroupV2 { current: mib(900), max: Some(mib(1000)), high: Some(mib(950)), ..FakeCgroupV2::default() },
    );
    let (new, samples, ..) = look(&root);
    assert_eq!(paths(&new), ["/user.slice/job", "/user.slice"]);
    assert!(new.iter().all(|cgroup| cgroup.version == CgroupVersion::V2));
    let inner = samples[0];
    assert_eq!((inner.usage, inner.limit, inner.peak), (mib(500), None, mib(600)));
    assert_eq!((inner.anon, inner.file, inner.shmem, inner.inactive_file), (mib(400), mib(90), mib(10), mib(60)));
    assert_eq!((inner.oom_kills, inner.limit_hits, inner.psi_full_us), (2, 7, 99));
    assert_eq!(inner.working_set(), mib(440));
    assert_eq!((samples[1].limit, samples[1].high), (Some(mib(1000)), Some(mib(950))));
}

#[test]
fn version_2_in_a_container_with_a_cgroup_namespace() {
    let mut root = fake("0::/\n");
    root.mount_v2("/");
    root.cgroup_v2("/", &FakeCgroupV2 { current: mib(5), max: Some(mib(64)), ..FakeCgroupV2::default() });
    let (new, samples, ..) = look(&root);
    assert_eq!(paths(&new), ["/"]);
    assert_eq!(samples[0].limit, Some(mib(64)));
}

#[test]
fn a_container_without_a_cgroup_namespace_mounts_its_part_of_the_hosts_tree() {
    let mut root = fake("0::/docker/abc/inner\n");
    root.mount_v2("/docker/abc");
    root.cgroup_v2("/", &FakeCgroupV2 { current: 1, max: Some(mib(64)), ..FakeCgroupV2::default() });
    root.cgroup_v2("/inner", &FakeCgroupV2 { current: 2, ..FakeCgroupV2::default() });
    assert_eq!(paths(&look(&root).0), ["/inner", "/"]);
}

#[test]
fn a_path_that_is_not_there_counts_only_where_the_target_is_listed() {
    let mut root = fake("0::/kubepods/pod1/abc\n");
    root.mount_v2("/");
    root.cgroup_v2("/", &FakeCgroupV2 { current: 1, procs: vec![7], ..FakeCgroupV2::default() });
    let (new, _, cgroups, _) = look(&root);
    assert!(new.is_empty(), "somebody else's cgroup: {new:?}");
    assert!(cgroups.missing.is_some_and(|why| why.contains("mount")));
    root.cgroup_v2("/abc", &FakeCgroupV2 { current: 1, procs: vec![PID], ..FakeCgroupV2::default() });
    assert_eq!(paths(&look(&root).0), ["/abc", "/"]);
}

#[test]
fn version_1_takes_the_smallest_limit_above_what_is_visible() {
    let mut root = fake("4:memory:/job/step\n0::/\n");
    root.mount_v1("/");
    root.mount_v2("/");
    root.cgroup_v1(
        "/job/step",
        &FakeCgroupV1 { usage: mib(300), rss: mib(200), cache: mib(90), shmem: mib(20), failcnt: 3, ..FakeCgroupV1::default() },
    );
    root.cgroup_v1(
        "/job",
        &FakeCgroupV1 { usage: mib(310), limit: mib(512), hierarchical_limit: mib(400), ..FakeCgroupV1::default() },
    );
    let (new, samples, ..) = look(&root);
    assert_eq!(paths(&new), ["/job/step", "/job"]);
    assert_eq!(new[0].version, CgroupVersion::V1);
    assert_eq!((samples[0].limit, samples[0].anon, samples[0].shmem, samples[0].limit_hits), (None, mib(200), mib(20), 3));
    assert_eq!(samples[1].limit, Some(mib(400)), "an ancestor that we cannot see has a smaller one");
}

#[test]
fn a_hybrid_machine_without_memory_in_the_unified_tree_uses_version_1() {
    let mut root = fake("4:memory:/job\n0::/job\n");
    root.mount_v2("/");
    root.mount_v1("/");
    root.cgroup_v1("/job", &FakeCgroupV1 { usage: 1, ..FakeCgroupV1::default() });
    // The unified hierarchy is there, has pressure, and no memory controller.
    root.write("sys/fs/cgroup/job/memory.pressure", "some total=5\nfull avg10=0.00 total=5\n");
    let (new, samples, ..) = look(&root);
    assert_eq!(new[0].version, CgroupVersion::V1);
    assert_eq!(samples[0].psi_full_us, 5);
}

#[test]
fn kills_count_from_the_start_of_watching_and_once() {
    let mut root = fake("0::/job/step\n");
    root.mount_v2("/");
    let with = |oom_kill| FakeCgroupV2 { current: 1, oom_kill, ..FakeCgroupV2::default() };
    root.cgroup_v2("/job/step", &with(4));
    root.cgroup_v2("/job", &with(9));
    let (_, _, cgroups, mut scratch) = look(&root);
    assert_eq!(cgroups.oom_kills(&mut scratch), Some(0));
    root.cgroup_v2("/job/step", &with(5));
    root.cgroup_v2("/job", &with(10));
    assert_eq!(cgroups.oom_kills(&mut scratch), Some(1), "one kill, counted at two levels");
}

#[test]
fn a_target_that_is_moved_is_followed() {
    let mut root = fake("0::/a\n");
    root.mount_v2("/");
    root.cgroup_v2("/a", &FakeCgroupV2 { current: 1, ..FakeCgroupV2::default() });
    root.cgroup_v2("/b", &FakeCgroupV2 { current: 2, ..FakeCgroupV2::default() });
    let (_, _, mut cgroups, mut scratch) = look(&root);
    root.set(&FakeProcess { cgroup: "0::/b\n".to_owned(), ..FakeProcess::new(PID, 1, 900.0, "python3 train.py") });
    let (mut new, mut samples) = (Vec::new(), Vec::new());
    cgroups.look_now_and_then(&Root::new(root.path()), 60.0, &mut scratch, &mut new);
    cgroups.sample(60.0, &mut scratch, &mut samples);
    assert_eq!(paths(&new), ["/b"]);
    assert_eq!((samples[0].id, samples[0].usage), (CgroupId(1), 2));
}

#[test]
fn a_path_cannot_lead_out_of_the_tree() {
    let mut root = fake("0::/../../../etc\n");
    root.mount_v2("/");
    assert!(look(&root).0.is_empty());
}

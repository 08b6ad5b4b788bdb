//! Processes outside the tree that grow: who is named, who is linked to the run, who stays a stranger.
#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use std::os::unix::fs::symlink;

use common::Watch;
use lowtide_model::{Note, NoteKind, Role};
use lowtide_testkit::{FakeCgroupV2, FakeProcess, FakeRoot, mib};

/// Processes outside that grow by so many MiB a second each, for a minute, while the run does not.
fn grow(root: &FakeRoot, watch: &mut Watch, growing: &[(&FakeProcess, u64)]) {
    let all: u64 = growing.iter().map(|(_, rate)| rate).sum();
    for second in 0..60_u64 {
        root.uptime(1000.0 + second as f64);
        for (process, rate) in growing {
            root.set(&FakeProcess { anon: mib(100 + rate * second), ..(*process).clone() });
        }
        root.memory(16 << 30, (12 << 30) - mib(all * second));
        watch.tick_at(second as f64);
    }
    watch.assert_in_order();
}

fn links(watch: &Watch) -> Vec<(u32, String)> {
    let pid = |note: &Note| watch.processes().into_iter().find(|process| Some(process.id) == note.process).unwrap().pid;
    watch.notes_of(NoteKind::Linked).iter().map(|note| (pid(note), note.text.clone())).collect()
}

fn hold(root: &FakeRoot, pid: u32, fd: u32, link: &str) {
    let folder = root.path().join(format!("proc/{pid}/fd"));
    std::fs::create_dir_all(&folder).unwrap();
    symlink(link, folder.join(fd.to_string())).unwrap();
}

#[test]
fn the_same_limited_cgroup_is_a_link_and_its_neighbour_is_none() {
    let mut root = FakeRoot::new();
    root.mount_v2("/");
    root.cgroup_v2("/docker/abc/job", &FakeCgroupV2::default());
    root.cgroup_v2("/docker/abc", &FakeCgroupV2 { max: Some(8 << 30), ..FakeCgroupV2::default() });
    // As large as the machine: it limits nothing.
    root.cgroup_v2("/docker", &FakeCgroupV2 { max: Some(16 << 30), ..FakeCgroupV2::default() });
    let within = |cgroup: &str, process: FakeProcess| FakeProcess { cgroup: format!("0::{cgroup}\n"), ..process };
    root.set(&within("/docker/abc/job", FakeProcess::new(100, 1, 900.0, "/usr/bin/python3 client.py")));
    let inside = within("/docker/abc/side", FakeProcess::new(300, 1, 100.0, "/usr/bin/server"));
    let neighbour = within("/docker/abcd", FakeProcess::new(301, 1, 100.0, "/usr/bin/neighbour"));
    let mut watch = Watch::with(100, root.path(), false);
    grow(&root, &mut watch, &[(&inside, 10), (&neighbour, 10)]);
    assert_eq!(watch.notes_of(NoteKind::Outside).len(), 2);
    assert_eq!(links(&watch), [(300, "in the same limited cgroup /docker/abc (limit 8 GiB)".to_owned())]);
}

#[test]
fn whoever_is_linked_is_found_among_strangers_that_grow_faster() {
    let root = FakeRoot::new();
    root.set(&FakeProcess::new(100, 1, 900.0, "/usr/bin/python3 client.py"));
    let strangers: Vec<FakeProcess> = (0..4).map(|n| FakeProcess::new(200 + n, 1, 100.0, "/usr/bin/stranger")).collect();
    let server = FakeProcess::new(300, 1, 100.0, "/usr/bin/python3 server.py");
    let worker = FakeProcess::new(301, 300, 100.0, "/usr/bin/python3 worker.py");
    root.set(&server);
    hold(&root, 100, 5, "pipe:[7]");
    hold(&root, 300, 4, "pipe:[7]");
    let mut growing: Vec<(&FakeProcess, u64)> = strangers.iter().map(|process| (process, 40)).collect();
    growing.push((&worker, 3));
    let mut watch = Watch::with(100, root.path(), false);
    grow(&root, &mut watch, &growing);
    assert_eq!(links(&watch), [(301, "its parent, pid 300, shares a pipe with pid 100 of the run".to_owned())]);
    let outside = watch.processes().into_iter().filter(|process| process.role == Role::Outside).count();
    assert_eq!(outside, 1 + 3, "of the strangers only some are watched");
    assert!(watch.sample(301).is_some() && watch.process(300).is_none());
}

#[test]
fn a_link_that_comes_late_is_found_late() {
    let root = FakeRoot::new();
    root.set(&FakeProcess::new(100, 1, 900.0, "/usr/bin/python3 client.py"));
    let server = FakeProcess::new(300, 1, 100.0, "/usr/bin/python3 server.py");
    let mut watch = Watch::with(100, root.path(), false);
    grow(&root, &mut watch, &[(&server, 10)]);
    assert_eq!((watch.notes_of(NoteKind::Outside).len(), links(&watch)), (1, vec![]));
    hold(&root, 100, 5, "pipe:[7]");
    hold(&root, 300, 4, "pipe:[7]");
    for second in 60..600_u64 {
        root.uptime(1000.0 + second as f64);
        watch.tick_at(second as f64);
    }
    assert_eq!(links(&watch), [(300, "shares a pipe with pid 100 of the run".to_owned())], "once, and in the end");
    watch.assert_in_order();
}

#[test]
fn files_are_counted_where_the_kernel_does_not_tell_how_many() {
    let root = FakeRoot::new();
    root.set(&FakeProcess::new(100, 1, 900.0, "/usr/bin/python3 train.py"));
    for fd in 0..7 {
        hold(&root, 100, fd, "/dev/null");
    }
    let mut watch = Watch::with(100, root.path(), false);
    let counted = |watch: &Watch| watch.ticks().iter().filter_map(|tick| tick.procs[0].fds).collect::<Vec<_>>();
    let mut second = 0.0;
    while counted(&watch).len() < 2 {
        root.uptime(1000.0 + second);
        watch.tick_at(second);
        second += 1.0;
        assert!(second < 1000.0, "no second count in 1000 s");
    }
    assert_eq!(counted(&watch), [7, 7]);
    assert!(watch.ticks().len() > 5, "not at every tick");
}

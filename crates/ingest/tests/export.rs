//! lowtide's own CSV is read again as the run that it was.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::PathBuf;

use common::{exits, import, processes, roles, said, start, ticks};
use lowtide_model::{Cgroup, CgroupId, CgroupSample, CgroupVersion, Event, Signal, SystemSample};

fn trace(name: &str) -> Vec<Event> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../zoo/traces").join(name);
    import(&std::fs::read_to_string(path).unwrap()).events
}

fn exported(events: &[Event]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.csv");
    lowtide_record::export::csv(events, &path).unwrap();
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn processes_roles_and_numbers_come_back() {
    for name in ["18_wrapper_child.leak.csv", "40_zombie_workers.fixed.csv", "16_worker_cow.leak.csv", "01_ds_to_device.leak.csv"]
    {
        let events = trace(name);
        let run = import(&exported(&events));
        assert_eq!(run.what, "CSV export of lowtide", "{name}");
        assert_eq!(start(&run).signal, Signal::AnonShmem, "{name}");
        let before = lowtide_ingest::Imported { events, what: String::new(), said: Vec::new() };
        let seen = |run| {
            ticks(run)
                .into_iter()
                .filter(|tick| !tick.procs.is_empty())
                .map(|tick| (tick.t_s, tick.procs.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(seen(&run), seen(&before), "{name}");
        assert_eq!(roles(&run), roles(&before), "{name}");
        let parents = |run| processes(run).iter().map(|process| (process.pid, process.ppid, process.parent)).collect::<Vec<_>>();
        assert_eq!(parents(&run), parents(&before), "{name}");
        let last = ticks(&run).last().unwrap().t_s;
        let until = |run| exits(run).into_iter().filter(|(_, t_s)| *t_s <= last).collect::<Vec<_>>();
        assert_eq!(until(&run), until(&before), "{name}");
    }
}

#[test]
fn the_cgroup_and_the_machine_come_back() {
    let mut events = trace("01_ds_to_device.leak.csv");
    events.insert(1, Event::Cgroup(Cgroup { id: CgroupId(0), path: "/job".into(), version: CgroupVersion::V2 }));
    let cgroup =
        CgroupSample { usage: 5 << 30, limit: Some(8 << 30), inactive_file: 1 << 30, ..CgroupSample::empty(CgroupId(0)) };
    for event in &mut events {
        if let Event::Tick(tick) = event {
            tick.cgroups = vec![cgroup];
            tick.system = Some(SystemSample { total: 64 << 30, available: 32 << 30, dev_shm_used: 7, ..SystemSample::default() });
        }
    }
    let run = import(&exported(&events));
    assert!(run.events.iter().any(|event| matches!(event, Event::Cgroup(_))));
    assert!(ticks(&run).iter().all(|tick| tick.cgroups == [cgroup]));
    let system = ticks(&run)[3].system.unwrap();
    assert_eq!((system.total, system.available, system.dev_shm_used), (64 << 30, 32 << 30, 7));
    assert!(!said(&run, "RSS only"));
}

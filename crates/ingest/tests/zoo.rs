//! The recorded traces of the zoo: real runs, with forked workers, launchers and starved recorders.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use common::{exits, import, processes, roles, start, ticks};
use lowtide_model::{Event, Role, Signal};

fn traces() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../zoo/traces");
    let mut traces: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "csv"))
        .map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(&path).unwrap()))
        .collect();
    traces.sort();
    assert!(traces.len() >= 70, "only {} traces in {}", traces.len(), folder.display());
    traces
}

/// The same trace with every command replaced.
fn blanked(text: &str, with: &str) -> String {
    let row = |line: &str| {
        let mut cells: Vec<&str> = line.split(',').collect();
        if cells[1] != "pid" && cells[1] != "0" {
            cells[4] = with;
        }
        cells.join(",")
    };
    text.lines().map(row).collect::<Vec<_>>().join("\n")
}

#[test]
fn nothing_is_lost_or_added() {
    for (name, text) in traces() {
        let run = import(&text);
        assert_eq!(run.what, "zoo trace CSV", "{name}");
        assert_eq!(start(&run).signal, Signal::AnonShmem, "{name}");
        let column = |wanted: &str| text.lines().next().unwrap().split(',').position(|column| column == wanted).unwrap();
        let rows: Vec<Vec<&str>> =
            text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>()).filter(|cells| cells[1] != "0").collect();
        let sum = |wanted| rows.iter().map(|cells| cells[column(wanted)].parse::<u64>().unwrap()).sum::<u64>();
        let samples: Vec<_> = ticks(&run).into_iter().flat_map(|tick| &tick.procs).copied().collect();
        assert_eq!(samples.iter().map(|sample| sample.anon).sum::<u64>(), sum("anon"), "{name}");
        assert_eq!(samples.iter().map(|sample| sample.file).sum::<u64>(), sum("rss_file"), "{name}");
        assert_eq!(samples.iter().map(|sample| sample.shmem).sum::<u64>(), sum("rss_shmem"), "{name}");
        assert_eq!(samples.iter().map(|sample| u64::from(sample.fds.unwrap())).sum::<u64>(), sum("fds"), "{name}");
        assert_eq!(samples.iter().map(|sample| sample.rollup.unwrap().pss_anon).sum::<u64>(), sum("pss_anon"), "{name}");
        let times: BTreeSet<&str> = text.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
        assert_eq!(ticks(&run).len(), times.len(), "{name}");
        assert!(ticks(&run).iter().filter(|tick| tick.system.is_some()).count() + 2 >= times.len(), "{name}");
    }
}

#[test]
fn events_are_in_order_and_processes_live_once() {
    for (name, text) in traces() {
        let run = import(&text);
        let mut now = 0.0;
        let mut alive = BTreeSet::new();
        let mut born = 0;
        for event in &run.events[1..] {
            match event {
                Event::Process(process) => {
                    if process.id.0 == born {
                        born += 1;
                        alive.insert(process.id);
                    }
                    assert!(alive.contains(&process.id), "{name}: {process:?}");
                    assert!(process.parent.is_none_or(|parent| parent.0 < born), "{name}");
                }
                Event::Exit(exit) => {
                    assert!(alive.remove(&exit.id), "{name}: {exit:?}");
                    assert!(exit.t_s >= now, "{name}");
                }
                Event::Tick(tick) => {
                    assert!(tick.t_s >= now, "{name}");
                    now = tick.t_s;
                    assert!(tick.procs.iter().all(|sample| alive.contains(&sample.id)), "{name}");
                }
                event => panic!("{name}: {event:?}"),
            }
        }
        let pids: BTreeSet<u32> = processes(&run).iter().map(|process| process.pid).collect();
        assert_eq!(pids.len() as u32, born, "{name}: no pid is used twice in these traces");
        assert!(exits(&run).len() <= pids.len(), "{name}");
    }
}

/// The zoo's programs have one trainer and children that it forks; 18 has a launcher above it.
fn expected(name: &str, text: &str) -> Vec<Role> {
    let pids: BTreeSet<&str> = text.lines().skip(1).filter_map(|line| line.split(',').nth(1)).filter(|pid| *pid != "0").collect();
    let above: &[Role] = if name.starts_with("18_") { &[Role::Launcher, Role::Trainer] } else { &[Role::Trainer] };
    above.iter().copied().chain(std::iter::repeat(Role::ForkedChild)).take(pids.len()).collect()
}

#[test]
fn roles_follow_from_structure_with_and_without_names() {
    for (name, text) in traces() {
        for with in [None, Some(""), Some("x")] {
            let text = with.map_or_else(|| text.clone(), |with| blanked(&text, with));
            let run = import(&text);
            let mut last = HashMap::new();
            for process in processes(&run) {
                last.insert(process.id, process.role);
            }
            let mut last: Vec<_> = last.into_iter().collect();
            last.sort();
            let roles: Vec<Role> = last.into_iter().map(|(_, role)| role).collect();
            assert_eq!(roles, expected(&name, &text), "{name} with names {with:?}");
        }
    }
}

#[test]
fn names_change_nothing_but_names() {
    for (name, text) in traces().into_iter().filter(|(name, _)| name.contains("leak")) {
        let (run, other) = (import(&text), import(&blanked(&text, "")));
        assert_eq!(ticks(&run), ticks(&other), "{name}");
        assert_eq!(exits(&run), exits(&other), "{name}");
        if processes(&run).len() == processes(&other).len() {
            assert_eq!(roles(&run), roles(&other), "{name}");
        }
    }
}

#[test]
fn the_machine_has_what_the_trace_has_and_no_more() {
    let (_, text) = traces().into_iter().find(|(name, _)| name == "26_shm_held.leak").unwrap();
    let run = import(&text);
    let last = ticks(&run).into_iter().filter_map(|tick| tick.system).next_back().unwrap();
    assert!(last.dev_shm_used > 0 && last.cached > 0 && last.shmem > 0, "{last:?}");
    assert_eq!((last.total, last.available, last.swap_total), (0, 0, 0));
}

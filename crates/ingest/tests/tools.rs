//! Files as other tools really wrote them.
#![allow(clippy::unwrap_used)]

mod common;

use common::{anons, data, exits, firsts, import, problem, processes, roles, said, start, ticks};
use lowtide_ingest::Problem;
use lowtide_model::{Event, Role, Signal};

const MIB: f64 = 1_048_576.0;

#[test]
fn mprof() {
    let run = import(&data("mprof.dat"));
    assert_eq!(run.what, "mprof data");
    let info = start(&run);
    assert_eq!(info.command, ["/usr/bin/python3", "train.py", "80"]);
    assert_eq!(info.signal, Signal::RssOnly);
    assert!((info.started_unix_s - 1_795_828_736.513_7).abs() < 1e-3);
    assert!((info.interval_s - 0.1).abs() < 0.01);
    assert_eq!(ticks(&run).len(), 44);
    assert_eq!(anons(&run)[0], (7.335938 * MIB).round() as u64);
    assert_eq!(roles(&run), [Role::Trainer]);
    assert!(said(&run, "FUNC"));
}

#[test]
fn mprof_with_children_and_an_older_run_in_the_file() {
    let run = import(&data("mprof_multiprocess_twice.dat"));
    assert!(said(&run, "2 runs"));
    assert_eq!(start(&run).command, ["/usr/bin/python3", "fc.py"]);
    assert_eq!(roles(&run), [Role::Trainer, Role::ForkedChild]);
    assert_eq!(processes(&run)[1].pid, 17711);
    assert_eq!(processes(&run)[1].parent, Some(processes(&run)[0].id));
    assert_eq!(ticks(&run)[3].procs.len(), 2);
}

#[test]
fn mprof_without_a_measurement() {
    assert_eq!(problem("CMDLINE python train.py\n"), Problem::NoMemLines);
    assert!(matches!(problem("CMDLINE a\nMEM 1 2\nMEM x\nMEM y\nMEM z\nfoo\n"), Problem::BadRows { bad: 4, line: 3, .. }));
}

#[test]
fn psrecord_in_its_three_forms() {
    for (name, count, first) in [("psrecord.txt", 15, 16.008), ("psrecord_io.txt", 15, 10.664), ("psrecord.csv", 11, 1.67578125)]
    {
        let run = import(&data(name));
        assert_eq!(run.what, "psrecord log", "{name}");
        assert_eq!(ticks(&run).len(), count, "{name}");
        assert_eq!(anons(&run)[0], (first * MIB).round() as u64, "{name}");
        assert_eq!(start(&run).signal, Signal::RssOnly);
        assert!((start(&run).interval_s - 0.2).abs() < 0.02, "{name}");
    }
}

#[test]
fn pidstat() {
    let run = import(&data("pidstat.txt"));
    assert_eq!(run.what, "pidstat -r output");
    assert_eq!(ticks(&run).len(), 3);
    assert_eq!(processes(&run).iter().map(|process| process.pid).collect::<Vec<_>>(), [13272, 13967, 13969]);
    assert_eq!(processes(&run)[1].command, "python train.py --workers 1");
    assert_eq!(anons(&run)[0], 819_472 * 1024);
    // RSS 0: dead and not reaped.
    assert_eq!(exits(&run), [(2, 2.0)]);
    // Averages at the end are no moment.
    assert!((ticks(&run)[2].t_s - 2.0).abs() < 1e-9);

    let run = import(&data("pidstat_h.txt"));
    assert_eq!((ticks(&run).len(), processes(&run).len()), (2, 2));
}

#[test]
fn sar_knows_the_machine_only() {
    let run = import(&data("sar_r.txt"));
    assert_eq!(run.what, "sar -r output");
    assert_eq!(start(&run).signal, Signal::SystemOnly);
    assert_eq!(anons(&run), [1_005_300 * 1024, 1_045_308 * 1024, 1_105_716 * 1024]);
    assert_eq!(ticks(&run)[0].system.unwrap().available, 23_299_700 * 1024);
    assert_eq!(roles(&run), [Role::Other]);
    assert!(said(&run, "machine"));
}

#[test]
fn prometheus_of_a_process() {
    let run = import(&data("prometheus_process.json"));
    assert_eq!(run.what, "Prometheus range query");
    assert_eq!(start(&run).signal, Signal::RssOnly);
    assert!((start(&run).started_unix_s - 1.7e9).abs() < 1e-6);
    assert_eq!(anons(&run), [512_000_000, 513_048_576, 514_097_152, 516_194_304]);
    let times: Vec<f64> = firsts(&run).iter().map(|(t_s, _)| *t_s).collect();
    assert_eq!(times, [0.0, 15.0, 30.0, 60.5]);
    assert_eq!(firsts(&run)[3].1.fds, Some(25));
    assert!(said(&run, "process_virtual_memory_bytes"));
    assert_eq!(roles(&run), [Role::Trainer]);
    assert_eq!(processes(&run)[0].command, "instance=node-7:8000");
}

#[test]
fn prometheus_of_a_container_with_its_limit() {
    let run = import(&data("prometheus_container.json"));
    assert_eq!(start(&run).signal, Signal::AnonShmem);
    assert_eq!(anons(&run), [3_000_000_000, 3_100_000_000, 3_200_000_000]);
    assert!(said(&run, "Left out 2 series"));
    let cgroup = ticks(&run)[2].cgroups[0];
    assert_eq!((cgroup.usage, cgroup.limit, cgroup.working_set()), (5_200_000_000, Some(8_589_934_592), 4_200_000_000));
    let announced = run.events.iter().find_map(|event| if let Event::Cgroup(cgroup) = event { Some(&cgroup.path) } else { None });
    assert_eq!(announced.unwrap(), "ml/train-0/trainer");
}

#[test]
fn prometheus_of_a_node() {
    let series = |name: &str, values: &str| format!(r#"{{"metric":{{"__name__":"{name}","instance":"n"}},"values":[{values}]}}"#);
    let text = format!(
        r#"{{"status":"success","data":{{"resultType":"matrix","result":[{},{}]}}}}"#,
        series("node_memory_MemTotal_bytes", r#"[0,"100"],[15,"100"]"#),
        series("node_memory_MemAvailable_bytes", r#"[0,"60"],[15,"50"]"#),
    );
    let run = import(&text);
    assert_eq!(start(&run).signal, Signal::SystemOnly);
    assert_eq!(anons(&run), [40, 50]);
    assert_eq!(start(&run).started_unix_s, 0.0);
}

#[test]
fn prometheus_answers_that_are_no_range() {
    let what = |text: &str| match problem(text) {
        Problem::NotARange { what } => what,
        problem => panic!("{problem:?}"),
    };
    assert!(what(r#"{"status":"error","errorType":"bad_data","error":"parse error"}"#).contains("parse error"));
    assert!(what(r#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#).contains("empty"));
    let vector = r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"2"]}]}}"#;
    assert!(what(vector).contains("instant"));
    assert!(what(r#"{"a":1}"#).contains("data.result"));
    assert!(what("[1,2]").contains("list"));
    assert!(matches!(problem("{\n  \"status\": \"succ"), Problem::Json { line: 2, .. }));
    let unknown = r#"{"data":{"result":[{"metric":{"__name__":"up"},"values":[[1,"1"]]}]}}"#;
    assert_eq!(problem(unknown), Problem::NoMemory { columns: vec!["up".to_owned()] });
}

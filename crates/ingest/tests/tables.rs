//! Tables of every dialect, what is guessed about them, and what is said where that fails.
#![allow(clippy::unwrap_used)]

mod common;

use common::{anons, exits, firsts, import, import_with, problem, processes, roles, said, start, ticks};
use lowtide_ingest::{Hints, Problem, read};
use lowtide_model::{Role, Signal};

const MIB: u64 = 1 << 20;

fn times(text: &str) -> Vec<f64> {
    ticks(&import(text)).iter().map(|tick| tick.t_s).collect()
}

#[test]
fn dialects() {
    for (name, text) in [
        ("plain", "time,rss_mib\n0,100\n1,101\n2,102\n"),
        ("no line end at the end", "time,rss_mib\n0,100\n1,101\n2,102"),
        ("mark and CRLF", "\u{feff}time,rss_mib\r\n0,100\r\n1,101\r\n2,102\r\n"),
        ("quotes", "\"time\",\"rss_mib\"\n\"0\",\"100\"\n\"1\",\"101\"\n\"2\",\"102\"\n"),
        ("tabs", "time\trss_mib\n0\t100\n1\t101\n2\t102\n"),
        ("semicolons and decimal commas", "time;rss_mib\n0,0;100,0\n1,0;101,0\n2,0;102,0\n"),
        ("bars", "time|rss_mib\n0|100\n1|101\n2|102\n"),
        ("comments", "# made by hand\n# twice\ntime,rss_mib\n0,100\n# in between\n1,101\n\n2,102\n"),
        ("header behind a #", "#time,rss_mib\n0,100\n1,101\n2,102\n"),
        ("blanks", "time   rss_mib\n   0       100\n   1       101\n   2       102\n"),
        ("comma at the end", "time,rss_mib,\n0,100,\n1,101,\n2,102,\n"),
        ("unit in the cell", "time,mem\n0,100MiB\n1,101MiB\n2,102 MiB\n"),
        ("used and limit", "time,MEM USAGE / LIMIT\n0,100MiB / 2GiB\n1,101MiB / 2GiB\n2,102MiB / 2GiB\n"),
        ("newest first", "time,rss_mib\n2,102\n1,101\n0,100\n"),
    ] {
        let run = read(text.as_bytes(), &Hints::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(anons(&run), [100 * MIB, 101 * MIB, 102 * MIB], "{name}");
        assert_eq!(ticks(&run).iter().map(|tick| tick.t_s).collect::<Vec<_>>(), [0.0, 1.0, 2.0], "{name}");
        assert_eq!(roles(&run), [Role::Trainer], "{name}");
    }
}

#[test]
fn utf16_of_powershell() {
    let bytes: Vec<u8> = "\u{feff}time,rss_mib\r\n0,100\r\n1,101\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(anons(&read(&bytes, &Hints::default()).unwrap()), [100 * MIB, 101 * MIB]);
}

#[test]
fn times_of_every_sort() {
    for (name, text, expected) in [
        ("unix", "time,rss_mib\n1700000000,9\n1700000000.5,9\n", [0.0, 0.5]),
        ("milliseconds by size", "timestamp,rss_mib\n1700000000000,9\n1700000000500,9\n", [0.0, 0.5]),
        ("milliseconds by name", "elapsed_ms,rss_mib\n100,9\n600,9\n", [0.0, 0.5]),
        ("minutes by name", "elapsed (min),rss_mib\n1,9\n2,9\n", [0.0, 60.0]),
        ("nanoseconds by size", "ts,rss_mib\n1700000000000000000,9\n1700000000500000000,9\n", [0.0, 0.5]),
        ("ISO", "time,rss_mib\n2024-02-28T23:59:59.5Z,9\n2024-02-29T00:00:01Z,9\n", [0.0, 1.5]),
        ("with a zone", "time,rss_mib\n2024-01-01 01:00:00+01:00,9\n2024-01-01 01:00:01+01:00,9\n", [0.0, 1.0]),
        ("of the day over midnight", "time,rss_mib\n23:59:59,9\n00:00:01,9\n", [0.0, 2.0]),
        ("two columns", "date,time,rss_mib\n2024-01-01,23:59:59,9\n2024-01-02,00:00:01,9\n", [0.0, 2.0]),
        ("pandas", "time,rss_mib\n0 days 00:00:01,9\n0 days 00:00:03.5,9\n", [0.0, 2.5]),
    ] {
        let run = read(text.as_bytes(), &Hints::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let times: Vec<f64> = ticks(&run).iter().map(|tick| tick.t_s).collect();
        assert!(
            times.iter().zip(expected).all(|(t_s, expected)| (t_s - expected).abs() < 1e-3) && times.len() == 2,
            "{name}: {times:?}"
        );
    }
    assert!((start(&import("time,rss_mib\n1700000000,9\n1700000001,9\n")).started_unix_s - 1.7e9).abs() < 1e-6);
    let local = import("time,rss_mib\n2024-01-01 00:00:00,9\n2024-01-01 00:00:01,9\n");
    assert_eq!(start(&local).started_unix_s, 0.0, "without a zone the moment is unknown");
}

#[test]
fn units_are_named_or_guessed_and_said() {
    let run = import("t,rss_mb\n0,100\n1,101\n");
    assert_eq!(anons(&run), [100_000_000, 101_000_000]);
    assert!(said(&run, "MB of 10^6"), "{:?}", run.said);
    let run = import("t,rss\n0,409600000\n1,409604096\n");
    assert_eq!(anons(&run), [409_600_000, 409_604_096]);
    assert!(said(&run, "multiples of a page"), "{:?}", run.said);
    let run = import("t,rss\n0,409600\n1,409604\n");
    assert_eq!(anons(&run), [409_600 << 10, 409_604 << 10]);
    let run = import_with("t,rss\n0,409600\n1,409604\n", &["memory=rss:B"]).unwrap();
    assert_eq!(anons(&run), [409_600, 409_604]);
}

#[test]
fn hints_name_columns_by_name_and_number() {
    let text = "a,b,c\n10,7,3\n11,8,4\n12,9,5\n";
    assert!(matches!(problem(text), Problem::NoTime { .. }));
    let run = import_with(text, &["time=a", "memory=C:MiB"]).unwrap();
    assert_eq!(anons(&run), [3 * MIB, 4 * MIB, 5 * MIB]);
    let run = import_with("10 7 3\n11 8 4\n12 9 5\n", &["time=1:min", "memory=2:MiB"]).unwrap();
    assert_eq!(anons(&run), [7 * MIB, 8 * MIB, 9 * MIB]);
    assert_eq!(ticks(&run)[2].t_s, 120.0);
    let run = import_with("time,x,y\n0,1,2\n1,1,2\n", &["memory=x:GiB", "memory=y:GiB"]).unwrap();
    assert_eq!(processes(&run).iter().map(|process| process.name.as_str()).collect::<Vec<_>>(), ["x", "y"]);
    let missing = import_with(text, &["time=z", "memory=b"]).unwrap_err();
    assert!(matches!(&missing, Problem::NoSuchColumn { wanted, .. } if wanted == "z"), "{missing}");
}

#[test]
fn one_row_may_hold_several_processes() {
    let run = import("time,rank0_rss_mib,rank1_rss_mib,loss\n0,100,200,0.5\n1,101,201,0.4\n");
    assert_eq!(processes(&run).iter().map(|process| process.name.as_str()).collect::<Vec<_>>(), ["rank0", "rank1"]);
    assert_eq!(roles(&run), [Role::Trainer, Role::Trainer]);
    assert_eq!(ticks(&run)[1].procs.iter().map(|sample| sample.anon >> 20).collect::<Vec<_>>(), [101, 201]);
}

#[test]
fn rows_of_several_processes_by_pid_name_or_rank() {
    let by_pid = "time,pid,ppid,rss_kb\n0,7,1,100000\n0.001,8,7,50000\n1,7,1,100000\n1.001,8,7,50000\n2,7,1,100000\n";
    let run = import(by_pid);
    assert_eq!(ticks(&run).len(), 3);
    assert_eq!(processes(&run)[1].parent, Some(processes(&run)[0].id));
    assert_eq!(exits(&run), [(1, 2.0)]);
    let by_rank = import("time,rank,rss_mib\n0,0,100\n0,1,90\n1,0,101\n1,1,91\n");
    assert_eq!(processes(&by_rank).iter().map(|process| process.rank).collect::<Vec<_>>(), [Some(0), Some(1)]);
    // One process after the other.
    let sorted = import("time,name,rss_mib\n0,a,1\n1,a,2\n2,a,3\n0,b,4\n1,b,5\n2,b,6\n");
    assert_eq!(ticks(&sorted).iter().map(|tick| tick.procs.len()).collect::<Vec<_>>(), [2, 2, 2]);
}

#[test]
fn a_pid_that_is_used_again_is_another_process() {
    let rows = |from: u32, to: u32, pid: u32, ppid: u32, cmd: &str| {
        (from..to).map(|t| format!("{t},{pid},{ppid},{cmd},100\n")).collect::<String>()
    };
    let head = "time,pid,ppid,cmd,rss_mib\n";
    let lives = |text: &str| {
        let mut text: Vec<&str> = text.lines().collect();
        text.sort_by_key(|line| line.split(',').next().unwrap().parse::<u32>().unwrap());
        let run = import(&format!("{head}{}\n", text.join("\n")));
        processes(&run).iter().map(|process| process.id.0).max().unwrap() + 1
    };
    let root = rows(0, 40, 1, 0, "main");
    assert_eq!(lives(&format!("{root}{}{}", rows(0, 5, 9, 1, "x"), rows(30, 40, 9, 1, "x"))), 3, "after a long absence");
    assert_eq!(lives(&format!("{root}{}{}", rows(0, 5, 9, 1, "x"), rows(7, 40, 9, 1, "x"))), 2, "two rows lost");
    assert_eq!(lives(&format!("{root}{}{}", rows(0, 5, 9, 1, "x"), rows(6, 40, 9, 1, "y"))), 3, "other command after an absence");
    assert_eq!(lives(&format!("{root}{}{}", rows(0, 5, 9, 1, "x"), rows(5, 40, 9, 1, "y"))), 2, "exec");
    assert_eq!(lives(&format!("{root}{}{}", rows(0, 5, 9, 1, "x"), rows(5, 40, 9, 2, "y"))), 3, "other parent and command");
}

#[test]
fn a_launcher_is_told_by_what_it_starts() {
    // A launcher of 30 MiB, a trainer of 500, a compiler that is bigger for a short while, a spawned helper.
    let mut text = "time,pid,ppid,rss_mib\n".to_owned();
    for t in 0..100 {
        text += &format!("{t},1,0,30\n");
        if t > 0 {
            text += &format!("{t},2,1,{}\n", 100 + 4 * t);
            text += &format!("{t},4,2,20\n");
        }
        if (20..30).contains(&t) {
            text += &format!("{t},3,2,900\n");
        }
    }
    assert_eq!(roles(&import(&text)), [Role::Launcher, Role::Trainer, Role::Other, Role::Other]);
}

#[test]
fn the_machine_alone_and_beside_a_process() {
    let run = import("time,mem_total_mib,mem_available_mib\n0,1000,400\n1,1000,300\n");
    assert_eq!(start(&run).signal, Signal::SystemOnly);
    assert_eq!(anons(&run), [600 * MIB, 700 * MIB]);
    assert_eq!(ticks(&run)[0].system.unwrap().total, 1000 * MIB);
    let run = import("time,rss_mib,mem_total_mib,mem_available_mib,mem_used_mib\n0,50,1000,400,600\n1,51,1000,300,700\n");
    assert_eq!(start(&run).signal, Signal::RssOnly);
    assert_eq!(anons(&run), [50 * MIB, 51 * MIB]);
    assert_eq!(ticks(&run)[1].system.unwrap().available, 300 * MIB);
}

#[test]
fn parts_of_rss_give_the_anonymous_one() {
    let run = import("time,rss_mib,rss_file_mib,rss_shmem_mib,swap_mib,threads\n0,100,30,20,5,7\n1,100,30,20,5,8\n");
    assert_eq!(start(&run).signal, Signal::AnonShmem);
    let sample = firsts(&run)[1].1;
    assert_eq!((sample.anon, sample.file, sample.shmem, sample.swap, sample.threads), (50 * MIB, 30 * MIB, 20 * MIB, 5 * MIB, 8));
    let psutil = import("time,rss,vms,uss,pss,swap\n0,8192000,1,4096000,6144000,0\n1,8192000,1,4096000,6144000,0\n");
    assert_eq!(firsts(&psutil)[0].1.rollup.unwrap().uss, 4_096_000);
    assert!(said(&psutil, "address space"), "{:?}", psutil.said);
}

#[test]
fn bad_rows_are_skipped_counted_and_too_many_are_an_error() {
    let mut text = "time,rss_mib\n".to_owned();
    for t in 0..100 {
        text += &match t {
            10 => "10,oops\n".to_owned(),
            20 => "20\n".to_owned(),
            30 => "30,NaN\n".to_owned(),
            40 => "40,1,2,3\n".to_owned(),
            _ => format!("{t},100\n"),
        };
    }
    let run = import(&text);
    assert_eq!(ticks(&run).len(), 96);
    assert!(said(&run, "Left out 2 of 100 rows"), "{:?}", run.said);
    assert!(said(&run, "line 12, column 2: `oops`"), "{:?}", run.said);
    let bad = "time,rss_mib\n0,1\n1,a\n2,b\n3,c\n4,d\n5,2\n";
    assert!(matches!(problem(bad), Problem::BadRows { bad: 4, rows: 6, line: 3, column: 2, .. }));
}

#[test]
fn time_that_goes_backwards() {
    let mut text = "time,rss_mib\n".to_owned();
    for t in (0..50).chain(0..50) {
        text += &format!("{t},100\n");
    }
    assert!(matches!(problem(&text), Problem::TimeBackwards { line: 52, count: 49 }), "{:?}", problem(&text));
    let small = import("time,rss_mib\n0,1\n1,1\n0.5,1\n2,1\n2,7\n");
    assert_eq!(ticks(&small).len(), 3);
    assert!(said(&small, "1 rows whose time goes backwards, the first in line 4") && said(&small, "1 rows that repeat"));
    assert_eq!(times("time,rss_mib\n5,1\n6,1\n8,1\n"), [0.0, 1.0, 3.0]);
}

#[test]
fn what_is_no_table_is_said_to_be_none() {
    assert_eq!(problem(""), Problem::Empty);
    assert_eq!(problem("\n \r\n"), Problem::Empty);
    assert!(matches!(problem("a\0b"), Problem::NotText { offset: 1 }));
    for text in ["hello", "Dear reader, this is prose,\nand time is short.\nMemory too.\n", "0,1\n1,2\n"] {
        assert_eq!(problem(text), Problem::Unknown, "{text}");
    }
    assert_eq!(problem("step,loss\n0,1\n1,2\n"), Problem::NoTime { columns: vec!["step".into(), "loss".into()] });
    assert_eq!(problem("time,loss\n0,1\n1,2\n"), Problem::NoMemory { columns: vec!["time".into(), "loss".into()] });
    assert_eq!(problem("time,rss_mib\nfoo,bar\n").to_string().lines().count(), 1);
    assert!(matches!(problem(&format!("time,{}\n1,{}\n", "a,".repeat(5000), "1,".repeat(5000))), Problem::TooManyColumns { .. }));
    assert!(matches!(problem(&format!("time,rss_mib\n1,{}\n", "9".repeat(2 << 20))), Problem::LineTooLong { line: 2 }));
}

#[test]
fn messages_name_the_file_the_place_and_the_mend() {
    let error = read(b"time,loss\n0,1\n", &Hints { columns: Vec::new(), name: "run.csv".into() }).unwrap_err().to_string();
    assert_eq!(error, "run.csv: no column of memory among: `time`, `loss`. Name it, with its unit: --column memory=NAME:MiB");
}

//! Numbers of memory in lines: which are series, and which only look like it.

use std::fmt::Write as _;

use lowtide_ingest::log::numbers::{Axis, Series};
use lowtide_ingest::log::read;

fn series(line: impl Fn(u32) -> String) -> Vec<Series> {
    let log = (0..100).fold(String::new(), |mut log, at| {
        writeln!(log, "{}", line(at)).unwrap();
        log
    });
    read(log.as_bytes()).unwrap().series
}

#[test]
fn text_that_only_looks_like_it_stays_without_series() {
    let lines = [
        "frame 12 MB of program",
        "downloading 12.5 MB",
        "lr 0.001 param 12.5M",
        "free memory: 12 GB",
        "memory bandwidth 900 GB/s",
        "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 23.65 GiB total capacity; 22.90 GiB already allocated; 11.06 MiB free)",
        "Killed process 1 (python) total-vm:1kB, anon-rss:12kB, file-rss:1kB",
        "train_mem_cpu_alloc_delta = 12MB",
        "memory 12:34:56",
        "gpu 3 of 8 ready",
        "mem 1.2.3 GB",
    ];
    for line in lines {
        assert!(series(|_| line.to_owned()).is_empty(), "{line}");
    }
}

#[test]
fn points_are_ordered_by_the_best_that_the_lines_say() {
    let ordered = |line: fn(u32) -> String| series(line).into_iter().map(|one| one.axis).collect::<Vec<_>>();
    assert_eq!(ordered(|at| format!("2026-01-01 10:{:02}:{:02} step {at} rss: 12 MiB", at / 60, at % 60)), [Axis::Time]);
    assert_eq!(ordered(|at| format!(" 3%|  | {at}/100 [{:02}:{:02}<01:00, 1it/s, rss=12.0M]", at / 60, at % 60)), [Axis::Bars]);
    assert_eq!(ordered(|at| format!("step {at} rss: 12 MiB")), [Axis::Steps]);
    assert_eq!(ordered(|at| format!("epoch {at}: rss: 12 MiB")), [Axis::Epochs]);
    assert_eq!(ordered(|_| "rss: 12 MiB".to_owned()), [Axis::Lines]);
    // A step that starts over with each epoch orders nothing.
    assert_eq!(ordered(|at| format!("step {} rss: 12 MiB", at % 10)), [Axis::Lines]);
}

#[test]
fn lines_of_few_shapes_are_apart_and_of_many_are_not() {
    let two = series(|at| if at % 2 == 0 { "before eval rss: 12 MiB".to_owned() } else { "after eval rss: 90 MiB".to_owned() });
    assert_eq!(two.len(), 2);
    let names = ["cat", "dog", "cow", "hen", "pig", "fox", "owl", "bat", "ant", "bee", "eel", "elk"];
    let many = series(|at| format!("picture {} rss: 12 MiB", names[at as usize % names.len()]));
    assert_eq!(many.iter().map(|one| one.points).collect::<Vec<_>>(), [100]);
}

#[test]
fn top_again_and_again_is_a_log_and_no_table() {
    let text = (0..30).fold(String::new(), |mut text, at| {
        writeln!(text, "top - 10:00:{at:02} up 3 days,  1:02,  0 users,  load average: 0.1, 0.1, 0.1\n").unwrap();
        writeln!(text, "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND").unwrap();
        writeln!(text, "   4242 root      20   0   10.1g   1.{at:02}g  12345 R 100.0   9.0   1:{at:02}.45 python\n").unwrap();
        text
    });
    let table = lowtide_ingest::read(text.as_bytes(), &lowtide_ingest::Hints::default());
    assert!(matches!(table.unwrap_err().problem, lowtide_ingest::Problem::NoTime { .. }), "processor time is no clock");
    let series = read(text.as_bytes()).unwrap().series;
    assert_eq!((series.len(), series[0].pid, series[0].axis), (1, Some(4242), Axis::Time));
}

#[test]
fn no_log_makes_more_than_a_bounded_number_of_series() {
    let log = (0..40_000).fold(String::new(), |mut log, at| {
        writeln!(log, "worker {} rss: 12 MiB", at % 4000).unwrap();
        log
    });
    let log = read(log.as_bytes()).unwrap();
    assert!((100..=192).contains(&log.series.len()), "{}", log.series.len());
    assert!(log.said.iter().any(|said| said.contains("192 series are kept")), "{:?}", log.said);
}

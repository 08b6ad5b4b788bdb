//! Foreign files are hostile: whatever the bytes, there is an answer, and it is in order.
#![allow(clippy::unwrap_used)]

mod common;

use common::data;
use lowtide_ingest::{Hints, read};
use lowtide_model::Event;
use proptest::prelude::*;

const SEEDS: [&str; 9] = [
    "mprof.dat",
    "mprof_multiprocess_twice.dat",
    "pidstat.txt",
    "pidstat_h.txt",
    "psrecord.csv",
    "psrecord.txt",
    "sar_r.txt",
    "prometheus_process.json",
    "prometheus_container.json",
];

fn check(bytes: &[u8], columns: Vec<String>) {
    match read(bytes, &Hints { columns, name: "file".into() }) {
        Ok(run) => {
            assert!(matches!(run.events[0], Event::Start(_)));
            let times: Vec<f64> =
                run.events.iter().filter_map(|event| if let Event::Tick(tick) = event { Some(tick.t_s) } else { None }).collect();
            assert!(!times.is_empty() && times[0] == 0.0);
            assert!(times.windows(2).all(|pair| pair[0] <= pair[1]), "{times:?}");
            // A small multiple of the input.
            assert!(run.events.len() <= 16 + bytes.len(), "{} events", run.events.len());
        }
        Err(error) => assert!(!error.to_string().is_empty() && error.to_string().len() < 10_000),
    }
}

fn cell() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[0-9]{1,6}",
        1 => "[0-9]{1,3}[.,][0-9]{1,3}",
        1 => "[-+0-9.eE:TZ ]{0,24}",
        1 => Just("NaN".to_owned()),
        1 => Just(String::new()),
        1 => ".{0,6}",
        1 => Just("\"".to_owned()),
    ]
}

fn header() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        Just("time"),
        Just("t"),
        Just("date"),
        Just("elapsed_ms"),
        Just("pid"),
        Just("ppid"),
        Just("cmd"),
        Just("rank"),
        Just("name"),
        Just("role"),
        Just("rss"),
        Just("rss_mb"),
        Just("anon"),
        Just("rss_file"),
        Just("rss_shmem"),
        Just("pss"),
        Just("mem_total"),
        Just("available"),
        Just("used"),
        Just("rank0_rss"),
        Just("depth"),
        Just("fds"),
        Just("")
    ];
    prop::collection::vec(name, 1..8).prop_map(|names| names.join(","))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        check(&bytes, Vec::new());
    }

    #[test]
    fn any_table(header in header(), rows in prop::collection::vec(prop::collection::vec(cell(), 0..9), 0..40), hint in ".{0,12}") {
        let rows: Vec<String> = rows.into_iter().map(|cells| cells.join(",")).collect();
        let text = format!("{header}\n{}", rows.join("\n"));
        check(text.as_bytes(), Vec::new());
        check(text.as_bytes(), vec!["time=1".into(), format!("memory={hint}")]);
        check(text.as_bytes(), vec!["time=1".into(), "memory=2:MiB".into()]);
        check(text.replace(',', ";").as_bytes(), Vec::new());
        check(text.replace(',', "  ").as_bytes(), Vec::new());
    }

    #[test]
    fn damaged_files(which in 0..SEEDS.len(), damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..12)) {
        let mut bytes = data(SEEDS[which]).into_bytes();
        for (at, byte, how) in damage {
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => { bytes.truncate(at.max(1)); }
                _ => {
                    let piece = bytes[at..(at + usize::from(byte)).min(bytes.len())].to_vec();
                    bytes.splice(at..at, piece);
                }
            }
        }
        check(&bytes, Vec::new());
    }
}

#[test]
fn numbers_at_the_edge_of_what_they_can_be() {
    let values = ["0", "1e308", "-1e308", "1e-308", "18446744073709551616", "9".repeat(400).as_str(), "inf", "-inf", "nan", "-0"]
        .map(str::to_owned);
    for a in &values {
        for b in &values {
            check(format!("time,rss,pid,ppid\n{a},{b},{a},{b}\n{b},{a},{b},{a}\n").as_bytes(), Vec::new());
            check(format!("MEM {a} {b}\nCHLD 1 {a} {b}\nMEM {b} {a}\n").as_bytes(), Vec::new());
            check(
                format!(r#"{{"data":{{"result":[{{"metric":{{}},"values":[[{a},"{b}"],[{b},"{a}"]]}}]}}}}"#).as_bytes(),
                Vec::new(),
            );
        }
    }
}

//! What a person reads, as snapshots.

use lowtide_report::{TextOptions, text};

use super::samples;

#[test]
fn every_sort_of_report_at_80_columns() {
    for (name, report) in samples::all() {
        insta::assert_snapshot!(name, text(&report, &TextOptions::default()));
    }
}

#[test]
fn a_wide_terminal_has_the_first_line_in_one() {
    insta::assert_snapshot!("leak_140", text(&samples::leak(), &TextOptions { width: 140, ..TextOptions::default() }));
}

#[test]
fn a_narrow_terminal_drops_columns() {
    insta::assert_snapshot!("leak_48", text(&samples::leak(), &TextOptions { width: 48, ..TextOptions::default() }));
}

#[test]
fn verbose_shows_all() {
    insta::assert_snapshot!("leak_verbose", text(&samples::leak(), &TextOptions { verbose: true, ..TextOptions::default() }));
}

#[test]
fn colour_only_where_asked_for() {
    let plain = text(&samples::leak(), &TextOptions::default());
    let coloured = text(&samples::leak(), &TextOptions { color: true, ..TextOptions::default() });
    assert!(!plain.contains('\x1b'));
    assert!(coloured.starts_with("\x1b[1;31mLEAK"), "{coloured:?}");
    // Without its escape sequences the coloured text is the plain one.
    let mut stripped = String::new();
    let mut parts = coloured.split("\x1b[");
    stripped.push_str(parts.next().unwrap());
    parts.for_each(|part| stripped.push_str(part.split_once('m').unwrap().1));
    assert_eq!(stripped, plain);
}

#[test]
fn what_memory_is_for_has_a_column_for_each_moment() {
    let report = samples::budgeted();
    let said = text(&report, &TextOptions::default());
    let table: Vec<&str> =
        said.lines().skip_while(|line| !line.starts_with("memory is for")).take_while(|line| !line.is_empty()).collect();
    assert_eq!(
        table,
        [
            "memory is for           at rest       train  validation",
            "parameters              400 MiB     400 MiB     400 MiB",
            "gradients                     -     400 MiB           -",
            "optimizer state         800 MiB     800 MiB     800 MiB",
            "numpy arrays                  -           -    3.91 GiB",
            "native heap              90 MiB      95 MiB      90 MiB",
            "1 smaller part            1 MiB           -           -",
            "all                    1.26 GiB    1.66 GiB    5.17 GiB",
            "most measured in it           -    1.72 GiB    5.23 GiB",
            "looked at after      1 min 02 s  1 min 02 s  1 min 02 s",
        ],
        "{said}"
    );
    let all = text(&report, &TextOptions { verbose: true, ..TextOptions::default() });
    assert!(all.contains("not explained") && !all.contains("smaller part"), "{all}");
}

#[test]
fn a_side_finding_says_who_holds_it_unless_the_first_one_did() {
    let mut report = samples::held();
    let mut threads = lowtide_model::Finding::new(lowtide_model::Class::Leak, "threads", "threads of pid 7 rose from 1 to 169");
    threads.growth = report.findings[0].growth.clone();
    threads.holder = report.findings[0].holder.clone();
    report.findings.insert(1, threads);
    let options = TextOptions { width: 200, ..TextOptions::default() };
    let said = |report: &lowtide_model::Report| {
        let text = text(report, &options);
        text.lines().find(|line| line.contains("threads of pid 7")).unwrap().trim_end().to_owned()
    };
    assert!(said(&report).ends_with("from 1 to 169"), "{}", said(&report));
    let other = &mut report.findings[1];
    other.holder.as_mut().unwrap().path = vec!["module __main__".into(), "board: Board".into(), ".writers: list".into()];
    other.holder.as_mut().unwrap().name = "board.writers".into();
    other.site =
        Some(lowtide_model::Site { file: "/home/me/train.py".into(), line: 37, column: None, text: "writers.append(t)".into() });
    other.cause = Some("LT706".into());
    assert!(
        said(&report).contains("169, held by board.writers (list): train.py:37 writers.append(t) LT706"),
        "{}",
        said(&report)
    );
}

#[test]
fn what_nobody_holds_has_no_fix_unless_the_allocator_keeps_it() {
    let mut report = samples::held();
    let leak = &mut report.findings[0];
    (leak.holder, leak.site, leak.cause, leak.fix) = (None, None, Some("LT603".into()), Some("have it given back".into()));
    let said = |report: &lowtide_model::Report| {
        text(report, &TextOptions::default()).contains("fix    have it given back (`lowtide causes LT603`")
    };
    report.findings[0].kind = Some(lowtide_model::Kind::Anonymous);
    assert!(!said(&report));
    report.findings[0].kind = Some(lowtide_model::Kind::AllocatorHoles);
    assert!(said(&report), "{}", text(&report, &TextOptions::default()));
}

//! `live` where there is no terminal: one frame, or a word about what is missing.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::{lowtide, output, run, text};

#[test]
fn one_frame_of_the_newest_run_and_of_any_file() {
    let folder = tempfile::tempdir().unwrap();
    let none = output(lowtide(folder.path()).args(["live", "--once"]));
    assert_eq!(none.status.code(), Some(3), "{}", text(&none.stdout));
    output(&mut run(folder.path(), &["sh", "-c", "sleep 0.3; exit 2"]));
    let newest = output(lowtide(folder.path()).args(["live", "--once"]).env("COLUMNS", "80").env("LINES", "24"));
    let frame = text(&newest.stdout);
    assert_eq!(frame.lines().count(), 24, "{frame}{}", text(&newest.stderr));
    assert!(frame.lines().next().unwrap().ends_with("over: exit 2"), "{frame}");
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../zoo/traces/10_val_lists.leak.csv");
    let foreign = output(lowtide(folder.path()).args(["live", "--once", "--view", "2"]).arg(trace));
    assert!(text(&foreign.stdout).contains("trainer"), "{}", text(&foreign.stdout));
}

#[test]
fn the_overview_draws_what_the_verdict_is_about() {
    let folder = tempfile::tempdir().unwrap();
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/browser/recordings");
    for (name, drawn, tree_too) in [
        // A card, with its size; a number; the role that leaks; the whole tree, which is all there is.
        ("gpu.leak", "gpu0 ", false),
        ("40.leak", "live processes (number: line", false),
        ("25.leak", "DataLoader worker (memory: line", false),
        ("10.leak", "whole tree (memory: line", true),
    ] {
        let frame = |lines: &str| {
            let file = recordings.join(format!("{name}.lowtide"));
            let done = output(lowtide(folder.path()).args(["live", "--once"]).arg(file).env("COLUMNS", "80").env("LINES", lines));
            text(&done.stdout)
        };
        let small = frame("24");
        assert!(small.lines().any(|line| line.starts_with(drawn)), "{name}: {small}");
        assert_eq!(small.contains("whole tree (memory: line"), tree_too, "{name}: {small}");
        // Where there is room the whole tree is drawn as well.
        let tall = frame("60");
        assert!(tall.contains(drawn) && tall.contains("whole tree (memory: line"), "{name}: {tall}");
    }
}

#[test]
fn a_terminal_that_is_gone_ends_the_screen() {
    use std::io::Read;
    use std::process::Stdio;

    let folder = tempfile::tempdir().unwrap();
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/browser/recordings/10.leak.lowtide");
    // As under nohup: nobody is told that the terminal goes.
    let line = format!(
        "stty rows 24 cols 80; trap '' HUP; echo pid=$$; exec {} live {}",
        env!("CARGO_BIN_EXE_lowtide"),
        recording.display()
    );
    let mut terminal = std::process::Command::new("script");
    // Its input stays open: where that ends, `script` may end what it runs.
    terminal.args(["-qec", &line, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    terminal.env("TERM", "xterm").env("SHELL", "/bin/sh");
    let mut terminal = common::Guarded::start(terminal.env("XDG_STATE_HOME", folder.path()));
    let mut output = terminal.0.stdout.take().unwrap();
    let (mut seen, mut piece) = (String::new(), [0; 4096]);
    while !seen.contains("whole tree") {
        let read = output.read(&mut piece).unwrap();
        assert!(read > 0, "it ended: {seen:?}");
        seen.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    let pid: i32 = seen.split("pid=").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap().parse().unwrap();
    let alive = || std::fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("live"));
    assert!(alive(), "{seen:?}");
    terminal.signal(9);
    let begun = std::time::Instant::now();
    while alive() {
        if begun.elapsed() > common::HANGS {
            common::send(pid, 9);
            panic!("the screen outlives its terminal");
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn what_cannot_be_shown_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, code, said) in [
        (vec!["live"], 2, "needs a terminal"),
        (vec!["live", "--once", "nowhere.lowtide"], 3, "nowhere.lowtide"),
        (vec!["live", "--once", "4294967295"], 3, "no recording of process 4294967295"),
        (vec!["live", "--once", "--view", "9"], 2, "9"),
    ] {
        let done = output(lowtide(folder.path()).args(&arguments));
        assert_eq!(done.status.code(), Some(code), "{arguments:?}");
        assert!(text(&done.stderr).contains(said), "{arguments:?}: {}", text(&done.stderr));
    }
}

//! `run` passes on what the target is, writes and returns, as if lowtide were not there.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use common::{lowtide, output, run, text};

fn code(words: &[&str]) -> i32 {
    let folder = tempfile::tempdir().unwrap();
    output(&mut run(folder.path(), words)).status.code().unwrap()
}

#[test]
fn the_exit_code_is_the_targets_own() {
    for wanted in [0, 1, 2, 3, 42, 255] {
        assert_eq!(code(&["sh", "-c", &format!("exit {wanted}")]), wanted);
    }
}

#[test]
fn a_signal_that_ends_it_is_128_and_its_number() {
    for (name, wanted) in [("KILL", 137), ("TERM", 143), ("SEGV", 139), ("INT", 130), ("ABRT", 134)] {
        assert_eq!(code(&["sh", "-c", &format!("ulimit -c 0; kill -{name} $$")]), wanted, "{name}");
    }
}

#[test]
fn what_cannot_be_started_is_127_or_126_as_in_a_shell() {
    assert_eq!(code(&["no-such-command-at-all"]), 127);
    assert_eq!(code(&["/no/such/file"]), 127);
    assert_eq!(code(&["/etc/passwd"]), 126);
    assert_eq!(code(&["/"]), 126);
}

#[test]
fn a_wrong_command_line_is_2_and_starts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let witness = folder.path().join("started");
    let touch = ["--", "touch", witness.to_str().unwrap()];
    for wrong in [
        &["--interval", "soon"][..],
        &["--for", "-5"],
        &["--format", "json"],
        &["--format", "html"],
        &["-o", "report.what"],
        &["-o", "/no/such/folder/report.json"],
        &["--no-such-option"],
        &["--on", "lek", "true"],
        &["--on", "leak"],
        &["--expect", "rma < 1 GiB"],
        &["--fail-on", "leaks"],
        &["--config", "/no/such/file"],
        &["--record", "x", "--no-record"],
    ] {
        let output = output(lowtide(folder.path()).arg("run").args(wrong).args(touch));
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", text(&output.stderr));
        assert!(!output.stderr.is_empty(), "{wrong:?}");
    }
    assert!(!witness.exists());
    assert_eq!(output(lowtide(folder.path()).arg("run")).status.code(), Some(2));
}

#[test]
fn what_was_found_is_1_only_where_all_else_is_well() {
    let folder = tempfile::tempdir().unwrap();
    for (expectation, target_code, wanted) in [("peak < 1 KiB", 0, 1), ("peak < 1 KiB", 7, 7), ("peak < 100 GiB", 0, 0)] {
        let mut command = lowtide(folder.path());
        let script = format!("sleep 0.3; exit {target_code}");
        command.args(["run", "--expect", expectation, "--", "sh", "-c", &script]);
        let output = output(&mut command);
        assert_eq!(output.status.code(), Some(wanted), "{expectation}: {}", text(&output.stderr));
    }
}

/// Writes every byte value, and no line end at the end, to both streams.
const ALL_BYTES: &str = "import os; b = bytes(range(256)) * 999; os.write(1, b); os.write(2, b)
while b: b = b[os.write(1, b):]";

#[test]
fn output_is_byte_for_byte_the_targets() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["python3", "-c", ALL_BYTES];
    let without = output(Command::new(words[0]).args(&words[1..]));
    let with = output(&mut run(folder.path(), &words));
    assert!(!without.stdout.is_empty());
    assert!(with.stdout == without.stdout, "stdout differs");
    assert!(with.stderr.starts_with(&without.stderr), "stderr differs");
    assert!(text(&with.stderr[without.stderr.len()..]).contains("lowtide report"), "the report comes after it");
}

#[test]
fn input_goes_to_the_target() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = run(folder.path(), &["cat"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"a line").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"a line");
}

/// What a process finds of its surroundings: signals, descriptors, limits, priorities, environment.
const SURROUNDINGS: &str = "grep -E '^(Sig(Blk|Ign|Cgt)|Cap|NoNewPrivs|Seccomp:)' /proc/self/status
for fd in /proc/self/fd/*; do readlink $fd; done | grep -v -E '^(/proc/|pipe:|$)'
cat /proc/self/oom_score_adj /proc/self/limits /proc/self/coredump_filter /proc/self/timerslack_ns; nice; umask; pwd; env | sort; cut -d' ' -f5,6 /proc/self/stat";

#[test]
fn the_target_finds_what_it_would_find_without_lowtide() {
    let folder = tempfile::tempdir().unwrap();
    // Signals ignored by whoever starts us stay ignored; SIGPIPE and SIGCHLD are the ones that a runtime would spoil.
    for ignored in [&[][..], &[libc::SIGHUP, libc::SIGPIPE, libc::SIGCHLD, libc::SIGINT]] {
        let prepare = |command: &mut Command| {
            // SAFETY: only async-signal-safe calls between fork and exec.
            unsafe {
                command.pre_exec(move || {
                    libc::nice(3);
                    for signal in [libc::SIGHUP, libc::SIGPIPE, libc::SIGCHLD, libc::SIGINT] {
                        let handler = if ignored.contains(&signal) { libc::SIG_IGN } else { libc::SIG_DFL };
                        libc::signal(signal, handler);
                    }
                    let mut set: libc::sigset_t = std::mem::zeroed();
                    libc::sigaddset(&raw mut set, libc::SIGUSR2);
                    libc::pthread_sigmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
                    Ok(())
                });
            }
        };
        let mut with = run(folder.path(), &["sh", "-c", SURROUNDINGS]);
        let mut without = Command::new("sh");
        without.args(["-c", SURROUNDINGS]).stdin(Stdio::null());
        without.env("LOWTIDE_DIR", folder.path().join("runs")).env("XDG_STATE_HOME", folder.path().join("state"));
        without.env_remove("CLICOLOR_FORCE").env_remove("COLUMNS");
        prepare(&mut with);
        prepare(&mut without);
        let (with, without) = (output(&mut with), output(&mut without));
        assert!(text(&without.stdout).contains("SigIgn"), "{}", text(&without.stderr));
        // The in-process part is put where Python finds it; nothing else may differ.
        let ours = |line: &&str| line.starts_with("PYTHONPATH=") || line.starts_with("LOWTIDE_MARKS=");
        let (with, without) = (text(&with.stdout), text(&without.stdout));
        assert_eq!(with.lines().filter(ours).count(), 2, "{with}");
        let rest = |text: &str| text.lines().filter(|line| !ours(line)).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(rest(&with), rest(&without));
    }
}

#[test]
fn without_the_in_process_part_the_environment_is_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
    command.args(["run", "--no-record", "--no-agent", "--", "sh", "-c", "env"]).current_dir(folder.path());
    let with = output(command.env("PYTHONPATH", "/nowhere"));
    assert!(text(&with.stdout).contains("PYTHONPATH=/nowhere\n"), "{}", text(&with.stdout));
    assert!(!text(&with.stdout).contains("LOWTIDE_MARKS"), "{}", text(&with.stdout));
}

#[test]
fn streams_closed_for_us_are_closed_for_the_target() {
    let folder = tempfile::tempdir().unwrap();
    let probe = "for fd in 0 1 2; do if [ -e /proc/$$/fd/$fd ]; then echo open; else echo closed; fi; done > \"$0\"";
    let seen = folder.path().join("seen");
    let mut command = run(folder.path(), &["sh", "-c", probe, seen.to_str().unwrap()]);
    // SAFETY: only async-signal-safe calls between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::close(0);
            libc::close(2);
            Ok(())
        });
    }
    let status = command.stdout(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(0), "a closed stderr is no reason to fail");
    assert_eq!(std::fs::read_to_string(seen).unwrap(), "closed\nopen\nclosed\n");
}

#[test]
fn a_reader_that_goes_away_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = run(folder.path(), &["sh", "-c", "cat; exit 7"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(7));
}

#[test]
fn the_report_goes_to_a_file_in_the_form_of_its_ending() {
    let folder = tempfile::tempdir().unwrap();
    let (json, txt) = (folder.path().join("r.json"), folder.path().join("r.txt"));
    for file in [&json, &txt] {
        let status = output(lowtide(folder.path()).args(["run", "-o"]).arg(file).args(["--", "sh", "-c", "exit 4"])).status;
        assert_eq!(status.code(), Some(4));
    }
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!(report["schema"], "lowtide.report/1");
    assert_eq!(report["run"]["ended"], "exit 4");
    assert!(report["run"]["recording"].as_str().unwrap().ends_with(".lowtide"));
    assert!(std::fs::read_to_string(txt).unwrap().contains("sh -c"));
}

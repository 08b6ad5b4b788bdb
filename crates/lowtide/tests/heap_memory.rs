//! `lowtide heap`: what memory is for, as a user asks for it.
#![allow(clippy::unwrap_used)]

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

const PROGRAM: &str = "
import mmap, sys
own = mmap.mmap(-1, 32 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
own.write(b'x' * (32 << 20))
# Written, since pages of zeros that nobody touches need not be there.
kept = [b'x' * size for size in [100_000] * 200]
print('ready', flush=True)
sys.stdin.read()
";

struct Target(Child);

impl Target {
    fn start() -> Target {
        let mut child =
            Command::new("python3").args(["-c", PROGRAM]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line.trim(), "ready");
        Target(child)
    }

    fn heap(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_lowtide")).arg("heap").arg(self.0.id().to_string()).args(args).output().unwrap()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn all_memory_is_put_down_to_somebody() {
    let target = Target::start();
    let answer = target.heap(&["--format", "json"]);
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    let answer: Value = serde_json::from_slice(&answer.stdout).unwrap();
    let memory = &answer["memory"];
    let parts = memory["parts"].as_object().unwrap();
    let sum: u64 = parts.values().map(|bytes| bytes.as_u64().unwrap()).sum();
    assert_eq!(sum, memory["resident_private_bytes"].as_u64().unwrap(), "{memory:#}");
    let part = |name: &str| parts.get(name).and_then(Value::as_u64).unwrap_or(0);
    assert!((32 << 20..34 << 20).contains(&part("not explained")), "the program's own map: {memory:#}");
    assert!((20_000_000..40_000_000).contains(&part("Python objects")), "{memory:#}");
    let text = String::from_utf8(target.heap(&[]).stdout).unwrap();
    assert!(text.contains("what memory is for") && text.contains("not explained"), "{text}");
}

#[test]
fn objects_alone_are_told_without_what_memory_is_for() {
    let target = Target::start();
    let [all, alone] = [&["--format", "json"][..], &["--format", "json", "--objects"]].map(|args| {
        let answer = target.heap(args);
        assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
        serde_json::from_slice::<Value>(&answer.stdout).unwrap()
    });
    assert!(alone["memory"].is_null() && all["memory"].is_object());
    assert!(alone["notes"].to_string().contains("objects alone"), "{alone:#}");
    for part in ["objects", "bytes", "types", "containers"] {
        assert_eq!(alone[part], all[part], "{part}");
    }
    let text = String::from_utf8(target.heap(&["--objects"]).stdout).unwrap();
    assert!(text.contains("objects alone") && !text.contains("resident and private"), "{text}");
    assert_eq!(target.heap(&["--objects", "--tensor", "device=cpu"]).status.code(), Some(2));
}

#[test]
fn a_condition_that_is_none_is_a_usage_error() {
    let answer = Command::new(env!("CARGO_BIN_EXE_lowtide")).args(["heap", "1", "--tensor", "colour=red"]).output().unwrap();
    assert_eq!(answer.status.code(), Some(2));
    let text = String::from_utf8_lossy(&answer.stderr).into_owned();
    assert!(text.contains("colour=red") && text.contains("device="), "{text}");
}

#[test]
fn what_was_not_walked_in_time_is_left_out_and_said() {
    let target = Target::start();
    // Either the census or the walk after it does not fit into the time; neither may be told as if it were whole.
    for pause in ["1ms", "20ms", "60ms"] {
        let answer = target.heap(&["--format", "json", "--max-pause", pause]);
        let Ok(answer) = serde_json::from_slice::<Value>(&answer.stdout) else { continue };
        match &answer["memory"] {
            Value::Null => assert!(answer["notes"].to_string().contains("what memory is for is left out"), "{answer:#}"),
            memory => {
                let part = |name: &str| memory["parts"][name].as_u64().unwrap_or(0);
                assert!(part("Python objects") > 20_000_000, "{pause}: {memory:#}");
            }
        }
    }
}

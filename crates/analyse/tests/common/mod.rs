//! The beginning of a made-up run.
#![allow(dead_code, reason = "not every test has all of it")]

use lowtide_model::{Event, Mode, ProcId, Process, Role, RunInfo, Signal};

/// A run of this command.
pub fn info(command: &[&str]) -> RunInfo {
    RunInfo {
        version: "test".into(),
        mode: Mode::Run,
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        host: String::new(),
        started_unix_s: 0.0,
        interval_s: 1.0,
        root_pid: 7,
        rank: None,
        signal: Signal::AnonShmem,
    }
}

/// A training process that started so many seconds after the run.
pub fn trainer(id: u32, pid: u32, ppid: u32, start_s: f64, rank: Option<u32>) -> Process {
    Process {
        id: ProcId(id),
        pid,
        ppid,
        parent: None,
        start_s,
        name: "python".into(),
        command: "python train.py".into(),
        role: Role::Trainer,
        role_reason: String::new(),
        rank,
    }
}

/// A training process under watch that started so many seconds after the run.
pub fn start(start_s: f64) -> [Event; 2] {
    [Event::Start(info(&["python", "train.py"])), Event::Process(trainer(0, 7, 1, start_s, None))]
}

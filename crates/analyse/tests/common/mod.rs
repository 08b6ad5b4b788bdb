//! The beginning of a made-up run.

use lowtide_model::{Event, Mode, ProcId, Process, Role, RunInfo, Signal};

/// A training process under watch that started so many seconds after the run.
pub fn start(start_s: f64) -> [Event; 2] {
    let info = RunInfo {
        version: "test".into(),
        mode: Mode::Run,
        command: vec!["python".into(), "train.py".into()],
        host: String::new(),
        started_unix_s: 0.0,
        interval_s: 1.0,
        root_pid: 7,
        rank: None,
        signal: Signal::AnonShmem,
    };
    let process = Process {
        id: ProcId(0),
        pid: 7,
        ppid: 1,
        parent: None,
        start_s,
        name: "python".into(),
        command: "python train.py".into(),
        role: Role::Trainer,
        role_reason: String::new(),
        rank: None,
    };
    [Event::Start(info), Event::Process(process)]
}

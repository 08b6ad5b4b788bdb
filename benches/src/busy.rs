//! The processes of the testkit's busy run.

use lowtide_model::{Mode, ProcId, Process, Role, RunInfo, Signal};

/// The process with this index: 0 trains, the others load data for it.
#[must_use]
pub fn busy_process(id: u32) -> Process {
    Process {
        id: ProcId(id),
        pid: 1000 + id,
        ppid: 1000,
        parent: (id > 0).then_some(ProcId(0)),
        start_s: 0.0,
        name: "python".to_owned(),
        command: "python train.py".to_owned(),
        role: if id == 0 { Role::Trainer } else { Role::DataloaderWorker },
        role_reason: "made up".to_owned(),
        rank: None,
    }
}

/// The beginning of a recording of that run.
#[must_use]
pub fn busy_start(interval_s: f64) -> RunInfo {
    RunInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        mode: Mode::Run,
        command: vec!["python".to_owned(), "train.py".to_owned()],
        host: "node".to_owned(),
        started_unix_s: 0.0,
        interval_s,
        root_pid: 1000,
        rank: None,
        signal: Signal::AnonShmem,
    }
}

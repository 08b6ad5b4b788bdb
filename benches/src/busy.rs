//! The processes of the testkit's busy run.

use lowtide_model::{ProcId, Process, Role};

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

//! Starting the target: as a shell would, and with nothing of lowtide left on it.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::Inherited;

/// The process that was started. Its pid stays ours until it is reaped by [`super::supervise()`].
pub struct Target {
    pid: libc::pid_t,
}

impl Target {
    /// Its pid.
    pub fn pid(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    pub(super) fn raw(&self) -> libc::pid_t {
        self.pid
    }
}

/// Why the target could not be started.
#[derive(Debug)]
pub struct SpawnError {
    command: OsString,
    error: io::Error,
}

impl SpawnError {
    /// What a shell exits with: 127 where there is no such command, 126 where it cannot be executed.
    pub fn exit_code(&self) -> u8 {
        if self.error.kind() == io::ErrorKind::NotFound { 127 } else { 126 }
    }
}

impl std::fmt::Display for SpawnError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot run `{}`: {}", self.command.to_string_lossy(), self.error)
    }
}

/// Starts a command with our standard streams, group, session and environment (and these variables), and the signal
/// state that we were given. From now on lowtide adopts what the tree leaves behind, so that it stays in sight.
pub fn spawn(
    command: &[OsString],
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    inherited: &Inherited,
) -> Result<Target, SpawnError> {
    let (program, args) = command.split_first().ok_or_else(|| SpawnError {
        command: OsString::new(),
        error: io::Error::new(io::ErrorKind::InvalidInput, "no command was given"),
    })?;
    // SAFETY: prctl(2) with numbers only. Where it fails (kernels before 3.4) orphans go to init: harmless.
    unsafe {
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    }
    let state = *inherited;
    let mut command = Command::new(program);
    command.args(args).envs(environment);
    // SAFETY: between fork and exec only async-signal-safe calls are made and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            state.restore();
            Ok(())
        });
    }
    let child = command.spawn().map_err(|error| SpawnError { command: program.clone(), error })?;
    let pid = libc::pid_t::try_from(child.id()).unwrap_or(libc::pid_t::MAX);
    be_the_first_to_die();
    Ok(Target { pid })
}

/// Where memory runs out, the kernel shall take the recorder before the training. Done after the target was
/// started, so that it does not inherit this. Fails only where /proc is not writable: then nothing is lost.
fn be_the_first_to_die() {
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
}

//! What `run` does on its main thread until the target ends: hand signals on, reap, stop and go on with it.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use lowtide_model::ExitStatus;

use super::policy::{self, Us};
use super::signals::{self, Signal};
use super::spawn::Target;

/// Waits for the target's end. Reaps whatever else ends meanwhile (orphans that we adopted; as PID 1 of a
/// container, everybody's), but waits for nothing but the target: a daemon left behind is left alone.
pub fn supervise(target: &Target) -> ExitStatus {
    let us = us();
    let mut job = Job::default();
    loop {
        if let Some(status) = reap(target, &mut job) {
            return status;
        }
        job.stop_if_the_target_did();
        let Some(signal) = signals::wait() else { continue };
        job.note(&signal);
        if policy::hand_on(&signal, &us, |pid| policy::is_descendant(pid, us.pid)) {
            send(target, &signal);
        }
    }
}

/// Does what remains when the target has ended: telling. Should that hang (nobody reads our stderr, a disk is
/// stuck), a signal sent after the grace time ends it, and `None` is returned.
pub fn patiently<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static, grace: Duration) -> Option<T> {
    let since = Instant::now();
    let (tell, told) = channel();
    // Not joined: what hangs ends with the process.
    std::thread::Builder::new().name("lowtide-tell".to_owned()).spawn(move || tell.send(work())).ok()?;
    loop {
        match told.recv_timeout(Duration::from_millis(100)) {
            Ok(result) => return Some(result),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if signals::wait_for(&IMPATIENT, Duration::ZERO).is_some() && since.elapsed() > grace {
            return None;
        }
    }
}

/// What somebody sends who wants us to end.
const IMPATIENT: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

fn us() -> Us {
    // SAFETY: both calls take and return numbers and cannot fail.
    unsafe {
        let pid = libc::getpid();
        Us { pid, session_leader: libc::getsid(0) == pid }
    }
}

fn send(target: &Target, signal: &Signal) {
    // SAFETY: the pid is our child's and not yet reaped, so it is nobody else's. Failure (the target took
    // other rights) is what the sender would have met.
    unsafe {
        if signal.code == libc::SI_QUEUE {
            libc::sigqueue(target.raw(), signal.number, signal.value);
        } else {
            libc::kill(target.raw(), signal.number);
        }
    }
}

/// Job control: Ctrl-Z stops the target, and the shell waits for *us* to stop. We follow when the target has
/// really stopped and we were asked too. A target that somebody else stops does not stop us: nobody would
/// think of continuing us with it.
#[derive(Default)]
struct Job {
    asked: bool,
    target_stopped: bool,
}

impl Job {
    fn note(&mut self, signal: &Signal) {
        if policy::stops_jobs(signal.number) {
            self.asked = true;
        } else if signal.number == libc::SIGCONT {
            *self = Self::default();
        }
    }

    fn stop_if_the_target_did(&mut self) {
        if self.asked && self.target_stopped {
            *self = Self::default();
            signals::stop_self();
        }
    }
}

/// Reaps what there is to reap; `Some` when the target was among it.
fn reap(target: &Target, job: &mut Job) -> Option<ExitStatus> {
    loop {
        let mut status = 0;
        // Only this thread's children and the adopted ones (the kernel gives them to the main thread): what
        // another thread of lowtide has started is that thread's to wait for.
        let flags = libc::WNOHANG | libc::WUNTRACED | libc::WCONTINUED | libc::__WNOTHREAD;
        // SAFETY: `status` outlives the call.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, flags) };
        if pid <= 0 {
            return None;
        }
        if pid != target.raw() {
            continue;
        }
        if libc::WIFEXITED(status) {
            return Some(ExitStatus::Code(libc::WEXITSTATUS(status)));
        }
        if libc::WIFSIGNALED(status) {
            return Some(ExitStatus::Signal(libc::WTERMSIG(status)));
        }
        job.target_stopped = libc::WIFSTOPPED(status) && policy::stops_jobs(libc::WSTOPSIG(status));
    }
}

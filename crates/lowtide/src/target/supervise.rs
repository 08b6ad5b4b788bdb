//! What `run` does on its main thread until the target ends: hand signals on, reap, stop and go on with it.

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

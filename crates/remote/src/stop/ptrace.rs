//! The few ptrace(2) calls that we need, as functions that are safe to call.
//!
//! Only PTRACE_SEIZE is used, never PTRACE_ATTACH: it sends no SIGSTOP, and knows a group stop from others. No option is
//! set, so that nothing of the target changes but that it holds still: above all not PTRACE_O_EXITKILL.

use std::io;
use std::ptr;

/// What a thread that is stopped is stopped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Because we asked, or because its whole process is stopped (SIGSTOP, Ctrl-Z).
    Asked,
    /// On its way to take this signal, which it must get when it goes on.
    Signal(i32),
}

/// PTRACE_EVENT_STOP of linux/ptrace.h.
const EVENT_STOP: i32 = 128;

/// Makes the calling thread the tracer of a thread, which goes on running.
pub fn seize(thread: u32) -> io::Result<()> {
    // SAFETY: PTRACE_SEIZE reads no memory of ours; address and options are 0.
    check(unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid(thread)?, 0_usize, 0_usize) })
}

/// Asks a thread that we trace to stop.
pub fn interrupt(thread: u32) -> io::Result<()> {
    // SAFETY: PTRACE_INTERRUPT ignores both arguments.
    check(unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, pid(thread)?, 0_usize, 0_usize) })
}

/// Whether a thread that we trace has stopped, and in what; `None` while it runs. Asked in this way and not by waitpid(2),
/// whose answer somebody else in our process may have taken: where the target is our own child, its stops come to whoever
/// waits for it.
pub fn stopped(thread: u32) -> io::Result<Option<Stop>> {
    // SAFETY: siginfo_t is plain data, for which zeros are valid.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one siginfo_t to the place given.
    match check(unsafe { libc::ptrace(libc::PTRACE_GETSIGINFO, pid(thread)?, 0_usize, &raw mut info) }) {
        Ok(()) if info.si_code >> 8 == EVENT_STOP => Ok(Some(Stop::Asked)),
        Ok(()) => Ok(Some(Stop::Signal(info.si_signo))),
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        // A stop without siginfo is a group stop.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(Some(Stop::Asked)),
        Err(error) => Err(error),
    }
}

/// Takes note that a thread that we trace, and that is not the first of its process, has ended.
pub fn reap(thread: u32) {
    if let Ok(thread) = pid(thread) {
        // SAFETY: without a place for the status waitpid(2) writes nothing; it does not wait, and takes nobody else's end.
        unsafe { libc::waitpid(thread, ptr::null_mut(), libc::WNOHANG | libc::__WALL) };
    }
}

/// Lets a stopped thread go on and traces it no longer. A signal that it was about to take, it takes.
pub fn detach(thread: u32, stop: Stop) -> io::Result<()> {
    let signal = match stop {
        Stop::Asked => 0,
        Stop::Signal(signal) => usize::try_from(signal).unwrap_or(0),
    };
    // SAFETY: PTRACE_DETACH takes the signal as a number and ignores the address.
    check(unsafe { libc::ptrace(libc::PTRACE_DETACH, pid(thread)?, ptr::null_mut::<u8>(), signal) })
}

fn pid(thread: u32) -> io::Result<libc::pid_t> {
    libc::pid_t::try_from(thread).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use lowtide_testkit::Child;

    use super::*;

    #[test]
    fn a_signal_that_stopped_it_is_taken_when_it_goes_on() {
        let mut child = Child::shell("trap 'echo got' USR1; echo ready; while :; do sleep 0.01; done");
        for _ in 0..3 {
            seize(child.pid()).unwrap();
            assert_eq!(stopped(child.pid()).unwrap(), None, "it runs on");
            child.signal(libc::SIGUSR1);
            // Signals of its own children may come first.
            let stop = loop {
                match stopped(child.pid()).unwrap() {
                    Some(Stop::Signal(libc::SIGUSR1)) => break Stop::Signal(libc::SIGUSR1),
                    Some(other) => {
                        detach(child.pid(), other).unwrap();
                        seize(child.pid()).unwrap();
                    }
                    None => std::thread::yield_now(),
                }
            };
            detach(child.pid(), stop).unwrap();
            child.wait_for("got");
        }
    }

    #[test]
    fn a_thread_that_is_asked_stops_without_a_signal() {
        let mut child = Child::shell("trap 'echo got' USR1; echo ready; while :; do sleep 0.01; done");
        seize(child.pid()).unwrap();
        interrupt(child.pid()).unwrap();
        while stopped(child.pid()).unwrap().is_none() {
            std::thread::yield_now();
        }
        let stop = stopped(child.pid()).unwrap().unwrap();
        child.signal(libc::SIGUSR1);
        detach(child.pid(), stop).unwrap();
        child.wait_for("got");
    }
}

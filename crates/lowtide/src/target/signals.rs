//! Waiting for signals instead of handling them: no handler, no self-pipe, no race.

use std::time::Duration;

/// A set of blocked signals.
#[derive(Clone, Copy)]
pub struct Mask(libc::sigset_t);

impl Mask {
    /// Blocks every signal that can be blocked in this thread and those it starts; returns the mask before.
    pub fn block_all() -> Self {
        Self::block(&full())
    }

    /// Blocks the given signals; returns the mask before.
    pub fn block_these(signals: &[i32]) -> Self {
        Self::block(&set_of(signals))
    }

    fn block(set: &libc::sigset_t) -> Self {
        let mut before = empty();
        // SAFETY: both sets are initialised and outlive the call.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, set, &raw mut before);
        }
        Self(before)
    }

    /// Makes this the mask of the calling thread.
    pub fn apply(&self) {
        // SAFETY: the set is initialised and outlives the call.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut());
        }
    }
}

fn empty() -> libc::sigset_t {
    // SAFETY: sigemptyset initialises the whole set.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        set
    }
}

fn full() -> libc::sigset_t {
    let mut set = empty();
    // SAFETY: the set is initialised.
    unsafe {
        libc::sigfillset(&raw mut set);
    }
    set
}

fn set_of(signals: &[i32]) -> libc::sigset_t {
    let mut set = empty();
    for signal in signals {
        // SAFETY: the set is initialised; a number that is no signal is refused.
        unsafe {
            libc::sigaddset(&raw mut set, *signal);
        }
    }
    set
}

/// A signal that was sent to us.
#[derive(Clone, Copy)]
pub struct Signal {
    /// Which one.
    pub number: i32,
    /// Where it comes from (si_code of sigaction(2)).
    pub code: i32,
    /// The sender's pid where `code` says that there is one; 0 where it lives in a pid namespace above ours.
    pub sender: i32,
    /// What sigqueue(3) sent along.
    pub value: libc::sigval,
}

impl Signal {
    /// Made by the kernel itself (terminal, timer, child), not by a process.
    pub fn made_by_kernel(&self) -> bool {
        self.code > 0
    }
}

/// Waits until any signal is sent to us. `None` when the wait was interrupted: just wait again.
pub(super) fn wait() -> Option<Signal> {
    receive(&full(), None)
}

/// Waits for one of some blocked signals, at most this long.
pub fn wait_for(signals: &[i32], timeout: Duration) -> Option<Signal> {
    receive(&set_of(signals), Some(timeout))
}

fn receive(set: &libc::sigset_t, timeout: Option<Duration>) -> Option<Signal> {
    let timeout = timeout.map(|timeout| libc::timespec {
        tv_sec: timeout.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let timeout_ptr = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the set and the time outlive the call, `info` is only read where the kernel has filled it in;
    // si_pid and si_value are plain numbers whatever the signal.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let number = libc::sigtimedwait(set, &raw mut info, timeout_ptr);
        (number > 0).then(|| Signal { number, code: info.si_code, sender: info.si_pid(), value: info.si_value() })
    }
}

/// Stops this whole process, as a job-control stop does.
pub(super) fn stop_self() {
    // SAFETY: kill(2) takes numbers only.
    unsafe {
        libc::kill(libc::getpid(), libc::SIGSTOP);
    }
}

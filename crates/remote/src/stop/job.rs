//! Ctrl-Z while a target is held.
//!
//! It would stop us and with us the thread that lets the target go on in time. So the signals of job control that still have
//! their default (to stop us) are ignored while anything is held: for a fraction of a second, as if the key had been pressed
//! a little too early. A program that handles them itself, or blocks them to fetch them, does not stop by them, and is left
//! alone. SIGSTOP cannot be ignored: who sends it to us in that moment holds the target until SIGCONT or SIGKILL.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often what the main thread blocks is read again where it blocks everything.
const READS: usize = 50;

const SIGNALS: [i32; 3] = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

/// How many are held, and which signals are ignored because of it.
static HELD: Mutex<(usize, [bool; 3])> = Mutex::new((0, [false; 3]));

/// As long as one lives, Ctrl-Z does not stop us.
#[derive(Debug)]
pub struct NotNow(());

impl NotNow {
    /// From now on.
    pub fn new() -> Self {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.0 += 1;
        if held.0 == 1 {
            let blocked = kept_blocked(main_mask);
            for (index, signal) in SIGNALS.into_iter().enumerate() {
                held.1[index] = blocked & (1 << (signal - 1)) == 0 && exchange(signal, libc::SIG_DFL, libc::SIG_IGN);
            }
        }
        Self(())
    }
}

impl Drop for NotNow {
    fn drop(&mut self) {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.0 -= 1;
        if held.0 == 0 {
            for (index, signal) in SIGNALS.into_iter().enumerate() {
                if std::mem::take(&mut held.1[index]) {
                    exchange(signal, libc::SIG_IGN, libc::SIG_DFL);
                }
            }
        }
    }
}

/// What of these a program keeps blocked, of masks read one after the other: the C library blocks everything for some microseconds
/// while it starts a thread. No program blocks SIGSEGV to fetch it, so that tells the moment.
fn kept_blocked(mut mask: impl FnMut() -> u64) -> u64 {
    let mut blocked = mask();
    for _ in 0..READS {
        if blocked & (1 << (libc::SIGSEGV - 1)) == 0 {
            break;
        }
        std::thread::sleep(Duration::from_micros(100));
        blocked &= mask();
    }
    blocked
}

/// What the main thread blocks now, which is where the terminal's signals go first.
fn main_mask() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(u64::MAX)
}

/// Sets what a signal does, if it did `from` so far.
fn exchange(signal: i32, from: libc::sighandler_t, to: libc::sighandler_t) -> bool {
    // SAFETY: `sigaction` is plain data, for which zeros are valid; both calls get places that outlive them, and no handler
    // of ours is ever installed.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &raw mut action) != 0 || action.sa_sigaction != from {
            return false;
        }
        action.sa_sigaction = to;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut()) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(signal: i32, what: libc::sighandler_t) -> bool {
        exchange(signal, what, what)
    }

    #[test]
    fn what_a_start_of_a_thread_blocks_is_not_kept() {
        let stop = 1 << (libc::SIGTSTP - 1);
        let of = |masks: &[u64]| {
            let mut masks = masks.iter().copied();
            kept_blocked(move || masks.next().unwrap_or(u64::MAX))
        };
        assert_eq!(of(&[u64::MAX, u64::MAX, 0]), 0);
        assert_eq!(of(&[u64::MAX, stop]), stop);
        assert_eq!(of(&[stop, 0]), stop, "it is the program's own");
        assert_eq!(of(&[]), u64::MAX, "everything, for good");
    }

    #[test]
    fn what_is_ours_to_change_is_changed_and_set_back() {
        // Each test has a process of its own under nextest; under cargo test no other one touches these.
        assert!(is(libc::SIGTSTP, libc::SIG_DFL));
        assert!(exchange(libc::SIGTTOU, libc::SIG_DFL, libc::SIG_IGN), "as a program may have it");
        let one = NotNow::new();
        let two = NotNow::new();
        assert!(is(libc::SIGTSTP, libc::SIG_IGN));
        drop(one);
        assert!(is(libc::SIGTSTP, libc::SIG_IGN), "one is held still");
        drop(two);
        assert!(is(libc::SIGTSTP, libc::SIG_DFL));
        assert!(is(libc::SIGTTOU, libc::SIG_IGN), "what the program itself had ignored stays so");
    }
}

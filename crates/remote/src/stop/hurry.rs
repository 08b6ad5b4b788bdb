//! Being in a hurry while a target is held.
//!
//! On a busy machine the threads that read wait for a processor longer than they use one (measured at three runnable threads for each
//! processor: a stop of 0.4 s of processor time took 0.8 to 1.9 s), and the target waits with them. So as long as it is held, they go
//! before others where the kernel allows it (`CAP_SYS_NICE`, or `RLIMIT_NICE`): by ten steps of niceness, which is about nine
//! times the share. Where it does not, nothing is lost but time.
//!
//! Linux keeps a niceness for each thread, and a new thread has that of the one which starts it: all that are started to read meanwhile
//! hurry, too, and end before the stop does. One that is there already has to hurry by itself.

use std::path::Path;
use std::sync::OnceLock;

/// By so much.
const STEPS: i32 = 10;
/// Who hurries gets so many times the share of a processor that others get: the kernel's weights differ by a quarter for each step.
const GOES_BEFORE: f64 = 9.3;

/// How many times longer than alone a stop is likely to take, where something else is that many times slower because others want the
/// processors, too.
#[must_use]
pub fn hurried(crowd: f64) -> f64 {
    static MAY: OnceLock<bool> = OnceLock::new();
    if *MAY.get_or_init(|| Hurry::begin().before.is_some()) { share(crowd) } else { crowd }
}

fn share(crowd: f64) -> f64 {
    1.0 + (crowd - 1.0).max(0.0) / GOES_BEFORE
}

/// As long as it lives, the thread that made it goes before others.
#[derive(Debug)]
pub struct Hurry {
    /// The thread, and its niceness before; `None` where the kernel did not allow it.
    before: Option<(libc::pid_t, i32)>,
}

impl Hurry {
    /// From now on.
    pub fn begin() -> Self {
        // SAFETY: it takes nothing and cannot fail.
        let thread = unsafe { libc::gettid() };
        let before = niceness(thread).filter(|nice| renice(thread, nice - STEPS));
        Self { before: before.map(|nice| (thread, nice)) }
    }
}

impl Drop for Hurry {
    fn drop(&mut self) {
        // It may be dropped by another thread, after the end of the one that it is about.
        if let Some((thread, nice)) = self.before
            && Path::new("/proc/self/task").join(thread.to_string()).exists()
        {
            renice(thread, nice);
        }
    }
}

/// How nice a thread is, -20 to 19.
fn niceness(thread: libc::pid_t) -> Option<i32> {
    // The system call itself, other than what the C library makes of it, tells -1 from an error.
    // SAFETY: two numbers go in, one comes out.
    let answer = unsafe { libc::syscall(libc::SYS_getpriority, libc::PRIO_PROCESS, thread) };
    i32::try_from(answer).ok().filter(|answer| *answer > 0).map(|answer| 20 - answer)
}

fn renice(thread: libc::pid_t, nice: i32) -> bool {
    // SAFETY: three numbers.
    unsafe { libc::syscall(libc::SYS_setpriority, libc::PRIO_PROCESS, thread, nice.max(-20)) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours() -> i32 {
        // SAFETY: as above.
        niceness(unsafe { libc::gettid() }).expect("our own niceness")
    }

    #[test]
    fn a_thread_hurries_with_those_that_it_starts_and_no_longer_than_it_has_to() {
        let usual = ours();
        let hurry = Hurry::begin();
        // Who may not hurry goes on as before.
        let hurried = if hurry.before.is_some() { (usual - STEPS).max(-20) } else { usual };
        assert_eq!(ours(), hurried);
        assert_eq!(std::thread::spawn(ours).join().expect("it runs"), hurried);
        drop(hurry);
        assert_eq!(ours(), usual);
    }

    #[test]
    fn who_hurries_waits_less() {
        assert!((share(1.0) - 1.0).abs() < 1e-9 && (share(0.5) - 1.0).abs() < 1e-9);
        assert!((1.3..1.5).contains(&share(4.0)));
        assert!(hurried(4.0) <= 4.0);
    }

    #[test]
    fn it_ends_for_the_thread_that_it_is_about_whoever_ends_it() {
        let usual = ours();
        let hurry = Hurry::begin();
        std::thread::spawn(move || drop(hurry)).join().expect("it runs");
        assert_eq!(ours(), usual);
        let gone = std::thread::spawn(Hurry::begin).join().expect("it runs");
        drop(gone);
    }
}

//! Processor time and waits of ourselves, from the kernel.

use std::mem::MaybeUninit;

/// Processor seconds that this process has used, all threads together (clock_gettime(2)).
#[must_use]
pub fn process_cpu_s() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time outlives the call.
    unsafe {
        libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time);
    }
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// How often this thread went to sleep by itself, for a lock above all: `ru_nvcsw` of getrusage(2). Being preempted does
/// not count.
#[must_use]
pub fn sleeps() -> i64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the call fills the struct, for which all zeros are valid values too.
    unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init().ru_nvcsw
    }
}

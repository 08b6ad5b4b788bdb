//! Threads that live no longer than what they work on.

use std::thread::ScopedJoinHandle;

/// What a thread has worked out. Its panic becomes ours.
pub fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

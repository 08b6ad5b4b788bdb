//! What lowtide got from its parent, to be handed to the target as it was.
//!
//! Rust's runtime changes two things before `main`: it ignores SIGPIPE, and it opens `/dev/null` in the
//! place of a closed standard stream. A target must see neither, so both are noted before the runtime starts.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::signals::Mask;

/// SIGPIPE was ignored when lowtide started.
static SIGPIPE_IGNORED: AtomicBool = AtomicBool::new(false);
/// Bit n is set where file descriptor n (0 to 2) was closed when lowtide started.
static CLOSED: AtomicU8 = AtomicU8::new(0);

// SAFETY: the loader calls the functions in this section with no argument that ours would miss, before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static NOTE: extern "C" fn() = note;

extern "C" fn note() {
    SIGPIPE_IGNORED.store(is_ignored(libc::SIGPIPE), Ordering::Relaxed);
    let mut closed = 0;
    for fd in 0..3 {
        // SAFETY: F_GETFD only asks whether the descriptor is open.
        if unsafe { libc::fcntl(fd, libc::F_GETFD) } == -1 {
            closed |= 1 << fd;
        }
    }
    CLOSED.store(closed, Ordering::Relaxed);
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: all-zero is a valid sigaction, and with no new action sigaction(2) only fills it in.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

fn set_disposition(signal: i32, handler: libc::sighandler_t) {
    // SAFETY: only SIG_IGN and SIG_DFL are given, so no code of ours runs in a signal's context.
    unsafe {
        libc::signal(signal, handler);
    }
}

/// The signal state and standard streams as lowtide found them.
#[derive(Clone, Copy)]
pub struct Inherited {
    mask: Mask,
    sigpipe_ignored: bool,
    sigchld_ignored: bool,
    closed: u8,
}

impl Inherited {
    /// Notes the state and blocks every signal, so that the main thread can wait for them one by one. Call it
    /// before any thread is started: threads inherit the mask.
    pub fn take_over() -> Self {
        let sigchld_ignored = is_ignored(libc::SIGCHLD);
        // With SIGCHLD ignored the kernel would reap the target for us and its exit code would be lost.
        set_disposition(libc::SIGCHLD, libc::SIG_DFL);
        Self {
            mask: Mask::block_all(),
            sigpipe_ignored: SIGPIPE_IGNORED.load(Ordering::Relaxed),
            sigchld_ignored,
            closed: CLOSED.load(Ordering::Relaxed),
        }
    }

    /// Makes the calling process what it would be had lowtide not been there. For the child between fork and
    /// exec: only async-signal-safe calls.
    pub(super) fn restore(&self) {
        if self.sigpipe_ignored {
            set_disposition(libc::SIGPIPE, libc::SIG_IGN);
        }
        if self.sigchld_ignored {
            set_disposition(libc::SIGCHLD, libc::SIG_IGN);
        }
        for fd in (0..3).filter(|fd| self.closed & 1 << fd != 0) {
            // SAFETY: a descriptor that the runtime opened in place of a closed stream; nothing owns it.
            unsafe {
                libc::close(fd);
            }
        }
        self.mask.apply();
    }
}

//! Which signals sent to lowtide are handed on to the target.
//!
//! The rule: the target gets what it would have got without lowtide, once. The terminal's signals (Ctrl-C,
//! Ctrl-Z, Ctrl-\, a resized window) go to the whole process group, so the target has them already. What a
//! process sends to *our* pid is meant for the target. A process that signals a whole group, as
//! `kill -TERM -PGID` and timeout(1) do, cannot be told from one that signals us alone: there the target
//! may see the signal a second time, as it does under any other wrapper.

use super::signals::Signal;

/// Who we are, as far as the rule needs it.
pub(super) struct Us {
    /// Our pid.
    pub pid: i32,
    /// We lead the session: the kernel sends the terminal's hang-up to us alone.
    pub session_leader: bool,
}

/// Whether the target must be sent this signal.
pub(super) fn hand_on(signal: &Signal, us: &Us, is_descendant: impl Fn(i32) -> bool) -> bool {
    if signal.made_by_kernel() {
        return match signal.number {
            // alarm(2) and setitimer(2) survive exec: somebody set them for the command.
            libc::SIGALRM => true,
            libc::SIGHUP | libc::SIGCONT => us.session_leader,
            _ => false,
        };
    }
    let has_sender = matches!(signal.code, libc::SI_USER | libc::SI_QUEUE | libc::SI_TKILL);
    if !has_sender || signal.sender == 0 {
        return true;
    }
    // What the tree sends to its own group (`kill 0`) reaches us too; it is not for the target again.
    signal.sender != us.pid && !is_descendant(signal.sender)
}

/// The signals by which a terminal stops a job.
pub(super) fn stops_jobs(signal: i32) -> bool {
    matches!(signal, libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU)
}

/// Whether a process comes from another, by the parents in /proc. Not known means no.
pub(super) fn is_descendant(mut pid: i32, of: i32) -> bool {
    // Deeper trees than this are no launcher's; and a loop must end.
    for _ in 0..64 {
        match parent(pid) {
            Some(parent) if parent == of => return true,
            Some(parent) if parent > 1 => pid = parent,
            _ => return false,
        }
    }
    false
}

fn parent(pid: i32) -> Option<i32> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything, brackets and spaces too.
    let after_name = &stat[stat.iter().rposition(|byte| *byte == b')')? + 1..];
    std::str::from_utf8(after_name).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SI_KERNEL: i32 = 0x80;

    fn signal(number: i32, code: i32, sender: i32) -> Signal {
        Signal { number, code, sender, value: libc::sigval { sival_ptr: std::ptr::null_mut() } }
    }

    fn handed_on(number: i32, code: i32, sender: i32, session_leader: bool) -> bool {
        hand_on(&signal(number, code, sender), &Us { pid: 10, session_leader }, |pid| pid == 11)
    }

    #[test]
    fn what_the_terminal_sends_is_not_sent_twice() {
        for number in [libc::SIGINT, libc::SIGQUIT, libc::SIGTSTP, libc::SIGWINCH, libc::SIGHUP] {
            assert!(!handed_on(number, SI_KERNEL, 0, false), "{number}");
        }
        assert!(handed_on(libc::SIGHUP, SI_KERNEL, 0, true), "only the leader of a session is told of a hang-up");
    }

    #[test]
    fn what_a_process_sends_is_handed_on() {
        for number in [libc::SIGINT, libc::SIGTERM, libc::SIGUSR1, libc::SIGCHLD, libc::SIGRTMAX()] {
            assert!(handed_on(number, libc::SI_USER, 500, false), "{number}");
            assert!(handed_on(number, libc::SI_QUEUE, 0, false), "{number} from outside the pid namespace");
        }
        assert!(handed_on(libc::SIGALRM, SI_KERNEL, 0, false));
    }

    #[test]
    fn what_the_tree_or_lowtide_sent_is_not() {
        assert!(!handed_on(libc::SIGTERM, libc::SI_USER, 11, false));
        assert!(!handed_on(libc::SIGPIPE, libc::SI_USER, 10, false), "our own write to a closed pipe");
        assert!(!handed_on(libc::SIGCHLD, 1, 11, false), "a child's end");
    }

    #[test]
    fn knows_descendants() {
        let mut child = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().expect("cat");
        let ours = std::process::id() as i32;
        assert!(is_descendant(child.id() as i32, ours));
        assert!(!is_descendant(1, ours));
        assert!(!is_descendant(ours, child.id() as i32));
        drop(child.stdin.take());
        child.wait().expect("wait");
    }
}

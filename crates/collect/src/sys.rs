//! The few calls that std does not have. The only `unsafe` of this crate is here.

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A descriptor that names a process whatever happens to its pid (pidfd_open(2), Linux 5.3); `None` where the kernel
/// or a sandbox does not have it, or the process is gone.
pub fn pidfd_open(pid: u32) -> Option<OwnedFd> {
    let pid = libc::pid_t::try_from(pid).ok()?;
    // SAFETY: pidfd_open takes two integers and touches no memory of ours.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0)?;
    // SAFETY: the kernel has just given us this descriptor, and nobody else knows it.
    Some(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Whether the process behind a pidfd has ended (all its threads; it may still be a zombie).
pub fn has_ended(pidfd: &OwnedFd) -> bool {
    let mut one = [poll_entry(pidfd)];
    poll_now(&mut one);
    one[0].revents & libc::POLLIN != 0
}

/// An entry for [`poll_now`].
pub fn poll_entry(pidfd: &OwnedFd) -> libc::pollfd {
    libc::pollfd { fd: pidfd.as_raw_fd(), events: libc::POLLIN, revents: 0 }
}

/// A netlink socket to sock_diag(7), which tells the peers of Unix sockets. It never waits.
pub fn sock_diag() -> Option<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: socket takes three integers and touches no memory of ours.
    let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_SOCK_DIAG) };
    // SAFETY: the kernel has just given us this descriptor, and nobody else knows it.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Fills `revents` without waiting.
pub fn poll_now(entries: &mut [libc::pollfd]) {
    let count = libc::nfds_t::try_from(entries.len()).unwrap_or(0);
    // SAFETY: the pointer and the count are those of a live slice.
    let result = unsafe { libc::poll(entries.as_mut_ptr(), count, 0) };
    if result < 0 {
        entries.iter_mut().for_each(|entry| entry.revents = 0);
    }
}

/// CPU time of the calling thread in nanoseconds (what a read costs us; not disturbed by other threads).
pub fn thread_cpu_ns() -> u64 {
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: clock_gettime writes one timespec, which `time` has room for; zeroes are a valid timespec if it fails.
    let time = unsafe {
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, time.as_mut_ptr());
        time.assume_init()
    };
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// CPU seconds of this process, all threads (getrusage(2)).
pub fn process_cpu_s() -> f64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage writes one rusage, which `usage` has room for; zeroes are a valid rusage if it fails.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Clock ticks per second of `/proc/PID/stat`, 100 on every Linux so far.
pub fn ticks_per_second() -> f64 {
    // SAFETY: sysconf takes an integer.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    if ticks > 0 { ticks as f64 } else { 100.0 }
}

/// Bytes in a page.
pub fn page_size() -> u64 {
    // SAFETY: sysconf takes an integer.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok().filter(|size| *size > 0).unwrap_or(4096)
}

/// How many files we may have open (soft RLIMIT_NOFILE).
pub fn open_file_limit() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: getrlimit writes one rlimit, which is what it is given.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    if result == 0 { usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX) } else { 256 }
}

/// Size and used bytes of the file system that holds `path` (statvfs(3)).
pub fn file_system(path: &Path) -> Option<(u64, u64)> {
    let data = statvfs(path)?;
    let size = data.f_blocks.saturating_mul(data.f_frsize);
    Some((size, size.saturating_sub(data.f_bfree.saturating_mul(data.f_frsize))))
}

/// Bytes that we may still write to the file system that holds `path` (statvfs(3)); `None` where it cannot be told.
#[must_use]
pub fn free_bytes(path: &Path) -> Option<u64> {
    statvfs(path).map(|data| data.f_bavail.saturating_mul(data.f_frsize))
}

fn statvfs(path: &Path) -> Option<libc::statvfs> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    let mut data = MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: the path ends in NUL, and statvfs writes one statvfs, which `data` has room for.
    unsafe { (libc::statvfs(path.as_ptr(), data.as_mut_ptr()) == 0).then(|| data.assume_init()) }
}

/// Whether we may create files in a folder (access(2)).
pub fn is_writable(folder: &Path) -> bool {
    let Ok(path) = CString::new(folder.as_os_str().as_bytes()) else { return false };
    // SAFETY: the path ends in NUL, and access only reads it.
    unsafe { libc::access(path.as_ptr(), libc::W_OK | libc::X_OK) == 0 }
}

/// Whether a path is served by the kernel's own proc file system (and not by a container's imitation).
pub fn is_proc(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    let mut data = MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: the path ends in NUL, and statfs writes one statfs, which `data` has room for.
    unsafe { libc::statfs(path.as_ptr(), data.as_mut_ptr()) == 0 && data.assume_init().f_type == libc::PROC_SUPER_MAGIC }
}

/// Small pages of our own to measure the kernel's work on. Unmapped on drop.
pub struct TouchedPages {
    start: *mut libc::c_void,
    len: usize,
}

impl TouchedPages {
    /// Maps and touches `len` bytes in pages that the kernel may not merge to huge ones.
    pub fn new(len: usize) -> Option<Self> {
        // SAFETY: a new private anonymous mapping at a place of the kernel's choice touches nothing that exists.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        let pages = Self { start, len };
        // SAFETY: advice on our own whole mapping; a kernel without huge pages refuses it, which does no harm.
        unsafe { libc::madvise(start, len, libc::MADV_NOHUGEPAGE) };
        for offset in (0..len).step_by(usize::try_from(page_size()).unwrap_or(4096)) {
            // SAFETY: `offset` is inside the mapping, which is writable and ours alone.
            unsafe { start.cast::<u8>().add(offset).write_volatile(1) };
        }
        Some(pages)
    }
}

impl Drop for TouchedPages {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, unmapped once; no reference into it exists.
        unsafe { libc::munmap(self.start, self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pidfd_tells_the_end_of_a_process() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().expect("sleep starts");
        if let Some(pidfd) = pidfd_open(child.id()) {
            assert!(!has_ended(&pidfd));
            child.kill().expect("kill");
            child.wait().expect("wait");
            assert!(has_ended(&pidfd));
        } else {
            child.kill().expect("kill");
            child.wait().expect("wait");
        }
        assert!(pidfd_open(u32::MAX).is_none());
    }

    #[test]
    fn knows_file_systems_and_clocks() {
        assert!(is_proc(Path::new("/proc/loadavg")));
        assert!(!is_proc(Path::new("/")));
        let (size, used) = file_system(Path::new("/")).expect("statvfs");
        assert!(size > 0 && used <= size);
        let before = (thread_cpu_ns(), process_cpu_s());
        let mut sum = 0_u64;
        while thread_cpu_ns() - before.0 < 20_000_000 {
            sum = sum.wrapping_add(sum ^ 7);
        }
        assert!(process_cpu_s() > before.1, "{sum}");
        assert!(TouchedPages::new(1 << 20).is_some());
    }
}

//! A process on this machine, named for ever by its pid and start time.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::denied;
use crate::elf::{self, Module, Symbol};
use crate::error::Error;
use crate::image::Image;
use crate::maps::{Map, Maps};
use crate::source::Source;
use crate::stop::Stopped;

/// The root of the file system that a process sees.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    /// What keeps it at hand.
    _open: Option<File>,
}

impl Root {
    /// Where it is for us.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A process whose memory we may read.
#[derive(Clone, Debug)]
pub struct Process {
    root: PathBuf,
    pid: u32,
    start: u64,
}

impl Process {
    /// Opens it, below a filesystem root (`/`, for what runs here), and checks that its memory may be read.
    ///
    /// # Errors
    /// Where there is no such process, or its memory may not be read; the error says what to do.
    pub fn open(root: &Path, pid: u32) -> Result<Self, Error> {
        let mut process = Self { root: root.to_owned(), pid, start: 0 };
        let stat = process.stat()?.ok_or(Error::Gone { pid })?;
        if matches!(stat.state, b'Z' | b'X') {
            return Err(Error::Zombie { pid });
        }
        process.start = stat.start;
        process.memory()?;
        Ok(process)
    }

    /// Its pid.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// When it started, in clock ticks after boot: with the pid, its name for ever.
    #[must_use]
    pub fn start_ticks(&self) -> u64 {
        self.start
    }

    /// Fails unless it is still there and still the same.
    ///
    /// # Errors
    /// [`Error::Gone`], [`Error::Reused`] or [`Error::Zombie`].
    pub fn check(&self) -> Result<(), Error> {
        match self.stat()? {
            None => Err(Error::Gone { pid: self.pid }),
            Some(stat) if stat.start != self.start => Err(Error::Reused { pid: self.pid }),
            Some(stat) if matches!(stat.state, b'Z' | b'X') => Err(Error::Zombie { pid: self.pid }),
            Some(_) => Ok(()),
        }
    }

    /// The pid of its parent.
    ///
    /// # Errors
    /// Where it has ended.
    pub fn parent(&self) -> Result<u32, Error> {
        self.stat()?.map(|stat| stat.parent).ok_or(Error::Gone { pid: self.pid })
    }

    /// The program that it runs, as the kernel names it; `None` where that is hidden.
    #[must_use]
    pub fn exe(&self) -> Option<PathBuf> {
        fs::read_link(self.file("exe")).ok()
    }

    /// The root of the file system that it sees. It stays at hand when the process ends, as long as this is kept.
    #[must_use]
    pub fn its_root(&self) -> Root {
        // The way through /proc makes each name of a path a link to be looked at: a look at the files of a program asks for hundreds.
        if self.sees_what_we_see() {
            return Root { path: PathBuf::from("/"), _open: None };
        }
        let open = fs::OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_DIRECTORY).open(self.file("root"));
        match open {
            Ok(open) => Root { path: PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd())), _open: Some(open) },
            Err(_) => Root { path: self.file("root"), _open: None },
        }
    }

    /// Whether its root is ours: in a container it is not.
    ///
    /// # Errors
    /// Where it has ended, or one of the two is hidden.
    pub fn shares_our_files(&self) -> Result<bool, Error> {
        let place = |path: PathBuf| match fs::metadata(&path) {
            Ok(found) => Ok((found.dev(), found.ino())),
            Err(source) => Err(self.failure(path, source)),
        };
        Ok(place(PathBuf::from("/"))? == place(self.file("root/"))?)
    }

    /// Whether each name means to it the file that it means to us: by the same root, and the same mounts below it.
    fn sees_what_we_see(&self) -> bool {
        let mounts = |of: PathBuf| fs::read_link(of.join("ns/mnt")).ok();
        let (its, ours) = (mounts(self.file("")), mounts(self.root.join("proc/self")));
        self.root == Path::new("/") && its.is_some() && its == ours && self.shares_our_files().unwrap_or(false)
    }

    /// The folder in which it runs, by the name that it has for it; `/` where that is hidden.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        let Ok(folder) = fs::read_link(self.file("cwd")) else { return PathBuf::from("/") };
        // After chroot(2) the kernel names the folder from our root.
        let inside = fs::read_link(self.file("root")).ok().and_then(|outer| folder.strip_prefix(outer).map(Path::to_owned).ok());
        inside.map_or(folder, |inside| Path::new("/").join(inside))
    }

    /// When it began, by the wall clock as it is now, within two hundredths of a second.
    #[must_use]
    pub fn started(&self) -> Option<SystemTime> {
        let uptime = fs::read_to_string(self.root.join("proc/uptime")).ok()?;
        let now: f64 = uptime.split_whitespace().next()?.parse().ok()?;
        // SAFETY: sysconf takes an integer.
        let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
        let ticks = if ticks > 0 { ticks as f64 } else { 100.0 };
        SystemTime::now().checked_sub(Duration::try_from_secs_f64(now - self.start as f64 / ticks).ok()?)
    }

    /// Its threads.
    ///
    /// # Errors
    /// Where it has ended.
    pub fn threads(&self) -> Result<Vec<u32>, Error> {
        let path = self.file("task");
        let entries = fs::read_dir(&path).map_err(|source| self.failure(path, source))?;
        Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
    }

    /// Stops it again and again, at most `tries` times with `gap` between them, until `look` finds what it wants (a garbage
    /// collector that is not at work, say). The last stop goes on as part of the result.
    ///
    /// # Errors
    /// Those of [`Process::stop`] and of `look`.
    pub fn stop_when<T>(
        &self,
        budget: Duration,
        tries: u32,
        gap: Duration,
        mut look: impl FnMut(&Stopped) -> Result<Option<T>, Error>,
    ) -> Result<Option<(Stopped, T)>, Error> {
        for attempt in 0..tries {
            if attempt > 0 {
                std::thread::sleep(gap);
            }
            let stopped = self.stop(budget)?;
            if let Some(found) = look(&stopped)? {
                return Ok(Some((stopped, found)));
            }
        }
        Ok(None)
    }

    /// What is mapped where, now.
    ///
    /// # Errors
    /// Where it has ended or may not be read.
    pub fn maps(&self) -> Result<Maps, Error> {
        let path = self.file("maps");
        let bytes = fs::read(&path).map_err(|source| self.failure(path, source))?;
        let maps = Maps::parse(&bytes);
        if maps.is_empty() {
            self.check()?;
            return Err(Error::NoMemory { pid: self.pid });
        }
        Ok(maps)
    }

    /// Its memory as it runs. What is read at two moments need not fit together: for anything that changes, use
    /// [`Process::stop`].
    ///
    /// # Errors
    /// Where it has ended or may not be read.
    pub fn image(&self) -> Result<Image, Error> {
        let memory = self.memory()?;
        // The memory was opened of whoever had the pid at that time.
        self.check()?;
        Ok(Image::new(Running { memory }, self.maps()?))
    }

    /// Stops all its threads until the result is dropped, but no longer than `budget`.
    ///
    /// # Errors
    /// Where it has ended, may not be traced, is traced by somebody else, or does not stop in time.
    pub fn stop(&self, budget: Duration) -> Result<Stopped, Error> {
        Stopped::new(self, budget)
    }

    /// The ELF file behind a map, with its place in memory.
    ///
    /// # Errors
    /// Where the file cannot be opened, or is no ELF file.
    pub fn module(&self, maps: &Maps, map: &Map) -> Result<Module, Error> {
        let (path, file) = self.mapped_file(map)?;
        Module::new(Box::new(file), maps, map).map_err(|what| Error::Format { path, place: what.place, what: what.what })
    }

    /// The first module that has one of these symbols, in the order of `names`; the program itself is looked at first, and libraries
    /// whose name begins with one of `likely`, then the others, those with the fewest bytes first.
    #[must_use]
    pub fn find_symbol(&self, maps: &Maps, names: &[&str], likely: &[&str]) -> Option<(Module, Symbol)> {
        let exe = self.exe();
        let is_exe = |map: &Map| exe.as_deref().is_some_and(|exe| map.path.as_deref() == Some(exe.as_os_str().as_bytes()));
        let size = |map: &Map| self.mapped_file(map).ok().and_then(|(_, file)| Some(file.metadata().ok()?.len()));
        let is_likely = |map: &Map| is_exe(map) || elf::is_called(map, likely);
        elf::find_symbol(maps, names, is_likely, size, |map| self.module(maps, map).ok())
    }

    /// Opens the file behind a map: by its path as the process sees it, where that is still the same file, else through
    /// `map_files`, which also has deleted ones but needs a capability.
    fn mapped_file(&self, map: &Map) -> Result<(PathBuf, File), Error> {
        use std::os::unix::fs::MetadataExt;
        let name = map.path.as_deref().unwrap_or_default();
        let name = Path::new(OsStr::from_bytes(name));
        let seen = self.file("root").join(name.strip_prefix("/").unwrap_or(name));
        if !map.deleted
            && map.is_file()
            && let Ok(file) = File::open(&seen)
            && file.metadata().is_ok_and(|meta| meta.is_file() && meta.ino() == map.inode)
        {
            return Ok((seen, file));
        }
        let path = self.file("map_files").join(format!("{:x}-{:x}", map.start, map.end));
        match File::open(&path) {
            Ok(file) => Ok((path, file)),
            Err(source) => Err(Error::Io { path: if map.is_file() { seen } else { path }, source }),
        }
    }

    /// Calls that take a pid mean one of our own namespace: fails where this root shows another one's.
    pub(crate) fn must_be_ours(&self) -> Result<(), Error> {
        let shown = fs::read_link(self.root.join("proc/self")).ok();
        if shown.is_some_and(|shown| shown.to_str() == Some(&std::process::id().to_string())) {
            return Ok(());
        }
        Err(Error::Denied {
            pid: self.pid,
            why: format!(
                "{} is not the proc file system of our own pid namespace, so a process cannot be stopped by what it says; run \
                 where the process runs (docker exec, nsenter)",
                self.root.join("proc").display()
            ),
        })
    }

    /// `/proc/PID/mem`. It stays tied to the memory that the process has now, whoever gets the pid later.
    pub(crate) fn memory(&self) -> Result<File, Error> {
        let path = self.file("mem");
        File::open(&path).map_err(|source| self.failure(path, source))
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.root.join("proc").join(self.pid.to_string()).join(name)
    }

    /// State and start time; `None` where it is gone.
    fn stat(&self) -> Result<Option<Stat>, Error> {
        self.read_stat(self.file("stat"))
    }

    /// The same of one of its threads.
    pub(crate) fn thread_stat(&self, thread: u32) -> Result<Option<Stat>, Error> {
        self.read_stat(self.file(&format!("task/{thread}/stat")))
    }

    fn read_stat(&self, path: PathBuf) -> Result<Option<Stat>, Error> {
        match fs::read(&path) {
            Ok(bytes) => match Stat::parse(&bytes) {
                Some(stat) => Ok(Some(stat)),
                None => Err(Error::Format { path, place: "line 1".into(), what: "not in the format of proc(5)".into() }),
            },
            Err(error) if is_gone(&error) => Ok(None),
            Err(source) => Err(Error::Io { path, source }),
        }
    }

    /// What a refusal to trace one of its threads means.
    pub(crate) fn refused(&self, thread: u32, error: io::Error) -> Error {
        if let Err(gone) = self.check() {
            return gone;
        }
        let status = fs::read_to_string(self.file(&format!("task/{thread}/status"))).unwrap_or_default();
        let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:")?.trim().parse().ok());
        match tracer {
            // It may be one that is not seen from here, but then it is 0 as well, and the refusal tells nothing more.
            Some(tracer) if tracer != 0 => {
                // A thread may be the tracer; what a user knows is its process.
                let status = fs::read_to_string(self.root.join(format!("proc/{tracer}/status"))).unwrap_or_default();
                let group = status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok());
                let tracer = group.unwrap_or(tracer);
                let command = fs::read_to_string(self.root.join(format!("proc/{tracer}/comm"))).ok();
                Error::Traced { pid: self.pid, tracer, command: command.map(|name| name.trim().to_owned()) }
            }
            _ if error.kind() == io::ErrorKind::PermissionDenied => {
                Error::Denied { pid: self.pid, why: denied::why(&self.root, self.pid) }
            }
            _ => Error::Io { path: PathBuf::from(format!("thread {thread}, by ptrace,")), source: error },
        }
    }

    /// What a thread does, in words.
    pub(crate) fn doing(&self, thread: u32) -> String {
        match self.thread_stat(thread).ok().flatten().map(|stat| stat.state) {
            Some(b'D') => "in a system call that cannot be interrupted (a disk, a network file system, a driver, vfork)".into(),
            Some(state) => format!("in state {}", char::from(state)),
            None => "ending".into(),
        }
    }

    /// What a failure to open one of its files means.
    pub(crate) fn failure(&self, path: PathBuf, source: io::Error) -> Error {
        if is_gone(&source) {
            return self.check().err().unwrap_or(Error::NoMemory { pid: self.pid });
        }
        if source.kind() == io::ErrorKind::PermissionDenied {
            return Error::Denied { pid: self.pid, why: denied::why(&self.root, self.pid) };
        }
        Error::Io { path, source }
    }
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

/// Memory of a process that runs.
struct Running {
    memory: File,
}

impl Source for Running {
    fn read(&self, address: u64, out: &mut [u8]) -> io::Result<usize> {
        read_memory(&self.memory, address, out)
    }
}

/// Reads `/proc/PID/mem`, where nothing at all means that there is no memory any more.
pub(crate) fn read_memory(memory: &File, address: u64, out: &mut [u8]) -> io::Result<usize> {
    match memory.read(address, out)? {
        0 if !out.is_empty() => Err(io::Error::other("the process has ended, or has replaced itself by another program")),
        count => Ok(count),
    }
}

/// What we need of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stat {
    /// `R`, `S`, `D`, `T`, `t`, `Z`, `X`.
    pub state: u8,
    /// Field 4.
    pub parent: u32,
    /// Field 22.
    pub start: u64,
}

impl Stat {
    fn parse(bytes: &[u8]) -> Option<Self> {
        // The name in brackets may hold anything, so only the last bracket ends it.
        let close = bytes.iter().rposition(|byte| *byte == b')')?;
        let mut fields = bytes.get(close + 1..)?.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
        let state = *fields.next()?.first()?;
        let parent = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        let start = std::str::from_utf8(fields.nth(22 - 5)?).ok()?.parse().ok()?;
        Some(Self { state, parent, start })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let line = b"7 (a) b (c)) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 98765 1000 200\n";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.state, stat.parent, stat.start), (b'S', 1, 98765));
        assert!(Stat::parse(b"7 (a) S 1 7").is_none());
        assert!(Stat::parse(b"").is_none());
    }

    #[test]
    fn who_is_not_there_is_said() {
        // Above the largest pid that a kernel gives (2^22).
        let error = Process::open(Path::new("/"), (1 << 22) + 1).unwrap_err();
        assert!(matches!(error, Error::Gone { .. }), "{error}");
    }

    #[test]
    fn a_kernel_thread_has_no_memory() {
        let Some(kthread) = fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            stat.contains(" 2 0 0 0 -1 ").then_some(pid)
        }) else {
            return;
        };
        let process = Process::open(Path::new("/"), kthread);
        let error = process.and_then(|process| process.maps()).unwrap_err();
        assert!(matches!(error, Error::NoMemory { .. } | Error::Denied { .. }), "{error}");
    }
}

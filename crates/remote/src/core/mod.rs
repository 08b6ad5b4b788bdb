//! A core file: the memory of a process as it was when it was written (core(5), `gcore`).
//!
//! A file that was cut off (a full disk, a limit) gives what is in it, and says how much is missing. What the kernel leaves
//! out because it is in a file anyway (code and constants) is taken from that file, if it is still there.

mod parse;

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::elf::{self, Module, Symbol};
use crate::error::Error;
use crate::image::Image;
use crate::maps::{Map, Maps};
use crate::source::Source;
use parse::Parsed;

/// An opened core file.
#[derive(Clone, Debug)]
pub struct Core {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    file: File,
    parsed: Parsed,
    /// The file that was looked into last, since looks come in crowds.
    last: Mutex<Option<Named>>,
}

/// A mapped file, by its path.
type Named = (Box<[u8]>, Arc<File>);

impl Core {
    /// Opens one. Files that it names are looked for below `root` (`/`, or the root of the container that it is of).
    ///
    /// # Errors
    /// Where it cannot be read, or is no core file.
    pub fn open(root: &Path, path: &Path) -> Result<Self, Error> {
        let io = |source| Error::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(io)?;
        let meta = file.metadata().map_err(io)?;
        if !meta.is_file() {
            return Err(io(io::Error::other("not a file; save it to one first")));
        }
        let parsed = Parsed::read(&file, meta.len());
        let parsed = parsed.map_err(|bad| Error::Format { path: path.to_owned(), place: bad.place, what: bad.what })?;
        Ok(Self { inner: Arc::new(Inner { root: root.to_owned(), file, parsed, last: Mutex::default() }) })
    }

    /// What was mapped where. Permissions and file names are known, inodes are not.
    #[must_use]
    pub fn maps(&self) -> &Maps {
        &self.inner.parsed.maps
    }

    /// The pid that the process had, if the file says it.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.inner.parsed.pid
    }

    /// How many threads it had.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.inner.parsed.threads
    }

    /// Bytes that should be in the file and are not, because it was cut off; 0 where it is whole.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.inner.parsed.missing
    }

    /// The memory.
    #[must_use]
    pub fn image(&self) -> Image {
        Image::new(Arc::clone(&self.inner), self.maps().clone())
    }

    /// The ELF file behind a map, with its place in memory.
    ///
    /// # Errors
    /// Where the file is not there any more, or is another one.
    pub fn module(&self, map: &Map) -> Result<Module, Error> {
        let path = self.inner.path(map);
        let file = File::open(&path).map_err(|source| Error::Io { path: path.clone(), source })?;
        Module::new(Box::new(file), self.maps(), map).map_err(|bad| Error::Format { path, place: bad.place, what: bad.what })
    }

    /// The first module that has one of these symbols: files whose name begins with one of `likely`, then the others, small ones first.
    #[must_use]
    pub fn find_symbol(&self, names: &[&str], likely: &[&str]) -> Option<(Module, Symbol)> {
        let size = |map: &Map| std::fs::metadata(self.inner.path(map)).ok().map(|meta| meta.len());
        let is_likely = |map: &Map| elf::is_called(map, likely);
        elf::find_symbol(self.maps(), names, is_likely, size, |map| self.module(map).ok())
    }
}

impl Inner {
    fn path(&self, map: &Map) -> PathBuf {
        let name = Path::new(OsStr::from_bytes(map.path.as_deref().unwrap_or_default()));
        self.root.join(name.strip_prefix("/").unwrap_or(name))
    }

    /// From the file that was mapped there, where nobody can have written to the map.
    fn read_mapped_file(&self, address: u64, out: &mut [u8]) -> io::Result<usize> {
        let map = self.parsed.maps.find(address).filter(|map| map.is_file() && !map.perms.write && !map.deleted);
        let Some(map) = map else { return Err(io::ErrorKind::NotFound.into()) };
        let name = map.path.clone().unwrap_or_default();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &*last {
            Some((path, file)) if *path == name => Arc::clone(file),
            _ => {
                // Neither a device nor a pipe: opening one may do something, or wait.
                let path = self.path(map);
                if !std::fs::metadata(&path).is_ok_and(|meta| meta.is_file()) {
                    return Err(io::ErrorKind::NotFound.into());
                }
                let file = Arc::new(File::open(path).map_err(|_| io::Error::from(io::ErrorKind::NotFound))?);
                *last = Some((name, Arc::clone(&file)));
                file
            }
        };
        drop(last);
        let len = out.len().min(usize::try_from(map.end - address).unwrap_or(usize::MAX));
        file.read(map.offset.saturating_add(address - map.start), &mut out[..len])
    }
}

impl Source for Inner {
    fn read(&self, address: u64, out: &mut [u8]) -> io::Result<usize> {
        match self.parsed.at_or_after(address) {
            Some(segment) if segment.start <= address => {
                let len = out.len().min(usize::try_from(segment.end - address).unwrap_or(usize::MAX));
                self.file.read(segment.offset.saturating_add(address - segment.start), &mut out[..len])
            }
            next => {
                let until = next.map_or(u64::MAX, |next| next.start) - address;
                let len = out.len().min(usize::try_from(until).unwrap_or(usize::MAX));
                self.read_mapped_file(address, &mut out[..len])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    /// A core file with these segments (address, flags, bytes, size in memory) and file names (start, offset in pages, name).
    fn made(segments: &[(u64, u32, &[u8], u64)], names: &[(u64, u64, &str)]) -> Vec<u8> {
        made_on(EM_X86_64, 4096, segments, names)
    }

    /// The same of a machine with pages of this size.
    fn made_on(machine: u8, page: u64, segments: &[(u64, u32, &[u8], u64)], names: &[(u64, u64, &str)]) -> Vec<u8> {
        let mut note = Vec::new();
        for number in [names.len() as u64, page] {
            note.extend(number.to_le_bytes());
        }
        for (start, offset, _) in names {
            for number in [*start, start + page, *offset] {
                note.extend(number.to_le_bytes());
            }
        }
        note.extend(names.iter().flat_map(|(_, _, name)| [name.as_bytes(), &[0]].concat()));
        let mut notes = Vec::new();
        for (kind, content) in [(NT_FILE, note), (1, vec![0; 336]), (3, [vec![0; 24], 77_u32.to_le_bytes().to_vec()].concat())] {
            for number in [5, content.len() as u32, kind] {
                notes.extend(number.to_le_bytes());
            }
            notes.extend(b"CORE\0\0\0\0");
            notes.extend(&content);
            notes.resize(notes.len().next_multiple_of(4), 0);
        }
        let mut file = vec![0; 64];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[16] = 4;
        file[18] = machine;
        file[32] = 64;
        file[54] = 56;
        file[56] = segments.len() as u8 + 1;
        let mut offset = (64 + 56 * (segments.len() + 1)) as u64;
        let mut header = |kind: u32, flags: u32, address: u64, written: u64, size: u64| {
            file.extend([kind.to_le_bytes(), flags.to_le_bytes()].concat());
            for number in [offset, address, 0, written, size, page] {
                file.extend(number.to_le_bytes());
            }
            offset += written;
        };
        header(4, 0, 0, notes.len() as u64, 0);
        for (address, flags, bytes, size) in segments {
            header(1, *flags, *address, bytes.len() as u64, *size);
        }
        file.extend(notes);
        file.extend(segments.iter().flat_map(|(_, _, bytes, _)| bytes.to_vec()));
        file
    }

    const NT_FILE: u32 = 0x4649_4c45;
    const EM_X86_64: u8 = 62;
    const EM_AARCH64: u8 = 183;

    fn opened(root: &Path, bytes: &[u8]) -> Result<Core, Error> {
        let path = root.join("core");
        std::fs::write(&path, bytes).unwrap();
        Core::open(root, &path)
    }

    #[test]
    fn what_is_in_it_is_read_and_what_was_left_out_comes_from_its_file() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("lib.so"), [[1; 4096], [2; 4096]].concat()).unwrap();
        let bytes = made(
            &[(0x1_0000, 6, &[7; 8192], 8192), (0x4_0000, 5, &[], 4096), (0x5_0000, 6, &[], 4096)],
            &[(0x4_0000, 1, "/lib.so"), (0x5_0000, 0, "/lib.so (deleted)")],
        );
        let core = opened(root.path(), &bytes).unwrap();
        assert_eq!((core.pid(), core.threads(), core.missing()), (Some(77), 1, 0));
        let map = core.maps().find(0x4_0000).unwrap();
        assert_eq!((map.path.as_deref(), map.offset, map.perms.exec), (Some(b"/lib.so".as_slice()), 4096, true));
        assert!(core.maps().find(0x5_0000).unwrap().deleted);
        assert!(core.maps().find(0x1_0000).unwrap().is_anonymous());
        let image = core.image();
        assert_eq!(image.u16(0x1_1ffe), Some(0x0707));
        assert_eq!(image.u16(0x4_0000), Some(0x0202), "from the second page of the file");
        assert_eq!(image.u8(0x5_0000), None, "who knows what it was");
        assert_eq!(image.u8(0x1_2000), None);
    }

    #[test]
    fn one_of_another_machine_is_read_by_the_size_of_its_pages() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("lib.so"), [[1; 65536], [2; 65536]].concat()).unwrap();
        let segments: [(u64, u32, &[u8], u64); 2] = [(0x1_0000, 6, &[7; 65536], 65536), (0x4_0000, 5, &[], 65536)];
        let core = opened(root.path(), &made_on(EM_AARCH64, 65536, &segments, &[(0x4_0000, 1, "/lib.so")])).unwrap();
        assert_eq!((core.pid(), core.threads(), core.missing()), (Some(77), 1, 0));
        let image = core.image();
        assert_eq!(image.u16(0x1_fffe), Some(0x0707));
        assert_eq!((image.u16(0x4_0000), image.u16(0x4_fffe)), (Some(0x0202), Some(0x0202)), "the second page of the file");
    }

    #[test]
    fn one_that_was_cut_off_gives_what_is_there_and_says_so() {
        let root = tempfile::tempdir().unwrap();
        let whole = made(&[(0x1_0000, 6, &[7; 0x8000], 0x8000)], &[]);
        let core = opened(root.path(), &whole[..whole.len() - 0x3000]).unwrap();
        assert_eq!(core.missing(), 0x3000);
        assert_eq!(core.image().u8(0x1_4fff), Some(7));
        assert_eq!(core.image().u8(0x1_5000), None);
        let error = opened(root.path(), &whole[..70]).unwrap_err().to_string();
        assert!(error.contains("core, program headers") && error.contains("complete"), "{error}");
        let error = opened(root.path(), b"PNG").unwrap_err().to_string();
        assert!(error.contains("ELF header"), "{error}");
    }

    proptest! {
        #[test]
        fn a_damaged_one_never_panics_and_takes_no_memory(
            changes in proptest::collection::vec((0_usize..600, any::<u8>()), 0..12), cut in 0_usize..9000,
        ) {
            let mut bytes = made(&[(0x1_0000, 6, &[7; 8192], 8192)], &[(0x1_0000, 0, "/x")]);
            for (at, byte) in changes {
                bytes[at] = byte;
            }
            bytes.truncate(cut.max(64));
            if let Ok(parsed) = Parsed::read(&bytes, bytes.len() as u64) {
                for address in [0, 0x1_0000, 0x1_1fff, u64::MAX] {
                    let _ = parsed.at_or_after(address);
                }
            }
        }
    }
}

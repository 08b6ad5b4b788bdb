//! Where bytes come from.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes by address: a process's memory, a file, a made-up one.
pub trait Source: Send + Sync {
    /// Reads bytes from `address` on, and says how many. It may be fewer than asked for where an unreadable page or the
    /// end is reached.
    ///
    /// # Errors
    /// Where nothing at all can be read at `address`.
    fn read(&self, address: u64, out: &mut [u8]) -> io::Result<usize>;

    /// Reads as many bytes at each of these addresses, one behind the other, and says of how many of the first addresses all were read:
    /// many small reads for the price of one, where the source can.
    ///
    /// # Errors
    /// Where nothing can be read at the first address.
    fn read_each(&self, addresses: &[u64], out: &mut [u8]) -> io::Result<usize> {
        let (Some(first), Some(len)) = (addresses.first(), out.len().checked_div(addresses.len())) else { return Ok(0) };
        let got = self.read(*first, &mut out[..len])?;
        Ok(usize::from(got == len))
    }
}

impl<S: Source + ?Sized> Source for std::sync::Arc<S> {
    fn read(&self, address: u64, out: &mut [u8]) -> io::Result<usize> {
        (**self).read(address, out)
    }

    fn read_each(&self, addresses: &[u64], out: &mut [u8]) -> io::Result<usize> {
        (**self).read_each(addresses, out)
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn read(&self, address: u64, out: &mut [u8]) -> io::Result<usize> {
        (**self).read(address, out)
    }

    fn read_each(&self, addresses: &[u64], out: &mut [u8]) -> io::Result<usize> {
        (**self).read_each(addresses, out)
    }
}

impl Source for [u8] {
    fn read(&self, address: u64, out: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(address).ok().and_then(|start| self.get(start..)).unwrap_or_default();
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

impl Source for Vec<u8> {
    fn read(&self, address: u64, out: &mut [u8]) -> io::Result<usize> {
        self.as_slice().read(address, out)
    }
}

/// A file: its bytes by their place in it. `/proc/PID/mem` is such a file too.
impl Source for File {
    fn read(&self, address: u64, out: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.read_at(out, address) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }
}

/// Fills `out` from as many reads as it takes; `None` where the end comes first.
pub(crate) fn read_all(source: &(impl Source + ?Sized), mut address: u64, mut out: &mut [u8]) -> Option<()> {
    while !out.is_empty() {
        let count = source.read(address, out).ok().filter(|count| *count > 0)?;
        address = address.checked_add(count as u64)?;
        out = out.get_mut(count..)?;
    }
    Some(())
}

//! A stream, by the byte.

use std::io::Read;

use super::PickleError;

const BUFFER: usize = 256 << 10;

/// Why reading stops before its time.
#[derive(Debug)]
pub enum Stop {
    /// The file ends in the middle.
    Cut,
    /// It must not be read on.
    Failed(PickleError),
}

impl From<PickleError> for Stop {
    fn from(error: PickleError) -> Self {
        Self::Failed(error)
    }
}

/// Bytes that are read once.
#[derive(Debug)]
pub struct Input<R> {
    from: R,
    buffer: Vec<u8>,
    at: usize,
    filled: usize,
    /// Where in the file the buffer begins.
    begins: u64,
    /// What is longer than the buffer.
    long: Vec<u8>,
}

impl<R: Read> Input<R> {
    pub fn new(from: R) -> Self {
        Self { from, buffer: vec![0; BUFFER], at: 0, filled: 0, begins: 0, long: Vec::new() }
    }

    /// How many bytes were taken.
    pub fn offset(&self) -> u64 {
        self.begins + self.at as u64
    }

    /// What lies in the buffer, to be looked at.
    #[inline]
    pub fn ahead(&self) -> &[u8] {
        &self.buffer[self.at..self.filled]
    }

    /// Goes past so many bytes of [`Self::ahead`].
    #[inline]
    pub fn pass(&mut self, count: usize) {
        self.at = (self.at + count).min(self.filled);
    }

    /// The next byte.
    #[inline]
    pub fn byte(&mut self) -> Result<u8, Stop> {
        self.array().map(|[byte]| byte)
    }

    /// The next few bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        if let Some(bytes) = self.buffer[self.at..self.filled].first_chunk::<N>() {
            self.at += N;
            return Ok(*bytes);
        }
        self.fill(N)?;
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.buffer[self.at..self.at + N]);
        self.at += N;
        Ok(bytes)
    }

    /// The next `count` bytes. Memory is taken as they come, not as they are promised.
    pub fn bytes(&mut self, count: usize) -> Result<&[u8], Stop> {
        if count <= BUFFER {
            if self.filled - self.at < count {
                self.fill(count)?;
            }
            self.at += count;
            return Ok(&self.buffer[self.at - count..self.at]);
        }
        self.long.clear();
        while self.long.len() < count {
            if self.at == self.filled {
                self.fill(1)?;
            }
            let part = (self.filled - self.at).min(count - self.long.len());
            self.long.extend_from_slice(&self.buffer[self.at..self.at + part]);
            self.at += part;
        }
        Ok(&self.long)
    }

    /// Goes past `count` bytes.
    pub fn skip(&mut self, mut count: u64) -> Result<(), Stop> {
        while count > 0 {
            if self.at == self.filled {
                self.fill(1)?;
            }
            let part = ((self.filled - self.at) as u64).min(count);
            self.at += part as usize;
            count -= part;
        }
        Ok(())
    }

    /// Has at least `count` bytes in the buffer, which it must have room for.
    #[cold]
    fn fill(&mut self, count: usize) -> Result<(), Stop> {
        self.buffer.copy_within(self.at..self.filled, 0);
        self.begins += self.at as u64;
        self.filled -= self.at;
        self.at = 0;
        while self.filled < count {
            match self.from.read(&mut self.buffer[self.filled..]) {
                Ok(0) => return Err(Stop::Cut),
                Ok(more) => self.filled += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Stop::Failed(error.into())),
            }
        }
        Ok(())
    }
}

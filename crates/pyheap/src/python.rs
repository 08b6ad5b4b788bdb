//! A CPython in a process: where it is, which version, its interpreters and threads.

use crate::error::{Error, Version};
use crate::offsets::{self, Layout};
use crate::read::Reader;
use crate::visit::Frame;
use lowtide_remote::{Image, Process};

/// More interpreters than any program has.
const INTERPRETERS: usize = 256;
/// More threads than the kernel allows by default, in all interpreters.
const THREADS: usize = 1 << 16;
/// More frames than the stacks of all threads have, unless somebody has made all of this up.
const FRAMES: usize = 1 << 17;

/// A CPython.
#[derive(Clone, Debug)]
pub struct Python {
    /// Its version, as `sys` has it.
    pub version: Version,
    /// Where it keeps what.
    pub layout: Layout,
    /// Where `_PyRuntime` is.
    pub runtime: u64,
    /// Its interpreters; the main one is the last that was made first.
    pub interpreters: Vec<Interpreter>,
}

/// One interpreter.
#[derive(Clone, Debug)]
pub struct Interpreter {
    /// Where its state is.
    pub address: u64,
    /// `sys.modules`.
    pub modules: u64,
    /// Where its collector is.
    pub collector: u64,
    /// Its threads, oldest first.
    pub threads: Vec<Thread>,
}

/// A thread that Python knows of.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Where its state is.
    pub address: u64,
    /// `threading.get_ident()`.
    pub ident: u64,
    /// The kernel's number, where the version keeps it.
    pub native: Option<u64>,
    /// Its frames, innermost first.
    pub frames: Vec<Frame>,
}

impl Python {
    /// The symbol of the interpreter's state.
    pub const RUNTIME: &str = "_PyRuntime";
    /// What the names of files begin with that have it, mostly: the program, or the library that it is built on.
    pub const FILES: [&str; 2] = ["python", "libpython"];

    /// Looks for a CPython in a process, of which `image` is the memory.
    ///
    /// # Errors
    /// Where there is none, or one that cannot be read.
    pub fn find(process: &Process, image: &Image) -> Result<Self, Error> {
        let runtime = Self::runtime(process, image)?;
        Self::at(image, runtime)
    }

    /// Where `_PyRuntime` is: does not change as long as the process lives, and needs no stop.
    ///
    /// # Errors
    /// Where there is none.
    pub fn runtime(process: &Process, image: &Image) -> Result<u64, Error> {
        let found = process.find_symbol(image.maps(), &[Self::RUNTIME], &Self::FILES);
        found.map(|(_, symbol)| symbol.address).ok_or(Error::NoPython { pid: process.pid() })
    }

    /// Reads the CPython whose `_PyRuntime` is at an address.
    ///
    /// # Errors
    /// Where none is there, or one that cannot be read.
    pub fn at(image: &Image, runtime: u64) -> Result<Self, Error> {
        let (layout, version) = offsets::choose(image, runtime)?;
        let mut python = Self { version, layout, runtime, interpreters: Vec::new() };
        python.interpreters = python.read_interpreters(image);
        Ok(python)
    }

    /// Where `sys.modules` of the main interpreter is: the same as long as a process runs the same program, and hardly ever the same
    /// after it has become another one (execve(2)), since the kernel puts each in another place. 0 where there is none.
    #[must_use]
    pub fn program(&self) -> u64 {
        self.interpreters.last().map_or(0, |interpreter| interpreter.modules)
    }

    /// Whether a collector is running: its lists are in pieces then.
    #[must_use]
    pub fn is_collecting(&self, image: &Image) -> bool {
        let collecting = |interpreter: &Interpreter| image.u32(interpreter.collector + self.layout.gc_collecting) != Some(0);
        self.interpreters.iter().any(collecting)
    }

    fn read_interpreters(&self, image: &Image) -> Vec<Interpreter> {
        let read = Reader { image, layout: &self.layout };
        let first = read.pointer(self.runtime + self.layout.interpreters_head);
        let addresses = chain(first, INTERPRETERS, |address| read.pointer(address.checked_add(self.layout.interp_next)?));
        let (mut threads_left, mut frames_left) = (THREADS, FRAMES);
        let interpreter = |address: u64| {
            let modules = read.pointer(address.checked_add(self.layout.interp_modules)?)?;
            let collector = offsets::collector(&self.layout, self.runtime, address);
            Some(Interpreter {
                address,
                modules,
                collector,
                threads: threads(read, address, &mut threads_left, &mut frames_left),
            })
        };
        addresses.into_iter().filter_map(interpreter).collect()
    }
}

fn threads(read: Reader<'_>, interpreter: u64, left: &mut usize, frames_left: &mut usize) -> Vec<Thread> {
    let layout = read.layout;
    let first = interpreter.checked_add(layout.interp_threads).and_then(|at| read.pointer(at));
    let mut addresses = chain(first, *left, |address| read.pointer(address.checked_add(layout.thread_next)?));
    *left -= addresses.len();
    addresses.reverse();
    let thread = |address: u64| {
        Some(Thread {
            address,
            ident: read.image.u64(address.checked_add(layout.thread_ident)?)?,
            native: layout.thread_native.and_then(|offset| read.image.u64(address.checked_add(offset)?)),
            frames: frames(read, address, frames_left),
        })
    };
    addresses.into_iter().filter_map(thread).collect()
}

fn frames(read: Reader<'_>, thread: u64, left: &mut usize) -> Vec<Frame> {
    let mut first = thread.checked_add(read.layout.thread_frame).and_then(|at| read.pointer(at));
    if let (Some(cframe), Some(offset)) = (first, read.layout.cframe_frame) {
        first = cframe.checked_add(offset).and_then(|at| read.pointer(at));
    }
    let addresses = chain(first, *left, |address| Frame::read(read, address)?.previous);
    *left -= addresses.len();
    addresses.into_iter().filter_map(|address| Frame::read(read, address)).filter(|frame| frame.code != 0).collect()
}

/// Follows links, at most `limit`, and not around in a circle (Brent's way of finding one: compare with a place that is set
/// anew at each power of two).
pub(crate) fn chain(first: Option<u64>, limit: usize, next: impl Fn(u64) -> Option<u64>) -> Vec<u64> {
    let mut places = Vec::new();
    let (mut at, mut mark) = (first, 0);
    while let Some(place) = at.filter(|place| *place != mark && places.len() < limit) {
        places.push(place);
        if places.len().is_power_of_two() {
            mark = place;
        }
        at = next(place);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_of_links_ends() {
        // 1 -> 2 -> ... -> 9 -> 5
        let next = |place: u64| Some(if place == 9 { 5 } else { place + 1 });
        let places = chain(Some(1), 1000, next);
        assert!(places.starts_with(&[1, 2, 3, 4, 5, 6, 7, 8, 9]) && places.len() < 30, "{places:?}");
        assert_eq!(chain(Some(1), 4, |place| Some(place + 1)), [1, 2, 3, 4]);
        assert_eq!(chain(None, 4, |_| None), [] as [u64; 0]);
        assert_eq!(chain(Some(3), 4, Some), [3]);
    }
}

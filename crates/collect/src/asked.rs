//! Single facts that are asked for before anything is watched: the command line of a process, the name of the machine.

use std::io;
use std::path::Path;

use crate::parse::nul_separated;
use crate::root::{Root, Scratch};
use crate::secrets::mask_secrets;

/// The most words of a command line.
const MOST_WORDS: usize = 4096;

/// The command line of a process, secrets masked.
///
/// # Errors
/// Those of reading it: [`io::ErrorKind::NotFound`] where there is no such process.
pub fn command_line(root: &Path, pid: u32) -> io::Result<Vec<String>> {
    let mut scratch = Scratch::default();
    let words = nul_separated(scratch.read(&Root::new(root).of(pid, "cmdline"))?, MOST_WORDS);
    let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
    Ok(mask_secrets(&words))
}

/// The name of the machine, empty where it is hidden.
#[must_use]
pub fn host(root: &Path) -> String {
    let mut scratch = Scratch::default();
    let name = scratch.read(&Root::new(root).proc("sys/kernel/hostname"));
    name.map_or_else(|_| String::new(), |name| String::from_utf8_lossy(name.trim_ascii()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowtide_testkit::{FakeProcess, FakeRoot};

    #[test]
    fn a_command_line_is_masked_and_a_process_that_is_not_there_is_told() {
        let root = FakeRoot::new();
        root.set(&FakeProcess::new(7, 1, 0.0, "python train.py --api-key 1234secret"));
        let line = command_line(root.path(), 7).expect("it is there");
        assert_eq!(line[..2], ["python", "train.py"]);
        assert!(!line.join(" ").contains("1234secret"), "{line:?}");
        assert_eq!(command_line(root.path(), 8).map_err(|error| error.kind()), Err(io::ErrorKind::NotFound));
        assert_eq!(host(root.path()), "");
    }
}

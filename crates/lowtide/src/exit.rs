//! Exit codes: a contract with scripts and CI.

use lowtide_model::ExitStatus;

/// All went well.
pub const DONE: u8 = 0;
/// Something that `--fail-on` names was found.
pub const FOUND: u8 = 1;
/// The command line or the configuration is wrong.
pub const USAGE: u8 = 2;
/// Nothing could be watched or read.
pub const CANNOT: u8 = 3;

/// What `run` passes on: the target's own code, or 128 + N where signal N ended it, as a shell reports it.
pub fn of_target(status: ExitStatus) -> u8 {
    match status {
        ExitStatus::Code(code) => code.rem_euclid(256).try_into().unwrap_or(u8::MAX),
        ExitStatus::Signal(signal) => (128 + signal).try_into().unwrap_or(u8::MAX),
        ExitStatus::Unknown => CANNOT,
    }
}

/// Why a command ended without doing what it was asked.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub code: u8,
    /// What, why, and what to do.
    pub text: String,
}

impl Failure {
    /// The command line or the configuration is wrong.
    pub fn usage(text: impl Into<String>) -> Self {
        Self { code: USAGE, text: text.into() }
    }

    /// Nothing could be watched or read.
    pub fn cannot(text: impl Into<String>) -> Self {
        Self { code: CANNOT, text: text.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_on_what_a_shell_would() {
        for (status, code) in
            [(ExitStatus::Code(0), 0), (ExitStatus::Code(255), 255), (ExitStatus::Signal(9), 137), (ExitStatus::Signal(15), 143)]
        {
            assert_eq!(of_target(status), code);
        }
    }
}

//! Why a pickle is not read.

/// A pickle that cannot be read, or must not be.
#[derive(Debug, thiserror::Error)]
pub enum PickleError {
    /// An opcode that runs code.
    #[error(
        "refused: {opcode} at byte {offset} {would}. lowtide reads data only and ran nothing of it; do not load this file in Python"
    )]
    Code {
        /// Its name in Python's `pickletools`.
        opcode: &'static str,
        /// Where it stands.
        offset: u64,
        /// What it would do: `would import os.system`.
        would: String,
    },
    /// An opcode of data that is not read.
    #[error("{opcode} at byte {offset} is not read: only plain data of the pickle protocols 2 to 5 is")]
    Unsupported {
        /// Its name in Python's `pickletools`.
        opcode: &'static str,
        /// Where it stands.
        offset: u64,
    },
    /// No opcode at all.
    #[error("damaged: byte {byte:#04x} at offset {offset} is no opcode of a pickle")]
    Unknown {
        /// What stands there.
        byte: u8,
        /// Where.
        offset: u64,
    },
    /// An opcode that does not fit what stands before it.
    #[error("damaged at byte {offset}: {what}")]
    Damaged {
        /// Where.
        offset: u64,
        /// What does not fit.
        what: &'static str,
    },
    /// It would take more memory than a file of its size has any need for.
    #[error("refused at byte {offset}: {what}")]
    TooMuch {
        /// Where.
        offset: u64,
        /// What is too much.
        what: &'static str,
    },
    /// The file itself cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
}

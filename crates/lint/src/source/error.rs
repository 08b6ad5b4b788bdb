//! Why a file could not be read as Python: one line each, with the place and the mend.

use std::path::PathBuf;

use thiserror::Error;

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// A file that was not understood.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SourceError {
    /// It cannot be read at all.
    #[error("{}: {problem}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        problem: String,
    },
    /// It is larger than what people write.
    #[error("{}: {} MiB of Python are not read (the most is {} MiB); was it made by a program?", path.display(), bytes >> 20, super::MAX_BYTES >> 20)]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: usize,
    },
    /// It is no text in the encoding that it claims.
    #[error("{}: {problem}", path.display())]
    Encoding {
        /// The file.
        path: PathBuf,
        /// What is wrong, and the mend.
        problem: String,
    },
    /// It is no notebook whose cells can be read.
    #[error("{}: {problem}", path.display())]
    Notebook {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        problem: String,
    },
    /// It nests deeper than CPython's own parser allows.
    #[error("{}:{line}: nested deeper than is read; split the expression or the block", path.display())]
    TooDeep {
        /// The file.
        path: PathBuf,
        /// Where, from 1.
        line: usize,
    },
    /// It is Python 2.
    #[error("{}:{line}: Python 2 ({what}); convert it to Python 3 to have it read", path.display())]
    Python2 {
        /// The file.
        path: PathBuf,
        /// Where it shows first, from 1.
        line: usize,
        /// By what.
        what: &'static str,
    },
    /// It is no Python.
    #[error("{}:{}:{}: syntax error: {message}", path.display(), at.line, at.column)]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where.
        at: Place,
        /// What the parser expected.
        message: String,
    },
}

impl SourceError {
    /// The file.
    #[must_use]
    pub fn path(&self) -> &PathBuf {
        match self {
            Self::Unreadable { path, .. }
            | Self::TooLarge { path, .. }
            | Self::Encoding { path, .. }
            | Self::Notebook { path, .. }
            | Self::TooDeep { path, .. }
            | Self::Python2 { path, .. }
            | Self::Syntax { path, .. } => path,
        }
    }
}

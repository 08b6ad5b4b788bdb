//! A run for other tools: SQLite, Parquet, CSV.
//!
//! All three have the columns of `tables`. A file is written under another name and renamed once it is whole, so that
//! half an export never looks like one. Memory does not grow with the run; its processes are kept to the end.

mod csv;
mod looks;
mod marks;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "sqlite")]
mod sqlite;
mod table;
mod tables;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

pub use self::csv::csv;
#[cfg(feature = "parquet")]
pub use self::parquet::parquet;
#[cfg(feature = "sqlite")]
pub use self::sqlite::sqlite;

use crate::error::RecordError;

/// For `map_err`: what an exporter's library says.
fn failed<E: std::fmt::Display>(out: &Path) -> impl Fn(E) -> RecordError + '_ {
    |error| RecordError::Export { path: out.to_owned(), reason: error.to_string() }
}

/// A file that takes its name when it is whole, and is gone if it never is.
struct Draft {
    path: PathBuf,
    out: PathBuf,
}

impl Draft {
    fn of(out: &Path) -> Self {
        let mut name = std::ffi::OsString::from(".");
        name.push(out.file_name().unwrap_or_default());
        name.push(format!(".{}.tmp", std::process::id()));
        Self { path: out.with_file_name(name), out: out.to_owned() }
    }

    fn create(out: &Path) -> Result<(Self, fs::File), RecordError> {
        let draft = Self::of(out);
        let file = fs::File::create(&draft.path).map_err(RecordError::io("create", out))?;
        Ok((draft, file))
    }

    fn done(self) -> Result<(), RecordError> {
        fs::rename(&self.path, &self.out).map_err(RecordError::io("write", &self.out))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Once renamed there is nothing of this name.
        let _ = fs::remove_file(&self.path);
    }
}

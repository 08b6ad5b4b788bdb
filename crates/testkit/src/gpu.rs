//! GPUs that are not there.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The control file of a fake driver, in a folder of its own; its format is that of `lowtide_collect::gpu::control`.
#[derive(Debug)]
pub struct FakeGpus {
    folder: TempDir,
}

impl FakeGpus {
    /// A driver that says this.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let gpus = Self { folder: tempfile::tempdir().unwrap() };
        gpus.set(text);
        gpus
    }

    /// Has it say something else from now on, in one step.
    pub fn set(&self, text: &str) {
        let draft = self.folder.path().join("draft");
        fs::write(&draft, text).unwrap();
        fs::rename(draft, self.file()).unwrap();
    }

    /// The control file.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("gpus")
    }

    /// The folder with the fake `libnvidia-ml.so.1`, for `LD_LIBRARY_PATH`; the library finds its control file by
    /// `LOWTIDE_FAKE_NVML`.
    #[must_use]
    pub fn library_folder() -> &'static Path {
        Path::new(env!("OUT_DIR"))
    }
}

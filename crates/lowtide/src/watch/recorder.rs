//! The recording of a run under watch. It may fail; the watching goes on.

use std::path::{Path, PathBuf};

use lowtide_model::{Event, RunInfo};
use lowtide_record::{RecordError, Writer, place};

/// Where the recording goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// `--no-record`.
    Nowhere,
    /// The first of these folders that takes it, under a name made from the run.
    FirstOf(Vec<PathBuf>),
    /// `--record FILE`.
    File(PathBuf),
}

impl Destination {
    /// `$LOWTIDE_DIR`, the project's own choice, the working folder, the user's state folder.
    pub fn by_default(of_project: Option<&Path>) -> Self {
        let working = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        let mut folders = place::folders(|name| std::env::var_os(name), &working);
        if let Some(folder) = of_project {
            let after_the_users = folders.iter().position(|one| *one == working).unwrap_or(0);
            folders.insert(after_the_users, folder.to_owned());
        }
        Self::FirstOf(folders)
    }

    /// The user's state folder alone.
    pub fn state_folder() -> Self {
        Self::FirstOf(place::state_folder(|name| std::env::var_os(name)).into_iter().collect())
    }
}

/// Writes, and remembers what went wrong.
pub struct Recorder {
    writer: Option<Writer>,
    /// What went wrong and is not told yet.
    trouble: Option<String>,
    /// Told once: a full disk would say the same at every tick.
    disk_trouble_told: bool,
}

impl Recorder {
    /// Opens the file.
    pub fn open(destination: Destination, info: &RunInfo) -> Self {
        let opened = match destination {
            Destination::Nowhere => Ok((None, None)),
            Destination::FirstOf(folders) => in_first_of(&folders, info),
            Destination::File(path) => {
                Writer::create(&path).map(|writer| (Some(writer), None)).map_err(|error| error.to_string())
            }
        };
        let (writer, trouble) = match opened {
            Ok(opened) => opened,
            Err(text) => (None, Some(format!("nothing is recorded: {text}"))),
        };
        if let Some(writer) = &writer {
            // Only so that `lowtide report` finds it without a name; it can be named as well.
            let _ = place::remember_newest(writer.path());
        }
        Self { writer, trouble, disk_trouble_told: false }
    }

    /// Takes an event in.
    pub fn append(&mut self, event: &Event) {
        if let Some(writer) = &mut self.writer {
            writer.append(event);
        }
    }

    /// Ends a tick; returns what went wrong and was not told yet.
    pub fn tick_done(&mut self) -> Option<String> {
        if let Some(writer) = &mut self.writer {
            writer.tick_done();
            let health = writer.health();
            if let Some(error) = health.error.filter(|_| !self.disk_trouble_told) {
                self.disk_trouble_told = true;
                self.trouble = Some(format!("the recording {} is not written: {error}", writer.path().display()));
            }
        }
        self.trouble.take()
    }

    /// The file.
    pub fn path(&self) -> Option<PathBuf> {
        self.writer.as_ref().map(|writer| writer.path().to_owned())
    }

    /// Writes what is left.
    pub fn finish(self) -> Result<(), String> {
        let Some(writer) = self.writer else { return Ok(()) };
        let path = writer.path().to_owned();
        match writer.finish().error {
            None => Ok(()),
            Some(error) => Err(format!("the recording {} is not complete: {error}", path.display())),
        }
    }
}

/// Tries one folder after the other: the working folder may be read-only.
fn in_first_of(folders: &[PathBuf], info: &RunInfo) -> Result<(Option<Writer>, Option<String>), String> {
    let texts = |refused: &[RecordError]| refused.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    match place::create(folders, info, std::process::id()) {
        Ok((writer, refused)) if refused.is_empty() => Ok((Some(writer), None)),
        Ok((writer, refused)) => {
            let elsewhere = format!("recorded in {}, since: {}", writer.path().display(), texts(&refused));
            Ok((Some(writer), Some(elsewhere)))
        }
        Err(refused) if refused.is_empty() => Err("there is no folder for it; name a file with --record".to_owned()),
        Err(refused) => Err(format!("{}; name a file with --record", texts(&refused))),
    }
}

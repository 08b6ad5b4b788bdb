//! Where recordings live, what they are called, and which one is the newest.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use lowtide_model::{RunInfo, civil};

use crate::error::RecordError;
use crate::writer::Writer;

/// In the state folder: the paths of the newest recordings, the newest last, a zero byte after each.
const NEWEST: &str = "newest";
/// How many paths are remembered, should the newest files be deleted.
const REMEMBERED: usize = 16;
/// The longest that a name's part may be, in bytes; file systems take 255 for the whole.
const MAX_PART: usize = 48;

/// lowtide's folder for what outlives a run: `$XDG_STATE_HOME/lowtide`, else `~/.local/state/lowtide` (XDG base directory
/// specification). `None` where there is neither.
#[must_use]
pub fn state_folder(var: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // The specification says that a relative path is to be ignored.
    let absolute = |name: &str| var(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(base.join("lowtide"))
}

/// The folders to try for a recording that was given no name, the best first: `$LOWTIDE_DIR`, the working folder, the
/// state folder.
#[must_use]
pub fn folders(var: impl Fn(&str) -> Option<OsString>, working: &Path) -> Vec<PathBuf> {
    let asked = var("LOWTIDE_DIR").filter(|path| !path.is_empty()).map(|path| working.join(path));
    asked.into_iter().chain([working.to_owned()]).chain(state_folder(var)).collect()
}

/// A recording's default name: command, host, rank, pid and time. `pid` is the recorder's where the run has no root.
#[must_use]
pub fn file_name(run: &RunInfo, pid: u32) -> String {
    let rank = run.rank.map(|rank| format!("rank{rank}"));
    let pid = if run.root_pid == 0 { pid } else { run.root_pid };
    let parts =
        [clean(&program(&run.command)), clean(&run.host), rank.unwrap_or_default(), pid.to_string(), utc(run.started_unix_s)];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("{}.lowtide", parts.join("-"))
}

/// Begins a recording in the first folder that takes it, under its default name. LOWTIDE_DIR and the state folder are made
/// where they do not exist. The errors are those of the folders before the one that took it.
pub fn create(folders: &[PathBuf], run: &RunInfo, pid: u32) -> Result<(Writer, Vec<RecordError>), Vec<RecordError>> {
    let mut errors = Vec::new();
    for folder in folders {
        let made = fs::create_dir_all(folder).map_err(RecordError::io("create the folder", folder));
        match made.and_then(|()| Writer::create(&folder.join(file_name(run, pid)))) {
            Ok(writer) => return Ok((writer, errors)),
            Err(error) => errors.push(error),
        }
    }
    Err(errors)
}

/// Remembers `recording` as the newest run of this user.
pub fn remember_newest(recording: &Path) -> Result<(), RecordError> {
    match state_folder(|name| env::var_os(name)) {
        Some(folder) => remember_newest_in(&folder, recording),
        None => Ok(()),
    }
}

/// The newest recording of this user that still exists.
#[must_use]
pub fn newest() -> Option<PathBuf> {
    newest_in(&state_folder(|name| env::var_os(name))?)
}

/// Recordings of this user that still exist, the newest first.
#[must_use]
pub fn recent() -> Vec<PathBuf> {
    let state = state_folder(|name| env::var_os(name));
    let all = state.map_or_else(Vec::new, |state| remembered(&state));
    all.into_iter().rev().filter(|path| path.is_file()).collect()
}

/// As [`remember_newest`], in a given state folder.
pub fn remember_newest_in(state: &Path, recording: &Path) -> Result<(), RecordError> {
    let recording = std::path::absolute(recording).map_err(RecordError::io("find the folder of", recording))?;
    fs::create_dir_all(state).map_err(RecordError::io("create the folder", state))?;
    let mut paths = remembered(state);
    paths.retain(|path| *path != recording);
    paths.push(recording);
    let skip = paths.len().saturating_sub(REMEMBERED);
    let mut bytes = Vec::new();
    for path in &paths[skip..] {
        bytes.extend_from_slice(path.as_os_str().as_bytes());
        bytes.push(0);
    }
    // Renamed into place, so that a reader never sees half of it. Of two runs that start at once, one may be forgotten.
    let temporary = state.join(format!(".{NEWEST}.{}.tmp", std::process::id()));
    fs::write(&temporary, bytes).map_err(RecordError::io("write", &temporary))?;
    let target = state.join(NEWEST);
    fs::rename(&temporary, &target).map_err(RecordError::io("write", &target))
}

/// As [`newest`], from a given state folder.
#[must_use]
pub fn newest_in(state: &Path) -> Option<PathBuf> {
    remembered(state).into_iter().rev().find(|path| path.is_file())
}

fn remembered(state: &Path) -> Vec<PathBuf> {
    let bytes = fs::read(state.join(NEWEST)).unwrap_or_default();
    let paths = bytes.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    paths.map(|path| PathBuf::from(OsString::from_vec(path.to_vec()))).collect()
}

/// What a person would call the command: the script of `python -u train.py`, the module of `torchrun -m pkg.train`, else the
/// program.
fn program(command: &[String]) -> String {
    let stem = |text: &str| Path::new(text).file_stem().and_then(OsStr::to_str).unwrap_or_default().to_owned();
    if let Some(script) = command.iter().skip(1).find(|word| word.ends_with(".py")) {
        return stem(script);
    }
    if let Some([_, module]) = command.windows(2).find(|pair| pair[0] == "-m") {
        return module.clone();
    }
    command.first().map_or(String::new(), |first| stem(first))
}

/// Only characters that need no quotes in a shell.
fn clean(text: &str) -> String {
    let kept: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '_' }).take(MAX_PART).collect();
    // A leading dot would hide the file.
    kept.trim_matches(['.', '_']).to_owned()
}

/// `20260131T235959Z`; empty where the time is unknown.
fn utc(unix_s: f64) -> String {
    // Four-digit years only.
    if !(1.0..253_402_300_800.0).contains(&unix_s) {
        return String::new();
    }
    let seconds = unix_s as i64;
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowtide_model::{Mode, Signal};

    fn run(command: &[&str]) -> RunInfo {
        RunInfo {
            version: String::new(),
            mode: Mode::Run,
            command: command.iter().map(ToString::to_string).collect(),
            host: "node-7.cluster".to_owned(),
            started_unix_s: 1_772_323_199.9,
            interval_s: 1.0,
            root_pid: 4242,
            rank: Some(3),
            signal: Signal::default(),
        }
    }

    #[test]
    fn names_say_what_where_and_when() {
        let name = |command: &[&str]| file_name(&run(command), 1);
        assert_eq!(name(&["python", "-u", "dir/train.py"]), "train-node_7.cluster-rank3-4242-20260228T235959Z.lowtide");
        assert!(name(&["torchrun", "-m", "pkg.train"]).starts_with("pkg.train-"));
        assert!(name(&["/bin/bash", "-c", "x"]).starts_with("bash-"));
        assert!(name(&["a/../..; rm -rf /"]).starts_with("node_7"), "{}", name(&["a/../..; rm -rf /"]));
        assert!(name(&[&"x".repeat(999)]).len() < 255);
        assert_eq!(
            file_name(&RunInfo { host: String::new(), started_unix_s: 0.0, rank: None, root_pid: 0, ..run(&[]) }, 9),
            "9.lowtide"
        );
    }

    #[test]
    fn folders_come_in_the_documented_order() {
        let env = |name: &str| match name {
            "LOWTIDE_DIR" => Some("runs".into()),
            "HOME" => Some("/home/u".into()),
            "XDG_STATE_HOME" => Some("not/absolute".into()),
            _ => None,
        };
        let expected: Vec<PathBuf> = vec!["/w/runs".into(), "/w".into(), "/home/u/.local/state/lowtide".into()];
        assert_eq!(folders(env, Path::new("/w")), expected);
        assert_eq!(folders(|_| None, Path::new("/w")), [Path::new("/w")]);
    }

    #[test]
    fn the_newest_that_exists_is_found() {
        let dir = tempfile::tempdir().expect("a folder");
        let state = dir.path().join("deep/state");
        assert_eq!(newest_in(&state), None);
        let files: Vec<PathBuf> = (0..20).map(|n| dir.path().join(format!("{n}\n.lowtide"))).collect();
        for file in &files {
            fs::write(file, b"").expect("write");
            remember_newest_in(&state, file).expect("remember");
        }
        assert_eq!(newest_in(&state).as_ref(), Some(&files[19]));
        fs::remove_file(&files[19]).expect("remove");
        assert_eq!(newest_in(&state).as_ref(), Some(&files[18]));
        assert_eq!(remembered(&state).len(), REMEMBERED);
    }
}

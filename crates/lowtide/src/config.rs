//! `lowtide.toml`, or `[tool.lowtide]` of `pyproject.toml`: what a project always wants of lowtide. The command line overrides
//! it.
//!
//! It is looked for from the working folder upward, and the nearest one counts. It can start no program
//! (`--on` is for the command line only), since it may lie in a folder that somebody else wrote.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use crate::duration::parse_duration;
use crate::expect::Expectation;
use crate::fail_on::FailOn;

/// The file's name.
pub const FILE_NAME: &str = "lowtide.toml";
/// The file of a Python project, whose table `[tool.lowtide]` says the same.
const PROJECT_FILE: &str = "pyproject.toml";

/// A larger file is something else.
const LARGEST: u64 = 1 << 20;

/// What the file says; `None` where it says nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// `expect = ["ram < 20 GiB", "no-oom"]`.
    pub expect: Vec<Expectation>,
    /// `fail-on = "leak,oom"`.
    pub fail_on: Option<FailOn>,
    /// `interval = "1s"`.
    pub interval: Option<Duration>,
    /// `record-dir = "runs"`: the folder of recordings, relative to the file's own folder.
    pub record_dir: Option<PathBuf>,
    /// `redact = true`.
    pub redact: bool,
    /// `[check]`: which rules and files.
    pub check: CheckConfig,
}

/// What a project says in `[check]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CheckConfig {
    /// Only these rules.
    pub select: Vec<String>,
    /// All but these.
    pub ignore: Vec<String>,
    /// Not the files whose path matches.
    pub exclude: Vec<String>,
}

/// The file as TOML; unknown names are errors, since a misspelt expectation would otherwise never be checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Raw {
    #[serde(default)]
    expect: Vec<Spanned<String>>,
    fail_on: Option<Spanned<String>>,
    interval: Option<Spanned<String>>,
    record_dir: Option<PathBuf>,
    #[serde(default)]
    redact: bool,
    #[serde(default)]
    check: CheckConfig,
}

/// A project's file, of which only our table is looked at.
#[derive(Deserialize)]
struct Project {
    #[serde(default)]
    tool: Tools,
}

#[derive(Default, Deserialize)]
struct Tools {
    lowtide: Option<Raw>,
}

/// Why there is no configuration.
#[derive(Debug)]
pub enum ConfigError {
    /// The file cannot be read.
    Read(PathBuf, io::Error),
    /// Something in it is not right.
    Wrong {
        /// The file.
        file: PathBuf,
        /// Line and column, from 1.
        place: (usize, usize),
        /// What is wrong and how to mend it.
        problem: String,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(file, error) => write!(f, "{}: {error}; mend the file, or name another one with --config", file.display()),
            Self::Wrong { file, place: (line, column), problem } => {
                write!(f, "{}:{line}:{column}: {problem}", file.display())
            }
        }
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// Reads the named file, else the nearest `lowtide.toml` or `pyproject.toml` with a `[tool.lowtide]` of the folder or one
    /// above it, else says nothing. Where both lie in one folder, `lowtide.toml` counts.
    pub fn load(named: Option<&Path>, folder: &Path) -> Result<Self, ConfigError> {
        if let Some(file) = named {
            return Ok(Self::read(file)?.unwrap_or_default());
        }
        let files = folder.ancestors().flat_map(|folder| [folder.join(FILE_NAME), folder.join(PROJECT_FILE)]);
        for file in files.filter(|file| file.is_file()) {
            if let Some(config) = Self::read(&file)? {
                return Ok(config);
            }
        }
        Ok(Self::default())
    }

    /// What a file says; none where it is a project's and has no table for lowtide.
    fn read(file: &Path) -> Result<Option<Self>, ConfigError> {
        let fail = |error| ConfigError::Read(file.to_path_buf(), error);
        let mut bytes = Vec::new();
        File::open(file).and_then(|open| open.take(LARGEST + 1).read_to_end(&mut bytes)).map_err(fail)?;
        if bytes.len() as u64 > LARGEST {
            return Err(fail(io::Error::other("it is larger than 1 MiB, so it is no configuration")));
        }
        let text = String::from_utf8(bytes).map_err(|_| fail(io::Error::other("it is not UTF-8 text")))?;
        let of_project = file.file_name().is_some_and(|name| name == PROJECT_FILE);
        // A project's file is for others, too: what is wrong in their parts is theirs to say.
        if of_project && !text.contains("lowtide") {
            return Ok(None);
        }
        if of_project { Self::parse_project(&text, file) } else { Self::parse(&text, file).map(Some) }
    }

    fn parse_project(text: &str, file: &Path) -> Result<Option<Self>, ConfigError> {
        let wrong = |span: Option<Range<usize>>, problem: String| wrong_at(text, file, span, problem);
        let project: Project = toml::from_str(text).map_err(|error| wrong(error.span(), clean(error.message())))?;
        project.tool.lowtide.map(|raw| Self::of(raw, file, &wrong)).transpose()
    }

    /// The text of a configuration; the file is for messages, and for what is relative to it.
    fn parse(text: &str, file: &Path) -> Result<Self, ConfigError> {
        let wrong = |span: Option<Range<usize>>, problem: String| wrong_at(text, file, span, problem);
        let raw: Raw = toml::from_str(text).map_err(|error| wrong(error.span(), clean(error.message())))?;
        Self::of(raw, file, &wrong)
    }

    fn of(raw: Raw, file: &Path, wrong: &impl Fn(Option<Range<usize>>, String) -> ConfigError) -> Result<Self, ConfigError> {
        let folder = file.parent().unwrap_or(Path::new(""));
        Ok(Self {
            expect: raw.expect.iter().map(|one| value(one, Expectation::from_str, wrong)).collect::<Result<_, _>>()?,
            fail_on: raw.fail_on.as_ref().map(|one| value(one, FailOn::from_str, wrong)).transpose()?,
            interval: raw.interval.as_ref().map(|one| value(one, parse_duration, wrong)).transpose()?,
            record_dir: raw.record_dir.map(|path| folder.join(path)),
            redact: raw.redact,
            check: raw.check,
        })
    }
}

/// Reads a string of the file as what it stands for.
fn value<T, E: fmt::Display>(
    raw: &Spanned<String>,
    read: impl Fn(&str) -> Result<T, E>,
    wrong: &impl Fn(Option<Range<usize>>, String) -> ConfigError,
) -> Result<T, ConfigError> {
    read(raw.get_ref()).map_err(|error| wrong(Some(raw.span()), error.to_string()))
}

fn wrong_at(text: &str, file: &Path, span: Option<Range<usize>>, problem: String) -> ConfigError {
    ConfigError::Wrong { file: file.to_path_buf(), place: place(text, span.map_or(0, |span| span.start)), problem }
}

/// Line and column of a byte, both from 1.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(at)];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// A parser's message on one line, fit for a terminal.
fn clean(message: &str) -> String {
    message.trim().replace('\n', ", ").chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::parse(text, Path::new("project/lowtide.toml"))
    }

    #[test]
    fn reads_all_of_it() {
        let config = parse(
            "# what CI holds every run to\nexpect = ['ram < 20 GiB', 'no-oom']\nfail-on = 'leak,expectation'\ninterval = '500ms'\nrecord-dir = 'runs'\nredact = true\n",
        )
        .expect("a right file");
        assert_eq!(config.expect.len(), 2);
        assert_eq!(config.fail_on, "leak,expectation".parse().ok());
        assert_eq!(config.interval, Some(Duration::from_millis(500)));
        assert_eq!(config.record_dir, Some(PathBuf::from("project/runs")));
        assert!(config.redact);
        assert_eq!(parse("").expect("an empty file"), Config::default());
    }

    #[test]
    fn errors_name_file_line_and_mend() {
        for (text, line_and_column, mend) in [
            ("\nexpect = [\n  'ram < 20 GiB',\n  'rma < 1 GiB',\n]", "4:3", "one of ram, gpu"),
            ("fail-on = 'leaks'", "1:11", "name one or more of leak"),
            ("# slow\ninterval = 'often'", "2:12", "write it as"),
            ("expcet = []", "1:1", "expected one of `expect`"),
            ("expect = 'ram < 1 GiB'", "1:10", "invalid type"),
            ("expect = [", "1:", "unclosed array"),
        ] {
            let shown = parse(text).expect_err(text).to_string();
            assert!(shown.starts_with(&format!("project/lowtide.toml:{line_and_column}")), "{shown}");
            assert!(shown.contains(mend), "{shown}");
        }
    }

    #[test]
    fn the_nearest_file_counts_and_a_named_one_before_it() {
        let root = tempfile::tempdir().expect("a folder");
        let deep = root.path().join("a/b/c");
        fs::create_dir_all(&deep).expect("folders");
        fs::write(root.path().join("lowtide.toml"), "interval = '1s'").expect("a file");
        fs::write(root.path().join("a/lowtide.toml"), "interval = '2s'").expect("a file");
        fs::write(root.path().join("other.toml"), "interval = '3s'").expect("a file");
        let interval = |named: Option<&Path>| Config::load(named, &deep).expect("a configuration").interval;
        assert_eq!(interval(None), Some(Duration::from_secs(2)));
        assert_eq!(interval(Some(&root.path().join("other.toml"))), Some(Duration::from_secs(3)));
        let missing = Config::load(Some(&root.path().join("none.toml")), &deep).expect_err("no such file").to_string();
        assert!(missing.contains("none.toml") && missing.contains("--config"), "{missing}");
    }

    #[test]
    fn a_projects_file_counts_where_it_speaks_of_lowtide() {
        let root = tempfile::tempdir().expect("a folder");
        let deep = root.path().join("a/b");
        fs::create_dir_all(&deep).expect("folders");
        let interval =
            |folder: &Path| Config::load(None, folder).map(|config| config.interval).map_err(|error| error.to_string());
        fs::write(root.path().join("lowtide.toml"), "interval = '1s'").expect("a file");
        fs::write(root.path().join("a/pyproject.toml"), "[project]\nname = 'lowtide-user'\n[tool.ruff]\nx = 1\n")
            .expect("a file");
        assert_eq!(interval(&deep), Ok(Some(Duration::from_secs(1))), "it says nothing");
        let own = "[tool.lowtide]\ninterval = '2s'\n[tool.lowtide.check]\nselect = ['LT1']\n";
        fs::write(root.path().join("a/pyproject.toml"), own).expect("a file");
        assert_eq!(interval(&deep), Ok(Some(Duration::from_secs(2))));
        assert_eq!(Config::load(None, &deep).expect("right").check.select, ["LT1"]);
        fs::write(root.path().join("a/lowtide.toml"), "interval = '3s'").expect("a file");
        assert_eq!(interval(&deep), Ok(Some(Duration::from_secs(3))), "beside it");
        fs::write(deep.join("pyproject.toml"), "[tool.lowtide]\nintervall = '2s'\n").expect("a file");
        assert!(interval(&deep).expect_err("misspelt").contains("pyproject.toml:2:1: unknown field"));
    }

    #[test]
    fn a_huge_file_is_refused() {
        let root = tempfile::tempdir().expect("a folder");
        let file = root.path().join("lowtide.toml");
        fs::write(&file, "#".repeat(LARGEST as usize + 1)).expect("a file");
        assert!(Config::load(Some(&file), root.path()).expect_err("too large").to_string().contains("1 MiB"));
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,60}|(expect|fail-on|interval|x) ?= ?[\\[\\]'\"a-z<0-9\n ]{0,40}") {
            if let Err(error) = parse(&text) {
                prop_assert!(error.to_string().starts_with("project/lowtide.toml:"));
            }
        }
    }
}

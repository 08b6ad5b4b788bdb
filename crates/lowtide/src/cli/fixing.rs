//! `lowtide check --fix`: the fixes that rules offer, written into the files or shown as a diff.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use lowtide_causes::{Finding, Fixed, fix_part};
use lowtide_lint::fix::Safety;
use lowtide_lint::program::Files;
use lowtide_lint::source::decode;

use crate::diff::unified;
use crate::exit::Failure;
use crate::rules::Rules;
use crate::terminal::say;

/// What to do about what can be fixed.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct FixArgs {
    /// Make the fixes that change nothing but the memory
    #[arg(long)]
    fix: bool,
    /// Make the others, too: look at what they did
    #[arg(long)]
    unsafe_fixes: bool,
    /// Show the fixes as a diff and write nothing
    #[arg(long)]
    diff: bool,
}

impl FixArgs {
    /// Whether anything is to be fixed, be it only shown.
    pub fn any(self) -> bool {
        self.fix || self.unsafe_fixes || self.diff
    }

    /// Whether files stay as they are.
    pub fn only_shows(self) -> bool {
        self.diff
    }

    /// Whether a finding's fix is to be made.
    pub fn wants(self, finding: &Finding) -> bool {
        finding.fix.as_ref().is_some_and(|fix| self.unsafe_fixes || fix.safety == Safety::Safe)
    }

    /// What the fixes make of the files of all parts.
    pub fn fixed(self, files: &dyn Files, parts: &[&[PathBuf]], rules: &Rules) -> Vec<Fixed> {
        let wanted = |finding: &Finding| rules.want(finding) && self.wants(finding);
        parts.iter().flat_map(|part| fix_part(files, part, &wanted)).collect()
    }
}

/// All fixes as one diff that `patch -p0` takes.
pub fn diff(fixed: &[Fixed]) -> String {
    fixed.iter().fold(String::new(), |mut all, one| {
        if let (Ok(before), Ok(after)) = (decode(&one.before), decode(&one.after)) {
            all += &unified(&one.path.display().to_string(), &before, &after);
        }
        all
    })
}

/// Writes fixed files, each as a whole or not at all, and says what was fixed.
pub fn write(fixed: &[Fixed]) -> Result<(), Failure> {
    let mut failed = None;
    for one in fixed {
        match replace(&one.path, &one.before, &one.after) {
            Ok(()) => say(&format!("{}: fixed {}", one.path.display(), counted(one))),
            Err(error) => {
                say(&format!("{}: not fixed: {error}", one.path.display()));
                failed = Some(one.path.clone());
            }
        }
    }
    match failed {
        Some(path) => {
            Err(Failure::cannot(format!("not every file could be written, {} among them; run it again", path.display())))
        }
        None => Ok(()),
    }
}

/// `2 of LT101, 1 of LT103`.
fn counted(fixed: &Fixed) -> String {
    let mut ids: Vec<&str> = fixed.causes.iter().map(|cause| cause.id).collect();
    ids.sort_unstable();
    let mut text = String::new();
    for same in ids.chunk_by(|one, other| one == other) {
        let comma = if text.is_empty() { "" } else { ", " };
        let _ = write!(text, "{comma}{} of {}", same.len(), same[0]);
    }
    text
}

/// Puts other bytes in a file's place, if it still holds what was read. Where that fails the file is what it was.
fn replace(path: &Path, before: &[u8], after: &[u8]) -> io::Result<()> {
    // The file that a link means, not the link.
    let path = path.canonicalize()?;
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Err(io::ErrorKind::InvalidInput.into()) };
    let beside = folder.join(format!(".{}.lowtide-{}", name.to_string_lossy(), std::process::id()));
    let mut new = File::options().write(true).create_new(true).open(&beside)?;
    let written = (|| {
        new.write_all(after)?;
        new.set_permissions(path.metadata()?.permissions())?;
        new.sync_all()?;
        if std::fs::read(&path)? != before {
            return Err(io::Error::other("somebody else has changed it meanwhile; run it again"));
        }
        std::fs::rename(&beside, &path)
    })();
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_or_not_at_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("a.py"), folder.path().join("b.py"));
        std::fs::write(&file, "old").expect("a file");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("its mode");
        std::os::unix::fs::symlink("a.py", &link).expect("a link");
        let error = replace(&link, b"other", b"new").expect_err("it was changed");
        assert!(error.to_string().contains("meanwhile"), "{error}");
        assert_eq!(std::fs::read(&file).expect("the file"), b"old");
        replace(&link, b"old", b"new").expect("written");
        assert_eq!(std::fs::read(&file).expect("the file"), b"new");
        assert!(link.is_symlink());
        assert_eq!(file.metadata().expect("its mode").permissions().mode() & 0o777, 0o755);
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 2, "nothing is left beside it");
    }
}

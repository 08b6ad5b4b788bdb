//! Makes the fixes that rules offer: in passes, each on what the last one left, until nothing is left to fix.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use lowtide_lint::fix::{Fix, apply};
use lowtide_lint::program::Files;
use lowtide_lint::source::{Source, decode_as_written};

use crate::rules::check_part;
use crate::{Cause, Finding};

/// Passes over one part; each makes all fixes that do not overlap.
const MAX_PASSES: usize = 8;

/// A file with its fixes made.
#[derive(Debug)]
pub struct Fixed {
    /// The file.
    pub path: PathBuf,
    /// Its bytes as they were read.
    pub before: Vec<u8>,
    /// Its bytes with all fixes made.
    pub after: Vec<u8>,
    /// What was fixed: the causes, each as often as there were findings of it.
    pub causes: Vec<&'static Cause>,
}

/// Files with some of them changed in memory.
struct Changed<'f> {
    files: &'f dyn Files,
    changed: BTreeMap<PathBuf, Fixed>,
}

impl Files for Changed<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.changed.get(path).map_or_else(|| self.files.read(path), |fixed| Ok(fixed.after.clone()))
    }

    fn is_file(&self, path: &Path) -> bool {
        self.files.is_file(path)
    }
}

/// Makes the fixes of the findings that are wanted, in the files of one part. Nothing is written.
///
/// A fix that would leave no Python, or the finding, is not made.
#[must_use]
pub fn fix_part(files: &dyn Files, part: &[PathBuf], wanted: &dyn Fn(&Finding) -> bool) -> Vec<Fixed> {
    let mut changed = Changed { files, changed: BTreeMap::new() };
    // Every file that will be changed is read once and for all.
    let first = check_part(files, part).findings;
    for path in by_file(&first, wanted).into_keys().cloned() {
        if let Ok(bytes) = files.read(&path) {
            let fixed = Fixed { path: path.clone(), before: bytes.clone(), after: bytes, causes: Vec::new() };
            changed.changed.insert(path, fixed);
        }
    }
    let mut last: BTreeMap<PathBuf, (Vec<u8>, usize, usize)> = BTreeMap::new();
    let mut stuck: Vec<PathBuf> = Vec::new();
    for pass_number in 0..=MAX_PASSES {
        let findings = check_part(&changed, part).findings;
        let fixable = by_file(&findings, wanted);
        // A pass that took no finding away is taken back.
        for (path, (bytes, findings, causes)) in std::mem::take(&mut last) {
            if fixable.get(&path).map_or(0, Vec::len) >= findings
                && let Some(fixed) = changed.changed.get_mut(&path)
            {
                fixed.after = bytes;
                fixed.causes.truncate(causes);
                stuck.push(path);
            }
        }
        // The last look only tells whether the last pass was right.
        for (path, findings) in fixable.into_iter().filter(|_| pass_number < MAX_PASSES) {
            let Some(fixed) = changed.changed.get_mut(path).filter(|_| !stuck.contains(path)) else { continue };
            let before = (fixed.after.clone(), findings.len(), fixed.causes.len());
            if pass(fixed, &findings) {
                last.insert(path.clone(), before);
            } else {
                stuck.push(path.clone());
            }
        }
        if last.is_empty() {
            break;
        }
    }
    changed.changed.into_values().filter(|fixed| fixed.before != fixed.after).collect()
}

/// The findings that are wanted and have a fix, by their file.
fn by_file<'f>(findings: &'f [Finding], wanted: &dyn Fn(&Finding) -> bool) -> BTreeMap<&'f PathBuf, Vec<&'f Finding>> {
    let mut files: BTreeMap<&PathBuf, Vec<&Finding>> = BTreeMap::new();
    for finding in findings.iter().filter(|finding| finding.fix.is_some() && !finding.ignored && wanted(finding)) {
        files.entry(&finding.site.file).or_default().push(finding);
    }
    files
}

/// Makes those fixes of one file that do not overlap; whether the file is still Python.
fn pass(fixed: &mut Fixed, findings: &[&Finding]) -> bool {
    let Ok((text, written)) = decode_as_written(&fixed.after) else { return false };
    // What cannot be written as it was read is left alone.
    if written.encode(&text).as_ref() != Some(&fixed.after) {
        return false;
    }
    let fixes: Vec<&Fix> = findings.iter().filter_map(|finding| finding.fix.as_ref()).collect();
    let (text, made) = apply(&text, &fixes);
    let Some(bytes) = written.encode(&text).filter(|bytes| Source::parse(&fixed.path, bytes).is_ok()) else { return false };
    fixed.after = bytes;
    fixed.causes.extend(made.iter().map(|which| findings[*which].cause));
    !made.is_empty()
}

//! The lines of source around those that a report names, for pages.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use lowtide_model::{Finding, Report, Site};
use lowtide_report::Context;

/// Lines before and after.
const AROUND: usize = 5;
/// The most of a file that is read, and the most files.
const MOST_BYTES: u64 = 4 << 20;
const MOST: usize = 64;

/// What stands around the lines that the findings name, where their files are here and are what they were.
pub fn around(report: &Report) -> Vec<Context> {
    report.findings.iter().flat_map(Finding::lines).filter_map(read).take(MOST).collect()
}

/// A recording may come from anybody and name any file: only Python source is shown, and only where the line that it names
/// says what the recording says, so that a page shows nothing that its reader does not expect.
fn read(site: &Site) -> Option<Context> {
    let path = Path::new(&site.file);
    if !path.extension().is_some_and(|ending| ending == "py" || ending == "pyw") || site.text.trim().is_empty() {
        return None;
    }
    // Neither a pipe nor a device, which may never end.
    let here = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    if here.len() > MOST_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text.lines().collect();
    let at = (site.line as usize).checked_sub(1)?;
    if all.get(at)?.trim() != site.text.trim() {
        return None;
    }
    let first = at.saturating_sub(AROUND);
    let lines = all[first..].iter().take(at - first + 1 + AROUND).map(|line| (*line).to_owned()).collect();
    Some(Context { file: site.file.clone(), line: site.line, first: first as u32 + 1, lines })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn site(path: &Path, line: u32, text: &str) -> Site {
        Site { file: path.display().to_string(), line, column: None, text: text.to_owned() }
    }

    #[test]
    fn shows_what_stands_around_a_line_that_is_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("train.py");
        std::fs::write(&file, (1..=20).map(|n| format!("line {n}\n")).collect::<String>()).unwrap();
        let context = read(&site(&file, 8, "line 8")).unwrap();
        assert_eq!((context.first, context.lines.len()), (3, 11));
        assert_eq!(context.lines[5], "line 8");
        let context = read(&site(&file, 20, "line 20")).unwrap();
        assert_eq!((context.first, context.lines.len()), (15, 6));
        assert_eq!(read(&site(&file, 8, "something else")), None);
        assert_eq!(read(&site(&file, 0, "line 1")), None);
        assert_eq!(read(&site(&file, 21, "line 21")), None);
    }

    #[test]
    fn what_is_no_source_is_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secrets.txt");
        std::fs::write(&file, "key").unwrap();
        assert_eq!(read(&site(&file, 1, "key")), None);
        assert_eq!(read(&site(&folder.path().join("none.py"), 1, "key")), None);
    }
}

//! The lines around a finding of `lowtide check`, read again when it is shown: few files have one.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use lowtide_lint::program::Files;
use lowtide_model::Site;
use lowtide_report::Frame;

/// Lines before the finding's, and behind it.
const AROUND: (u32, u32) = (2, 1);

/// Reads lines around places; findings come file by file, so one file is kept.
pub struct Frames<'a> {
    files: &'a dyn Files,
    last: RefCell<Option<(PathBuf, Vec<String>)>>,
}

impl<'a> Frames<'a> {
    pub fn of(files: &'a dyn Files) -> Self {
        Self { files, last: RefCell::default() }
    }

    /// The lines around a place; none where the file does not say there what was found (a notebook's cell, a name that was
    /// redacted, a file that was just changed).
    pub fn around(&self, site: &Site) -> Option<Frame> {
        let mut last = self.last.borrow_mut();
        if last.as_ref().is_none_or(|(path, _)| path != Path::new(&site.file)) {
            let path = PathBuf::from(&site.file);
            let bytes = self.files.read(&path).ok()?;
            let lines = String::from_utf8_lossy(&bytes).lines().map(|line| line.trim_end().to_owned()).collect();
            *last = Some((path, lines));
        }
        let (_, lines) = last.as_ref()?;
        let here = lines.get(site.line.checked_sub(1)? as usize)?;
        // The finding's text is cut where it is very long.
        if site.text.is_empty() || !here.trim_start().starts_with(site.text.trim_end()) {
            return None;
        }
        let first = site.line.saturating_sub(AROUND.0).max(1);
        let end = (site.line + AROUND.1).min(u32::try_from(lines.len()).unwrap_or(u32::MAX));
        Some(Frame { first, lines: lines[first as usize - 1..end as usize].to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use lowtide_lint::program::InMemory;

    use super::*;

    #[test]
    fn two_lines_before_and_one_behind_of_a_file_that_says_the_same_still() {
        let text = "a = []\nfor x in y:\n    a.append(x)\n";
        let files = InMemory([(PathBuf::from("a.py"), text.into())].into());
        let frames = Frames::of(&files);
        let site = |line, text: &str| Site { file: "a.py".to_owned(), line, column: Some(1), text: text.to_owned() };
        let lines = |frame: Frame| (frame.first, frame.lines.join("|"));
        assert_eq!(frames.around(&site(3, "a.append(x)")).map(lines), Some((1, "a = []|for x in y:|    a.append(x)".to_owned())));
        assert_eq!(frames.around(&site(1, "a = []")).map(lines), Some((1, "a = []|for x in y:".to_owned())));
        assert_eq!(frames.around(&site(2, "a.append(x)")), None, "another line stands there");
        assert_eq!(frames.around(&site(9, "a = []")), None);
        assert_eq!(frames.around(&Site { file: "b.py".to_owned(), ..site(1, "a = []") }), None);
    }
}

//! One Python file: its bytes as text, its tree, and where in it an offset lies.
//!
//! A file that cannot be read as Python is refused with one line that says where and why. Everything that could make a
//! hostile file expensive (size, nesting, encodings that do not end) is refused before the parser sees it.

mod cell_lines;
mod decode;
mod error;
mod ignores;
mod nesting;
mod notebook;
mod python2;

use std::path::{Path, PathBuf};

use ruff_python_ast::{ModModule, PySourceType};
use ruff_source_file::LineIndex;
use ruff_text_size::{TextRange, TextSize};

pub use cell_lines::line_of;
pub use decode::{Written, decode, decode_as_written};
pub use error::{Place, SourceError};
pub use ignores::Ignores;

/// The largest file that is read, in bytes. The largest of CPython's own library has 0.5 MiB, the largest of torch's 1.5.
pub const MAX_BYTES: usize = 4 << 20;

/// A Python file that was understood.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    text: String,
    index: LineIndex,
    /// Without its tokens, which take more than the text: few files are ever asked for them.
    tree: ModModule,
    /// Of a notebook: the line that each cell begins at, and its number.
    cells: Vec<notebook::Cell>,
}

impl Source {
    /// Reads a file's bytes as Python 3 of any version. The path is only for messages.
    ///
    /// # Errors
    /// Where the bytes are no text in the encoding that they claim, too large, nested deeper than CPython allows, or no
    /// Python 3.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, SourceError> {
        if bytes.len() > MAX_BYTES {
            return Err(SourceError::TooLarge { path: path.to_owned(), bytes: bytes.len() });
        }
        let (text, cells) = text_of(path, bytes)?;
        if let Some(line) = nesting::too_deep(&text) {
            return Err(SourceError::TooDeep { path: path.to_owned(), line });
        }
        let parsed = ruff_python_parser::parse_unchecked_source(&text, kind(path));
        let index = LineIndex::from_source_text(&text);
        if let Some(error) = parsed.errors().first() {
            let at = place(&index, &text, error.location.start());
            if let (Some(cell), line) = notebook::place(&cells, at.line) {
                let problem = format!("cell {cell}, line {line}: {}", error.error);
                return Err(SourceError::Notebook { path: path.to_owned(), problem });
            }
            return Err(match python2::sign(&text, &index, parsed.errors()) {
                Some((line, what)) => SourceError::Python2 { path: path.to_owned(), line, what },
                None => SourceError::Syntax { path: path.to_owned(), at, message: error.error.to_string() },
            });
        }
        Ok(Self { path: path.to_owned(), text, index, tree: parsed.into_syntax(), cells })
    }

    /// The path that it was read from.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its text, without a byte order mark.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its tree.
    #[must_use]
    pub fn tree(&self) -> &ModModule {
        &self.tree
    }

    /// Line and column of an offset, both from 1; columns count characters.
    #[must_use]
    pub fn place(&self, offset: TextSize) -> Place {
        place(&self.index, &self.text, offset)
    }

    /// The cell of a notebook that a line of the text lies in, and the line there; of other files only the line.
    #[must_use]
    pub fn in_cell(&self, line: usize) -> (Option<usize>, usize) {
        notebook::place(&self.cells, line)
    }

    /// Whether the text is that of a notebook's cells, and not the file's own.
    #[must_use]
    pub fn is_notebook(&self) -> bool {
        is_notebook(&self.path)
    }

    /// The text of a part, empty where it lies outside.
    #[must_use]
    pub fn slice(&self, range: TextRange) -> &str {
        self.text.get(range.start().to_usize()..range.end().to_usize()).unwrap_or_default()
    }

    /// The line that an offset lies in, without its indentation and its end.
    #[must_use]
    pub fn line_text(&self, offset: TextSize) -> &str {
        self.slice(self.line_range(offset)).trim()
    }

    /// The line that an offset lies in, with its end.
    #[must_use]
    pub fn line_range(&self, offset: TextSize) -> TextRange {
        let offset = offset.min(TextSize::of(&self.text));
        self.index.line_range(self.index.line_index(offset), &self.text)
    }

    /// How many lines it has.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.index.line_count()
    }
}

fn kind(path: &Path) -> PySourceType {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("ipynb") => PySourceType::Ipynb,
        Some("pyi") => PySourceType::Stub,
        _ => PySourceType::Python,
    }
}

fn is_notebook(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "ipynb")
}

fn text_of(path: &Path, bytes: &[u8]) -> Result<(String, Vec<notebook::Cell>), SourceError> {
    if is_notebook(path) {
        notebook::read(bytes).map_err(|problem| SourceError::Notebook { path: path.to_owned(), problem })
    } else {
        let text = decode(bytes).map_err(|problem| SourceError::Encoding { path: path.to_owned(), problem })?;
        Ok((text, Vec::new()))
    }
}

fn place(index: &LineIndex, text: &str, offset: TextSize) -> Place {
    let at = index.line_column(offset.min(TextSize::of(text)), text);
    Place { line: at.line.get(), column: at.column.get() }
}

#[cfg(test)]
mod tests;

//! Jupyter notebooks: the code of all cells as one text, with what is no Python left blank.
//!
//! The format is that of nbformat 4 (<https://nbformat.readthedocs.io/en/latest/format_description.html>), and 3, whose cells
//! lie one level deeper.

use serde::Deserialize;

/// A cell of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    /// The line of the text that it begins at, from 1.
    first: usize,
    /// Which cell of the notebook it is, from 1; those of text count, too.
    number: usize,
}

#[derive(Deserialize)]
struct Notebook {
    cells: Option<Vec<RawCell>>,
    #[serde(default)]
    worksheets: Vec<Worksheet>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Worksheet {
    #[serde(default)]
    cells: Vec<RawCell>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    kernelspec: Option<Kernel>,
}

#[derive(Deserialize)]
struct Kernel {
    language: Option<String>,
}

#[derive(Deserialize)]
struct RawCell {
    cell_type: String,
    #[serde(alias = "input")]
    source: Option<Text>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    Whole(String),
    Lines(Vec<String>),
}

/// The text of all cells of code, and where each begins.
///
/// # Errors
/// One sentence: it is no JSON, no notebook, or one in another language.
pub(super) fn read(bytes: &[u8]) -> Result<(String, Vec<Cell>), String> {
    let notebook: Notebook = serde_json::from_slice(bytes)
        .map_err(|error| format!("no notebook that can be read: {error}; open it in Jupyter and save it again"))?;
    let language = notebook.metadata.kernelspec.and_then(|kernel| kernel.language);
    if let Some(other) = language.filter(|language| !language.eq_ignore_ascii_case("python")) {
        let other: String = other.chars().take(40).filter(|letter| !letter.is_control()).collect();
        return Err(format!("a notebook in {other}; only those in Python are read"));
    }
    let raw: Vec<RawCell> = match notebook.cells {
        Some(cells) => cells,
        None if !notebook.worksheets.is_empty() => notebook.worksheets.into_iter().flat_map(|sheet| sheet.cells).collect(),
        None => return Err("no notebook that can be read: it has no cells; open it in Jupyter and save it again".to_owned()),
    };
    let (mut text, mut line, mut cells) = (String::new(), 1, Vec::new());
    for (cell, number) in raw.into_iter().zip(1..).filter(|(cell, _)| cell.cell_type == "code") {
        let source = match cell.source {
            Some(Text::Whole(text)) => text,
            Some(Text::Lines(lines)) => lines.concat(),
            None => continue,
        };
        cells.push(Cell { first: line, number });
        let python = python(&source.replace("\r\n", "\n").replace('\r', "\n"));
        line += python.matches('\n').count();
        text += &python;
    }
    Ok((text, cells))
}

/// A line of the text as one of its cell; what is of no cell stays what it is.
pub(super) fn place(cells: &[Cell], line: usize) -> (Option<usize>, usize) {
    match cells.partition_point(|cell| cell.first <= line).checked_sub(1) {
        Some(at) => (Some(cells[at].number), line - cells[at].first + 1),
        None => (None, line),
    }
}

/// The source of a cell that ends in a new line, with a comment where a line is no Python. Magics of the line (`%time f()`,
/// `!ls`) are left to the parser, which knows them.
fn python(source: &str) -> String {
    let first = source.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let magic = first.strip_prefix("%%").map(|rest| rest.split_whitespace().next().unwrap_or_default());
    let foreign = magic.is_some_and(|magic| !RUN_PYTHON.contains(&magic));
    let mut text = String::with_capacity(source.len() + 1);
    for line in source.lines() {
        let blank = foreign || line.trim_start().starts_with("%%");
        text.push_str(if blank { "" } else { line });
        text.push('\n');
    }
    text
}

/// Magics of a cell whose rest is Python that runs here.
const RUN_PYTHON: &[&str] = &["time", "timeit", "capture", "prun", "python", "python3", "memit", "mprun", "heat"];

#[cfg(test)]
mod tests {
    use super::*;

    fn notebook(cells: &[(&str, &str)]) -> Vec<u8> {
        let cells: Vec<_> =
            cells.iter().map(|(kind, source)| serde_json::json!({"cell_type": kind, "source": source, "outputs": []})).collect();
        serde_json::to_vec(&serde_json::json!({"cells": cells, "nbformat": 4})).unwrap_or_default()
    }

    #[test]
    fn cells_of_code_are_one_text_and_lines_find_back() {
        let bytes = notebook(&[
            ("markdown", "# hi"),
            ("code", "a = 1\nb = 2"),
            ("code", ""),
            ("code", "%%bash\nls -l\n"),
            ("code", "%%time\nc = 3\n"),
        ]);
        let (text, cells) = read(&bytes).expect("a notebook");
        assert_eq!(text, "a = 1\nb = 2\n\n\n\nc = 3\n");
        assert_eq!(place(&cells, 2), (Some(2), 2));
        assert_eq!(place(&cells, 6), (Some(5), 2));
        assert_eq!(place(&[], 6), (None, 6));
    }

    #[test]
    fn what_is_none_is_said_in_one_line() {
        for (bytes, said) in [
            (&b"{\"cells\": ["[..], "EOF"),
            (b"{\"nbformat\": 4}", "no cells"),
            (b"[]", "save it again"),
            (b"\xff\xfe", "save it again"),
            (b"{\"cells\": [], \"metadata\": {\"kernelspec\": {\"language\": \"R\"}}}", "a notebook in R"),
        ] {
            let problem = read(bytes).expect_err(said);
            assert!(problem.contains(said) && !problem.contains('\n'), "{problem}");
        }
    }

    #[test]
    fn old_notebooks_have_worksheets_and_lists_of_lines() {
        let old = br#"{"worksheets": [{"cells": [{"cell_type": "code", "input": ["x = 1\n", "y = 2"]}]}]}"#;
        assert_eq!(read(old).map(|(text, _)| text).as_deref(), Ok("x = 1\ny = 2\n"));
    }
}

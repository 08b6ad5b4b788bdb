//! In which line of a notebook's file a line of one of its cells stands: code hosts and editors know the file, not its cells.
//!
//! A file of JSON has a line for each string of a cell's list, or one for all of a cell that is a single string.

/// What the scanner is inside of.
enum Inside<'b> {
    /// An object, with the last key that was read.
    Object(&'b [u8]),
    /// An array.
    Array,
}

/// The line of the file, from 1, at which a line of a cell stands (both from 1; cells of text count, too).
///
/// None where the file has no such cell, and where it is no JSON.
#[must_use]
pub fn line_of(file: &[u8], cell: usize, line: usize) -> Option<usize> {
    let mut inside: Vec<Inside<'_>> = Vec::new();
    let (mut at, mut here, mut cells, mut before) = (0, 1, 0, 0);
    while let Some(byte) = file.get(at) {
        match byte {
            b'\n' => here += 1,
            b'{' => {
                cells += usize::from(is_cells(&inside));
                inside.push(Inside::Object(b""));
            }
            b'[' => inside.push(Inside::Array),
            b'}' | b']' => {
                inside.pop();
            }
            b'"' => {
                let text = string(file.get(at + 1..)?)?;
                let end = at + 1 + text.len();
                let is_key = file.get(end + 1..)?.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
                if is_key {
                    if let Some(Inside::Object(key)) = inside.last_mut() {
                        *key = text;
                    }
                } else if cells == cell && is_source(&inside) {
                    let lines = breaks(text);
                    let open = [&b"\\n"[..], b"\\r"].iter().all(|end| !text.ends_with(end));
                    if before + lines + usize::from(open) >= line {
                        return Some(here);
                    }
                    before += lines;
                }
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// `{"cells": [`, also in one of `worksheets`: the next object is a cell.
fn is_cells(inside: &[Inside<'_>]) -> bool {
    matches!(
        inside,
        [Inside::Object(b"cells"), Inside::Array]
            | [Inside::Object(b"worksheets"), Inside::Array, Inside::Object(b"cells"), Inside::Array]
    )
}

/// Whether a string here is source of a cell, or a part of it.
fn is_source(inside: &[Inside<'_>]) -> bool {
    let (around, own) = match inside {
        [around @ .., Inside::Object(key), Inside::Array] | [around @ .., Inside::Object(key)] => (around, *key),
        _ => return false,
    };
    matches!(own, b"source" | b"input") && is_cells(around)
}

/// The text of a string up to its closing quote, as it is written.
fn string(rest: &[u8]) -> Option<&[u8]> {
    let mut escaped = false;
    let end = rest.iter().position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    })?;
    rest.get(..end)
}

/// The ends of lines in a string as it is written: `\n`, `\r`, and both together as one.
fn breaks(text: &[u8]) -> usize {
    let (mut at, mut count) = (0, 0);
    while let Some(byte) = text.get(at) {
        if *byte == b'\\' {
            match text.get(at + 1) {
                Some(b'r') if text.get(at + 2..).is_some_and(|rest| rest.starts_with(b"\\n")) => {
                    count += 1;
                    at += 2;
                }
                Some(b'n' | b'r') => count += 1,
                _ => {}
            }
            at += 1;
        }
        at += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "source": ["# \"cells\": [\n", "text"]
  },
  {
   "cell_type": "code",
   "outputs": [{"data": {"source": "no"}}],
   "source": [
    "import torch\n",
    "a = '\\n'\n",
    "b = 1\nc = 2\n",
    "d = 3"
   ]
  },
  {"cell_type": "code", "source": "x = 1\ny = 2"}
 ]
}"##;

    #[test]
    fn lines_of_cells_find_their_place_in_the_file() {
        let lines = |cell, lines: &[usize]| lines.iter().map(|line| line_of(FILE.as_bytes(), cell, *line)).collect::<Vec<_>>();
        assert_eq!(lines(2, &[1, 2, 3, 4, 5]), [Some(11), Some(12), Some(13), Some(13), Some(14)]);
        assert_eq!(lines(3, &[1, 2]), [Some(17), Some(17)]);
        assert_eq!(lines(1, &[2]), [Some(5)]);
        assert_eq!(lines(4, &[1]), [None]);
    }

    #[test]
    fn old_notebooks_have_a_level_more() {
        let old = b"{\"worksheets\": [{\"cells\": [\n{\"cell_type\": \"code\", \"input\": [\"x = 1\\n\",\n\"y = 2\"]}]}]}";
        assert_eq!([line_of(old, 1, 1), line_of(old, 1, 2)], [Some(2), Some(3)]);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_give_an_answer(bytes: Vec<u8>, cell in 0_usize..4, line in 0_usize..4) {
            let _ = line_of(&bytes, cell, line);
        }
    }
}

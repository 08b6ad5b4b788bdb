//! How deep a file nests, told before it is parsed.
//!
//! A tree is walked and dropped by recursion, so that a file of a million opening brackets would take gigabytes of stack.
//! CPython refuses such files: at 200 open brackets and 100 levels of indentation (`MAXLEVEL`, `MAXINDENT` in
//! `Parser/lexer/state.h`). What it does not count, operators in a row, is bounded here, too.

/// Open brackets at a time.
const MAX_BRACKETS: usize = 200;
/// Levels of indentation.
const MAX_INDENTS: usize = 100;
/// How deep an expression's tree can become, brackets and operators together.
const MAX_DEPTH: u32 = 2_000;

/// The line, from 1, at which a file is nested too deeply to be read.
pub(super) fn too_deep(text: &str) -> Option<usize> {
    Scan { bytes: text.as_bytes(), at: 0, line: 1, depth: 0, open: Vec::new(), indents: vec![0] }.run()
}

/// Bytes that words are made of.
const IN_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = byte >= 0x80 || byte == b'_' as usize || (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    table
};

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
    /// How deep the tree can be here.
    depth: u32,
    /// The depth inside each open bracket.
    open: Vec<u32>,
    indents: Vec<usize>,
}

impl Scan<'_> {
    fn run(mut self) -> Option<usize> {
        self.indentation();
        while let Some(&byte) = self.bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'\n' => self.end_of_line(),
                b'#' => self.comment(),
                b'\'' | b'"' => self.string(byte),
                b'\\' => self.at += usize::from(self.bytes.get(self.at).is_some_and(|next| *next != b'\n')),
                b'(' | b'[' | b'{' => {
                    self.depth += 1;
                    self.open.push(self.depth);
                }
                b')' | b']' | b'}' => self.depth = self.open.pop().unwrap_or(self.depth),
                b',' | b';' => self.depth = self.open.last().copied().unwrap_or(0),
                b'+' | b'-' | b'*' | b'/' | b'%' | b'@' | b'&' | b'|' | b'^' | b'~' | b'.' | b'<' | b'>' | b'=' => {
                    self.depth += 1;
                }
                _ if byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80 => self.word(),
                _ if byte.is_ascii_digit() => self.number(),
                _ => {}
            }
            if self.depth > MAX_DEPTH || self.open.len() > MAX_BRACKETS || self.indents.len() > MAX_INDENTS {
                return Some(self.line);
            }
        }
        None
    }

    fn end_of_line(&mut self) {
        self.line += 1;
        let continued = self.at >= 2 && self.bytes[self.at - 2] == b'\\';
        if self.open.is_empty() && !continued {
            self.depth = 0;
            self.indentation();
        }
    }

    fn indentation(&mut self) {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\x0c')) {
            self.at += 1;
        }
        if self.bytes.get(self.at).is_none_or(|byte| matches!(byte, b'\n' | b'\r' | b'#')) {
            return;
        }
        let width = self.at - start;
        while self.indents.last().is_some_and(|last| *last > width) {
            self.indents.pop();
        }
        if self.indents.last().is_none_or(|last| *last < width) {
            self.indents.push(width);
        }
    }

    fn comment(&mut self) {
        while self.bytes.get(self.at).is_some_and(|byte| *byte != b'\n') {
            self.at += 1;
        }
    }

    /// Words that make a level of their own.
    fn word(&mut self) {
        let start = self.at - 1;
        while self.bytes.get(self.at).is_some_and(|byte| IN_WORD[usize::from(*byte)]) {
            self.at += 1;
        }
        if matches!(
            &self.bytes[start..self.at],
            b"lambda" | b"not" | b"await" | b"if" | b"else" | b"yield" | b"from" | b"for" | b"and" | b"or" | b"in" | b"is"
        ) {
            self.depth += 1;
        }
    }

    fn number(&mut self) {
        while self.bytes.get(self.at).is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_')) {
            self.at += 1;
        }
    }

    /// A string; what an f-string computes is counted as if it were outside.
    fn string(&mut self, quote: u8) {
        let prefix: Vec<u8> = self.bytes[..self.at - 1]
            .iter()
            .rev()
            .take(2)
            .take_while(|byte| byte.is_ascii_alphabetic())
            .map(u8::to_ascii_lowercase)
            .collect();
        let computed = prefix.contains(&b'f') || prefix.contains(&b't');
        let triple = self.bytes[self.at..].starts_with(&[quote, quote]);
        self.at += if triple { 2 } else { 0 };
        let (depth, mut braces, mut deepest) = (self.depth, 0u32, 0u32);
        while let Some(&byte) = self.bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'\\' => {
                    if self.bytes.get(self.at) == Some(&b'\n') {
                        self.line += 1;
                    }
                    self.at += 1;
                }
                b'\n' if !triple => {
                    self.at -= 1;
                    break;
                }
                b'\n' => self.line += 1,
                _ if byte == quote && !triple => break,
                _ if byte == quote && self.bytes[self.at..].starts_with(&[quote, quote]) => {
                    self.at += 2;
                    break;
                }
                b'{' | b'(' | b'[' if computed => {
                    braces += 1;
                    deepest = deepest.max(braces);
                }
                b'}' | b')' | b']' if computed => braces = braces.saturating_sub(1),
                b'+' | b'-' | b'~' | b'*' | b'.' if computed && braces > 0 => deepest += 1,
                _ => {}
            }
        }
        // Reported at the next look at the depth; brackets count as they do outside.
        if deepest > MAX_BRACKETS as u32 * 4 {
            self.depth = MAX_DEPTH + 1;
        } else {
            self.depth = depth;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_code_is_not_deep() {
        let long = format!("x = [{}]\ny = {}\n", "1.5, -2, a.b(c), ".repeat(50_000), "f(x)\ny = ".repeat(3_000));
        assert_eq!(too_deep(&long), None);
        assert_eq!(too_deep(&format!("s = '''{}'''\n# {}\n", "((((".repeat(5_000), "[".repeat(5_000))), None);
        assert_eq!(too_deep(&format!("if a:\n    b\n{}", "elif c:\n    d\n".repeat(5_000))), None);
        assert_eq!(too_deep(&"'it''s' f'{x}' \"(\"\n".repeat(1_000)), None);
    }

    #[test]
    fn what_would_need_much_stack_is() {
        for deep in [
            "(",
            "[",
            "{",
            "-",
            "not ",
            "a.",
            "a+",
            "lambda: ",
            "a()",
            "f(a, ",
            "x if y else ",
            "await ",
            "~-",
            "f'{",
            "a[0]",
            "a**",
        ] {
            assert_eq!(too_deep(&format!("\nx = {}1", deep.repeat(5_000))), Some(2), "{deep}");
        }
        let blocks: String = (0..150).map(|level| format!("{}if x:\n", " ".repeat(level))).collect();
        assert!(too_deep(&blocks).is_some());
        assert!(too_deep(&format!("f'{{{}1}}'\n", "-".repeat(5_000))).is_some());
    }
}

//! Bytes to text, as the interpreter does it: a byte order mark, or an encoding named in the first two lines (PEP 263), or
//! UTF-8.

use encoding_rs::{Encoding, WINDOWS_1252};

/// How the text of a file is written as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// A byte order mark stands before it.
    mark: bool,
    /// None: UTF-8.
    encoding: Option<&'static Encoding>,
}

impl Written {
    /// The bytes of a text, as those of the file are written; none where the encoding has no such character.
    #[must_use]
    pub fn encode(self, text: &str) -> Option<Vec<u8>> {
        let Some(encoding) = self.encoding else {
            let mark: &[u8] = if self.mark { MARK } else { &[] };
            return Some([mark, text.as_bytes()].concat());
        };
        let (bytes, _, broken) = encoding.encode(text);
        (!broken).then(|| bytes.into_owned())
    }
}

const MARK: &[u8] = b"\xef\xbb\xbf";

/// The text of a Python file, without a byte order mark.
///
/// # Errors
/// One sentence: the encoding is unknown, or the bytes are not in it.
pub fn decode(bytes: &[u8]) -> Result<String, String> {
    decode_as_written(bytes).map(|(text, _)| text)
}

/// The same, and how it is written.
///
/// # Errors
/// As [`decode`].
pub fn decode_as_written(bytes: &[u8]) -> Result<(String, Written), String> {
    let (bytes, marked) = match bytes.strip_prefix(MARK) {
        Some(rest) => (rest, true),
        None => (bytes, false),
    };
    // UTF-16 has no NUL-free ASCII, and CPython refuses NUL in source, too.
    if bytes.contains(&0) {
        return Err("has NUL bytes: no Python source (UTF-16? save it as UTF-8)".to_owned());
    }
    match declared(bytes) {
        Some(name) if !marked && !is_utf8(&name) => {
            let encoding = by_python_name(&name)
                .ok_or_else(|| format!("its first lines name the encoding {name:?}, which is not known; save it as UTF-8"))?;
            let (text, _, broken) = encoding.decode(bytes);
            if broken {
                return Err(format!("is not in the encoding {name:?} that its first lines name; save it as UTF-8"));
            }
            Ok((text.into_owned(), Written { mark: false, encoding: Some(encoding) }))
        }
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => Ok((text.to_owned(), Written { mark: marked, encoding: None })),
            Err(error) => {
                let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
                Err(format!("line {line} is not UTF-8 and the file names no encoding; save it as UTF-8"))
            }
        },
    }
}

/// The encoding named in a comment of the first two lines, by PEP 263's `^[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)`.
fn declared(bytes: &[u8]) -> Option<String> {
    for line in bytes.split(|byte| *byte == b'\n').take(2) {
        let line = &line[..line.len().min(400)];
        let text = line.trim_ascii_start();
        if let Some(comment) = text.strip_prefix(b"#") {
            if let Some(name) = named_in(comment) {
                return Some(name);
            }
        } else if !text.is_empty() {
            return None;
        }
    }
    None
}

fn named_in(comment: &[u8]) -> Option<String> {
    const WORD: &[u8] = b"coding";
    comment.windows(WORD.len() + 1).enumerate().find_map(|(at, window)| {
        let (word, sign) = window.split_at(WORD.len());
        if word != WORD || !matches!(sign, b":" | b"=") {
            return None;
        }
        let rest = comment[at + window.len()..].trim_ascii_start();
        let end = rest.iter().position(|byte| !(byte.is_ascii_alphanumeric() || b"-_.".contains(byte))).unwrap_or(rest.len());
        (end > 0).then(|| String::from_utf8_lossy(&rest[..end]).to_ascii_lowercase())
    })
}

fn is_utf8(name: &str) -> bool {
    matches!(name.replace('_', "-").as_str(), "utf-8" | "utf8" | "utf-8-sig" | "utf8-sig") || name.starts_with("utf-8-")
}

/// Python's names for encodings that the WHATWG list spells differently.
fn by_python_name(name: &str) -> Option<&'static Encoding> {
    let plain = name.replace('_', "-");
    match plain.as_str() {
        // Every byte is a character in both; they differ in C1 controls only, which no source has.
        "latin-1" | "latin1" | "iso8859-1" | "l1" | "ascii" | "us-ascii" => Some(WINDOWS_1252),
        "cp936" => Encoding::for_label(b"gbk"),
        "cp932" | "ms932" => Encoding::for_label(b"shift_jis"),
        "cp949" => Encoding::for_label(b"euc-kr"),
        "cp950" => Encoding::for_label(b"big5"),
        _ => Encoding::for_label(plain.as_bytes()).or_else(|| Encoding::for_label(name.as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_mark_a_comment_or_utf8() {
        assert_eq!(decode(b"\xef\xbb\xbfx = 1").as_deref(), Ok("x = 1"));
        assert_eq!(decode("ü = 1".as_bytes()).as_deref(), Ok("ü = 1"));
        assert_eq!(decode(b"# -*- coding: latin-1 -*-\n\xfc = 1").as_deref(), Ok("# -*- coding: latin-1 -*-\nü = 1"));
        assert_eq!(decode(b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n# \x80").unwrap().chars().last(), Some('€'));
        assert_eq!(decode(b"# coding: gbk\n# \xc4\xe3").unwrap().chars().last(), Some('你'));
        assert_eq!(decode(b"# coding: utf_8\n# \xc3\xbc").unwrap().chars().last(), Some('ü'));
    }

    #[test]
    fn what_is_read_is_written_the_same_way() {
        for bytes in [
            &b"\xef\xbb\xbfx = 1\r\n"[..],
            b"x = 1\n",
            b"# coding: latin-1\n# \xfc\x80",
            b"# coding: gbk\n# \xc4\xe3",
            b"# coding: utf8\n",
        ] {
            let (text, written) = decode_as_written(bytes).unwrap();
            assert_eq!(written.encode(&text).as_deref(), Some(bytes));
        }
        let (_, latin) = decode_as_written(b"# coding: latin-1\n").unwrap();
        assert_eq!(latin.encode("# coding: latin-1\n# \u{4f60}"), None, "no such character");
    }

    #[test]
    fn what_is_no_text_is_said() {
        assert!(decode(b"x = 1\n# \xfc").unwrap_err().contains("line 2"));
        assert!(decode(b"# coding: klingon\n").unwrap_err().contains("klingon"));
        assert!(decode(b"x\0").unwrap_err().contains("NUL"));
        // The third line is too late, and so is one after code.
        assert!(decode(b"\n\n# coding: latin-1\n# \xfc").is_err());
        assert!(decode(b"import os\n# coding: latin-1\n# \xfc").is_err());
    }
}

#![allow(clippy::unwrap_used)]

use super::*;

fn error(text: &str) -> String {
    Source::parse(Path::new("a.py"), text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn places_count_lines_and_characters_from_one() {
    let source = Source::parse(Path::new("a.py"), "x = 1\nüü = 'ü'; y = 2\n".as_bytes()).unwrap();
    let at = source.text().find('y').unwrap();
    assert_eq!(source.place(TextSize::try_from(at).unwrap()), Place { line: 2, column: 11 });
    assert_eq!(source.line_text(TextSize::try_from(at).unwrap()), "üü = 'ü'; y = 2");
    assert_eq!(source.place(TextSize::from(1_000_000)).line, 3);
}

#[test]
fn a_syntax_error_is_one_line_with_its_place() {
    assert_eq!(error("x = 1\ndef f(:\n    pass\n").lines().count(), 1);
    assert!(error("x = 1\ndef f(:\n    pass\n").starts_with("a.py:2:7: syntax error: "));
}

#[test]
fn python_2_is_named() {
    for (text, line) in [
        ("import os\nprint 'x'\n", 2),
        ("if x: print y\n", 1),
        ("try:\n    print 1\nexcept IOError, e:\n    g()\n", 2),
        ("raise ValueError, 'x'\n", 1),
        ("x = 10L\n", 1),
        ("if a <> b:\n    f()\n", 1),
        ("exec 'x = 1'\n", 1),
        ("s = ur'x'\n", 1),
    ] {
        let said = error(text);
        assert!(said.starts_with(&format!("a.py:{line}: Python 2 (")), "{text:?}: {said}");
    }
    // Wrong in Python 2 as well.
    assert!(error("x = (1\n").contains("syntax error"));
    assert!(error("print(1\n").contains("syntax error"));
}

#[test]
fn every_version_of_python_3_is_read() {
    let text = "match x:\n    case {'a': [1, *_]}:\n        pass\ntype A[T] = list[T]\nf'{x!r:>{w}} {f\"{y}\"}'\nasync def g():\n    async with a as b, c:\n        return [i async for i in b]\ntry:\n    pass\nexcept* E:\n    pass\nif (n := 1): pass\ndef f(a, /, b, *, c): pass\n";
    assert!(Source::parse(Path::new("a.py"), text.as_bytes()).is_ok());
}

#[test]
fn too_much_is_refused() {
    assert!(matches!(Source::parse(Path::new("a.py"), &vec![b' '; MAX_BYTES + 1]), Err(SourceError::TooLarge { .. })));
    assert!(error(&"(".repeat(100_000)).contains("nested"));
}

proptest::proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        let _ = Source::parse(Path::new("a.py"), &bytes);
    }

    #[test]
    fn arbitrary_pieces_of_python_never_panic(pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..60)) {
        let _ = Source::parse(Path::new("a.py"), pieces.concat().as_bytes());
    }
}

const PIECES: &[&str] = &[
    "x", " ", "\n", "\n    ", "def f(", "):", "self.a", ".", "(", ")", "[", "]", "{", "}", "'", "\"\"\"", "f'", "\\", "\\\n",
    "lambda", "=", "+=", "for ", "in ", "if ", "else", "print ", "#", ",", ":", "@", "class A", "import ", "ü", "\u{0}", "0x",
    "1e", "match ", "case ", "\t", "\r", "\x0c", "!r", "*",
];

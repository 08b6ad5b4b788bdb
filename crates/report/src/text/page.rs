//! Lines of text: escaped, wrapped, coloured.
//!
//! Every character that reaches the reader's terminal goes through [`clean`], so a process that calls itself
//! `\x1b[2J` clears nobody's screen.

use unicode_width::UnicodeWidthChar;

/// How a piece of text looks where colour is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    Bold,
    Dim,
    Red,
    Yellow,
    Green,
    Cyan,
}

impl Style {
    /// Parameters of the SGR escape sequence (ECMA-48, 8.3.117).
    fn sgr(self) -> &'static str {
        match self {
            Self::Plain => "0",
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Red => "1;31",
            Self::Yellow => "1;33",
            Self::Green => "1;32",
            Self::Cyan => "1;36",
        }
    }
}

/// A piece of text in one style.
pub type Span = (Style, String);

/// Columns of the labels in front of the first lines.
pub const GUTTER: usize = 7;

/// A piece of a page before it is laid out, for forms that lay out by themselves. Nothing in it is cleaned.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A label, and the text beside it.
    Line(Span, Vec<Span>),
    /// Titles with whether their columns stand right, and the rows.
    Table(Vec<(String, bool)>, Vec<(Style, Vec<String>)>),
}

/// The text as it grows.
pub struct Page {
    width: usize,
    color: bool,
    out: String,
    blocks: Option<Vec<Block>>,
}

impl Page {
    pub fn new(width: usize, color: bool) -> Self {
        Self { width, color, out: String::new(), blocks: None }
    }

    /// What the writer writes, before it is laid out.
    pub fn blocks(write: impl FnOnce(&mut Self)) -> Vec<Block> {
        let mut page = Self { blocks: Some(Vec::new()), ..Self::new(80, false) };
        write(&mut page);
        page.blocks.unwrap_or_default()
    }

    /// Whether lines are laid out here; else what is long needs not be cut.
    pub fn lays_out(&self) -> bool {
        self.blocks.is_none()
    }

    /// Takes the block where nothing is laid out.
    pub fn take(&mut self, block: impl FnOnce() -> Block) -> bool {
        self.blocks.as_mut().map(|blocks| blocks.push(block())).is_some()
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn finish(self) -> String {
        self.out
    }

    pub fn blank(&mut self) {
        if self.lays_out() {
            self.out.push('\n');
        }
    }

    /// `label  text`, the text wrapped beside the label.
    pub fn labelled(&mut self, label: &str, text: &str) {
        self.paragraph((Style::Bold, label.to_owned()), GUTTER, &[(Style::Plain, text.to_owned())]);
    }

    /// A dim line under a table.
    pub fn remark(&mut self, text: String) {
        self.paragraph((Style::Plain, String::new()), 2, &[(Style::Dim, text)]);
    }

    /// A lead, then words wrapped with `hang` columns in front. A lead wider than that moves the first line only.
    pub fn paragraph(&mut self, lead: Span, hang: usize, body: &[Span]) {
        if self.take(|| Block::Line(lead.clone(), body.to_vec())) {
            return;
        }
        let lead_text = clean(&lead.1);
        let mut column = columns(&lead_text);
        self.put(lead.0, &lead_text);
        // A lead that fills its gutter still needs air behind it.
        let start = if column < hang { hang } else { column + 1 };
        let mut first = true;
        for (style, word) in body.iter().flat_map(|(style, text)| words(text).map(move |word| (*style, word))) {
            let wide = columns(&word);
            let gap = if first { start - column } else { 1 };
            if !first && column + gap + wide > self.width {
                self.out.push('\n');
                self.out.extend(std::iter::repeat_n(' ', hang));
                column = hang + wide;
            } else {
                self.out.extend(std::iter::repeat_n(' ', gap));
                column += gap + wide;
            }
            self.put(style, &word);
            first = false;
        }
        self.out.push('\n');
    }

    /// One line that is laid out already; blanks at its end are cut.
    pub fn row(&mut self, spans: &[Span]) {
        if self.take(|| Block::Line((Style::Plain, String::new()), spans.to_vec())) {
            return;
        }
        let last = spans.iter().rposition(|(_, text)| !text.trim_end().is_empty());
        for (at, (style, text)) in spans.iter().take(last.map_or(0, |last| last + 1)).enumerate() {
            let text = clean(text);
            self.put(*style, if Some(at) == last { text.trim_end() } else { &text });
        }
        self.out.push('\n');
    }

    /// The only place that writes what may be foreign; the caller has cleaned it.
    fn put(&mut self, style: Style, text: &str) {
        if self.color && style != Style::Plain && !text.is_empty() {
            self.out.push_str("\x1b[");
            self.out.push_str(style.sgr());
            self.out.push('m');
            self.out.push_str(text);
            self.out.push_str("\x1b[0m");
        } else {
            self.out.push_str(text);
        }
    }
}

/// Words to wrap at; a number stays with its unit, `2 h` with its `10 min`.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut glued: Vec<String> = Vec::new();
    // White space of any sort separates, so that a foreign newline makes no line of its own.
    for word in text.split_whitespace() {
        match glued.last_mut() {
            Some(last) if sticks(last, word) => {
                last.push(' ');
                last.push_str(&clean(word));
            }
            _ => glued.push(clean(word)),
        }
    }
    glued.into_iter()
}

fn sticks(last: &str, word: &str) -> bool {
    let digit = |c: char| c.is_ascii_digit();
    let span = last.ends_with(" d") || last.ends_with(" h") || last.ends_with(" min");
    (last.ends_with(digit) && is_unit(word)) || (span && word.starts_with(digit))
}

fn is_unit(word: &str) -> bool {
    let bare = word.trim_end_matches([',', ';', ':', '.', ')']);
    matches!(bare, "B" | "KiB" | "MiB" | "GiB" | "TiB" | "PiB" | "ms" | "s" | "min" | "h" | "d" | "%" | "Hz")
}

/// The text with everything escaped that is not plainly visible: control characters, bidirectional overrides,
/// characters without width, private ones.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\'' | '\\' => out.push(c),
            _ => out.extend(c.escape_debug()),
        }
    }
    out
}

/// Whether a character is not plainly visible, so that [`clean`] writes it by its number.
pub fn invisible(c: char) -> bool {
    !matches!(c, '"' | '\'' | '\\') && c.escape_debug().len() > 1
}

/// Columns that a cleaned text takes on a terminal.
pub fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The text cleaned and cut in its middle to at most `width` columns: a command's first and last words tell most.
pub fn cut(text: &str, width: usize) -> String {
    let text = clean(text);
    if columns(&text) <= width {
        return text;
    }
    const MARK: &str = "...";
    let Some(room) = width.checked_sub(MARK.len()) else {
        return MARK[..width].to_owned();
    };
    let front = take(text.chars(), room.div_ceil(2));
    let back: String = take(text.chars().rev(), room / 2).chars().rev().collect();
    format!("{front}{MARK}{back}")
}

/// The text cleaned and cut at its end to at most `width` columns, between words where there are any: a sentence's beginning
/// tells most.
pub fn cut_end(text: &str, width: usize) -> String {
    let text = clean(text);
    if columns(&text) <= width {
        return text;
    }
    const MARK: &str = " ...";
    let Some(room) = width.checked_sub(MARK.len()) else {
        return MARK[MARK.len() - width..].to_owned();
    };
    let front = take(text.chars(), room + 1);
    let whole = front.rsplit_once(' ').map_or("", |(words, _)| words.trim_end_matches([',', ';', ':']));
    // A word longer than half of it is cut.
    let front = if 2 * columns(whole) >= room { whole.to_owned() } else { take(text.chars(), room) };
    format!("{front}{MARK}")
}

fn take(chars: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= width
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_invisible_comes_through() {
        assert_eq!(clean("a\x1b[2Jb\n\u{202e}c\u{200b}"), "a\\u{1b}[2Jb\\n\\u{202e}c\\u{200b}");
        assert_eq!(clean("it's \"ü\" C:\\x"), "it's \"ü\" C:\\x");
    }

    #[test]
    fn a_long_command_loses_its_middle() {
        assert_eq!(cut("python -m torch.distributed.run train.py", 21), "python -m... train.py");
        assert_eq!(cut("日本語日本語", 8), "日...語");
        assert_eq!(cut("abcdef", 2), "..");
    }

    #[test]
    fn a_long_sentence_keeps_its_beginning() {
        assert_eq!(cut_end("more tensors stay alive, and more", 28), "more tensors stay alive ...");
        assert_eq!(cut_end("more tensors stay alive", 23), "more tensors stay alive");
        assert_eq!(cut_end("a bbbbbbbbbbbbbbbbbbbb", 12), "a bbbbbb ...");
        assert_eq!(cut_end("日本語日本語", 9), "日本 ...");
        assert_eq!(cut_end("abcdef", 2), "..");
    }

    #[test]
    fn wraps_beside_the_label_and_keeps_units() {
        let mut page = Page::new(40, false);
        page.labelled("what", "an amount of memory that is as large as 446 KiB, or more");
        assert_eq!(page.finish(), "what   an amount of memory that is as\n       large as 446 KiB, or more\n");
    }
}

//! What words look like: paths, names of files, addresses.

/// Endings of files that programs read and write. Dotted names of Python (`torch.nn`) have none of them.
const ENDINGS: [&str; 52] = [
    "py",
    "pyw",
    "pyx",
    "pyc",
    "ipynb",
    "csv",
    "tsv",
    "json",
    "jsonl",
    "yaml",
    "yml",
    "toml",
    "cfg",
    "ini",
    "txt",
    "log",
    "out",
    "err",
    "md",
    "html",
    "xml",
    "pt",
    "pth",
    "ckpt",
    "bin",
    "pkl",
    "pickle",
    "safetensors",
    "onnx",
    "npy",
    "npz",
    "h5",
    "hdf5",
    "parquet",
    "arrow",
    "db",
    "sqlite",
    "lmdb",
    "tar",
    "gz",
    "zip",
    "zst",
    "jpg",
    "jpeg",
    "png",
    "mp4",
    "wav",
    "sh",
    "so",
    "wandb",
    "lowtide",
    "pid",
];
/// What a rate is per.
const PER: [&str; 16] = [
    "s", "second", "min", "minute", "h", "hour", "step", "epoch", "cycle", "round", "d", "day", "it", "sample", "batch", "token",
];
/// Words with a stroke that are lowtide's own.
const OWN: [&str; 5] = ["I/O", "and/or", "N/A", "n/a", "lowtide.toml"];
/// Words of lowtide's sentences, which no name of a user's may take out of them.
const WORDS: [&str; 24] = [
    "train",
    "training",
    "trainer",
    "validation",
    "test",
    "memory",
    "process",
    "python",
    "worker",
    "workers",
    "main",
    "step",
    "steps",
    "leak",
    "fixed",
    "spike",
    "run",
    "cgroup",
    "system",
    "host",
    "node",
    "data",
    "model",
    "loss",
];

/// What a piece of a sentence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What<'a> {
    Plain,
    /// A file, and what is said of the place in it: `:55`.
    File {
        path: &'a str,
        line: &'a str,
    },
    Path,
    /// A machine, by its number, or somebody at one.
    Address,
}

/// Tells what a piece is.
pub fn what(piece: &str) -> What<'_> {
    if piece.is_empty() || is_placeholder(piece) || OWN.contains(&piece) {
        return What::Plain;
    }
    let (path, line) = split_line(piece);
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let ending = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, ending)| ending.to_ascii_lowercase());
    let kernels_own =
        ["/proc", "/sys"].iter().any(|own| path == *own || path.strip_prefix(own).is_some_and(|rest| rest.starts_with('/')));
    if kernels_own || path == "/dev/shm" || path == "/" || path.starts_with("/dev/nvidia") {
        return What::Plain;
    }
    if ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str())) {
        return What::File { path, line };
    }
    if is_address(piece) {
        return What::Address;
    }
    let stroke = path.contains('/') && !is_rate(path) && path.chars().any(char::is_alphabetic);
    if stroke || path.starts_with('~') || path.contains(":\\") || path.contains("\\\\") { What::Path } else { What::Plain }
}

/// `train.py:55` and `train.py:55:3` as the file and the place.
fn split_line(piece: &str) -> (&str, &str) {
    let bare = piece.trim_end_matches(|c: char| c.is_ascii_digit() || c == ':');
    let rest = &piece[bare.len()..];
    if rest.starts_with(':') && rest.len() > 1 { (bare, rest) } else { (piece, "") }
}

fn is_rate(word: &str) -> bool {
    word.rsplit_once('/')
        .is_some_and(|(amount, per)| !amount.contains('/') && PER.contains(&per.trim_end_matches('s')) || PER.contains(&per))
}

/// `10.0.0.7`, `10.0.0.7:29500`, `me@host`.
fn is_address(word: &str) -> bool {
    let host = word.split(':').next().unwrap_or(word);
    let parts: Vec<&str> = host.split('.').collect();
    let number = |part: &str| !part.is_empty() && part.len() <= 3 && part.bytes().all(|byte| byte.is_ascii_digit());
    let by_number = parts.len() == 4 && parts.iter().all(|part| number(part));
    let at = word.split_once('@').is_some_and(|(who, host)| !who.is_empty() && host.contains(|c: char| c.is_alphanumeric()));
    by_number || at
}

/// Whether a word may be somebody's name for something: of letters, and of digits or several parts.
pub fn is_telling(word: &str) -> bool {
    let letters = word.chars().any(char::is_alphabetic);
    let other = word.chars().any(|c| !c.is_ascii_lowercase());
    word.len() >= 4 && letters && (other || word.len() >= 8)
}

/// Whether a word is one of lowtide's own sentences'.
pub fn is_own_word(word: &str) -> bool {
    WORDS.contains(&word)
}

/// Whether it stands for something that was taken out already.
pub fn is_placeholder(text: &str) -> bool {
    text.starts_with('[') && text.ends_with(']')
}

/// The text in pieces: words and what divides them, each by itself, placeholders whole.
pub fn pieces(text: &str) -> impl Iterator<Item = &str> {
    const DIVIDES: &str = " \t\r\n\"'`()[]{}<>,;=|";
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = if first == '['
            && let Some(end) = placeholder_end(rest)
        {
            end
        } else if DIVIDES.contains(first) {
            first.len_utf8()
        } else {
            rest.find(|c: char| DIVIDES.contains(c)).unwrap_or(rest.len())
        };
        let (piece, after) = rest.split_at(length);
        rest = after;
        Some(piece)
    })
}

/// Where `[host 1]` ends that the text begins with.
fn placeholder_end(text: &str) -> Option<usize> {
    let end = text.find(']')?;
    let (sort, number) = text[1..end].split_once(' ')?;
    let plain = sort.bytes().all(|byte| byte.is_ascii_lowercase()) && number.bytes().all(|byte| byte.is_ascii_digit());
    (plain && !sort.is_empty() && !number.is_empty()).then_some(end + 1)
}

/// Replaces the secret where it stands by itself, so that a host called `a` does not eat every other word, and not in what stands
/// for another one.
pub fn replace_whole(text: &str, secret: &str, instead: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (at, _) in text.match_indices(secret) {
        let before = text[..at].chars().next_back();
        let after = text[at + secret.len()..].chars().next();
        let part_of_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let in_placeholder =
            text[..at].rfind('[').is_some_and(|open| placeholder_end(&text[open..]).is_some_and(|end| open + end > at));
        if at >= from && !part_of_word(before) && !part_of_word(after) && !in_placeholder {
            out.push_str(&text[from..at]);
            out.push_str(instead);
            from = at + secret.len();
        }
    }
    out.push_str(&text[from..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_files_and_addresses_are_told_from_words() {
        let file = |path, line| What::File { path, line };
        assert_eq!(what("train.py:55"), file("train.py", ":55"));
        assert_eq!(what("/home/a/x.tar.gz"), file("/home/a/x.tar.gz", ""));
        assert_eq!(what("C:\\data\\x.csv:3:1"), file("C:\\data\\x.csv", ":3:1"));
        for path in ["/home/a", "~/runs", "configs/base", "C:\\data", "s3://bucket/x"] {
            assert_eq!(what(path), What::Path, "{path}");
        }
        for address in ["10.0.0.7", "10.0.0.7:29500", "me@host"] {
            assert_eq!(what(address), What::Address, "{address}");
        }
        for plain in [
            "MiB/min",
            "2.5",
            "12/64",
            "tokens/s",
            "torch.nn.Module",
            "trainer.outputs",
            "/proc/1/maps",
            "/dev/shm",
            "[file 1]",
            "I/O",
            "e.g",
        ] {
            assert_eq!(what(plain), What::Plain, "{plain}");
        }
    }

    #[test]
    fn pieces_make_up_the_text() {
        let text = "see (train.py:55), [host 1] \"a b\"=c";
        assert_eq!(pieces(text).collect::<String>(), text);
        assert!(pieces(text).any(|piece| piece == "train.py:55") && pieces(text).any(|piece| piece == "[host 1]"));
    }

    #[test]
    fn a_secret_is_replaced_where_it_stands_alone() {
        assert_eq!(replace_whole("node7, node77 [node7 1]", "node7", "[host 1]"), "[host 1], node77 [[host 1] 1]");
        assert_eq!(replace_whole("[host 1] of host", "host", "x"), "[host 1] of x");
    }
}

//! The name of a column cut into words, the unit among them, and the words that say whose column it is.

use crate::header::Unit;

/// The words of a column's name in lower case: `vmRSS_kb` is `vm rss kb`.
pub(crate) fn words(name: &str) -> Vec<String> {
    const LONGEST: usize = 512;
    let mut words: Vec<String> = vec![String::new()];
    let mut before = ' ';
    let name: Vec<char> = name.chars().take(LONGEST).collect();
    for (at, c) in name.iter().copied().enumerate() {
        let next_is_lower = name.get(at + 1).is_some_and(|c| c.is_lowercase());
        // `rssMB` has its border before the M, `RSSAnon` before the last capital.
        let border = c.is_uppercase() && (before.is_lowercase() || (before.is_uppercase() && next_is_lower));
        if !c.is_alphanumeric() || border {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().into_iter().for_each(|word| word.extend(c.to_lowercase()));
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    // `MiB` and `kB` were cut at their last capital.
    let mut whole: Vec<String> = Vec::with_capacity(words.len());
    for word in words {
        match whole.last_mut() {
            Some(last) if word == "b" && matches!(last.as_str(), "k" | "ki" | "mi" | "gi" | "ti") => last.push('b'),
            _ => whole.push(word),
        }
    }
    whole
}

/// The unit among the words.
pub(crate) fn unit_of(words: &[String]) -> Unit {
    for word in words.iter().rev() {
        return match word.as_str() {
            "b" | "byte" | "bytes" => Unit::Named(1.0),
            // The kernel's kB, and everything that reads it, means 1024.
            "k" | "kb" | "kib" => Unit::Named(1024.0),
            "m" | "mib" | "mebibytes" => Unit::Named(1_048_576.0),
            "g" | "gib" | "gibibytes" => Unit::Named(1_073_741_824.0),
            "mb" | "mbytes" | "megabytes" => Unit::Megabytes(1e6),
            "gb" | "gbytes" | "gigabytes" => Unit::Megabytes(1e9),
            "kbmemused" | "kbavail" | "kbcached" | "vmrss" | "rssanon" | "rssfile" | "rssshmem" | "vmswap" => Unit::Named(1024.0),
            _ => continue,
        };
    }
    Unit::Unsaid
}

/// The words that are neither measure nor unit.
pub(crate) fn group_of(words: &[String]) -> String {
    const SAID: [&str; 70] = [
        "rss",
        "resident",
        "vm",
        "vmrss",
        "res",
        "wset",
        "real",
        "working",
        "set",
        "anon",
        "anonymous",
        "rssanon",
        "file",
        "rssfile",
        "shmem",
        "shm",
        "rssshmem",
        "swap",
        "vmswap",
        "swpd",
        "pss",
        "uss",
        "unique",
        "private",
        "dirty",
        "num",
        "number",
        "count",
        "threads",
        "nlwp",
        "fds",
        "nfds",
        "open",
        "maps",
        "memory",
        "mem",
        "ram",
        "usage",
        "use",
        "used",
        "size",
        "proc",
        "process",
        "in",
        "of",
        "the",
        "b",
        "byte",
        "bytes",
        "k",
        "kb",
        "kib",
        "m",
        "mb",
        "mib",
        "g",
        "gb",
        "gib",
        "mbytes",
        "gbytes",
        "megabytes",
        "gigabytes",
        "set",
        "system",
        "main",
        "total",
        "current",
        "value",
        "info",
        "full",
    ];
    words.iter().filter(|word| !SAID.contains(&word.as_str())).map(String::as_str).collect::<Vec<_>>().join("_")
}

//! Which files are a library's or Python's own, told by where they lie.

use std::path::{Component, Path};

/// Whether a file is installed code rather than the user's: below `site-packages` or `dist-packages`, in Python's own
/// library (`lib/python3.11/...`), frozen or made up (`<string>`).
#[must_use]
pub fn is_library(path: &Path) -> bool {
    let parts: Vec<&str> =
        path.components().filter_map(|part| if let Component::Normal(name) = part { name.to_str() } else { None }).collect();
    let installed = parts.iter().any(|part| matches!(*part, "site-packages" | "dist-packages"));
    let standard = parts.windows(2).any(|pair| matches!(pair[0], "lib" | "lib64" | "Lib") && is_version(pair[1]));
    let made_up = path.to_str().is_some_and(|path| path.starts_with('<'));
    installed || standard || made_up
}

/// `python3`, `python3.11`, `python3.13t`, `pypy3.10`.
fn is_version(name: &str) -> bool {
    name.strip_prefix("python").or_else(|| name.strip_prefix("pypy")).is_some_and(|version| version.starts_with(['2', '3']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn told_by_the_place() {
        for path in [
            "/usr/lib/python3/dist-packages/torch/a.py",
            "/v/lib/python3.11/site-packages/x.py",
            "/usr/lib/python3.12/json/a.py",
            "<frozen os>",
        ] {
            assert!(is_library(Path::new(path)), "{path}");
        }
        for path in ["/home/me/lib/train.py", "train.py", "/home/me/python3/train.py", "/data/lib/models/a.py"] {
            assert!(!is_library(Path::new(path)), "{path}");
        }
    }
}

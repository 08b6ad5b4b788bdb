//! Two texts as a unified diff. The crate `similar` (2.7) was tried in its place: where lines repeat, its hunks can begin at the
//! wrong line, and `patch` then makes another text of them.

use std::fmt::Write;

/// Lines that are shown before and after a change.
const CONTEXT: usize = 3;

/// A stretch of lines that was changed: where it lies in both texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    before: (usize, usize),
    after: (usize, usize),
}

/// The diff with the file's name above it; nothing where the texts are the same.
///
/// Lines that are the same in both are found from both ends and then line by line, which is right for fixes: they change
/// few lines, and lines that they do not change they do not move.
pub fn unified(name: &str, before: &str, after: &str) -> String {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let changes = changes(&old, &new);
    if changes.is_empty() {
        return String::new();
    }
    let mut diff = format!("--- {name}\n+++ {name}\n");
    for near in changes.chunk_by(|one, next| next.before.0 - one.before.1 <= 2 * CONTEXT) {
        hunk(&mut diff, &old, &new, near);
    }
    diff
}

fn changes(old: &[&str], new: &[&str]) -> Vec<Change> {
    let (mut at, mut changes) = ((0, 0), Vec::new());
    while at.0 < old.len() || at.1 < new.len() {
        if old.get(at.0) == new.get(at.1) {
            at = (at.0 + 1, at.1 + 1);
            continue;
        }
        let to = next_same(old, new, at);
        changes.push(Change { before: (at.0, to.0), after: (at.1, to.1) });
        at = to;
    }
    changes
}

/// The nearest place from here at which both texts go on with the same line.
fn next_same(old: &[&str], new: &[&str], from: (usize, usize)) -> (usize, usize) {
    let (old_left, new_left) = (old.len() - from.0, new.len() - from.1);
    for distance in 1..=(old_left + new_left).min(200) {
        for down in 0..=distance.min(old_left) {
            let right = distance - down;
            let to = (from.0 + down, from.1 + right);
            if right <= new_left && to.0 < old.len() && old.get(to.0) == new.get(to.1) {
                return to;
            }
        }
    }
    (old.len(), new.len())
}

fn hunk(diff: &mut String, old: &[&str], new: &[&str], changes: &[Change]) {
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return };
    let start = (first.before.0.saturating_sub(CONTEXT), first.after.0.saturating_sub(CONTEXT));
    let end = ((last.before.1 + CONTEXT).min(old.len()), (last.after.1 + CONTEXT).min(new.len()));
    let range = |from: usize, to: usize| match to - from {
        0 => format!("{from},0"),
        1 => format!("{}", from + 1),
        lines => format!("{},{lines}", from + 1),
    };
    let _ = writeln!(diff, "@@ -{} +{} @@", range(start.0, end.0), range(start.1, end.1));
    let mut at = start.0;
    for change in changes {
        old[at..change.before.0].iter().for_each(|text| line(diff, ' ', text));
        old[change.before.0..change.before.1].iter().for_each(|text| line(diff, '-', text));
        new[change.after.0..change.after.1].iter().for_each(|text| line(diff, '+', text));
        at = change.before.1;
    }
    old[at..end.0].iter().for_each(|text| line(diff, ' ', text));
}

fn line(diff: &mut String, sign: char, text: &str) {
    diff.push(sign);
    diff.push_str(text);
    if !text.ends_with('\n') {
        diff.push_str("\n\\ No newline at end of file\n");
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hunks_have_their_lines_around_them() {
        let before: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let after = before.replace("\n4\n", "\nfour\nand\n").replace("\n17\n", "\n");
        assert_eq!(
            unified("a.py", &before, &after),
            "--- a.py\n+++ a.py\n@@ -1,7 +1,8 @@\n 1\n 2\n 3\n-4\n+four\n+and\n 5\n 6\n 7\n@@ -14,7 +15,6 @@\n 14\n 15\n 16\n-17\n 18\n 19\n 20\n"
        );
        assert_eq!(unified("a.py", "a\n", "a\n"), "");
        assert_eq!(
            unified("a.py", "a", "b"),
            "--- a.py\n+++ a.py\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"
        );
    }

    /// What `patch` makes of the first text by the diff.
    fn patched(before: &str, diff: &str) -> Option<String> {
        let folder = tempfile::tempdir().ok()?;
        let file = folder.path().join("a.py");
        std::fs::write(&file, before).ok()?;
        let mut patch = Command::new("patch");
        let mut patch = patch.args(["-s", "-p0"]).current_dir(&folder).stdin(Stdio::piped()).spawn().ok()?;
        patch.stdin.take()?.write_all(diff.as_bytes()).ok()?;
        patch.wait().ok()?.success().then(|| std::fs::read_to_string(&file).ok())?
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn patch_makes_the_one_from_the_other(before in "([a-c]\n){1,12}[a-c]?", after in "([a-c]\n){1,12}[a-c]?") {
            let diff = unified("a.py", &before, &after);
            // Not every machine has it.
            if !diff.is_empty() && Command::new("patch").arg("--version").output().is_ok() {
                prop_assert_eq!(patched(&before, &diff), Some(after), "{}", diff);
            }
        }
    }
}

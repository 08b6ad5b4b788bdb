//! The Python files below folders, in parts that are each read as one program.

use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Files of one part, at most: three quarters of what one program may have ([`crate::program::MAX_FILES`]). The rest is room for
/// what they import from other parts, which is read again for each part.
const MOST: usize = crate::program::MAX_FILES / 4 * 3;
/// Bytes of one part, at most, but for a part of one file: what is known of a program takes some twenty times its source.
const MOST_BYTES: u64 = 5 << 19;
/// Files of one tree, at most.
pub const MAX_FILES: usize = 100_000;

/// What was found below the paths that were asked for.
#[derive(Debug, Default)]
pub struct Tree {
    /// The files, in order.
    pub files: Vec<PathBuf>,
    /// What starts programs: shell scripts, Dockerfiles, YAML.
    pub scripts: Vec<PathBuf>,
    /// What could not be looked at, a sentence each.
    pub errors: Vec<String>,
    /// There are more files than are looked at.
    pub cut: bool,
}

impl Tree {
    /// Finds the files below folders: those that end in `.py` or `.ipynb`, but not what `.gitignore` and `.ignore` leave out, hidden
    /// folders, installed packages and virtual environments. A file that is named itself is always taken.
    ///
    /// `leave_out` tells which files the user does not want.
    #[must_use]
    pub fn below(paths: &[PathBuf], leave_out: impl Fn(&Path) -> bool) -> Self {
        let mut tree = Self::default();
        for path in paths {
            if path.is_file() {
                let kind = if is_script(path) { &mut tree.scripts } else { &mut tree.files };
                kind.push(path.clone());
                continue;
            }
            let inside_library = crate::program::is_library(&path.canonicalize().unwrap_or_else(|_| path.clone()));
            let walk = WalkBuilder::new(path)
                .require_git(false)
                .filter_entry(move |entry| entry.depth() == 0 || inside_library || !is_environment(entry.path()))
                .sort_by_file_path(Ord::cmp)
                .build();
            for entry in walk {
                match entry {
                    Ok(entry) if !entry.file_type().is_some_and(|kind| kind.is_file()) || leave_out(entry.path()) => {}
                    Ok(_) if tree.files.len() + tree.scripts.len() >= MAX_FILES => tree.cut = true,
                    Ok(entry) if is_script(entry.path()) => tree.scripts.push(entry.into_path()),
                    Ok(entry) if !is_python(entry.path()) => {}
                    Ok(entry) => tree.files.push(entry.into_path()),
                    Err(error) => tree.errors.push(error.to_string()),
                }
            }
        }
        for kind in [&mut tree.files, &mut tree.scripts] {
            kind.sort();
            kind.dedup();
        }
        tree
    }

    /// The files in parts of which each can be one program: the whole tree where it is small, else folder by folder.
    #[must_use]
    pub fn parts(&self) -> Vec<&[PathBuf]> {
        let bytes = |file: &PathBuf| file.metadata().map_or(0, |about| about.len());
        let ends = std::iter::once(0).chain(self.files.iter().scan(0, |end, file| {
            *end += bytes(file);
            Some(*end)
        }));
        let mut parts = Vec::new();
        Cut { files: &self.files, ends: &ends.collect::<Vec<u64>>() }.split(0, self.files.len(), 0, &mut parts);
        parts
    }
}

/// Patterns of paths, as `.gitignore` has them.
#[derive(Debug)]
pub struct Globs(Gitignore);

impl Globs {
    /// Reads them.
    ///
    /// # Errors
    /// Where one is no pattern: which, and why.
    pub fn of(patterns: &[String]) -> Result<Self, String> {
        let mut globs = GitignoreBuilder::new("");
        for pattern in patterns {
            globs.add_line(None, pattern).map_err(|error| error.to_string())?;
        }
        globs.build().map(Self).map_err(|error| error.to_string())
    }

    /// Whether one matches a path or a folder above it.
    #[must_use]
    pub fn matches(&self, path: &Path) -> bool {
        let path = path.strip_prefix(".").unwrap_or(path);
        path.ancestors()
            .zip([false].into_iter().chain(std::iter::repeat(true)))
            .any(|(part, is_folder)| !part.as_os_str().is_empty() && self.0.matched(part, is_folder).is_ignore())
    }
}

fn is_python(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "py" || ending == "ipynb")
}

/// Whether a file is one that starts programs, by its name.
fn is_script(path: &Path) -> bool {
    const ENDINGS: &[&str] = &["sh", "bash", "zsh", "slurm", "sbatch", "yml", "yaml", "env", "dockerfile"];
    const NAMES: &[&str] = &["dockerfile", "containerfile", "makefile"];
    let text = |part: Option<&std::ffi::OsStr>| part.and_then(|part| part.to_str()).unwrap_or_default().to_ascii_lowercase();
    let name = text(path.file_name());
    ENDINGS.contains(&&*text(path.extension()))
        || NAMES.iter().any(|known| name == *known || name.starts_with(&format!("{known}.")))
}

/// A folder of installed code: `pyvenv.cfg` is what makes a virtual environment (PEP 405).
fn is_environment(path: &Path) -> bool {
    let named = path
        .file_name()
        .is_some_and(|name| matches!(name.to_str(), Some("site-packages" | "dist-packages" | "node_modules" | "__pycache__")));
    named || path.join("pyvenv.cfg").is_file()
}

/// Sorted files that are to be cut into parts.
struct Cut<'t, 'e> {
    files: &'t [PathBuf],
    /// How many bytes there are before each of them, and before what would come next.
    ends: &'e [u64],
}

impl<'t> Cut<'t, '_> {
    fn fits(&self, from: usize, to: usize) -> bool {
        to - from <= MOST && self.ends[to] - self.ends[from] <= MOST_BYTES
    }

    /// Cuts files by their folders, `depth` parts of the path down, until no part has too much.
    fn split(&self, from: usize, to: usize, depth: usize, parts: &mut Vec<&'t [PathBuf]>) {
        if self.fits(from, to) || to - from == 1 {
            if from < to {
                parts.push(&self.files[from..to]);
            }
            return;
        }
        let folder = |at: usize| self.files[at].parent().and_then(|folder| folder.components().nth(depth));
        // All of one folder, which has no folders: then one by one.
        let flat = (from..to).all(|at| folder(at).is_none());
        let mut here: Vec<(usize, usize)> = Vec::new();
        let mut at = from;
        while at < to {
            // Sorted paths have what is in one folder side by side, but files of the folder itself lie between its folders.
            let end = at + if flat { 1 } else { (at..to).take_while(|next| folder(*next) == folder(at)).count() };
            here.push((at, end));
            at = end;
        }
        for (from, to) in self.joined(&here) {
            if flat { parts.push(&self.files[from..to]) } else { self.split(from, to, depth + 1, parts) }
        }
    }

    /// Neighbours put together as long as they fit into one part.
    fn joined(&self, ranges: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let mut joined: Vec<(usize, usize)> = Vec::new();
        for &(from, to) in ranges {
            match joined.last_mut() {
                Some(last) if self.fits(last.0, to) => last.1 = to,
                _ => joined.push((from, to)),
            }
        }
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            std::fs::write(path, "x = 1\n").expect("a file");
        }
        folder
    }

    fn names(tree: &Tree, below: &Path) -> Vec<String> {
        tree.files.iter().map(|file| file.strip_prefix(below).unwrap_or(file).display().to_string()).collect()
    }

    #[test]
    fn only_the_users_own_python_is_taken() {
        let folder = made(&[
            "train.py",
            "lib/model.py",
            "notes.txt",
            ".hidden/a.py",
            "env/pyvenv.cfg",
            "env/lib/a.py",
            "made/out.py",
            "x/site-packages/p.py",
        ]);
        std::fs::write(folder.path().join(".gitignore"), "made/\n").expect("a file");
        let tree = Tree::below(&[folder.path().to_owned()], |_| false);
        assert_eq!(names(&tree, folder.path()), ["lib/model.py", "train.py"]);
        assert!(tree.errors.is_empty() && !tree.cut);
        let without = Tree::below(&[folder.path().to_owned()], |path| path.ends_with("lib/model.py"));
        assert_eq!(names(&without, folder.path()), ["train.py"]);
    }

    #[test]
    fn what_starts_programs_is_kept_apart() {
        let folder = made(&["run.sh", "a.py", "docker/Dockerfile.gpu", "ci/job.yml", "notes.md", "shell.py"]);
        let tree = Tree::below(&[folder.path().to_owned(), folder.path().join("run.sh")], |path| path.ends_with("job.yml"));
        assert_eq!(names(&tree, folder.path()), ["a.py", "shell.py"]);
        let scripts = Tree { files: tree.scripts, ..Tree::default() };
        assert_eq!(names(&scripts, folder.path()), ["docker/Dockerfile.gpu", "run.sh"]);
    }

    #[test]
    fn what_is_named_is_taken_and_what_is_not_there_is_said() {
        let folder = made(&["a.txt", "x/site-packages/p/q.py"]);
        let tree = Tree::below(&[folder.path().join("a.txt"), folder.path().join("nowhere")], |_| false);
        assert_eq!(names(&tree, folder.path()), ["a.txt"]);
        assert!(tree.errors[0].contains("nowhere"), "{:?}", tree.errors);
        let library = Tree::below(&[folder.path().join("x/site-packages/p")], |_| false);
        assert_eq!(library.files.len(), 1, "asked for by name");
    }

    #[test]
    fn parts_are_small_and_hold_every_file_once() {
        let path = |folder: &str, n: usize| PathBuf::from(format!("r/{folder}/f{n:04}.py"));
        let mut files: Vec<PathBuf> = (0..MOST + 5).map(|n| path("large", n)).collect();
        files.extend((0..30).map(|n| path("small", n)).chain((0..30).map(|n| path("small/deep", n))));
        files.extend((0..3).map(|n| PathBuf::from(format!("r/{n}.py"))));
        files.sort();
        let tree = Tree { files: files.clone(), ..Tree::default() };
        let parts = tree.parts();
        assert!(parts.iter().all(|part| !part.is_empty() && part.len() <= MOST));
        assert_eq!(parts.concat(), files);
        let small = Tree { files: files[..10].to_vec(), ..Tree::default() };
        assert_eq!(small.parts().len(), 1);
    }

    #[test]
    fn parts_have_a_bounded_size() {
        let folder = made(&["a/1.py", "a/2.py", "a/3.py", "b/1.py", "b/2.py", "c.py"]);
        for (file, bytes) in [("a/1.py", 2), ("a/2.py", 2), ("a/3.py", 1), ("b/1.py", 1), ("b/2.py", 1), ("c.py", 9)] {
            let file = std::fs::File::options().write(true).open(folder.path().join(file)).expect("a file");
            file.set_len(bytes * MOST_BYTES / 4).expect("a size");
        }
        let tree = Tree::below(&[folder.path().to_owned()], |_| false);
        let name = |file: &PathBuf| file.strip_prefix(folder.path()).expect("below").display().to_string();
        let parts: Vec<Vec<String>> = tree.parts().into_iter().map(|part| part.iter().map(name).collect()).collect();
        // A folder that is too large is cut, one that is not stays whole, a file that is larger than a part is one.
        assert_eq!(parts, [vec!["a/1.py", "a/2.py"], vec!["a/3.py"], vec!["b/1.py", "b/2.py"], vec!["c.py"]]);
    }
}

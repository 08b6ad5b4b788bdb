//! What a killed recorder left behind: its folder, which nobody else would remove.
//!
//! A folder in use is locked. The kernel takes the lock away with the recorder, however that ended, and shows it to others in
//! other pid namespaces too, to whom the pid in the folder's name says nothing.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// What the folder's name says it is for.
pub const WHAT: &str = "agent";
/// A younger folder may be one that is about to be locked.
const YOUNG: Duration = Duration::from_secs(60);
/// So many entries of a crowded folder are looked at.
const MOST_ENTRIES: usize = 10_000;

/// Marks a folder as in use for as long as what comes back lives.
pub fn hold(folder: &Path) -> io::Result<File> {
    let lock = File::open(folder)?;
    lock.lock_shared()?;
    Ok(lock)
}

/// Removes this user's folders that nobody uses. What cannot be removed stays: it is small.
pub fn remove(home: &Path) {
    let Ok(entries) = std::fs::read_dir(home) else { return };
    let prefix = format!("lowtide-{WHAT}-");
    // SAFETY: it only tells who we are.
    let us = unsafe { libc::geteuid() };
    for entry in entries.take(MOST_ENTRIES).flatten() {
        let ours = entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes());
        // The entry's own: a link is none of ours.
        let Ok(meta) = entry.metadata() else { continue };
        let old = meta.modified().ok().and_then(|at| at.elapsed().ok()).is_some_and(|age| age >= YOUNG);
        if ours && meta.is_dir() && meta.uid() == us && old && !in_use(&entry.path()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn in_use(folder: &Path) -> bool {
    // In doubt it is.
    File::open(folder).map_or(true, |file| file.try_lock().is_err())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::time::SystemTime;

    fn folder(home: &Path, name: &str, age_s: u64) -> PathBuf {
        let path = home.join(name);
        std::fs::create_dir_all(path.join("marks")).expect("made");
        let then = SystemTime::now() - Duration::from_secs(age_s);
        File::open(&path).and_then(|file| file.set_modified(then)).expect("dated");
        path
    }

    #[test]
    fn only_what_nobody_uses_goes() {
        let home = tempfile::tempdir().expect("a folder");
        let [left, young, used, other] = [("agent-1-a", 90), ("agent-2-a", 5), ("agent-3-a", 90), ("report-1-a", 90)]
            .map(|(name, age_s)| folder(home.path(), &format!("lowtide-{name}"), age_s));
        let lock = hold(&used).expect("locked");
        remove(home.path());
        assert_eq!([left.exists(), young.exists(), used.exists(), other.exists()], [false, true, true, true]);
        drop(lock);
        remove(home.path());
        assert!(!used.exists());
    }
}

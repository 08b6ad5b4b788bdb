//! Learning the layout of a build of torch that the table does not know, in a process of our own.
//!
//! The same interpreter imports the same torch, makes tensors and looks at its own memory (`calibrate.py`). That costs
//! seconds and several hundred MiB for once, so it is done only where there is room, and what was learned is kept in the
//! user's cache folder by the build id of the library. The process that is looked at is not touched.

use super::layout::Layout;
use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SCRIPT: &str = include_str!("calibrate.py");
/// Importing torch takes this much, at most, in bytes: 655 MB were seen with a CUDA build of 2.15, 250 MB without.
pub const MEMORY: u64 = 800 << 20;
/// A slow disk takes a minute to import torch for the first time.
const PATIENCE: Duration = Duration::from_secs(120);
/// Bytes that the helper may print, and that a kept file may have.
const ANSWER: u64 = 64 << 10;

/// Why nothing was learned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It would not fit twice into what is left.
    #[error("calibrating torch takes about {} MiB; {} MiB are left under the tightest limit, which is less than twice that", MEMORY >> 20, .0 >> 20)]
    NoRoom(u64),
    /// The interpreter could not be started.
    #[error("{path}: cannot be started to calibrate torch: {source}")]
    Start {
        /// The interpreter.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It did not answer in time.
    #[error("calibrating torch took more than {} s and was given up", PATIENCE.as_secs())]
    Late,
    /// It answered something else.
    #[error("calibrating torch failed: {0}")]
    Answer(String),
}

/// Where a process has its Python and its torch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The interpreter.
    pub python: PathBuf,
    /// The folder that has `torch` in it.
    pub packages: PathBuf,
    /// Build id of the library, in hexadecimal digits.
    pub build: String,
}

/// The folder that torch was imported from, by the files that are mapped: `.../site-packages/torch/_C.cpython-311...so`.
pub fn packages<'a>(files: impl Iterator<Item = &'a [u8]>) -> Option<PathBuf> {
    let path = files.filter_map(|file| std::str::from_utf8(file).ok()).find(|file| file.contains("/torch/_C."))?;
    Some(Path::new(path).parent()?.parent()?.to_path_buf())
}

/// The layout of this build: from the cache, else learned now if `room` (bytes left under the tightest limit) allows it.
///
/// # Errors
/// Where it is not known and could not be learned; the message says why.
pub fn layout(site: &Site, cache: Option<&Path>, room: u64) -> Result<Layout, Error> {
    let file = cache.map(|folder| folder.join("torch").join(format!("{}.json", plain(&site.build))));
    if let Some(kept) = file.as_deref().and_then(kept) {
        return Ok(kept);
    }
    if room < 2 * MEMORY {
        return Err(Error::NoRoom(room));
    }
    let answer = ask(site)?;
    let layout = parse(&answer).ok_or_else(|| Error::Answer(first_line(&answer)))?;
    // A cache that cannot be written costs the next look some seconds, and is no reason to fail.
    if let Some(file) = file
        && let Some(folder) = file.parent()
        && std::fs::create_dir_all(folder).is_ok()
    {
        let new = file.with_extension(format!("{}.new", std::process::id()));
        let _ = std::fs::write(&new, &answer).and_then(|()| std::fs::rename(&new, &file));
    }
    Ok(layout)
}

fn kept(file: &Path) -> Option<Layout> {
    let mut text = String::new();
    std::fs::File::open(file).ok()?.take(ANSWER).read_to_string(&mut text).ok()?;
    parse(&text)
}

/// Only digits of a build id make a file's name.
fn plain(build: &str) -> String {
    build.chars().filter(char::is_ascii_hexdigit).take(64).collect()
}

fn ask(site: &Site) -> Result<String, Error> {
    let start = |source| Error::Start { path: site.python.clone(), source };
    // Nothing of the environment goes along but what finds programs and libraries: it may hold secrets, and names of devices.
    let mut command = Command::new(&site.python);
    command.args(["-c", SCRIPT]).arg(&site.packages).env_clear();
    for name in ["PATH", "HOME", "LD_LIBRARY_PATH"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env("CUDA_VISIBLE_DEVICES", "").env("OMP_NUM_THREADS", "1").env("PYTHONDONTWRITEBYTECODE", "1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(start)?;
    // If memory runs out after all, the helper is the first to go.
    lowtide_remote::go_first(child.id());
    let mut helper = Helper(child);
    let answer = drain(helper.0.stdout.take());
    let trouble = drain(helper.0.stderr.take());
    let started = Instant::now();
    let status = loop {
        match helper.0.try_wait().map_err(start)? {
            Some(status) => break status,
            None if started.elapsed() > PATIENCE => return Err(Error::Late),
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let text = |thread: std::thread::JoinHandle<String>| thread.join().unwrap_or_default();
    match (status.success(), text(answer), text(trouble)) {
        (true, answer, _) => Ok(answer),
        (false, _, trouble) => Err(Error::Answer(trouble.lines().last().unwrap_or("no answer").to_string())),
    }
}

fn drain(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().take(ANSWER).read_to_end(&mut bytes);
            // What is said beyond that is read, so that the helper does not wait for us, and dropped.
            let _ = io::copy(&mut pipe, &mut io::sink());
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Ends the helper however this ends.
struct Helper(Child);

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn parse(answer: &str) -> Option<Layout> {
    let value: serde_json::Value = serde_json::from_str(answer).ok()?;
    let offsets: HashMap<&str, u64> =
        value.as_object()?.iter().filter_map(|(name, at)| Some((name.as_str(), at.as_u64()?))).collect();
    Layout::from_named(value.get("torch")?.as_str()?, &offsets)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or("no answer").chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn site() -> Site {
        Site { python: "/nowhere/python".into(), packages: "/nowhere".into(), build: "0a1b".into() }
    }

    #[test]
    fn nothing_is_started_without_room() {
        let error = layout(&site(), None, 2 * MEMORY - 1).unwrap_err();
        assert!(matches!(error, Error::NoRoom(_)), "{error}");
        assert!(matches!(layout(&site(), None, 2 * MEMORY).unwrap_err(), Error::Start { .. }));
    }

    #[test]
    fn what_is_kept_is_taken_and_nonsense_is_not() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("torch")).unwrap();
        let file = folder.path().join("torch/0a1b.json");
        std::fs::write(&file, r#"{"torch": "9.9"}"#).unwrap();
        assert!(layout(&site(), Some(folder.path()), 0).is_err());
        let names = "python_impl storage autograd pyobj ndim sizes strides offset numel dtype device data nbytes grad grad_fn \
                     requires_grad node_python edges edge_bytes";
        let fields: Vec<String> = names.split_whitespace().map(|name| format!("\"{name}\": 16")).collect();
        std::fs::write(&file, format!("{{\"torch\": \"9.9\", {}}}", fields.join(","))).unwrap();
        assert_eq!(layout(&site(), Some(folder.path()), 0).unwrap().torch, "9.9");
    }

    #[test]
    fn the_folder_follows_from_the_files() {
        let files: [&[u8]; 2] =
            [b"/usr/lib/libc.so.6", b"/opt/venv/lib/python3.11/site-packages/torch/_C.cpython-311-x86_64-linux-gnu.so"];
        assert_eq!(packages(files.into_iter()).unwrap(), Path::new("/opt/venv/lib/python3.11/site-packages"));
        assert_eq!(packages(files[..1].iter().copied()), None);
    }
}

//! `lowtide heap PID`: what is alive in a running Python, what grows there, and who holds it. From outside: the process is
//! held still for a moment, read, and goes on.

mod beside;
mod blame;
mod json;
mod last;
mod look;
mod memory;
mod owns;
mod text;
mod tide;
mod view;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lowtide_pyheap::torch::Filter;
use lowtide_pyheap::{Census, Summary};

use crate::culprit::{self, Facts, Modules, Sources};
use crate::duration;
use crate::exit::{self, Failure};
use crate::malloc;
use crate::output::TextOrJson;
use crate::terminal;
use blame::Blame;
use look::{Extent, Look, Saved};
use tide::Apart;
use view::Wanted;

/// A library's container has a line where it holds at least one part in so many of all objects: libraries have hundreds of them, and what
/// they keep of their own from the start is nobody's fault.
const LIBRARYS: u64 = 100;

/// List what is alive in a running Python, what grows there, and who holds it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The process
    #[arg(value_name = "PID", required_unless_present_any = ["core", "last"])]
    pid: Option<u32>,
    /// A core file in place of a process (`gcore PID`, or the kernel's); the program's files must be where they were
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pid", "diff", "save", "compare", "max_pause", "tensor"])]
    core: Option<PathBuf>,
    /// With --core: where the program's files lie, of a core file that comes from a container or another machine
    #[arg(long, value_name = "FOLDER", requires = "core", default_value = "/", hide_default_value = true)]
    root: PathBuf,
    /// The process that the newest `lowtide run` or `attach` watches, in place of a PID
    #[arg(long, conflicts_with_all = ["pid", "core"])]
    last: bool,
    /// Look twice, so far apart (60s), or each time when an epoch begins (marks), and say what grew
    #[arg(long, value_name = "TIME|marks", value_parser = tide::apart)]
    diff: Option<Apart>,
    /// Only types whose name has this in it, and who holds their objects
    #[arg(long, value_name = "NAME")]
    r#type: Option<String>,
    /// Only holders whose path has this in it
    #[arg(long, value_name = "TEXT")]
    holder: Option<String>,
    /// Say of every container shown what it owns alone, and who else holds the rest (one to three times the processor time)
    #[arg(long)]
    owners: bool,
    /// Python's objects alone, without tensors and what memory is for: holds the process still for less time
    #[arg(long, conflicts_with_all = ["core", "tensor"])]
    objects: bool,
    /// Only tensors of which all of this holds: device=, dtype=, shape=, requires_grad=, grad_fn=, python=, min=
    #[arg(long, value_name = "CONDITIONS", default_value = "", hide_default_value = true)]
    tensor: Filter,
    /// All lines of each list, not only the first
    #[arg(short, long)]
    all: bool,
    /// Form of the answer
    #[arg(long, value_enum, default_value = "text")]
    format: TextOrJson,
    /// Keep this look in FILE, to compare a later one with
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Say what grew since the look in FILE
    #[arg(long, value_name = "FILE", conflicts_with = "diff")]
    compare: Option<PathBuf>,
    /// Hold the process still no longer than this [default: four times what is expected, 2s at least]
    #[arg(long, value_name = "TIME", value_parser = duration::parse_duration)]
    max_pause: Option<Duration>,
}

/// Looks, and prints.
pub fn heap(args: &Args) -> Result<u8, Failure> {
    malloc::keep_little();
    let process = match (&args.core, args.pid) {
        (Some(path), _) => {
            return shown(args, Look::of_core(path, &args.root, look::threads())?, None, Sources::below(&args.root));
        }
        (None, Some(pid)) => look::open(pid)?,
        (None, None) => last::open()?,
    };
    let is_compared = args.diff.is_some() || args.compare.is_some() || args.save.is_some();
    let threads = if is_compared { 1 } else { look::threads() };
    let extent = if args.objects { Extent::Objects } else { Extent::All };
    let mut between = None;
    let before = match (&args.compare, args.diff) {
        (Some(path), _) => Some(load(path)?),
        (None, Some(apart)) => {
            let second = apart.first(&process)?;
            let mut first = Look::take(&process, extent, args.max_pause, threads)?;
            first.count_tensors(None);
            let saved = first.saved();
            drop(first);
            between = Some(second.wait()?);
            Some(saved)
        }
        (None, None) => None,
    };
    let mut look = Look::take(&process, extent, args.max_pause, threads)?;
    look.between = between;
    look.count_tensors(before.as_ref().map(|saved| saved.tensors));
    let before = before.map(|saved| same_process(saved, &look)).transpose()?;
    if let Some(path) = &args.save {
        save(path, &look.saved())?;
    }
    shown(args, look, before.as_ref(), Sources::of(&process))
}

/// Prints a look.
fn shown(args: &Args, mut look: Look, before: Option<&Summary>, sources: Sources) -> Result<u8, Failure> {
    let wanted = Wanted {
        kind: args.r#type.clone(),
        holder: args.holder.clone(),
        owners: args.owners || args.holder.is_some(),
        tensor: args.tensor.clone(),
        all: args.all,
    };
    let graphs = culprit::graphs(look.memory.as_ref());
    // What grew is known last; without it the program's source is read while somebody else works out what memory is for.
    let is_alone = before.is_none();
    let modules_of = |census: &Census| Modules::of(&sources, census);
    let (view, (blame, modules)) = view::view(&mut look, before, &wanted, modules_of, |census, bytes, modules, containers| {
        let facts = Facts { sources: &sources, census, modules: &modules, graphs: &graphs };
        (is_alone.then(|| Blame::new(facts, &[], containers, least(&wanted, bytes))), modules)
    });
    let grown = view.growth.as_ref().map_or(&[][..], |growth| &growth.holders);
    let blame = blame.unwrap_or_else(|| {
        let facts = Facts { sources: &sources, census: &look.census, modules: &modules, graphs: &graphs };
        Blame::new(facts, grown, &view.holders, least(&wanted, view.bytes))
    });
    let stdout = std::io::stdout();
    let answer = match args.format {
        TextOrJson::Json => json::json(&look, &view, &blame),
        TextOrJson::Text => text::text(&look, &view, &blame, terminal::width(&stdout)),
    };
    // A reader that closes the pipe early has read enough.
    let _ = stdout.lock().write_all(answer.as_bytes());
    // The process ends now, and its memory with it: to give back millions of pieces one by one would only take time.
    std::mem::forget((look, view, blame));
    Ok(exit::DONE)
}

/// Bytes that a library's container holds at least to have a line, where all objects have so many. Who asks for one by its name is told
/// its line, however small it is.
fn least(wanted: &Wanted, bytes: u64) -> i64 {
    if wanted.holder.is_some() { 0 } else { culprit::WORTH.max(i64::try_from(bytes / LIBRARYS).unwrap_or(i64::MAX)) }
}

/// The summary of an earlier look, if it was of the process that is looked at now: objects are told by their addresses.
fn same_process(saved: Saved, look: &Look) -> Result<Summary, Failure> {
    if saved.start_ticks != look.start_ticks || saved.pid != look.pid {
        return Err(Failure::usage(format!(
            "the look that is compared with was at another process (pid {}, started at another time): objects can be followed within one \
             process only; save a look at pid {} first",
            saved.pid, look.pid
        )));
    }
    if saved.program != 0 && saved.program != look.census.python().program() {
        return Err(Failure::cannot(format!(
            "pid {} has become another program since the look that is compared with: its objects of then are gone; look again",
            look.pid
        )));
    }
    Ok(saved.summary)
}

fn load(path: &Path) -> Result<Saved, Failure> {
    let file = fs::read(path).map_err(|error| Failure::cannot(format!("cannot read {}: {error}", path.display())))?;
    serde_json::from_slice(&file)
        .map_err(|error| Failure::cannot(format!("{} is not a look that `lowtide heap --save` wrote: {error}", path.display())))
}

fn save(path: &Path, saved: &Saved) -> Result<(), Failure> {
    let failure = |error: std::io::Error| Failure::cannot(format!("cannot write {}: {error}", path.display()));
    let bytes = serde_json::to_vec(saved).map_err(|error| failure(error.into()))?;
    fs::write(path, bytes).map_err(failure)
}

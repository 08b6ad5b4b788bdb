//! `lowtide compare`: did the fix work, and what does it cost?

use std::io::Write;
use std::path::{Path, PathBuf};

use lowtide_analyse::Analyser;
use lowtide_analyse::compare::Facts;
use lowtide_model::{Change, Comparison, Event, Mode, ProcId, ProcSample, Process, Role, RunInfo, Signal, Tick};
use lowtide_report::{LoggedCurve, Redaction, TextOptions};

use crate::exit::{self, Failure};
use crate::input::{Judged, Source};
use crate::terminal::{self, say};

/// Hold a run against an earlier one: did the fix work, and what does it cost?
///
/// Takes recordings and whatever else `lowtide report` reads. A difference counts only where it is larger than what the runs'
/// own noise allows and what two runs of one program differ by; with several runs a side that is measured.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "lowtide compare [OPTIONS] BEFORE AFTER\n       lowtide compare [OPTIONS] --before FILE... --after FILE..."
)]
pub struct Args {
    /// The run before the change, and the one after it
    #[arg(value_names = ["BEFORE", "AFTER"], num_args = 2, required_unless_present_all = ["before", "after"])]
    files: Vec<PathBuf>,
    /// Several runs before the change; may be repeated
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "after", conflicts_with = "files")]
    before: Vec<PathBuf>,
    /// Several runs after it
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "before", conflicts_with = "files")]
    after: Vec<PathBuf>,
    /// What a column of a CSV is: time=elapsed:ms, memory=rss_mb:MB, pid=2
    #[arg(long = "column", value_name = "KIND=NAME[:UNIT]")]
    columns: Vec<String>,
    /// Exit with 1 if this is found: worse, none
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = FailOn::None)]
    fail_on: FailOn,
    /// Form of the answer
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write the answer to FILE; its ending tells the form (.txt, .json, .md)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Leave out what a stranger should not read: paths, hosts, and commands beyond the program's name
    #[arg(long)]
    redact: bool,
    /// Show all roles and phases, not only those that differ
    #[arg(short, long)]
    verbose: bool,
}

/// What makes the exit code 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    /// Nothing does.
    None,
    /// The later run is worse.
    Worse,
}

/// The forms of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// For programs: `lowtide.compare/1`.
    Json,
    /// For an issue or a pull request.
    Markdown,
}

/// Compares.
pub fn compare(args: &Args) -> Result<u8, Failure> {
    let format = format_of(args)?;
    let (before, after) = match args.files.as_slice() {
        [before, after] => (std::slice::from_ref(before), std::slice::from_ref(after)),
        _ => (args.before.as_slice(), args.after.as_slice()),
    };
    if before.iter().chain(after).filter(|file| file.as_os_str() == "-").count() > 1 {
        return Err(Failure::usage("standard input can be one of the runs only"));
    }
    let mut names = Redaction::default();
    let mut read = |files: &[PathBuf]| files.iter().map(|file| facts(file, args, &mut names)).collect::<Result<Vec<_>, _>>();
    let (before, after) = (read(before)?, read(after)?);
    let mut comparison = lowtide_analyse::compare::compare(&before, &after);
    if args.redact {
        names.comparison(&mut comparison);
    }
    match &args.output {
        Some(path) => {
            let text = rendered(&comparison, format, args.verbose);
            std::fs::write(path, text)
                .map_err(|error| Failure::cannot(format!("cannot write to {}: {error}", path.display())))?;
        }
        None => {
            let stdout = std::io::stdout();
            let text = if format == Format::Text {
                let (color, width) = (terminal::color(&stdout), terminal::width(&stdout));
                lowtide_report::compare_text(&comparison, &TextOptions { color, width, verbose: args.verbose })
            } else {
                rendered(&comparison, format, args.verbose)
            };
            // A reader that closes the pipe early has read enough.
            let _ = stdout.lock().write_all(text.as_bytes());
        }
    }
    let found = args.fail_on == FailOn::Worse && comparison.outcome == Change::Worse;
    Ok(if found { exit::FOUND } else { exit::DONE })
}

fn format_of(args: &Args) -> Result<Format, Failure> {
    let Some(path) = args.output.as_ref().filter(|_| args.format.is_none()) else {
        return Ok(args.format.unwrap_or(Format::Text));
    };
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
    match ending.as_str() {
        "txt" | "text" | "log" => Ok(Format::Text),
        "json" => Ok(Format::Json),
        "md" | "markdown" => Ok(Format::Markdown),
        _ => {
            let path = path.display();
            Err(Failure::usage(format!("the ending of {path} tells no form: use .txt, .json or .md, or give --format")))
        }
    }
}

fn facts(file: &Path, args: &Args, names: &mut Redaction) -> Result<Facts, Failure> {
    let source = Source::open(file)?;
    if source.is_pickle().unwrap_or(false) {
        let name = &source.name;
        return Err(Failure::usage(format!(
            "{name} is a memory snapshot of PyTorch: it shows one moment, and compare takes runs; `lowtide report EARLIER LATER` says what grew between two"
        )));
    }
    let analysed = source.analyse(&args.columns, false)?;
    for said in &analysed.judged.said {
        say(&format!("{}: {said}", source.name));
    }
    names.learn(&analysed.judged.report);
    if let Some((what, analyser)) = of_numbers(&analysed.judged) {
        say(&format!("{}: compared by {what}, as the file has it", source.name));
        let mut report = analyser.report();
        // Whose numbers they are lowers what is said of them, and the file's own report knows that.
        report.verdict = analysed.judged.report.verdict;
        report.run.ended.clone_from(&analysed.judged.report.run.ended);
        return Ok(Facts::of(&analyser, report, &source.name));
    }
    Ok(Facts::of(&analysed.analyser, analysed.judged.report, &source.name))
}

/// A file of numbers that are nobody's in particular (a log, metrics), as a run of one process: those that its verdict is about, else
/// the first of a process's own memory. `None` where there are none by time.
fn of_numbers(judged: &Judged) -> Option<(String, Analyser)> {
    let drawn = || judged.curve.logged().iter().filter(|one| one.per == "second" && !one.percent && one.points.len() > 1);
    let ram = |one: &&LoggedCurve| one.resource == "ram";
    let one = drawn().filter(ram).find(|one| one.blamed).or_else(|| drawn().filter(ram).find(|one| one.own))?;
    let mut analyser = Analyser::new();
    let id = ProcId(0);
    analyser.push(&Event::Start(RunInfo {
        version: String::new(),
        mode: Mode::Import,
        command: Vec::new(),
        host: String::new(),
        started_unix_s: 0.0,
        interval_s: 0.0,
        root_pid: 0,
        rank: None,
        signal: Signal::RssOnly,
    }));
    analyser.push(&Event::Process(Process {
        id,
        pid: 0,
        ppid: 0,
        parent: None,
        start_s: 0.0,
        name: one.name.clone(),
        command: one.name.clone(),
        role: Role::Trainer,
        role_reason: String::new(),
        rank: None,
    }));
    let first_s = one.points[0].0;
    for (t_s, bytes) in &one.points {
        let sample = ProcSample { anon: bytes.max(0.0) as u64, ..ProcSample::empty(id) };
        analyser.push(&Event::Tick(Tick { t_s: t_s - first_s, procs: vec![sample], ..Tick::default() }));
    }
    Some((format!("`{}`", one.name), analyser))
}

fn rendered(comparison: &Comparison, format: Format, verbose: bool) -> String {
    match format {
        Format::Text => lowtide_report::compare_text(comparison, &TextOptions { color: false, width: 100, verbose }),
        Format::Json => lowtide_report::compare_json(comparison),
        Format::Markdown => lowtide_report::compare_markdown(comparison),
    }
}

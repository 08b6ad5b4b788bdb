//! `lowtide check`: patterns that leak, in source, before the run.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use lowtide_causes::Checked;
use lowtide_lint::check::Confidence;
use lowtide_lint::fix::Safety;
use lowtide_lint::program::{Files, InMemory, Rooted};
use lowtide_lint::source::MAX_BYTES;
use lowtide_lint::tree::{MAX_FILES, Tree};
use lowtide_model::{Class, Finding, Report, Site, Verdict};
use lowtide_report::{Curve, TextOptions, pieces};

use super::audit;
use super::fixing::{self, FixArgs};
use super::frames::Frames;
use crate::config::Config;
use crate::exit::{self, Failure};
use crate::fail_on::{Condition, FailOn};
use crate::input::Source;
use crate::join;
use crate::output::{Destination, Format, Output, OutputArgs};
use crate::rules::Rules;
use crate::terminal::{self, say};

/// Find patterns that leak in Python source, before the run.
///
/// Files are read, never run. What is found is explained by `lowtide causes`; a comment `# lowtide: ignore[LT103] reason`
/// at the line, or on the line before it, says that it is none.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files and folders (default: the working folder); `-` is standard input
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Only these: LT103, LT1 for all that begin so, names; with commas between
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    select: Vec<String>,
    /// All but these
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    ignore: Vec<String>,
    /// Leave out files and folders whose path matches: 'third_party/**', '*_pb2.py'; may be repeated
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Tell first what grew in this run, by how fast: a recording of `lowtide run`
    #[arg(long, value_name = "FILE")]
    run: Option<PathBuf>,
    /// What standard input is called in messages
    #[arg(long, value_name = "NAME", default_value = "stdin.py")]
    stdin_filename: PathBuf,
    /// Exit with 1 if this is found: source (the default), none
    #[arg(long, value_name = "WHAT")]
    fail_on: Option<FailOn>,
    /// Settings of the project (default: lowtide.toml or [tool.lowtide] of pyproject.toml, here or in a folder above)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print a table instead: datasets, the classes that can be sent to a device
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["select", "ignore", "fail_on"])]
    audit: Option<audit::Subject>,
    #[command(flatten)]
    fix: FixArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// What is to be checked.
struct Input {
    files: Box<dyn Files + Sync>,
    tree: Tree,
    /// It came through standard input, and so does what it becomes leave through standard output.
    piped: bool,
}

/// Checks.
pub fn check(args: &Args) -> Result<u8, Failure> {
    let folder = std::env::current_dir().unwrap_or_default();
    let config = Config::load(args.config.as_deref(), &folder).map_err(|error| Failure::usage(error.to_string()))?;
    let rules = Rules::of(&config.check, &args.select, &args.ignore, &args.exclude)?;
    let output = Output::of(&args.output, config.redact)?;
    if let Destination::Export(path, _) = &output.destination {
        return Err(Failure::usage(format!("{} would be measurements; `check` has a report only", path.display())));
    }
    let input = if args.paths == [PathBuf::from("-")] { stdin(&args.stdin_filename)? } else { tree(args, &rules)? };
    let parts = input.tree.parts();
    if args.audit == Some(audit::Subject::Datasets) {
        return audit::datasets(&*input.files, &parts, &output).map(|()| exit::DONE);
    }
    let fail_on = args.fail_on.clone().unwrap_or_else(FailOn::source);
    if args.fix.any()
        && let Some(shown) = fix(args.fix, &input, &parts, &rules)?
    {
        let fails = shown == Shown::Changes && fail_on.asks_for(Condition::Source);
        return Ok(if fails { exit::FOUND } else { exit::DONE });
    }
    let mut checked = lowtide_causes::check_parts(&*input.files, &parts);
    if rules.want_hints() {
        checked.findings.extend(lowtide_causes::check_scripts(&*input.files, &input.tree.scripts));
    }
    checked.errors.iter().for_each(|error| say(&error.to_string()));
    checked.unknown.iter().for_each(|unknown| say(unknown));
    let files = input.tree.files.len();
    let mut report = report(&checked, files, &rules);
    if let Some(recording) = &args.run {
        let run = Source::open(recording)?.judge(&[], false)?.report;
        let grew = join::with_run(&mut report, &run);
        report.summary += &format!("; {grew} of them grew in {}", recording.display());
    }
    let fails = fail_on.found_in(&report);
    if matches!(&output.destination, Destination::Console(format) | Destination::File(_, format) if matches!(format, Format::Sarif | Format::Github))
    {
        point_into_files(&mut report, &*input.files);
    }
    output.prepare(&mut report, &mut Curve::default());
    show(&report, &output, &*input.files)?;
    let nothing_read = files > 0 && checked.errors.len() == files;
    Ok(if nothing_read {
        exit::CANNOT
    } else if fails {
        exit::FOUND
    } else {
        exit::DONE
    })
}

/// What was printed of fixes, where that is all that was asked for.
#[derive(PartialEq)]
enum Shown {
    /// Nothing, or what standard input has become.
    Result,
    /// Changes that are to be made.
    Changes,
}

/// Makes or shows the fixes; `None` where they were written into the files, so that what is left is to be told.
fn fix(how: FixArgs, input: &Input, parts: &[&[PathBuf]], rules: &Rules) -> Result<Option<Shown>, Failure> {
    let fixed = how.fixed(&*input.files, parts, rules);
    let (all, shown) = if how.only_shows() {
        (fixing::diff(&fixed).into_bytes(), if fixed.is_empty() { Shown::Result } else { Shown::Changes })
    } else if input.piped {
        let all = match fixed.into_iter().next() {
            Some(fixed) => fixed.after,
            None => input.files.read(&input.tree.files[0]).unwrap_or_default(),
        };
        (all, Shown::Result)
    } else {
        return fixing::write(&fixed).map(|()| None);
    };
    // A reader that closes the pipe early has read enough.
    let _ = std::io::stdout().lock().write_all(&all);
    Ok(Some(shown))
}

fn tree(args: &Args, rules: &Rules) -> Result<Input, Failure> {
    let here = [PathBuf::from(".")];
    let paths: &[PathBuf] = if args.paths.is_empty() { &here } else { &args.paths };
    if let Some(missing) = paths.iter().find(|path| !path.exists()) {
        return Err(Failure::cannot(format!("there is no {}; name files or folders of Python source", missing.display())));
    }
    let tree = Tree::below(paths, |path| rules.leave_out(path));
    tree.errors.iter().for_each(|error| say(error));
    if tree.cut {
        say(&format!("only the first {MAX_FILES} files are checked; name the folders that matter"));
    }
    Ok(Input { files: Box::new(Rooted::new("/")), tree, piped: false })
}

fn stdin(name: &Path) -> Result<Input, Failure> {
    let mut text = Vec::new();
    std::io::stdin()
        .take(MAX_BYTES as u64 + 1)
        .read_to_end(&mut text)
        .map_err(|error| Failure::cannot(format!("standard input cannot be read: {error}")))?;
    let tree = Tree { files: vec![name.to_owned()], ..Tree::default() };
    Ok(Input { files: Box::new(InMemory([(name.to_owned(), text)].into())), tree, piped: true })
}

/// The findings as every other command has them.
fn report(checked: &Checked, files: usize, rules: &Rules) -> Report {
    let wanted = |finding: &&lowtide_causes::Finding| rules.want(finding);
    let (ignored, told): (Vec<_>, Vec<_>) = checked.findings.iter().filter(wanted).partition(|finding| finding.ignored);
    let mut report = Report::empty(Verdict::Undecided);
    report.findings = told.iter().map(|finding| of_source(finding)).collect();
    let read = files.saturating_sub(checked.errors.len());
    report.summary = format!(
        "{} in {}",
        pieces(told.len() as u64, "pattern that leaks", "patterns that leak"),
        pieces(read as u64, "file", "files")
    );
    if !ignored.is_empty() {
        report.summary += &format!(", {} ignored by comments", ignored.len());
    }
    if !checked.errors.is_empty() {
        report.summary += &format!("; {} could not be read", pieces(checked.errors.len() as u64, "file", "files"));
        report.blind_spots = checked.errors.iter().map(ToString::to_string).collect();
    }
    let fixable = |safety| told.iter().filter(|one| one.fix.as_ref().is_some_and(|fix| fix.safety == safety)).count();
    for (n, option) in [(fixable(Safety::Safe), "--fix"), (fixable(Safety::Unsafe), "--unsafe-fixes")] {
        if n > 0 {
            report.summary += &format!("; {n} can be fixed by {option}");
        }
    }
    "check".clone_into(&mut report.run.source);
    report
}

fn of_source(found: &lowtide_causes::Finding) -> Finding {
    let (cause, site) = (found.cause, &found.site);
    let text = if found.what.is_empty() { cause.title } else { &found.what };
    let cell = site.cell.map_or(String::new(), |cell| format!("cell {cell}: "));
    let mut finding = Finding::new(Class::Source, "", cell + text);
    finding.site = Some(Site {
        file: site.file.display().to_string(),
        line: u32::try_from(site.line).unwrap_or(u32::MAX),
        column: u32::try_from(site.column).ok(),
        text: site.text.clone(),
    });
    finding.cause = Some(cause.id.to_owned());
    finding.confidence = sureness(found.confidence);
    finding.title = Some(cause.title.to_owned());
    finding.why = Some(cause.keeps.to_owned());
    finding.fix = Some(cause.fix.text.to_owned());
    finding
}

/// How sure a rule is, as the report has it: what is told by default is right nine times of ten, as measured on real code
/// (`benches/precision.py`); the others only stand below it in their order.
fn sureness(confidence: Confidence) -> f64 {
    match confidence {
        Confidence::High => 0.9,
        Confidence::Medium => 0.7,
        Confidence::Low => 0.3,
    }
}

/// Lines of cells as lines of the notebook's file, which is what code hosts show; the cell's own are said beside.
fn point_into_files(report: &mut Report, files: &dyn Files) {
    for finding in &mut report.findings {
        let Some(site) = finding.site.as_mut().filter(|site| site.file.ends_with(".ipynb")) else { continue };
        let cell = finding.text.strip_prefix("cell ").and_then(|rest| rest.split_once(": "));
        let Some((cell, rest)) = cell.and_then(|(cell, rest)| Some((cell.parse::<usize>().ok()?, rest))) else { continue };
        let Ok(bytes) = files.read(Path::new(&site.file)) else { continue };
        let line = lowtide_lint::source::line_of(&bytes, cell, usize::try_from(site.line).unwrap_or(usize::MAX));
        if let Some(line) = line.and_then(|line| u32::try_from(line).ok()) {
            finding.text = format!("cell {cell}, line {}: {rest}", site.line);
            site.line = line;
            site.column = None;
        }
    }
}

fn show(report: &Report, output: &Output, files: &dyn Files) -> Result<(), Failure> {
    let stdout = std::io::stdout();
    let frames = Frames::of(files);
    let text = |options| lowtide_report::source_text(report, &options, &|site| frames.around(site));
    let rendered = match &output.destination {
        Destination::Console(Format::Text) => {
            text(TextOptions { color: terminal::color(&stdout), width: terminal::width(&stdout), verbose: output.verbose })
        }
        Destination::File(_, Format::Text) => text(TextOptions { color: false, width: 100, verbose: output.verbose }),
        Destination::Console(format) | Destination::File(_, format) => output.rendered(report, *format, &Curve::default()),
        Destination::Export(..) => String::new(),
    };
    if let Destination::File(..) = &output.destination {
        return output.write_file(&rendered);
    }
    // A reader that closes the pipe early has read enough.
    let _ = stdout.lock().write_all(rendered.as_bytes());
    Ok(())
}

//! `lowtide report`: judge files, or hand their measurements to other tools.

use std::io::Write;
use std::path::{Path, PathBuf};

use lowtide_record::place;

use super::judging::{JudgeArgs, Judging};
use crate::browser;
use crate::exit::{self, Failure};
use crate::input::Source;
use crate::output::{Destination, Export, Format, Output, OutputArgs};
use crate::terminal::say;

/// Judge a file: a recording, or measurements of another tool.
///
/// What a file is shows from its content: a recording of lowtide, mprof data, a CSV with a time column and memory
/// columns, the answer to a Prometheus range query, a memory snapshot of PyTorch. Several snapshots are taken for those of
/// one process, and compared.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to judge; `-` is standard input. Without a file: the newest run
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What a column of a CSV is: time=elapsed:ms, memory=rss_mb:MB, pid=2
    #[arg(long = "column", value_name = "KIND=NAME[:UNIT]")]
    columns: Vec<String>,
    #[command(flatten)]
    judge: JudgeArgs,
    #[command(flatten)]
    output: OutputArgs,
    /// Show it as a page in your browser; the page is kept beside FILE, or in the file that -o names
    #[arg(long)]
    open: bool,
}

/// Reports.
pub fn report(mut args: Args) -> Result<u8, Failure> {
    if args.open {
        place_page(&mut args)?;
    }
    let judging = Judging::of(&args.judge, &[])?;
    let output = Output::of(&args.output, judging.config.redact)?;
    let files = if args.files.is_empty() { vec![newest()?] } else { args.files };
    if let Destination::Export(path, format) = &output.destination {
        return export_to(&files, &args.columns, path, *format);
    }
    let groups = grouped(&files)?;
    if groups.len() > 1 && output.draws() {
        return Err(Failure::usage("a page shows one run: give one file, or call `lowtide report` for each"));
    }
    let mut found = false;
    let mut failed = None;
    let mut rendered = String::new();
    for group in &groups {
        match one(group, &args.columns, &judging, &output, groups.len() > 1) {
            Ok((text, finds)) => {
                rendered.push_str(&text);
                found |= finds;
            }
            // The others are judged all the same.
            Err(failure) if groups.len() > 1 => {
                say(&failure.text);
                failed = Some(failure.code);
            }
            Err(failure) => return Err(failure),
        }
    }
    match &output.destination {
        Destination::File(path, _) => {
            output.write_file(&rendered)?;
            if args.open
                && let Err(why) = browser::open(path)
            {
                say(&format!("the page is in {}; {why}: open it with a browser, here or elsewhere", path.display()));
            }
        }
        // A reader that closes the pipe early has read enough.
        _ => drop(std::io::stdout().lock().write_all(rendered.as_bytes())),
    }
    Ok(failed.unwrap_or(if found { exit::FOUND } else { exit::DONE }))
}

/// The files, each by itself, but all snapshots together.
fn grouped(files: &[PathBuf]) -> Result<Vec<Vec<Source>>, Failure> {
    let mut groups: Vec<Vec<Source>> = Vec::new();
    let mut snapshots = None;
    for file in files {
        let source = Source::open(file)?;
        // What cannot be read is told when its turn comes.
        if !source.is_pickle().unwrap_or(false) {
            groups.push(vec![source]);
        } else if let Some(at) = snapshots {
            let group: &mut Vec<Source> = &mut groups[at];
            group.push(source);
        } else {
            snapshots = Some(groups.len());
            groups.push(vec![source]);
        }
    }
    Ok(groups)
}

/// The report of one file, or of snapshots together, as text, and whether it holds what `--fail-on` names.
fn one(
    sources: &[Source],
    columns: &[String],
    judging: &Judging,
    output: &Output,
    several: bool,
) -> Result<(String, bool), Failure> {
    let mut judged =
        if let [source] = sources { source.judge(columns, output.draws())? } else { Source::judge_snapshots(sources)? };
    let name = sources.iter().map(|source| source.name.as_str()).collect::<Vec<_>>().join(", ");
    for said in &judged.said {
        say(&format!("{name}: {said}"));
    }
    let mut report = judged.report;
    judging.judge(&mut report);
    let found = judging.found(&report);
    output.prepare(&mut report, &mut judged.curve);
    let text = match &output.destination {
        Destination::Console(Format::Text) => output.text_for(&report, &std::io::stdout()),
        Destination::Console(format) | Destination::File(_, format) => output.rendered(&report, *format, &judged.curve),
        Destination::Export(..) => String::new(),
    };
    let is_text = matches!(&output.destination, Destination::Console(Format::Text) | Destination::File(_, Format::Text));
    // A file's name may hold a command and a host.
    let title = match several && is_text {
        true if output.redact => "== [redacted]\n".to_owned(),
        true => format!("== {name}\n"),
        false => String::new(),
    };
    Ok((title + &text, found))
}

/// Where the page of `--open` goes.
fn place_page(args: &mut Args) -> Result<(), Failure> {
    if args.output.format.is_some_and(|format| format != Format::Html) {
        return Err(Failure::usage("--open shows a page: leave --format away, or give --format html"));
    }
    args.output.format = Some(Format::Html);
    if args.files.is_empty() {
        args.files.push(newest()?);
    }
    if args.output.output.is_none() {
        let beside = args.files[0].with_extension("html");
        args.output.output = Some(if args.files[0].as_os_str() == "-" { PathBuf::from("stdin.html") } else { beside });
    }
    Ok(())
}

fn newest() -> Result<PathBuf, Failure> {
    let newest = place::newest();
    newest.ok_or_else(|| Failure::cannot("there is no recording yet; make one with `lowtide run -- CMD`, or name a file"))
}

fn export_to(files: &[PathBuf], columns: &[String], path: &Path, format: Export) -> Result<u8, Failure> {
    let [file] = files else {
        return Err(Failure::usage(format!("{} takes the measurements of one run: give one file", path.display())));
    };
    Source::open(file)?.export(columns, path, format).map(|()| exit::DONE)
}

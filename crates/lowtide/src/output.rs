//! Where a report goes and in which form.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use lowtide_model::Report;
use lowtide_report::{Curve, Redaction, TextOptions};

use crate::context;
use crate::exit::Failure;
use crate::terminal;

/// The forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For programs: `lowtide.report/1`.
    Json,
    /// For code hosts and editors: SARIF 2.1.0.
    Sarif,
    /// For CI: `JUnit`'s XML.
    Junit,
    /// Annotations of GitHub Actions.
    Github,
    /// For an issue or a pull request.
    Markdown,
    /// One page with curves, for a browser.
    Html,
}

/// The forms of what is no report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TextOrJson {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Where measurements can go, for other tools to work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Export {
    /// Comma-separated values.
    Csv,
    /// An `SQLite` data base.
    Sqlite,
    /// Apache Parquet.
    Parquet,
}

/// The options of every command that ends with a report.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct OutputArgs {
    /// Form of the report
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Write the report to FILE; its ending tells the form (.txt, .html, .json, .sarif, .xml, .md)
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Leave out what a stranger should not read: paths and source lines
    #[arg(long)]
    pub redact: bool,
    /// Show all processes, all evidence, all limits
    #[arg(short, long)]
    pub verbose: bool,
}

/// What a file's ending stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Report(Format),
    Export(Export),
}

fn ending(path: &Path) -> Option<Ending> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    Some(match ending.as_str() {
        "txt" | "text" | "log" => Ending::Report(Format::Text),
        "json" => Ending::Report(Format::Json),
        "sarif" => Ending::Report(Format::Sarif),
        "xml" => Ending::Report(Format::Junit),
        "md" | "markdown" => Ending::Report(Format::Markdown),
        "html" | "htm" => Ending::Report(Format::Html),
        "csv" => Ending::Export(Export::Csv),
        "sqlite" | "sqlite3" | "db" => Ending::Export(Export::Sqlite),
        "parquet" => Ending::Export(Export::Parquet),
        _ => return None,
    })
}

/// Where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The console: stderr for `run` and `attach`, else stdout.
    Console(Format),
    /// A file.
    File(PathBuf, Format),
    /// The measurements themselves, to a file.
    Export(PathBuf, Export),
}

/// A place for reports.
#[derive(Clone, Debug)]
pub struct Output {
    /// Where.
    pub destination: Destination,
    /// Keep back what a stranger should not read.
    pub redact: bool,
    /// Tell all.
    pub verbose: bool,
}

impl Output {
    /// For `run` and `attach`: text on stderr beside the target's own output, everything else in a file.
    pub fn beside_a_target(args: &OutputArgs, redact: bool) -> Result<Self, Failure> {
        let output = Self::of(args, redact)?;
        match &output.destination {
            Destination::Console(Format::Text) => Ok(output),
            Destination::Console(_) => Err(Failure::usage(
                "--format json needs a file here (-o report.json): standard output belongs to the run that is watched",
            )),
            Destination::File(path, _) => writable(path).map(|()| output),
            Destination::Export(path, _) => Err(Failure::usage(format!(
                "{} would be the measurements, not the report: run first, then `lowtide report RECORDING -o {0}`",
                path.display()
            ))),
        }
    }

    /// For commands whose standard output is their own. `redact` is what the project wants.
    pub fn of(args: &OutputArgs, redact: bool) -> Result<Self, Failure> {
        let destination = match (&args.output, args.format) {
            (None, format) => Destination::Console(format.unwrap_or(Format::Text)),
            (Some(path), Some(format)) => Destination::File(path.clone(), format),
            (Some(path), None) => match ending(path) {
                Some(Ending::Report(format)) => Destination::File(path.clone(), format),
                Some(Ending::Export(export)) => Destination::Export(path.clone(), export),
                None => {
                    return Err(Failure::usage(format!(
                        "the ending of {} tells no form: use .txt, .html, .json, .sarif, .xml or .md (.csv, .sqlite, .parquet for the measurements), or give --format",
                        path.display()
                    )));
                }
            },
        };
        Ok(Self { destination, redact: args.redact || redact, verbose: args.verbose })
    }

    /// Whether the report is drawn, so that its curve is worth gathering.
    pub fn draws(&self) -> bool {
        matches!(self.destination, Destination::Console(Format::Html) | Destination::File(_, Format::Html))
    }

    /// Takes out of a report and its curve what `--redact` keeps back.
    pub fn prepare(&self, report: &mut Report, curve: &mut Curve) {
        if self.redact {
            let mut names = Redaction::default();
            names.report(report);
            curve.redact(&mut names);
        }
    }

    /// The report as text for this stream.
    pub fn text_for(&self, report: &Report, stream: &(impl io::IsTerminal + std::os::fd::AsRawFd)) -> String {
        let options = TextOptions { color: terminal::color(stream), width: terminal::width(stream), verbose: self.verbose };
        lowtide_report::text(report, &options)
    }

    /// The report as it goes to a file. Only a page shows the curve.
    pub fn rendered(&self, report: &Report, format: Format, curve: &Curve) -> String {
        match format {
            Format::Html if self.redact => lowtide_report::html(report, curve, &[]),
            Format::Html => lowtide_report::html(report, curve, &context::around(report)),
            Format::Json => lowtide_report::json(report),
            Format::Sarif => lowtide_report::sarif(report),
            Format::Junit => lowtide_report::junit(report),
            Format::Github => lowtide_report::github(report),
            Format::Markdown => lowtide_report::markdown(report),
            Format::Text => lowtide_report::text(report, &TextOptions { color: false, width: 100, verbose: self.verbose }),
        }
    }

    /// Shows a report on stdout or writes it to its file.
    pub fn show(&self, report: &Report) -> Result<(), Failure> {
        let stdout = io::stdout();
        let text = match &self.destination {
            Destination::File(_, format) => return self.write_file(&self.rendered(report, *format, &Curve::default())),
            Destination::Console(format) if *format != Format::Text => self.rendered(report, *format, &Curve::default()),
            _ => self.text_for(report, &stdout),
        };
        // A reader that closes the pipe early has read enough.
        let _ = stdout.lock().write_all(text.as_bytes());
        Ok(())
    }

    /// Writes a finished text into the file, and nothing where the destination is none.
    pub fn write_file(&self, content: &str) -> Result<(), Failure> {
        let Destination::File(path, _) = &self.destination else { return Ok(()) };
        let written = File::create(path).and_then(|mut file| file.write_all(content.as_bytes()));
        written.map_err(|error| Failure::cannot(format!("cannot write the report to {}: {error}", path.display())))
    }
}

/// Whether a report can be written there. Asked before a long run, not after it.
fn writable(path: &Path) -> Result<(), Failure> {
    let there = path.exists();
    let opened = File::options().append(true).create(true).open(path);
    if opened.is_ok() && !there {
        let _ = std::fs::remove_file(path);
    }
    opened.map(drop).map_err(|error| {
        Failure::usage(format!("cannot write the report to {}: {error}; give another file to -o", path.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(output: Option<&str>, format: Option<Format>) -> OutputArgs {
        OutputArgs { format, output: output.map(PathBuf::from), ..OutputArgs::default() }
    }

    #[test]
    fn the_ending_tells_the_form() {
        let of = |path, format| Output::of(&args(Some(path), format), false).map(|output| output.destination).ok();
        assert_eq!(of("r.JSON", None), Some(Destination::File("r.JSON".into(), Format::Json)));
        assert_eq!(of("r.txt", None), Some(Destination::File("r.txt".into(), Format::Text)));
        assert_eq!(of("r.parquet", None), Some(Destination::Export("r.parquet".into(), Export::Parquet)));
        assert_eq!(of("r.out", Some(Format::Json)), Some(Destination::File("r.out".into(), Format::Json)));
        assert_eq!(of("r.out", None), None);
    }

    #[test]
    fn stdout_belongs_to_the_target() {
        let code = |args| Output::beside_a_target(&args, false).map(|_| ()).map_err(|failure| failure.code);
        assert_eq!(code(args(None, None)), Ok(()));
        assert_eq!(code(args(None, Some(Format::Json))), Err(2));
        assert_eq!(code(args(Some("x.csv"), None)), Err(2));
        assert_eq!(code(args(Some("/nowhere/at/all.json"), None)), Err(2));
    }
}

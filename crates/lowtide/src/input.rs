//! Files for `report` and `compare`: a recording, or what another tool wrote, told by content.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use lowtide_analyse::Analyser;
use lowtide_ingest::{Hints, Problem, log, scalars};
use lowtide_model::{Bytes, Event, LimitReport, Rate, Report, Seconds};
use lowtide_record::{BrokeOff, export};
use lowtide_report::{Curve, Gather};

use crate::exit::Failure;
use crate::explain::explain;
use crate::output::Export;
use crate::postmortem;
use crate::snapshot;
use crate::temporary::Temporary;

/// Files of other tools are read at once; none of a sane size is larger.
const MAX_FOREIGN: u64 = 512 << 20;
/// What comes through a pipe is bounded too.
const MAX_STDIN: u64 = 4 << 30;
/// A recording that was written so recently is still being written. Its recorder writes at least this often
/// unless a longer interval was asked for.
const STILL_WRITTEN_S: f64 = 10.0;

/// A file that was judged.
pub struct Judged {
    /// The answer.
    pub report: Report,
    /// What was guessed about the file.
    pub said: Vec<String>,
    /// What a page draws of it.
    pub curve: Curve,
}

/// A file that was judged, and the analysis.
pub struct Analysed {
    /// With all series.
    pub analyser: Analyser,
    /// The answer.
    pub judged: Judged,
}

/// The first bytes of a file, which tell what it is.
pub fn first_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?.take(12).read_to_end(&mut start)?;
    Ok(start)
}

/// Where the bytes are: a file, or a copy of standard input that goes away with this.
pub struct Source {
    path: PathBuf,
    /// What to call it.
    pub name: String,
    copy: Option<Temporary>,
}

impl Source {
    /// A file; `-` is standard input.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        if path.as_os_str() == "-" {
            let copy = spool().map_err(|error| Failure::cannot(format!("cannot read standard input: {error}")))?;
            return Ok(Self { path: copy.path().to_owned(), name: "standard input".to_owned(), copy: Some(copy) });
        }
        Ok(Self { path: path.to_owned(), name: path.display().to_string(), copy: None })
    }

    /// Judges it: the events go through the analysis one by one, so that a recording of weeks needs no memory. `draws`: the
    /// curve is wanted, too.
    pub fn judge(&self, columns: &[String], draws: bool) -> Result<Judged, Failure> {
        if self.is_pickle()? {
            return Self::judge_snapshots(std::slice::from_ref(self));
        }
        self.analyse(columns, draws).map(|analysed| analysed.judged)
    }

    /// The same, with the analysis that it rests on.
    pub fn analyse(&self, columns: &[String], draws: bool) -> Result<Analysed, Failure> {
        if self.is_recording()? { self.analyse_recording(draws) } else { self.analyse_foreign(columns, draws) }
    }

    /// Writes its measurements for another tool; a recording goes through event by event.
    pub fn export(&self, columns: &[String], path: &Path, format: Export) -> Result<(), Failure> {
        if self.is_pickle()? {
            return Err(Failure::usage(format!(
                "{} is a snapshot of one moment: it has no measurements to export; write the report as .json",
                self.name
            )));
        }
        if !self.is_recording()? {
            return export_to(self.import(columns)?.events, path, format);
        }
        let events = lowtide_record::stream(&self.path).map_err(|error| self.cannot(&error))?;
        let mut stopped = None;
        let until_it_fails = events.map_while(|event| event.map_err(|error| stopped = Some(error)).ok());
        export_to(until_it_fails, path, format)?;
        stopped.map_or(Ok(()), |error| Err(self.cannot(&format!("{} is not complete: {error}", path.display()))))
    }

    fn is_recording(&self) -> Result<bool, Failure> {
        Ok(lowtide_record::is_recording(&self.start()?))
    }

    /// Whether it is a pickle: a memory snapshot of PyTorch, or nothing that is read.
    pub fn is_pickle(&self) -> Result<bool, Failure> {
        Ok(lowtide_ingest::pickle::looks_like(&self.start()?))
    }

    /// Its first bytes, which tell what it is.
    fn start(&self) -> Result<Vec<u8>, Failure> {
        first_bytes(&self.path).map_err(|error| self.cannot(&format!("cannot read {}: {error}", self.name)))
    }

    /// Judges snapshots of one process together.
    pub fn judge_snapshots(sources: &[Self]) -> Result<Judged, Failure> {
        let files: Vec<(&Path, &str)> = sources.iter().map(|source| (source.path.as_path(), source.name.as_str())).collect();
        snapshot::judge(&files).map_err(Failure::cannot)
    }

    fn analyse_recording(&self, draws: bool) -> Result<Analysed, Failure> {
        let mut events = lowtide_record::stream(&self.path).map_err(|error| self.cannot(&error))?;
        let (mut analyser, mut gather) = (Analyser::new(), draws.then(Gather::default));
        let mut interval_s = 0.0;
        for event in &mut events {
            let event = event.map_err(|error| self.cannot(&error))?;
            if let Event::Start(info) = &event {
                interval_s = info.interval_s;
            }
            analyser.push(&event);
            if let Some(gather) = &mut gather {
                gather.push(&event);
            }
        }
        let mut report = analyser.report();
        explain(&mut report);
        if self.copy.is_none() {
            report.run.recording = Some(self.name.clone());
        }
        if let Some(broke_off) = events.broke_off() {
            tell_broken_off(&mut report, &broke_off, interval_s);
        }
        let damage = events.damage();
        let said = if damage.places > 0 {
            vec![format!("damaged in {} places ({} bytes); the rest was read", damage.places, damage.bytes)]
        } else {
            Vec::new()
        };
        Ok(Analysed { analyser, judged: Judged { report, said, curve: gather.map(Gather::finish).unwrap_or_default() } })
    }

    fn analyse_foreign(&self, columns: &[String], draws: bool) -> Result<Analysed, Failure> {
        if scalars::looks_like(&self.start()?) {
            let read = File::open(&self.path).map_err(log::LogError::from).and_then(|file| scalars::read(file, columns));
            let scalars = read.map_err(|error| self.cannot(&format!("cannot read {}: {error}", self.name)))?;
            return Ok(Analysed { analyser: Analyser::new(), judged: postmortem::of_scalars(&scalars) });
        }
        let imported = match self.import_or_log(columns)? {
            Foreign::Measured(imported) => imported,
            Foreign::Log(log) => return Ok(Analysed { analyser: Analyser::new(), judged: postmortem::judged(&log) }),
        };
        let (mut analyser, mut gather) = (Analyser::new(), draws.then(Gather::default));
        for event in &imported.events {
            analyser.push(event);
            if let Some(gather) = &mut gather {
                gather.push(event);
            }
        }
        let mut said = vec![format!("read as {}", imported.what)];
        said.extend(imported.said);
        let mut report = analyser.report();
        explain(&mut report);
        // No such file says how its run ended.
        report.run.ended.clear();
        Ok(Analysed { analyser, judged: Judged { report, said, curve: gather.map(Gather::finish).unwrap_or_default() } })
    }

    /// What is no table of measurements is a log, if it is text; a log may be larger than any table.
    fn import_or_log(&self, columns: &[String]) -> Result<Foreign, Failure> {
        let size = std::fs::metadata(&self.path).map(|meta| meta.len()).unwrap_or(0);
        let failure = if size > MAX_FOREIGN {
            self.cannot(&format!(
                "{} holds no message that tells of memory, and is larger than {} for a table of measurements; give a part of it",
                self.name,
                Bytes(MAX_FOREIGN)
            ))
        } else {
            match self.read_table(columns)? {
                Ok(imported) => return Ok(Foreign::Measured(imported)),
                Err(error) if error.problem == Problem::Empty => return Err(self.cannot(&error)),
                Err(error) if error.problem == Problem::Unknown && columns.is_empty() => {
                    return self.log(columns).map(Foreign::Log);
                }
                Err(error @ lowtide_ingest::IngestError { problem: Problem::NoTime { .. } | Problem::NoMemory { .. }, .. }) => {
                    self.cannot(&format!("{error} (read as a log, it says nothing of memory either)"))
                }
                Err(error) => self.cannot(&error),
            }
        };
        let log = self.log(columns)?;
        if log.incidents.is_empty() && log.series.is_empty() && log.stages.is_empty() && log.summaries.is_empty() {
            Err(failure)
        } else {
            Ok(Foreign::Log(log))
        }
    }

    fn log(&self, columns: &[String]) -> Result<log::Log, Failure> {
        let read = File::open(&self.path).map_err(log::LogError::from).and_then(|file| log::read_named(file, columns));
        read.map_err(|error| self.cannot(&format!("cannot read {}: {error}", self.name)))
    }

    fn import(&self, columns: &[String]) -> Result<lowtide_ingest::Imported, Failure> {
        self.read_table(columns)?.map_err(|error| self.cannot(&error))
    }

    fn read_table(&self, columns: &[String]) -> Result<Result<lowtide_ingest::Imported, lowtide_ingest::IngestError>, Failure> {
        let mut bytes = Vec::new();
        let read = File::open(&self.path).and_then(|file| file.take(MAX_FOREIGN + 1).read_to_end(&mut bytes));
        read.map_err(|error| self.cannot(&format!("cannot read {}: {error}", self.name)))?;
        if bytes.len() as u64 > MAX_FOREIGN {
            return Err(self.cannot(&format!("{} is larger than {}; give a part of it", self.name, Bytes(MAX_FOREIGN))));
        }
        let hints = Hints { columns: columns.to_vec(), name: self.name.clone() };
        Ok(lowtide_ingest::read(&bytes, &hints).map(|mut imported| {
            imported.events.iter_mut().for_each(mask);
            imported
        }))
    }

    fn cannot(&self, error: &dyn std::fmt::Display) -> Failure {
        // A copy's name says nothing to anybody.
        Failure::cannot(error.to_string().replace(&self.path.display().to_string(), &self.name))
    }
}

/// What a file of another tool is.
enum Foreign {
    Measured(lowtide_ingest::Imported),
    Log(log::Log),
}

/// Masks the secrets in the command lines of a file that another tool wrote.
fn mask(event: &mut Event) {
    match event {
        Event::Start(info) => info.command = lowtide_collect::mask_secrets(&info.command),
        Event::Process(process) => {
            let words: Vec<String> = process.command.split(' ').map(str::to_owned).collect();
            process.command = lowtide_collect::mask_secrets(&words).join(" ");
        }
        _ => {}
    }
}

fn export_to(events: impl IntoIterator<Item = Event>, path: &Path, format: Export) -> Result<(), Failure> {
    let written = match format {
        Export::Csv => export::csv(events, path),
        Export::Sqlite => export::sqlite(events, path),
        Export::Parquet => export::parquet(events, path),
    };
    written.map_err(|error| Failure::cannot(error.to_string()))
}

/// Copies standard input into a file that only we can read: whether it is a recording shows at its start, and
/// a pipe cannot be read twice.
fn spool() -> std::io::Result<Temporary> {
    let (temporary, mut file) = Temporary::file("stdin")?;
    std::io::copy(&mut std::io::stdin().lock().take(MAX_STDIN), &mut file)?;
    file.flush()?;
    Ok(temporary)
}

/// A recording without an end: still running, or cut off with its run. Then what matters is how near the
/// limit was, and how fast it came nearer.
fn tell_broken_off(report: &mut Report, broke_off: &BrokeOff, interval_s: f64) {
    let fresh_s = STILL_WRITTEN_S.max(3.0 * interval_s);
    if broke_off.silent_s.is_some_and(|silent_s| silent_s < fresh_s) {
        report.run.ended = "still running".to_owned();
        return;
    }
    report.run.ended = "broke off".to_owned();
    let mut text =
        format!("the recording breaks off at {}: lowtide was killed, or the machine stopped", Seconds(broke_off.last_t_s));
    let nearest = report.limits.iter().filter(|limit| limit.bytes > 0).max_by(|a, b| share(a).total_cmp(&share(b)));
    if let Some(limit) = nearest {
        let (used, bytes) = (Bytes(limit.used), Bytes(limit.bytes));
        text.push_str(&format!(
            "; by then {:.0} % of the {} limit were used ({used} of {bytes})",
            100.0 * share(limit),
            limit.name
        ));
    }
    let growth = report.findings.iter().find_map(|finding| finding.growth.as_ref()).filter(|growth| growth.unit == "bytes");
    match growth {
        Some(growth) => text.push_str(&format!(", growing by {} per minute", Rate(60.0 * growth.bytes_per_second))),
        None => text.push_str(", no steady growth seen"),
    }
    report.warnings.insert(0, text);
}

fn share(limit: &LimitReport) -> f64 {
    limit.used as f64 / limit.bytes as f64
}

//! `lowtide live`: a screen beside a run, or on a recording.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lowtide_analyse::Analyser;
use lowtide_live::{Board, Screen, Status, View, plain};
use lowtide_model::{Event, Report};
use lowtide_record::{Follower, place};
use lowtide_report::Redaction;

use crate::exit::{self, Failure};
use crate::explain::explain;
use crate::input::{Source, first_bytes};
use crate::target::{Mask, wait_for};
use crate::terminal;
use crate::watch::guarded;

/// What ends the screen. A terminal that is gone (SIGHUP) wants nothing back: that ends us as it ends others.
const ENOUGH: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGQUIT];
/// Whether the terminal is still there is asked this often.
const TERMINAL_EVERY: Duration = Duration::from_secs(1);
/// News is looked for this often, and keys are waited for as long.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// The report is made anew this often at most, and never for more than a twentieth of the time.
const REPORT_EVERY: Duration = Duration::from_secs(1);
const REPORT_SHARE: u32 = 20;
/// A recording that nothing was written to for so long, and for three intervals, is silent. Seconds.
const SILENT_S: f64 = 10.0;
/// Lines of a frame for `--once` where LINES does not tell.
const LINES: u16 = 24;

/// Show a run while it goes on, on a screen of its own.
///
/// Follows the newest run, a named recording, or the run that a process is the first one of; shows any other file that
/// `lowtide report` reads as it stands. `?` lists the keys; to leave the screen leaves the run alone.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A process that is watched, or a file (default: the newest run)
    #[arg(value_name = "PID|FILE")]
    what: Option<PathBuf>,
    /// Print one frame as plain text, COLUMNS x LINES, and end
    #[arg(long)]
    once: bool,
    /// The view to begin with, as its key
    #[arg(long, value_name = "1..7", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=7))]
    view: u8,
    /// What a column of a CSV is: time=elapsed:ms, memory=rss_mb:MB, pid=2
    #[arg(long = "column", value_name = "KIND=NAME[:UNIT]")]
    columns: Vec<String>,
    /// Leave out what a stranger should not read: paths, hosts, and commands beyond the program's name
    #[arg(long)]
    redact: bool,
}

/// Shows.
pub fn live(args: &Args) -> Result<u8, Failure> {
    let stdout = std::io::stdout();
    let terminal = stdout.is_terminal() && std::io::stdin().is_terminal();
    if !args.once && !terminal {
        return Err(Failure::usage("live needs a terminal; `lowtide live --once` prints one frame"));
    }
    let path = recording_of(args.what.as_deref())?;
    let mut feed = Feed::of(&path, &args.columns)?;
    feed.names = args.redact.then(Redaction::default);
    let name = feed.names.as_mut().map_or_else(|| name_of(&path), |names| names.recording(&path.to_string_lossy()));
    let mut board = Board::new(&name, terminal::color(&stdout));
    board.view = View::ALL[usize::from(args.view) - 1];
    if args.once {
        while feed.read()? {}
        feed.put_on(&mut board);
        let width = u16::try_from(terminal::width(&stdout)).unwrap_or(80);
        let lines = std::env::var("LINES").ok().and_then(|lines| lines.trim().parse().ok()).unwrap_or(LINES);
        // A reader that closes the pipe early has read enough.
        let _ = stdout.lock().write_all(plain(&board, width, lines.clamp(8, 400)).as_bytes());
        return Ok(exit::DONE);
    }
    // Blocked and waited for, so that the terminal is given back whatever asks us to end.
    Mask::block_these(&ENOUGH);
    end_with_the_terminal();
    on_screen(|screen| {
        screen.show(&board).map_err(broke)?;
        follow(screen, &mut board, &mut feed)
    })?;
    Ok(exit::DONE)
}

/// Ends us where the terminal goes and nobody tells us (under nohup). Waiting for keys does not end then: crossterm reads nothing
/// from it again and again, with all of a core.
fn end_with_the_terminal() {
    let watch = || {
        while std::io::stdin().is_terminal() {
            std::thread::sleep(TERMINAL_EVERY);
        }
        std::process::exit(i32::from(exit::DONE));
    };
    // Without the thread the screen works all the same.
    let _ = std::thread::Builder::new().name("terminal".to_owned()).spawn(watch);
}

fn broke(error: std::io::Error) -> Failure {
    Failure::cannot(format!("cannot use the terminal: {error}"))
}

/// Takes the terminal for as long as the work lasts. A panic in it has given the terminal back and told its place, when this
/// tells what it means.
fn on_screen(work: impl FnOnce(&mut Screen) -> Result<(), Failure>) -> Result<(), Failure> {
    let shown = guarded(|| work(&mut Screen::open().map_err(broke)?));
    shown.unwrap_or_else(|why| {
        let why = format!("the screen ended by a fault of its own ({why}); the run and its recording are not touched by it");
        Err(Failure::cannot(format!("{why}: `lowtide live` shows it again, `lowtide report` judges it")))
    })
}

fn follow(screen: &mut Screen, board: &mut Board, feed: &mut Feed) -> Result<(), Failure> {
    let (mut reported, mut took) = (None::<Instant>, Duration::ZERO);
    let mut fresh = true;
    loop {
        let reading = match feed.read() {
            Ok(more) => more,
            // What was seen until then stays.
            Err(failure) => {
                feed.broken = Some(match &mut feed.names {
                    Some(names) => names.text(&failure.text),
                    None => failure.text,
                });
                false
            }
        };
        fresh |= reading;
        let due = reported.is_none_or(|at| at.elapsed() >= REPORT_EVERY.max(took * REPORT_SHARE));
        let mut anew = false;
        if fresh && due && !reading {
            let begun = Instant::now();
            feed.put_on(board);
            (reported, took, fresh, anew) = (Some(Instant::now()), begun.elapsed(), false, true);
        } else if reported.is_some() {
            let status = feed.status(&board.report);
            anew = board.status != status;
            board.status = status;
        }
        let longest = if reading { Duration::ZERO } else { LOOK_EVERY };
        match screen.wait(board, longest).map_err(broke)? {
            None => return Ok(()),
            Some(keys) => anew |= keys,
        }
        if wait_for(&ENOUGH, Duration::ZERO).is_some() {
            return Ok(());
        }
        if anew {
            screen.show(board).map_err(broke)?;
        }
    }
}

/// Where events come from.
struct Feed {
    path: PathBuf,
    /// `None` for what does not grow: a file of another tool.
    follower: Option<Follower>,
    analyser: Analyser,
    /// The report of what does not grow.
    still: Option<Report>,
    interval_s: f64,
    ended: bool,
    /// Why nothing more can be read.
    broken: Option<String>,
    /// What is kept back, where anything is.
    names: Option<Redaction>,
}

impl Feed {
    fn of(path: &Path, columns: &[String]) -> Result<Self, Failure> {
        let start = first_bytes(path).map_err(|error| Failure::cannot(format!("cannot read {}: {error}", path.display())))?;
        let mut feed = Self {
            path: path.to_owned(),
            follower: None,
            analyser: Analyser::new(),
            still: None,
            interval_s: 0.0,
            ended: false,
            broken: None,
            names: None,
        };
        if lowtide_record::is_recording(&start) {
            feed.follower = Some(Follower::open(path).map_err(|error| Failure::cannot(error.to_string()))?);
        } else {
            let analysed = Source::open(path)?.analyse(columns, false)?;
            (feed.analyser, feed.still, feed.ended) = (analysed.analyser, Some(analysed.judged.report), true);
        }
        Ok(feed)
    }

    /// Reads on; whether something came, so that there may be more.
    fn read(&mut self) -> Result<bool, Failure> {
        let Some(follower) = self.follower.as_mut().filter(|_| self.broken.is_none()) else { return Ok(false) };
        let events = follower.poll().map_err(|error| Failure::cannot(error.to_string()))?;
        for event in &events {
            match event {
                Event::Start(info) => self.interval_s = info.interval_s,
                Event::End(_) => self.ended = true,
                _ => {}
            }
            self.analyser.push(event);
        }
        Ok(!events.is_empty())
    }

    fn put_on(&mut self, board: &mut Board) {
        board.report = self.still.clone().unwrap_or_else(|| {
            let mut report = self.analyser.report();
            explain(&mut report);
            report
        });
        board.curves = self.analyser.curves(&board.report);
        if let Some(names) = &mut self.names {
            names.report(&mut board.report);
        }
        board.status = self.status(&board.report);
    }

    fn status(&self, report: &Report) -> Status {
        if let Some(broken) = &self.broken {
            return Status::Ended(broken.clone());
        }
        if self.ended {
            return Status::Ended(report.run.ended.clone());
        }
        let written = std::fs::metadata(&self.path).and_then(|meta| meta.modified()).ok();
        let silent = written.and_then(|time| time.elapsed().ok()).map_or(0.0, |age| age.as_secs_f64());
        // Told by steps, so that not every look draws a frame.
        if silent > SILENT_S.max(3.0 * self.interval_s) { Status::Silent(silent as u64 / 5 * 5) } else { Status::Running }
    }
}

/// The newest recording, the one of a process, or a file.
fn recording_of(what: Option<&Path>) -> Result<PathBuf, Failure> {
    let Some(what) = what else {
        return place::newest()
            .ok_or_else(|| Failure::cannot("there is no recording yet; make one with `lowtide run -- CMD`, or name a file"));
    };
    let pid: Option<u32> = what.to_str().and_then(|text| text.parse().ok());
    let Some(pid) = pid.filter(|_| !what.exists()) else { return Ok(what.to_owned()) };
    let of_pid = |path: &PathBuf| {
        let first = lowtide_record::stream(path).ok().and_then(|mut events| events.next()).and_then(Result::ok);
        matches!(first, Some(Event::Start(info)) if info.root_pid == pid)
    };
    place::recent().into_iter().find(of_pid).ok_or_else(|| {
        Failure::cannot(format!(
            "no recording of process {pid} is known; `lowtide attach {pid}` in another terminal makes one, and `lowtide live {pid}` shows it"
        ))
    })
}

/// What to call it: the file's name alone.
fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Not a test by itself: what [`a_panic_gives_the_terminal_back`] runs in a terminal.
    #[test]
    #[ignore = "wants a terminal to itself"]
    fn panics_on_the_screen() {
        crate::watch::be_brief_about_panics();
        let failure = on_screen(|screen| {
            screen.show(&Board::new("run.lowtide", true)).map_err(broke)?;
            panic!("told to")
        });
        terminal::say(&failure.unwrap_err().text);
    }

    #[test]
    fn a_panic_gives_the_terminal_back() {
        let this = std::env::current_exe().unwrap();
        let child = format!(
            "stty rows 24 cols 80; {} --exact --ignored --nocapture --test-threads=1 {}; stty -a",
            this.display(),
            "cli::live::tests::panics_on_the_screen"
        );
        // util-linux's script(1) gives it a terminal.
        let done = Command::new("script").args(["-qec", &child, "/dev/null"]).env("TERM", "xterm").output().unwrap();
        let text = String::from_utf8_lossy(&done.stdout);
        let (_, shown) = text.split_once("\x1b[?1049h").unwrap_or_else(|| panic!("no screen was taken: {text:?}"));
        let (frame, after) = shown.split_once("\x1b[?1049l").unwrap_or_else(|| panic!("it was not given back: {text:?}"));
        assert!(frame.contains("run.lowtide") && !frame.contains("internal error"), "{frame:?}");
        // Once, and before the words: the cursor goes back to where it was when the screen was taken.
        assert!(!after.contains("\x1b[?1049l"), "{after:?}");
        assert!(shown.contains("\x1b[?25h"), "the cursor stays hidden: {shown:?}");
        let (place, meaning) = (after.find("internal error at ").unwrap(), after.find("not touched by it").unwrap());
        assert!(place < meaning && after.contains("(told to)"), "{after:?}");
        let words: Vec<&str> = after.split_whitespace().collect();
        assert!(words.contains(&"icanon") && words.contains(&"echo"), "still raw: {after:?}");
    }
}

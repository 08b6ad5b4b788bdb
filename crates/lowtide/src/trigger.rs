//! `--on EVENT CMD`: a command that runs once when something happens to the run.
//!
//! The command gets the report as JSON on its standard input. It must not disturb the run: it starts in a
//! session of its own (Ctrl-C is not for it, the terminal out of its reach), and what it prints is kept back
//! and only shown as a warning if it fails. Nothing here waits while the run goes on.

use std::fmt;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use lowtide_model::{Finding, Report};

use crate::duration::parse_duration;
use crate::fail_on::Condition;

/// Of what the command prints, this many last bytes are kept.
const KEPT: usize = 2048;

/// What a command waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Condition(Condition),
    /// Killed for memory, or the forecast's near end is within this many seconds.
    OomWithin(f64),
}

/// A command and what it waits for.
#[derive(Debug)]
pub struct Trigger {
    events: Vec<Event>,
    command: String,
    state: State,
}

#[derive(Debug)]
enum State {
    Waiting,
    Running { child: Child, printed: Arc<Mutex<Vec<u8>>> },
    Done(Option<String>),
}

/// An event that `--on` does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerError(String);

impl fmt::Display for TriggerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TriggerError {}

impl Trigger {
    /// Reads `leak`, `likely`, `oom` or `oom=30m`; several with commas between.
    pub fn parse(events: &str, command: &str) -> Result<Self, TriggerError> {
        if command.trim().is_empty() {
            return Err(TriggerError(format!(
                "`--on {}` has no command; write it as --on leak 'notify-send leak'",
                shown(events)
            )));
        }
        let events = events.split([',', '|']).map(|event| parse_event(event.trim())).collect::<Result<_, _>>()?;
        Ok(Self { events, command: command.to_owned(), state: State::Waiting })
    }

    /// Starts the command if it is due and never ran; its pid if it was started now. It is our child and no part of the
    /// run, though its orphans become ours like those of the run. Returns at once.
    pub fn consider(&mut self, report: &Report) -> Option<u32> {
        if !matches!(self.state, State::Waiting) || !self.events.iter().any(|event| event.is_in(report)) {
            return None;
        }
        match start(&self.command, lowtide_report::json(report)) {
            Ok((child, printed)) => {
                let pid = child.id();
                self.state = State::Running { child, printed };
                Some(pid)
            }
            Err(error) => {
                self.state = State::Done(Some(format!("`--on {}` could not be started: {error}", shown(&self.command))));
                None
            }
        }
    }

    /// Waits at most so long for a started command to end. A warning where it failed or goes on; it is never killed.
    pub fn finish(&mut self, longest: Duration) -> Option<String> {
        if let State::Running { child, printed } = &mut self.state {
            let warning = match wait(child, longest) {
                // Somebody else in this process may have reaped it; then nobody can tell how it ended.
                Err(_) => None,
                Ok(None) => Some("is still running; it is left alone".to_owned()),
                Ok(Some(status)) if status.success() => None,
                Ok(Some(status)) => Some(failure(status, printed)),
            };
            self.state = State::Done(warning.map(|warning| format!("`--on {}` {warning}", shown(&self.command))));
        }
        match &mut self.state {
            State::Done(warning) => warning.take(),
            _ => None,
        }
    }
}

fn parse_event(text: &str) -> Result<Event, TriggerError> {
    match text.split_once('=') {
        None if text == "leak" => Ok(Event::Condition(Condition::Leak)),
        None if text == "likely" => Ok(Event::Condition(Condition::Likely)),
        None if text == "oom" => Ok(Event::Condition(Condition::Oom)),
        Some(("oom", within)) => match parse_duration(within) {
            Ok(within) => Ok(Event::OomWithin(within.as_secs_f64())),
            Err(error) => Err(TriggerError(format!("`--on {}`: {error}", shown(text)))),
        },
        _ => Err(TriggerError(format!(
            "`--on {}` waits for nothing that is known; name leak, likely, oom or oom=30m",
            shown(text)
        ))),
    }
}

impl Event {
    fn is_in(self, report: &Report) -> bool {
        match self {
            Self::Condition(condition) => condition.holds(report),
            Self::OomWithin(within) => {
                // The near end of the range: whoever wants to save something would rather be early.
                let near = report.forecast().and_then(|oom| oom.seconds).map(|[low, ..]| low);
                report.findings.iter().any(Finding::ran_out) || near.is_some_and(|near| near <= within)
            }
        }
    }
}

/// Starts the command in a shell, with threads that feed it and listen to it.
fn start(command: &str, report: String) -> io::Result<(Child, Arc<Mutex<Vec<u8>>>)> {
    let (reader, writer) = io::pipe()?;
    let mut shell = Command::new("sh");
    shell.env(lowtide_collect::COMMAND_MARK, std::process::id().to_string());
    shell.args(["-c", command]).stdin(Stdio::piped()).stdout(writer.try_clone()?).stderr(writer);
    // SAFETY: between fork and exec only setsid(2) is called, which is async-signal-safe and touches no memory.
    unsafe {
        shell.pre_exec(|| if libc::setsid() < 0 { Err(io::Error::last_os_error()) } else { Ok(()) });
    }
    let mut child = shell.spawn()?;
    // It holds our end for writing, without which the listener would never see the end.
    drop(shell);
    if let Some(mut input) = child.stdin.take() {
        // A command that reads nothing leaves this thread waiting, not the watcher; one that closes its input is fine.
        thread::Builder::new().name("on-feed".to_owned()).spawn(move || {
            let _ = input.write_all(report.as_bytes());
        })?;
    }
    let printed = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&printed);
    thread::Builder::new().name("on-listen".to_owned()).spawn(move || keep_last(reader, &kept))?;
    Ok((child, printed))
}

/// Reads until nobody can write any more, and keeps the last bytes.
fn keep_last(mut from: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(read) => {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&buffer[..read]);
                let excess = kept.len().saturating_sub(KEPT);
                kept.drain(..excess);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// `None` where it has not ended by then.
fn wait(child: &mut Child, longest: Duration) -> io::Result<Option<ExitStatus>> {
    let end = Instant::now() + longest;
    loop {
        let status = child.try_wait()?;
        if status.is_some() || Instant::now() >= end {
            return Ok(status);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn failure(status: ExitStatus, printed: &Mutex<Vec<u8>>) -> String {
    let printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
    let text = String::from_utf8_lossy(&printed);
    let last = text.trim().lines().next_back().unwrap_or_default();
    if last.is_empty() { format!("failed ({status})") } else { format!("failed ({status}): {}", shown(last)) }
}

/// Foreign text, short and fit for a terminal.
fn shown(text: &str) -> String {
    const LONGEST: usize = 120;
    let mut shown: String = text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use std::fs;

    use lowtide_model::{Class, Verdict};

    use super::*;
    use crate::fail_on::tests::{oom, report};

    /// Far longer than any of these commands takes; reaching it is a failure.
    const PLENTY: Duration = Duration::from_secs(60);

    fn due(events: &str, report: &Report) -> bool {
        let mut trigger = Trigger::parse(events, "true").expect(events);
        let started = trigger.consider(report).is_some();
        assert_eq!(trigger.finish(PLENTY), None);
        started
    }

    #[test]
    fn fires_on_what_it_waits_for() {
        let near = |middle_s| {
            let mut report = report(Verdict::LikelyLeak);
            report.findings = vec![oom(Class::Leak, "cgroup", Some(middle_s), 0.0)];
            report
        };
        assert!(due("leak", &report(Verdict::Leak)));
        assert!(!due("leak", &report(Verdict::LikelyLeak)));
        assert!(due("leak,likely", &report(Verdict::LikelyLeak)));
        assert!(!due("leak|likely|oom", &report(Verdict::NoLeak)));
        // The forecast's range begins at nine tenths of its middle.
        assert!(due("oom=30m", &near(1900.0)));
        assert!(!due("oom=30m", &near(2100.0)));
        assert!(due("oom", &near(2100.0)));
        let mut killed = report(Verdict::NoLeak);
        killed.findings = vec![oom(Class::Oom, "cgroup", None, 1.0)];
        assert!(due("oom=1s", &killed));
    }

    #[test]
    fn gets_the_report_and_runs_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("report.json");
        let mut trigger = Trigger::parse("leak", &format!("cat >> '{}'", file.display())).expect("a trigger");
        assert!(trigger.consider(&report(Verdict::Leak)).is_some());
        assert_eq!(trigger.consider(&report(Verdict::Leak)), None);
        assert_eq!(trigger.finish(PLENTY), None);
        assert_eq!(trigger.consider(&report(Verdict::Leak)), None);
        assert_eq!(trigger.finish(PLENTY), None);
        let value: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(&file).expect("a report")).expect("one JSON object");
        assert_eq!(value["verdict"], "leak");
    }

    #[test]
    fn a_command_that_reads_nothing_holds_nobody_up() {
        let mut large = report(Verdict::Leak);
        large.warnings = vec!["x".repeat(1 << 20)];
        let mut trigger = Trigger::parse("leak", "exec sleep 100").expect("a trigger");
        let pid = trigger.consider(&large).expect("it runs");
        let warning = trigger.finish(Duration::ZERO).expect("a warning");
        assert!(warning.contains("still running"), "{warning}");
        let pid = i32::try_from(pid).expect("a pid");
        // SAFETY: kill takes two numbers; the pid is our own child's, which nobody has reaped.
        assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
    }

    #[test]
    fn the_terminal_is_out_of_its_reach() {
        // Where the tests have no terminal this proves the session only.
        let mut trigger =
            Trigger::parse("leak", "set -- $(cat /proc/$$/stat); test $$ = $6 && ! cat < /dev/tty").expect("a trigger");
        trigger.consider(&report(Verdict::Leak));
        assert_eq!(trigger.finish(PLENTY), None);
    }

    #[test]
    fn its_failure_is_a_warning_with_its_last_words() {
        let mut trigger = Trigger::parse("leak", "echo first; echo last words >&2; exit 3").expect("a trigger");
        trigger.consider(&report(Verdict::Leak));
        // The listener may be a moment behind the command's end, so its words may be missing, the status never.
        let warning = trigger.finish(PLENTY).expect("a warning");
        assert!(warning.contains("failed (exit status: 3)"), "{warning}");
        assert_eq!(trigger.finish(PLENTY), None);
        let kept = Mutex::new(Vec::new());
        keep_last(io::Cursor::new([b"a".repeat(5000), b"the end".to_vec()].concat()), &kept);
        let kept = kept.into_inner().expect("the bytes");
        assert!(kept.len() == KEPT && kept.ends_with(b"athe end"));
    }

    #[test]
    fn unknown_events_are_told_with_the_known_ones() {
        for (events, part) in
            [("lek", "name leak, likely, oom"), ("oom=soon", "span of time"), ("leak=3", "name leak"), ("", "name leak")]
        {
            let error = Trigger::parse(events, "true").expect_err(events).to_string();
            assert!(error.contains(part), "{error}");
        }
        assert!(Trigger::parse("leak", " ").expect_err("no command").to_string().contains("has no command"));
    }
}

//! `lowtide attach`: watch what already runs. Reads /proc and nothing else; the target is never touched.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use lowtide_collect::Candidate;
use lowtide_model::{Bytes, ExitStatus, Mode, Seconds};

use super::finish;
use super::judging::{JudgeArgs, Judging};
use super::watching::WatchArgs;
use crate::exit::{self, Failure};
use crate::output::{Output, OutputArgs};
use crate::target::{Mask, wait_for};
use crate::terminal::say;
use crate::watch::Watch;

/// What asks for the report.
const ENOUGH: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// Watch what already runs. Ctrl-C prints the report; the target goes on.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The process to watch, with all that comes from it
    #[arg(required_unless_present = "find", conflicts_with = "find")]
    pid: Option<u32>,
    /// Pick the training process by itself; ask where there are several
    #[arg(long)]
    find: bool,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    judge: JudgeArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Attaches.
pub fn attach(args: Args) -> Result<u8, Failure> {
    let judging = Judging::of(&args.judge, &args.watch.on)?;
    let output = Output::beside_a_target(&args.output, judging.config.redact)?;
    let pid = match args.pid {
        Some(pid) => pid,
        None => find()?,
    };
    let mut settings = args.watch.settings(pid, Mode::Attach, command_of(pid)?, &judging.config);
    settings.observers = judging.observers(output.redact);
    settings.draw = output.draws();
    Mask::block_these(&ENOUGH);
    let mut watch = Watch::start(settings).map_err(|text| Failure::cannot(format!("cannot watch pid {pid}: {text}")))?;
    say(&format!("watching pid {pid}; Ctrl-C for the report, the target goes on"));
    let (status, reason) = watch_on(&mut watch);
    let outcome = watch.end(status, &reason).map_err(Failure::cannot)?;
    let found = finish::tell(outcome, &output, &judging);
    watch.close().map_err(Failure::cannot)?;
    Ok(if found? { exit::FOUND } else { exit::DONE })
}

/// Watches until the target ends, enough was seen, or somebody has enough.
fn watch_on(watch: &mut Watch) -> (ExitStatus, String) {
    loop {
        watch.turn();
        if !watch.target_alive() {
            return (ExitStatus::Unknown, "the target ended".to_owned());
        }
        if let Some(reason) = watch.enough() {
            return (ExitStatus::Unknown, reason);
        }
        if let Some(signal) = wait_for(&ENOUGH, watch.until_next()) {
            let reason = if signal.number == libc::SIGINT { "Ctrl-C" } else { "asked to by a signal" };
            return (ExitStatus::Unknown, reason.to_owned());
        }
    }
}

/// The command line of a process, secrets masked; tells where there is no such process.
fn command_of(pid: u32) -> Result<Vec<String>, Failure> {
    lowtide_collect::command_line(Path::new("/"), pid).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Failure::cannot(format!("there is no process {pid}; `lowtide attach --find` looks for training processes"))
        }
        _ => Failure::cannot(format!("cannot read the command line of process {pid}: {error}")),
    })
}

/// The training process of this machine: the only candidate, else the one that is chosen.
fn find() -> Result<u32, Failure> {
    let candidates = lowtide_collect::find_candidates(Path::new("/"))
        .map_err(|error| Failure::cannot(format!("cannot look for training processes: {error}")))?;
    match candidates.as_slice() {
        [] => Err(Failure::cannot(
            "no training process found: none of the processes that can be seen here looks like one; give its pid",
        )),
        [only] => {
            say(&format!("found {}", described(only)));
            Ok(only.pid)
        }
        several => choose(several),
    }
}

fn described(candidate: &Candidate) -> String {
    let Candidate { pid, command, reason, anon, started_s_ago } = candidate;
    format!("pid {pid} ({command}), {}, started {} ago: {reason}", Bytes(*anon), Seconds(*started_s_ago))
}

fn choose(candidates: &[Candidate]) -> Result<u32, Failure> {
    let list: String = candidates.iter().enumerate().map(|(n, one)| format!("  {}  {}\n", n + 1, described(one))).collect();
    let several = |then: &str| Failure::cannot(format!("{} processes look like a training:\n{list}{then}", candidates.len()));
    let stdin = std::io::stdin();
    if !stdin.is_terminal() || !std::io::stderr().is_terminal() {
        return Err(several("give the pid of one: lowtide attach PID"));
    }
    say(&format!("{} processes look like a training:\n{list}which one? [1-{0}]", candidates.len()));
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    let _ = stdin.lock().read_line(&mut answer);
    let chosen = answer.trim().parse::<usize>().ok().and_then(|n| candidates.get(n.checked_sub(1)?));
    chosen.map(|one| one.pid).ok_or_else(|| several("none was chosen; give the pid of one: lowtide attach PID"))
}

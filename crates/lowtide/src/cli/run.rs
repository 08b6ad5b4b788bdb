//! `lowtide run`: start a command, watch it, judge it, pass its exit code on.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use lowtide_model::{ExitStatus, Mode};

use super::finish;
use super::judging::{JudgeArgs, Judging};
use super::watching::{self, WatchArgs};
use crate::agent::Agent;
use crate::exit::{self, Failure};
use crate::output::{Output, OutputArgs};
use crate::target::{self, Inherited};
use crate::terminal::say;
use crate::watch::{Outcome, Settings, Watcher};

/// The report stands this soon after the target's end, or is given up.
const ANSWER_WITHIN: Duration = Duration::from_millis(1500);
/// So long may closing the recording take after that.
const CLOSE_WITHIN: Duration = Duration::from_millis(400);

/// Start a training run, watch it, judge it, pass its exit code on.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    judge: JudgeArgs,
    #[command(flatten)]
    output: OutputArgs,
    /// Where growth looks like holes in the allocator, have the process give free memory back once, at the end of a step
    /// (malloc_trim: some milliseconds, told in the report), to know for sure
    #[arg(long, value_enum, value_name = "WHEN", default_value_t, hide_possible_values = true)]
    probe: Probe,
    /// Have PyTorch note who asks for GPU memory; where it grows, the process writes two snapshots of its allocator at the ends of
    /// steps, and the report names the line. They lie beside the recording
    #[arg(long, conflicts_with = "no_agent")]
    gpu_history: bool,
    /// Say what the memory of the process that trains is for: looks into it once at a low tide and once near the peak of each
    /// phase, whether it leaks or not (one that leaks is looked into anyhow)
    #[arg(long)]
    budget: bool,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Whether a process may be asked for something that holds it up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Probe {
    /// When it is worth it
    #[default]
    Auto,
    /// Never
    Off,
}

/// Runs it.
pub fn run(args: Args) -> Result<u8, Failure> {
    let judging = Judging::of(&args.judge, &args.watch.on)?;
    let output = Output::beside_a_target(&args.output, judging.config.redact)?;
    let command = watching::masked(&args.command);
    let config = judging.config.clone();
    let observers = judging.observers(output.redact);
    let draws = output.draws();
    let agent = if args.watch.no_agent {
        Err("steps and phases: --no-agent leaves them out".to_owned())
    } else {
        Agent::place().map(|agent| agent.with_gpu_history(args.gpu_history))
    };
    let settings = |pid| {
        let mut settings = args.watch.settings(pid, Mode::Run, command, &config);
        settings.observers = observers;
        settings.draw = draws;
        settings.probe = args.probe == Probe::Auto;
        settings.gpu_history = args.gpu_history;
        settings.budget = args.budget;
        settings
    };
    let (status, found) = watch_command(&args.command, agent, settings, move |outcome| finish::tell(outcome, &output, &judging))?;
    let found = found.unwrap_or_else(|failure| {
        say(&format!("{} (the command's own end is passed on)", failure.text));
        false
    });
    Ok(match exit::of_target(status) {
        exit::DONE if found => exit::FOUND,
        code => code,
    })
}

/// Starts a command, with the in-process part or the reason why without, watches it with these settings and tells the outcome.
/// Returns how the command ended and what the telling came to; fails only where the command cannot be started.
pub fn watch_command<T: Send + Default + 'static>(
    command: &[OsString],
    agent: Result<Agent, String>,
    settings: impl FnOnce(u32) -> Settings,
    tell: impl FnOnce(Outcome) -> Result<T, Failure> + Send + 'static,
) -> Result<(ExitStatus, Result<T, Failure>), Failure> {
    let inherited = Inherited::take_over();
    let environment = agent.iter().flat_map(Agent::environment);
    let target = target::spawn(command, environment, &inherited)
        .map_err(|error| Failure { code: error.exit_code(), text: error.to_string() })?;
    let marks = agent.as_ref().map(Agent::marks).map_err(Clone::clone);
    let watcher = Watcher::start(Settings { marks: Some(marks), ..settings(target.pid()) });
    let status = target::supervise(&target);
    let ended = Instant::now();
    let tell = move || {
        let outcome = watcher.outcome(status, ended + ANSWER_WITHIN);
        let told = outcome.map_err(|text| Failure::cannot(format!("no report: {text}"))).and_then(tell);
        let closed = watcher.closed(ended + ANSWER_WITHIN + CLOSE_WITHIN).map_err(Failure::cannot);
        told.and_then(|told| closed.map(|()| told))
    };
    let told = target::patiently(tell, ANSWER_WITHIN + CLOSE_WITHIN);
    Ok((status, told.unwrap_or_else(|| Ok(T::default()))))
}

//! The command line: one file per command.

pub mod attach;
pub mod causes;
pub mod check;
pub mod compare;
pub mod demo;
pub mod doctor;
pub mod heap;
pub mod live;
pub mod report;
pub mod run;

mod audit;
mod finish;
mod fixing;
mod frames;
mod judging;
mod watching;

/// Tells from outside whether a training run leaks memory, in which process, and when it will be killed.
#[derive(clap::Parser)]
#[command(name = "lowtide", version, disable_help_subcommand = true, max_term_width = 110, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: `run` passes on the command's own (128 + N where signal N ended it). Else 0: done; 1: found what --fail-on \
names; 2: wrong usage; 3: could not watch or read.";

/// The commands.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Start a training run, watch it, judge it, pass its exit code on
    Run(run::Args),
    /// Watch what already runs
    Attach(attach::Args),
    /// List what is alive in a running Python, what grows there, and who holds it
    Heap(heap::Args),
    /// Judge a file: a recording, or measurements of another tool
    Report(report::Args),
    /// Show a run while it goes on, on a screen of its own
    Live(live::Args),
    /// Hold a run against an earlier one: did the fix work, and what does it cost
    Compare(compare::Args),
    /// Say what can be seen on this machine, and what to do about what cannot
    Doctor(doctor::Args),
    /// Find patterns that leak in Python source, before the run
    Check(check::Args),
    /// Say why training runs leak, and how to fix it: all causes, or one's page
    Causes(causes::Args),
    /// Run a training that leaks, and watch lowtide find it
    Demo(demo::Args),
}

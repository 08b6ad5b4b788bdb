//! lowtide: a memory-leak detective for training runs. See [`cli`] for the commands.

mod agent;
mod browser;
mod cli;
mod config;
mod context;
mod culprit;
mod diff;
mod duration;
mod exit;
mod expect;
mod explain;
mod fail_on;
mod input;
mod join;
mod layouts;
mod logged;
mod malloc;
mod output;
mod patience;
mod postmortem;
mod rules;
mod snapshot;
mod target;
mod temporary;
mod terminal;
mod threads;
mod trigger;
mod watch;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};

fn main() -> ExitCode {
    watch::be_brief_about_panics();
    let result = match Cli::parse().command {
        Command::Run(args) => cli::run::run(args),
        Command::Attach(args) => cli::attach::attach(args),
        Command::Heap(args) => cli::heap::heap(&args),
        Command::Report(args) => cli::report::report(args),
        Command::Live(args) => cli::live::live(&args),
        Command::Compare(args) => cli::compare::compare(&args),
        Command::Doctor(args) => cli::doctor::doctor(&args),
        Command::Check(args) => cli::check::check(&args),
        Command::Causes(args) => cli::causes::causes(&args),
        Command::Demo(args) => cli::demo::demo(&args),
    };
    let code = result.unwrap_or_else(|failure| {
        terminal::say(&failure.text);
        failure.code
    });
    code.into()
}

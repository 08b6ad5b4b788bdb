//! Chores of this repository: `cargo xtask new-cause LT213 prefetch-queue-unbounded`.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "a chore speaks to who runs it")]

mod cause;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask new-cause LTnnn name-in-words    a file for a cause, with everything to be filled in";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match *args {
        ["new-cause", id, name] => cause::scaffold(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), id, name),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

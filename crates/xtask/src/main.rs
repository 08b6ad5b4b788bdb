//! Chores of this repository: `cargo xtask new-cause LT213 prefetch-queue-unbounded`.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "a chore speaks to who runs it")]

mod cause;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask new-cause LTnnn name-in-words    a file for a cause, with everything to be filled in";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match *args {
        ["new-cause", id, name] => repository().and_then(|root| cause::scaffold(&root, id, name)),
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

/// The checkout that one stands in: the binary may have been built in another one.
fn repository() -> Result<PathBuf, String> {
    let here = std::env::current_dir().map_err(|error| format!("the working folder cannot be found: {error}"))?;
    let root = here.ancestors().find(|folder| folder.join("crates/causes/Cargo.toml").is_file());
    root.map(PathBuf::from).ok_or_else(|| format!("{} lies in no checkout of lowtide", here.display()))
}

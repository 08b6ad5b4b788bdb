//! The options of commands that watch a process, and what they come to.

use std::ffi::OsString;
use std::path::PathBuf;

use lowtide_model::Mode;

use crate::config::Config;
use crate::duration::{DurationError, parse_duration};
use crate::watch::{Destination, Settings};

/// How to watch.
#[derive(Clone, Debug, clap::Args)]
pub struct WatchArgs {
    /// Time between measurements; five a second in the first half minute, so that short runs are seen too,
    /// and for up to five minutes more while memory swings so fast that rare measurements would miss its low tides
    ///
    /// Default: 1s
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub interval: Option<f64>,
    /// Stop watching after this time (10m, 2h); the target goes on
    #[arg(long = "for", value_name = "TIME", value_parser = seconds)]
    pub for_s: Option<f64>,
    /// Stop watching once it can be said whether it leaks; the target goes on
    #[arg(long)]
    pub until_verdict: bool,
    /// Record into FILE (default: a new file in $LOWTIDE_DIR, else here, else in your state folder)
    #[arg(long, value_name = "FILE", conflicts_with = "no_record")]
    pub record: Option<PathBuf>,
    /// Record nothing
    #[arg(long)]
    pub no_record: bool,
    /// Run CMD once when it happens: leak, likely, oom, oom=30m (30 minutes before); CMD gets the JSON on its input
    #[arg(long, num_args = 2, value_names = ["EVENT", "CMD"], action = clap::ArgAction::Append)]
    pub on: Vec<String>,
    /// Look into a process that is likely to leak, to say who holds what grows: auto or off. It is held still for a moment, or
    /// copies itself; all looks together take 2 % of the time at most, and the report says how long they took. `run` does so by
    /// itself, `attach` only when asked
    #[arg(long, value_enum, value_name = "WHEN", hide_possible_values = true)]
    pub census: Option<Census>,
    /// Put nothing into the target: `run` then knows no steps, epochs and phases (`attach` never puts anything in)
    #[arg(long)]
    pub no_agent: bool,
}

/// Whether processes are looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Census {
    /// When it is worth it
    Auto,
    /// Never
    Off,
}

const DEFAULT_INTERVAL_S: f64 = 1.0;
/// The shortest interval that is worth it: a tick of a large tree takes some milliseconds.
const SHORTEST_INTERVAL_S: f64 = 0.05;

impl WatchArgs {
    /// The settings for watching a process.
    pub fn settings(&self, pid: u32, mode: Mode, command: Vec<String>, config: &Config) -> Settings {
        let record = if self.no_record {
            Destination::Nowhere
        } else {
            self.record.clone().map_or_else(|| Destination::by_default(config.record_dir.as_deref()), Destination::File)
        };
        let of_config = config.interval.map(|interval| interval.as_secs_f64());
        let interval_s = self.interval.or(of_config).unwrap_or(DEFAULT_INTERVAL_S);
        Settings {
            interval_s: interval_s.max(SHORTEST_INTERVAL_S),
            for_s: self.for_s,
            until_verdict: self.until_verdict,
            record,
            looks: self.census.map_or(mode == Mode::Run, |census| census == Census::Auto),
            ..Settings::new(pid, mode, command)
        }
    }
}

fn seconds(text: &str) -> Result<f64, DurationError> {
    parse_duration(text).map(|duration| duration.as_secs_f64())
}

/// The command with what looks like a secret masked.
pub fn masked(command: &[OsString]) -> Vec<String> {
    let command: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    lowtide_collect::mask_secrets(&command)
}

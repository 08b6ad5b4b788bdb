//! What a report is held against: expectations, `--on`, and what makes the exit code 1. From the command line
//! and from `lowtide.toml`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lowtide_model::Report;

use crate::config::Config;
use crate::exit::Failure;
use crate::expect::{self, Expectation};
use crate::fail_on::FailOn;
use crate::join;
use crate::trigger::Trigger;
use crate::watch::Observer;

/// So long may a command of `--on` go on when all else is done.
const COMMAND_MAY_TAKE: Duration = Duration::from_secs(5);

/// What to hold a report against.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct JudgeArgs {
    /// What the run must keep to, as in 'ram < 20 GiB', 'trainer.growth < 1 MiB/epoch', no-oom; may be repeated
    #[arg(long, value_name = "EXPECTATION")]
    expect: Vec<Expectation>,
    /// Exit with 1 if this is found: leak, likely, oom, expectation, none; several with commas between
    #[arg(long, value_name = "WHAT")]
    fail_on: Option<FailOn>,
    /// Settings of the project (default: lowtide.toml, here or in a folder above)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// The same, read and found right.
pub struct Judging {
    /// What the project wants.
    pub config: Config,
    expectations: Vec<Expectation>,
    fail_on: FailOn,
    triggers: Arc<Mutex<Vec<Trigger>>>,
}

impl Judging {
    /// Reads the options. `on` are pairs of an event and a command.
    pub fn of(args: &JudgeArgs, on: &[String]) -> Result<Self, Failure> {
        let folder = std::env::current_dir().unwrap_or_default();
        let config = Config::load(args.config.as_deref(), &folder).map_err(|error| Failure::usage(error.to_string()))?;
        let expectations: Vec<_> = config.expect.iter().chain(&args.expect).cloned().collect();
        let fail_on = args.fail_on.clone().or_else(|| config.fail_on.clone());
        let triggers: Result<_, _> = on.chunks_exact(2).map(|pair| Trigger::parse(&pair[0], &pair[1])).collect();
        Ok(Self {
            fail_on: fail_on.unwrap_or_else(|| FailOn::default_for(!expectations.is_empty())),
            triggers: Arc::new(Mutex::new(triggers.map_err(|error| Failure::usage(error.to_string()))?)),
            expectations,
            config,
        })
    }

    /// Who looks at the report while the run goes on: the commands of `--on`.
    pub fn observers(&self, redact: bool) -> Vec<Observer> {
        let triggers = Arc::clone(&self.triggers);
        if lock(&triggers).is_empty() {
            return Vec::new();
        }
        let expectations = self.expectations.clone();
        vec![Box::new(move |report| {
            let mut report = report.clone();
            expect::judge(&expectations, &mut report);
            if redact {
                lowtide_report::redact(&mut report);
            }
            lock(&triggers).iter_mut().filter_map(|trigger| trigger.consider(&report)).collect()
        })]
    }

    /// Adds to the finished report what the source shows of the same lines, and what became of the expectations.
    pub fn judge(&self, report: &mut Report) {
        join::with_source(report);
        expect::judge(&self.expectations, report);
    }

    /// Whether the report holds what `--fail-on` names.
    pub fn found(&self, report: &Report) -> bool {
        self.fail_on.found_in(report)
    }

    /// Lets the commands of `--on` have the final report, and waits for those that run; their failures, as texts.
    pub fn finish(&self, report: &Report) -> Vec<String> {
        let mut triggers = lock(&self.triggers);
        // All are started before one is waited for.
        for trigger in triggers.iter_mut() {
            trigger.consider(report);
        }
        triggers.iter_mut().filter_map(|trigger| trigger.finish(COMMAND_MAY_TAKE)).collect()
    }
}

/// A panic while a command was started leaves the others as they were.
fn lock(triggers: &Mutex<Vec<Trigger>>) -> std::sync::MutexGuard<'_, Vec<Trigger>> {
    triggers.lock().unwrap_or_else(PoisonError::into_inner)
}

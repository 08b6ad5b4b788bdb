//! `lowtide demo`: a real training run with a planted leak, watched from outside, and judged.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};

use lowtide_collect::GpuSource;
use lowtide_model::{Bytes, ExitStatus, Mode, Rate, Report, Seconds, Verdict};

use super::run::watch_command;
use super::watching;
use crate::agent::Agent;
use crate::exit::{self, Failure};
use crate::output::{Output, OutputArgs};
use crate::temporary::Temporary;
use crate::terminal::{self, say};
use crate::watch::{Destination, Observer, Settings};

/// Long enough for some twenty epochs.
const SECONDS: f64 = 75.0;
/// Below this the answer may still be open.
const ENOUGH_SECONDS: f64 = 60.0;
/// Where stderr is no terminal, a line now and then.
const LINE_EVERY_S: f64 = 15.0;

/// Run a training that leaks, and watch lowtide find it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How long it trains
    #[arg(long, default_value_t = SECONDS, value_parser = seconds)]
    seconds: f64,
    /// Show a leak on a GPU that is emulated: there is no card, and the report says so
    #[arg(long, value_enum, value_name = "PLANTED", num_args = 0..=1, default_missing_value = "leak")]
    gpu_emulated: Option<OnGpu>,
    #[command(flatten)]
    output: OutputArgs,
}

/// What is planted in the training on an emulated GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum OnGpu {
    /// Tensors that are kept
    Leak,
    /// Free pieces that nothing fits into
    Fragmentation,
    /// Memory outside of PyTorch's allocator
    Outside,
    /// Another process on the same card, which is no leak of the run
    Other,
}

impl OnGpu {
    /// As the script has it.
    fn word(self) -> &'static str {
        match self {
            Self::Leak => "leak",
            Self::Fragmentation => "fragmentation",
            Self::Outside => "outside",
            Self::Other => "other",
        }
    }
}

/// What the control file says before the program says more.
const NO_USERS: &str = "driver 0.0\ncard 0 total=17179869184 name=Emulated_GPU uuid=EMULATED-0\n";

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().map_err(|error| error.to_string())?;
    if (1.0..=3600.0).contains(&seconds) { Ok(seconds) } else { Err("not between 1 and 3600".to_owned()) }
}

/// A training script that comes with lowtide.
struct Script {
    name: &'static str,
    source: &'static str,
    what: &'static str,
    planted: &'static str,
}

const PLAIN: Script = Script {
    name: "train_plain.py",
    source: include_str!("../../demo/train_plain.py"),
    what: "a perceptron in plain Python (there is no torch here)",
    planted: "keeps the activations of every step in a list, `trainer.outputs`",
};

const TORCH: Script = Script {
    name: "train_torch.py",
    source: include_str!("../../demo/train_torch.py"),
    what: "a perceptron in torch, on the CPU",
    planted: "keeps the output of every step, with the graph that made it, in a list, `trainer.outputs`",
};

const ON_GPU: Script = Script {
    name: "train_gpu_emulated.py",
    source: include_str!("../../demo/train_gpu_emulated.py"),
    what: "a perceptron in torch on the CPU, with an EMULATED GPU: there is no card, its numbers are counted by the program",
    planted: "keeps the output of every fourth step in a list, `trainer.outputs`",
};

/// Shows it.
pub fn demo(args: &Args) -> Result<u8, Failure> {
    let output = Output::of(&args.output, false)?;
    let python = std::env::var_os("PYTHON").filter(|python| !python.is_empty()).unwrap_or_else(|| "python3".into());
    let has_torch = can_import_torch(&python)?;
    let script = match args.gpu_emulated {
        Some(_) if !has_torch => {
            let python = python.to_string_lossy();
            return Err(Failure::cannot(format!(
                "--gpu-emulated trains with torch, which {python} cannot import: set PYTHON to one that can"
            )));
        }
        Some(_) => ON_GPU,
        None if has_torch => TORCH,
        None => PLAIN,
    };
    let folder =
        Temporary::folder("demo").map_err(|error| Failure::cannot(format!("cannot write the demo's script: {error}")))?;
    let path = folder.path().join(script.name);
    std::fs::write(&path, script.source)
        .map_err(|error| Failure::cannot(format!("cannot write {}: {error}; set TMPDIR to another folder", path.display())))?;
    say(&format!("training {}, for {}; watched from outside", script.what, Seconds(args.seconds)));

    let mut command = vec![python, path.into_os_string(), args.seconds.to_string().into()];
    let mut gpu = GpuSource::default();
    if let Some(planted) = args.gpu_emulated {
        let control = folder.path().join("gpus");
        std::fs::write(&control, NO_USERS).map_err(|error| {
            Failure::cannot(format!("cannot write {}: {error}; set TMPDIR to another folder", control.display()))
        })?;
        command.extend([control.clone().into_os_string(), planted.word().into()]);
        gpu = GpuSource::Emulated(control);
    }
    let agent = Agent::place().map(|agent| agent.with_gpu_history(args.gpu_emulated.is_some()));
    let settings = |pid| Settings {
        observers: vec![progress(args.seconds)],
        review_every_s: 1.0,
        notices: false,
        // Found again by `lowtide report`, and not in the user's way.
        record: Destination::state_folder(),
        looks: true,
        gpu_history: args.gpu_emulated.is_some(),
        gpu,
        ..Settings::new(pid, Mode::Run, watching::masked(&command))
    };
    let (status, verdict) = watch_command(&command, agent, settings, move |outcome| {
        clear_progress();
        show(outcome.report, &output).map(Some)
    })?;
    let verdict = verdict?;
    match args.gpu_emulated {
        Some(planted) => say(&format!("planted: {}, on a GPU that is emulated; a right answer names just that.", planted.word())),
        None => explain(&script),
    }
    match status {
        ExitStatus::Code(0) => {}
        ExitStatus::Signal(_) => return Ok(exit::of_target(status)),
        _ => return Err(Failure::cannot("the demo's training failed; what it said stands above")),
    }
    let leaks = args.gpu_emulated != Some(OnGpu::Other);
    if leaks && verdict != Some(Verdict::Leak) && args.seconds >= ENOUGH_SECONDS {
        return Err(Failure { code: exit::FOUND, text: "the leak was not found: that is a fault; please report it".to_owned() });
    }
    Ok(exit::DONE)
}

fn show(mut report: Report, output: &Output) -> Result<Verdict, Failure> {
    let verdict = report.verdict;
    output.prepare(&mut report, &mut lowtide_report::Curve::default());
    output.show(&report)?;
    Ok(verdict)
}

/// What was planted, so that a newcomer sees whether the answer is right.
fn explain(script: &Script) {
    let line = script.source.lines().position(|line| line.contains("# PLANTED")).map_or(0, |at| at + 1);
    say(&format!("planted: {} line {line} {}; nothing else in it grows.", script.name, script.planted));
    say("each validation also builds up predictions and drops them: a right answer calls those harmless, if it sees them.");
}

/// Whether this Python has torch; an error where there is no such Python.
fn can_import_torch(python: &OsString) -> Result<bool, Failure> {
    let probe = Command::new(python)
        .args(["-c", "import torch"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    probe.map(|status| status.success()).map_err(|error| {
        let python = python.to_string_lossy();
        Failure::cannot(format!("cannot run {python}: {error}; the demo needs Python 3: install it, or set PYTHON to one"))
    })
}

/// Shows at every review how it stands.
fn progress(seconds: f64) -> Observer {
    let on_terminal = std::io::stderr().is_terminal();
    let mut said_s = 0.0;
    Box::new(move |report| {
        let line = format!(
            "{} of {}: {} of memory, {}",
            Seconds(report.duration_s),
            Seconds(seconds),
            Bytes(report.roles.first().map_or(0, |tree| tree.end_bytes)),
            so_far(report)
        );
        if on_terminal {
            let width = terminal::width(&std::io::stderr()).saturating_sub(1);
            let line: String = line.chars().take(width).collect();
            let _ = std::io::stderr().write_all(format!("\r\x1b[K{line}").as_bytes());
        } else if report.duration_s - said_s >= LINE_EVERY_S {
            said_s = report.duration_s;
            say(&line);
        }
        Vec::new()
    })
}

fn so_far(report: &Report) -> String {
    let growth = report.leak().and_then(|leak| leak.growth.as_ref()).filter(|growth| growth.unit == "bytes");
    let rate = growth.map(|growth| format!(", {}/s", Rate(growth.bytes_per_second)));
    format!("{} so far{}", report.verdict.words(), rate.unwrap_or_default())
}

fn clear_progress() {
    if std::io::stderr().is_terminal() {
        let _ = std::io::stderr().write_all(b"\r\x1b[K");
    }
}

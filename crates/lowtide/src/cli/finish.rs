//! The end of `run` and `attach`: the report on stderr or in its file, and where the recording is.

use std::io::Write;

use super::judging::Judging;
use crate::exit::Failure;
use crate::output::{Destination, Format, Output};
use crate::terminal::say;
use crate::watch::Outcome;

/// Tells what watching came to. Whether something was found that `--fail-on` names.
pub fn tell(outcome: Outcome, output: &Output, judging: &Judging) -> Result<bool, Failure> {
    let Outcome { mut report, recording, mut curve } = outcome;
    judging.judge(&mut report);
    let found = judging.found(&report);
    output.prepare(&mut report, &mut curve);
    let stderr = std::io::stderr();
    if let Destination::File(path, format) = &output.destination {
        output.write_file(&output.rendered(&report, *format, &curve))?;
        say(&format!("{}; the report is in {}", report.verdict.words(), path.display()));
    }
    // Whoever asked for JSON in a file still wants to read how it went.
    if !matches!(output.destination, Destination::File(_, Format::Text)) {
        let text = output.text_for(&report, &stderr);
        // A closed stderr is no failure: the recording has it all.
        let _ = stderr.lock().write_all(text.as_bytes());
    }
    if let Some(recording) = recording {
        let recording = recording.display();
        say(&format!("see it again: lowtide report {recording}; as a page with its curve: lowtide report {recording} --open"));
    }
    for failure in judging.finish(&report) {
        say(&failure);
    }
    Ok(found)
}

//! Takes out of a report what a stranger should not read: commands beyond the program's name, hosts, paths.
//!
//! What a report proves (numbers, roles, kinds, times) stays. Rather too much goes than too little: a word with
//! a slash in it is a path unless it is a rate or the kernel's own.

use lowtide_model::Report;

/// What stands where something was taken out.
const GONE: &str = "[redacted]";

/// Redacts the report in place.
pub fn redact(report: &mut Report) {
    let secrets = Secrets::of(report);
    for_each_text(report, |text| *text = secrets.take_out(text));
    report.run.command = program(&report.run.command);
    report.run.host = String::new();
    report.run.recording = None;
    for process in &mut report.processes {
        process.name = program(&process.name);
    }
    for limit in &mut report.limits {
        limit.path = String::new();
    }
    for line in report.snapshots.iter_mut().flat_map(|snapshot| &mut snapshot.lines) {
        line.stack.clear();
        if !line.file.is_empty() {
            (line.file, line.function) = (GONE.to_owned(), GONE.to_owned());
        }
    }
    for process in report.findings.iter_mut().filter_map(|finding| finding.process.as_mut()) {
        process.name = program(&process.name);
        process.host = String::new();
    }
    for finding in &mut report.findings {
        for site in finding.site.iter_mut().chain(&mut finding.sites) {
            (site.file, site.text) = (GONE.to_owned(), GONE.to_owned());
        }
        // It may quote lines of the source.
        if finding.class != lowtide_model::Class::Source {
            finding.why = None;
        }
        if let Some(root) = finding.holder.as_mut().and_then(|holder| holder.path.first_mut()) {
            // `frame main() train.py:24`: a function, and where it is.
            *root = root.split(' ').take(2).collect::<Vec<_>>().join(" ");
        }
        if let Some(holder) = finding.holder.as_mut().filter(|holder| !holder.file.is_empty()) {
            holder.file = GONE.to_owned();
        }
    }
}

/// Every sentence that may quote a name, a path or a command.
fn for_each_text(report: &mut Report, mut change: impl FnMut(&mut String)) {
    change(&mut report.summary);
    change(&mut report.run.source);
    report.warnings.iter_mut().chain(&mut report.blind_spots).for_each(&mut change);
    for finding in &mut report.findings {
        change(&mut finding.text);
        finding.evidence.iter_mut().for_each(&mut change);
        if let Some(holder) = &mut finding.holder {
            holder.path.iter_mut().chain([&mut holder.name]).for_each(&mut change);
        }
    }
    for process in &mut report.processes {
        change(&mut process.role_reason);
    }
    // Users give phases and nodes their names.
    report.phases.iter_mut().for_each(|row| change(&mut row.name));
    report.budgets.iter_mut().filter_map(|row| row.phase.as_mut()).for_each(&mut change);
    report.epochs.iter_mut().filter_map(|row| row.node.as_mut()).for_each(&mut change);
    report.nodes.iter_mut().for_each(|row| change(&mut row.name));
    for line in &mut report.progress {
        change(&mut line.counts);
        line.phase.iter_mut().for_each(&mut change);
    }
    let finding = report.findings.iter_mut();
    finding
        .flat_map(|finding| finding.phase.iter_mut().chain(finding.process.iter_mut().filter_map(|p| p.node.as_mut())))
        .for_each(&mut change);
    for hypothesis in &mut report.hypotheses {
        change(&mut hypothesis.evidence);
        change(&mut hypothesis.action);
    }
    for expectation in &mut report.expectations {
        change(&mut expectation.reason);
    }
}

/// `/opt/conda/bin/python3.11 train.py --data x` becomes `python3.11 [redacted]`.
fn program(command: &str) -> String {
    let (first, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let name = first.rsplit('/').next().unwrap_or(first);
    if rest.is_empty() { name.to_owned() } else { format!("{name} {GONE}") }
}

/// Texts of this report that may be quoted in its sentences.
struct Secrets(Vec<String>);

impl Secrets {
    fn of(report: &Report) -> Self {
        let commands = report.processes.iter().map(|process| &process.name);
        let named = report.findings.iter().filter_map(|finding| finding.process.as_ref());
        let mut all: Vec<String> = commands
            .chain(named.clone().map(|process| &process.name))
            .chain(named.map(|process| &process.host))
            .chain(report.limits.iter().map(|limit| &limit.path))
            .chain([&report.run.command, &report.run.host])
            .chain(&report.run.recording)
            // A bare program name (`python3`) is no secret; `/` is every path's beginning.
            .filter(|text| text.len() > 1 && (text.contains([' ', '/']) || **text == report.run.host))
            .cloned()
            .collect();
        // The longest first: a command may hold another text of the list.
        all.sort_by_key(|text| std::cmp::Reverse(text.len()));
        all.dedup();
        Self(all)
    }

    fn take_out(&self, text: &str) -> String {
        let known = self.0.iter().fold(text.to_owned(), |text, secret| replace_whole(&text, secret));
        without_paths(&known)
    }
}

/// The text with what looks like a path taken out.
pub(crate) fn without_paths(text: &str) -> String {
    text.split(' ').map(|word| if is_path(word) { GONE } else { word }).collect::<Vec<_>>().join(" ")
}

/// Replaces the secret where it stands by itself, so that a host called `a` does not eat every other word.
fn replace_whole(text: &str, secret: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (at, _) in text.match_indices(secret) {
        let before = text[..at].chars().next_back();
        let after = text[at + secret.len()..].chars().next();
        let part_of_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        if at >= from && !part_of_word(before) && !part_of_word(after) {
            out.push_str(&text[from..at]);
            out.push_str(GONE);
            from = at + secret.len();
        }
    }
    out.push_str(&text[from..]);
    out
}

fn is_path(word: &str) -> bool {
    let bare = word.trim_matches(|c: char| !(c.is_alphanumeric() || matches!(c, '/' | '~' | '.' | '\\')));
    let bare = bare.trim_end_matches('.');
    let kernels_own = bare.starts_with("/proc/") || bare == "/dev/shm" || bare == "/proc";
    let rate = bare.rsplit_once('/').is_some_and(|(amount, per)| {
        !amount.contains('/')
            && matches!(per, "s" | "second" | "min" | "minute" | "h" | "hour" | "step" | "epoch" | "cycle" | "d" | "day")
    });
    let home = bare.starts_with('~');
    // `train.py:55`
    let line = bare.contains(".py:");
    (bare.contains('/') || home || line || bare.contains(":\\")) && !(kernels_own || rate)
}

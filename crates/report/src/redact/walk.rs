//! Where names stand in a report and in a comparison.

use lowtide_model::{Class, Comparison, Finding, Report};

use super::{GONE, Redaction};

/// Takes note of all that is named in fields of its own.
pub fn learn(names: &mut Redaction, report: &Report) {
    let hosts = report.findings.iter().filter_map(|finding| finding.process.as_ref()).map(|process| &process.host);
    for host in std::iter::once(&report.run.host).chain(hosts).filter(|host| !host.is_empty()) {
        let instead = names.placeholder("host", host);
        names.know(host, instead);
    }
    if let Some(recording) = &report.run.recording {
        names.learn_recording(recording);
    }
    for limit in report.limits.iter().filter(|limit| limit.path.len() > 1 && limit.path != "/dev/shm") {
        let instead = names.placeholder("cgroup", &limit.path);
        names.know(&limit.path, instead.clone());
        // Its parts may be named by themselves: a pod, a job, a user.
        for part in limit.path.split('/').filter(|part| super::look::is_telling(part)) {
            names.know(part, instead.clone());
        }
    }
    let commands = report.processes.iter().map(|process| &process.name);
    let named = report.findings.iter().filter_map(|finding| finding.process.as_ref()).map(|process| &process.name);
    for command in std::iter::once(&report.run.command).chain(commands).chain(named) {
        names.learn_command(command);
    }
    let beside = || report.findings.iter().flat_map(|finding| &finding.beside);
    let sites = report.findings.iter().flat_map(Finding::lines).chain(beside().filter_map(|other| other.site.as_ref()));
    let sites = sites.map(|site| &site.file);
    let holders = report.findings.iter().filter_map(|finding| finding.holder.as_ref());
    let holders = holders.chain(beside().map(|other| &other.holder)).map(|holder| &holder.file);
    let lines = report.snapshots.iter().flat_map(|snapshot| &snapshot.lines).map(|line| &line.file);
    for file in sites.chain(holders).chain(lines).filter(|file| !file.is_empty()) {
        let instead = names.file(file);
        names.know(file, instead);
    }
    let phases =
        report.phases.iter().map(|row| row.name.as_str()).chain(report.budgets.iter().filter_map(|row| row.phase.as_deref()));
    let of_findings = report.findings.iter().filter_map(|finding| finding.phase.as_deref());
    let now = report.progress.iter().filter_map(|line| line.phase.as_deref());
    for phase in phases.chain(of_findings).chain(now) {
        let instead = names.phase(phase);
        if instead != phase {
            names.know(phase, instead);
        }
    }
    let nodes = report.nodes.iter().map(|row| &row.name).chain(report.epochs.iter().filter_map(|row| row.node.as_ref()));
    let grown = report.findings.iter().filter_map(|finding| finding.process.as_ref()?.node.as_ref());
    for node in nodes.chain(grown).filter(|node| !node.is_empty()) {
        let instead = names.placeholder("node", node);
        names.know(node, instead);
    }
}

/// Redacts a report in place.
pub fn report(names: &mut Redaction, report: &mut Report) {
    for text in [&mut report.summary, &mut report.run.source, &mut report.run.ended] {
        *text = names.text(text);
    }
    for text in report.warnings.iter_mut().chain(&mut report.blind_spots) {
        *text = without_quotes(names, text);
    }
    report.findings.iter_mut().for_each(|one| finding(names, one));
    report.run.command = names.command(&report.run.command);
    report.run.host = String::new();
    report.run.recording = None;
    for process in &mut report.processes {
        process.name = names.command(&process.name);
        process.role_reason = names.text(&process.role_reason);
    }
    for limit in report.limits.iter_mut().filter(|limit| limit.path != "/dev/shm") {
        limit.path = String::new();
    }
    for line in report.snapshots.iter_mut().flat_map(|snapshot| &mut snapshot.lines) {
        line.stack.clear();
        if !line.file.is_empty() {
            (line.file, line.function) = (names.file(&line.file), GONE.to_owned());
        }
    }
    for one in &mut report.logged {
        for text in [&mut one.name, &mut one.entity] {
            *text = names.text(text);
        }
    }
    // Users give phases and nodes their names.
    report.phases.iter_mut().for_each(|row| row.name = names.phase(&row.name));
    let phases =
        report.budgets.iter_mut().map(|row| &mut row.phase).chain(report.progress.iter_mut().map(|line| &mut line.phase));
    for phase in phases.flatten() {
        *phase = names.phase(phase);
    }
    let nodes = report.epochs.iter_mut().filter_map(|row| row.node.as_mut());
    for node in nodes.chain(report.nodes.iter_mut().map(|row| &mut row.name)) {
        *node = names.placeholder("node", node);
    }
    report.progress.iter_mut().for_each(|line| line.counts = names.text(&line.counts));
    for hypothesis in &mut report.hypotheses {
        hypothesis.evidence = names.text(&hypothesis.evidence);
        hypothesis.action = names.text(&hypothesis.action);
    }
    for expectation in &mut report.expectations {
        expectation.text = names.text(&expectation.text);
        expectation.reason = names.text(&expectation.reason);
    }
}

fn finding(names: &mut Redaction, finding: &mut Finding) {
    finding.text = names.text(&finding.text);
    for line in &mut finding.evidence {
        *line = without_quotes(names, line);
    }
    if let Some(phase) = &mut finding.phase {
        *phase = names.phase(phase);
    }
    if let Some(process) = &mut finding.process {
        process.name = names.command(&process.name);
        process.host = String::new();
        process.node = process.node.take().map(|node| names.placeholder("node", &node));
    }
    let (others, theirs): (Vec<_>, Vec<_>) = finding.beside.iter_mut().map(|one| (&mut one.holder, one.site.as_mut())).unzip();
    for site in finding.site.iter_mut().chain(&mut finding.sites).chain(theirs.into_iter().flatten()) {
        (site.file, site.text) = (names.file(&site.file), GONE.to_owned());
    }
    // What a run's finding says of why quotes lines of the source.
    finding.why = match finding.class {
        Class::Source | Class::Oom => finding.why.take().map(|why| names.text(&why)),
        _ => None,
    };
    for holder in finding.holder.iter_mut().chain(others) {
        if let Some(root) = holder.path.first_mut() {
            // `frame main() train.py:24`: a function, and where it is.
            *root = root.split(' ').take(2).collect::<Vec<_>>().join(" ");
        }
        for step in holder.path.iter_mut().chain([&mut holder.name]).chain(&mut holder.also) {
            *step = names.text(step);
        }
        holder.file = names.file(&holder.file);
    }
}

/// A sentence; one that quotes a line of a log is left without the quotation, in which any name may stand.
fn without_quotes(names: &mut Redaction, text: &str) -> String {
    let line = text.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
    let Some((number, said)) = line.filter(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit())) else {
        return names.text(text);
    };
    // What stands around the quotation is lowtide's own.
    match said.split_once('`').and_then(|(_, rest)| rest.rsplit_once('`')) {
        Some((_, after)) => format!("line {number}: {GONE}{}", names.text(after)),
        None => format!("line {number}: {GONE}"),
    }
}

/// Redacts a comparison in place.
pub fn comparison(names: &mut Redaction, comparison: &mut Comparison) {
    for text in [&mut comparison.summary, &mut comparison.price] {
        *text = names.text(text);
    }
    for text in comparison.budget.iter_mut().chain(&mut comparison.notes) {
        *text = names.text(text);
    }
    for run in comparison.before.iter_mut().chain(&mut comparison.after) {
        run.file = names.placeholder("recording", &run.file);
        run.command = names.command(&run.command);
        run.ended = names.text(&run.ended);
    }
    for phase in comparison.rows.iter_mut().filter_map(|row| row.phase.as_mut()) {
        *phase = names.phase(phase);
    }
}

//! The first lines: the answer.

use lowtide_model::{Beside, Bytes, Class, ExpectationState, Finding, Kind, OomForecast, Report, Verdict};

use super::page::{GUTTER, Page, Style, columns, cut};
use super::words;

/// Evidence and side findings shown where not all was asked for.
const SHORT_LIST: usize = 4;
/// Ends of a log shown.
const SHORT_ENDS: usize = 6;

/// `LEAK   +446 KiB per minute (95 %: 441 to 452)      host RAM, seen over 14 cycles in 34 min`.
pub fn verdict(page: &mut Page, report: &Report) {
    let (style, word) = match report.verdict {
        Verdict::Leak => (Style::Red, "LEAK"),
        Verdict::LikelyLeak => (Style::Yellow, "LIKELY LEAK"),
        Verdict::NoLeak => (Style::Green, "NO LEAK"),
        Verdict::Undecided => (Style::Cyan, "UNDECIDED"),
    };
    let leak = report.leak();
    let answer = match report.verdict {
        Verdict::Leak | Verdict::LikelyLeak => leak
            .and_then(|leak| leak.growth.as_ref().map(|growth| words::growth(growth, leak.kind)))
            .unwrap_or_else(|| report.summary.clone()),
        // By steps or lines there is no rate per time: the sentence says what there is.
        Verdict::NoLeak | Verdict::Undecided if !report.logged.is_empty() && report.duration_s == 0.0 => report.summary.clone(),
        // Nothing of it can be judged, for how long it may go on.
        Verdict::Undecided if !report.logged.is_empty() && report.logged.iter().all(|one| one.verdict.is_none()) => {
            report.summary.clone()
        }
        Verdict::NoLeak => smallest_seen(report),
        // A snapshot is no time watched: what it takes, the sentence says.
        Verdict::Undecided if !report.snapshots.is_empty() => report.summary.clone(),
        Verdict::Undecided => what_it_takes(report),
    };
    let of_cards = !report.logged.is_empty() && report.logged.iter().all(|one| matches!(one.whose, "card" | "allocator"));
    let usual = if report.snapshots.is_empty() && !of_cards { words::resource("ram") } else { "GPU memory".to_owned() };
    let resource = leak.map_or(usual, |leak| words::resource(&leak.resource));
    let seen = if let Some(snapshot) = report.snapshots.first() {
        let by = words::pieces(snapshot.files, "snapshot", "snapshots");
        let traced =
            if report.duration_s > 0.0 { format!(" with a trace of {}", words::span(report.duration_s)) } else { String::new() };
        format!("{resource}, by {by}{traced}")
    } else if only_told(report) {
        String::new()
    } else if report.duration_s == 0.0 && !report.logged.is_empty() {
        format!("{resource}, by {}", numbers(report))
    } else if report.cycles > 0 {
        let cycles = words::pieces(report.cycles, "cycle", "cycles");
        format!("{resource}, seen over {cycles} in {}", words::span(report.duration_s))
    } else {
        format!("{resource}, seen for {}", words::span(report.duration_s))
    };
    let start = if word.len() < GUTTER { GUTTER } else { word.len() + 2 };
    let free = page.width().saturating_sub(start + columns(&answer) + columns(&seen));
    if free >= 2 && page.lays_out() {
        let gap = " ".repeat(start - word.len());
        page.row(&[
            (style, format!("{word}{gap}")),
            (Style::Bold, answer),
            (Style::Plain, format!("{}{seen}", " ".repeat(free))),
        ]);
    } else {
        page.paragraph((style, format!("{word:<width$}", width = start - 1)), GUTTER, &[(Style::Bold, answer)]);
        page.labelled("", &seen);
    }
    if report.verdict == Verdict::LikelyLeak && report.more_seconds_needed > 0.0 {
        page.labelled(
            "",
            &format!("Whether it stops by itself can be told after {} more.", words::span(report.more_seconds_needed)),
        );
    }
}

/// Whether the report is of a log in which nothing was measured.
fn only_told(report: &Report) -> bool {
    report.sampling.ticks == 0 && (report.run.source.starts_with("log of ") || report.run.source.ends_with(" scalars"))
}

fn smallest_seen(report: &Report) -> String {
    match report.detectable_bytes_per_second {
        Some(rate) => format!("steady growth of {} or more would have been seen", words::plain_rate(rate)),
        None => "how small a leak could have been missed is not known".to_owned(),
    }
}

fn what_it_takes(report: &Report) -> String {
    if only_told(report) {
        // Nothing was measured.
        let ended = report.findings.iter().any(Finding::ran_out);
        return if ended { "a log tells how a run ended, not whether memory grew".to_owned() } else { report.summary.clone() };
    }
    let wait = if report.more_seconds_needed > 0.0 {
        format!("watch {} more to tell", words::span(report.more_seconds_needed))
    } else {
        "watch for longer to tell".to_owned()
    };
    match report.detectable_bytes_per_second {
        Some(rate) => format!("{wait}; by now only steady growth of {} or more would show", words::plain_rate(rate)),
        None => format!("{wait}; too little was seen for any rate"),
    }
}

/// `where`, `what` and `proof` of the finding that the verdict rests on.
pub fn blame(page: &mut Page, report: &Report, verbose: bool) {
    let Some(leak) = report.leak() else { return };
    if let Some(place) = place(leak) {
        page.labelled("where", &place);
    }
    // What is counted, the sentence names itself.
    let counted = [Kind::Processes, Kind::Fds, Kind::Threads, Kind::Maps];
    let kind = leak.kind.filter(|kind| !counted.contains(kind)).map_or(String::new(), |kind| format!("{}: ", words::kind(kind)));
    page.labelled("what", &format!("{kind}{}", leak.text));
    held(page, leak);
    line(page, leak);
    for other in &leak.beside {
        page.labelled("beside", &beside_it(other));
    }
    list(page, "proof", leak.evidence.iter().cloned(), verbose);
}

/// What objects become more, who holds them and which line adds them, by a look into the process.
fn held(page: &mut Page, leak: &Finding) {
    let Some(holder) = &leak.holder else { return };
    let (object, others) = (leak.objects.first(), leak.objects.len().saturating_sub(1));
    if let Some(object) = object {
        let beside =
            if others > 0 { format!(", and {} beside it", words::pieces(others as u64, "kind", "kinds")) } else { String::new() };
        let explains = words::percent(holder.explains);
        let text = if object.bytes_delta.saturating_mul(2) >= holder.bytes_delta {
            format!("{}{beside}: it explains {explains} of the growth", words::object(object))
        } else {
            format!("objects of many kinds, {}: they explain {explains} of the growth", Bytes(holder.bytes_delta.unsigned_abs()))
        };
        page.labelled("", &text);
    }
    let items = holder
        .length
        .map_or(String::new(), |[before, now]| format!(", {before} to {now} items in {}", words::span(holder.seconds)));
    match holder.path.as_slice() {
        // What nothing holds begins nowhere, and is of no type.
        [root] if *root == holder.name => page.labelled("held", root),
        path => {
            let begins = path.first().map_or(String::new(), |root| format!("  <-  {root}"));
            page.labelled("held", &format!("{} ({}{items}){begins}", cut(&holder.name, 80), holder.kind));
        }
    }
    if !holder.also.is_empty() {
        let others: Vec<String> = holder.also.iter().map(|other| cut(other, 80)).collect();
        let (verb, all) = if others.len() == 1 { ("holds", "both") } else { ("hold", "all") };
        page.labelled("", &format!("{} {verb} the same: {all} must let go", others.join(" and ")));
    }
}

/// The line, why it keeps what it adds, and what to do about it.
fn line(page: &mut Page, leak: &Finding) {
    // What an allocator or a library keeps, of a card or free in malloc's heap, has no line, and there is something to do about it all the same.
    let kept = leak.resource.starts_with("gpu") || leak.kind == Some(Kind::AllocatorHoles);
    if leak.holder.is_none() && leak.site.is_none() && !kept {
        return;
    }
    if let Some(site) = &leak.site {
        page.labelled("line", &words::line(site, leak.cause.as_ref()));
    }
    if let Some(others) = words::other_lines(&leak.sites) {
        page.labelled("", &others);
    }
    if let Some(why) = &leak.why {
        page.labelled("why", why);
    }
    if let Some(fix) = &leak.fix {
        let more = leak.cause.as_ref().map_or(String::new(), |cause| format!(" (`lowtide causes {cause}` has an example)"));
        page.labelled("fix", &format!("{fix}{more}"));
    }
}

/// `Trainer.scores (list), 20 % of the growth: train.py:33   self.scores.append(s)   LT201`.
fn beside_it(other: &Beside) -> String {
    let holder = &other.holder;
    let line = other.site.as_ref().map_or(String::new(), |site| format!(": {}", words::line(site, other.cause.as_ref())));
    format!("{} ({}), {} of the growth{line}", cut(&holder.name, 80), holder.kind, words::percent(holder.explains))
}

/// `trainer, rank 3, pid 4242 (python train.py), in training`.
fn place(finding: &Finding) -> Option<String> {
    let phase = finding.phase.as_ref().map(|phase| format!("in {}", if phase == "train" { "training" } else { phase }));
    let who = finding.process.as_ref().map(|process| {
        let rank = process.rank.map_or(String::new(), |rank| format!(", rank {rank}"));
        let node = process.node.as_ref().map_or(String::new(), |node| format!(", node {node}"));
        let pid = if process.pid > 0 { format!(", pid {}", process.pid) } else { String::new() };
        let name = if process.name.is_empty() { String::new() } else { format!(" ({})", cut(&process.name, 60)) };
        format!("{}{rank}{node}{pid}{name}", process.role_label)
    });
    match (who, phase) {
        (Some(who), Some(phase)) => Some(format!("{who}, {phase}")),
        (who, phase) => who.or(phase),
    }
}

/// The kill that happened, or the forecast of one.
pub fn end_of_memory(page: &mut Page, report: &Report) {
    let ends: Vec<&Finding> = report.findings.iter().filter(|finding| finding.ran_out()).collect();
    for end in ends.iter().take(SHORT_ENDS) {
        // The lead says it already.
        let (lead, text) = match end.text.strip_prefix("killed ") {
            Some(rest) => ("KILLED", rest),
            None if end.is_kill() => ("KILLED", end.text.as_str()),
            None => ("OOM", end.text.as_str()),
        };
        page.paragraph((Style::Red, lead.to_owned()), GUTTER, &[(Style::Plain, text.to_owned())]);
        if let Some(place) = end.process.as_ref().filter(|process| process.rank.is_some()).and(place(end)) {
            page.labelled("where", &place);
        }
        list(page, "proof", end.evidence.iter().cloned(), false);
        if let Some(why) = &end.why {
            page.labelled("why", why);
        }
        if let Some(fix) = &end.fix {
            let cause = end.cause.as_ref().map_or(String::new(), |cause| format!(" (`lowtide causes {cause}` has more)"));
            page.labelled("fix", &format!("{fix}{cause}"));
        }
    }
    if ends.len() > SHORT_ENDS {
        page.labelled("", &format!("and {} more ends of this sort; JSON has them all", ends.len() - SHORT_ENDS));
    }
    if !ends.is_empty() {
        return;
    }
    if let Some(oom) = report.forecast()
        && let Some(line) = forecast_line(oom, &report.run.ended)
    {
        let lead = match (oom.limit.starts_with("gpu"), line.1) {
            (false, true) => "killed in",
            (false, false) => "would be killed in",
            // Its request fails, and mostly that ends it.
            (true, true) => "out of memory in",
            (true, false) => "would be out of memory in",
        };
        page.paragraph((Style::Bold, lead.to_owned()), GUTTER, &[(Style::Plain, line.0)]);
    } else {
        for finding in report.findings.iter().filter(|finding| finding.class == Class::Oom) {
            page.labelled("oom", &finding.text);
        }
    }
}

/// The rest of `killed in ...`, and whether the run is still there to be killed.
fn forecast_line(oom: &OomForecast, ended: &str) -> Option<(String, bool)> {
    let [low, middle, high] = oom.seconds.filter(|seconds| seconds[1].is_finite())?;
    let number = |name: &str| oom.numbers.get(name).copied().filter(|value| value.is_finite() && *value > 0.0);
    // Beyond that a number of steps is only digits.
    let steps = oom.steps.map(|steps| steps[1].round()).filter(|steps| *steps < 1e9);
    let steps = steps.map_or(String::new(), |steps| format!(", in {steps} steps"));
    let number_of = |what: &str, number: Option<u64>| number.map_or(String::new(), |number| format!(", {what} {number}"));
    let epoch = format!("{}{}", number_of("round", oom.round), number_of("epoch", oom.epoch));
    let spike = number("spike");
    let when = if spike.is_some() { ", at a spike" } else { "" };
    let mut text = format!(
        "{} ({} to {}){steps}{epoch}{when}: limit {} ({})",
        words::span(middle),
        words::span(low),
        words::span(high),
        Bytes(oom.limit_bytes),
        oom.limit
    );
    for (name, value) in [("floor", number("floor")), ("spike", spike), ("used", number("used"))] {
        if let Some(value) = value {
            text.push_str(&format!(", {name} {}", Bytes(value as u64)));
        }
    }
    Some((text, !(ended.starts_with("exit") || ended.starts_with("signal"))))
}

/// Side findings: spikes, plateaus, constant cost, further leaks.
pub fn also(page: &mut Page, report: &Report, verbose: bool) {
    let head = report.leak();
    let named = head.and_then(|head| head.holder.as_ref()).map(|holder| &holder.path);
    let others = report
        .findings
        .iter()
        .filter(|finding| Some(std::ptr::from_ref(*finding)) != head.map(std::ptr::from_ref))
        .filter(|finding| !matches!(finding.class, Class::Oom | Class::Expectation))
        .map(|finding| match finding.grows() {
            true => format!("growing: {}{}", beside(finding), held_by(finding, named)),
            false => beside(finding),
        });
    list(page, "also", others, verbose);
}

/// A side finding with whom it is about, where its sentence does not say so.
pub fn beside(finding: &Finding) -> String {
    let whose = finding.process.as_ref().map(|process| process.role_label.as_str());
    let whose = whose.filter(|label| !label.is_empty() && !finding.text.contains(label));
    whose.map_or_else(|| finding.text.clone(), |whose| format!("{whose}: {}", finding.text))
}

/// `, held by board.writers (list): train.py:37 self.writers.append(thread)   LT706`, where the head has not named them.
fn held_by(finding: &Finding, named: Option<&Vec<String>>) -> String {
    let Some(holder) = finding.holder.as_ref().filter(|holder| Some(&holder.path) != named) else { return String::new() };
    let line = finding.site.as_ref().map_or(String::new(), |site| format!(": {}", words::line(site, finding.cause.as_ref())));
    format!(", held by {} ({}){line}", cut(&holder.name, 80), holder.kind)
}

/// One line each; where not all was asked for, the rest is counted.
fn list(page: &mut Page, label: &str, lines: impl Iterator<Item = String>, verbose: bool) {
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    let shown = if verbose || lines.len() <= SHORT_LIST { lines.len() } else { SHORT_LIST - 1 };
    for (at, line) in lines.iter().take(shown).enumerate() {
        page.labelled(if at == 0 { label } else { "" }, line);
    }
    if shown < lines.len() {
        page.labelled("", &format!("and {} more", lines.len() - shown));
    }
}

/// What became of the user's expectations; all of them, for he asked.
pub fn expectations(page: &mut Page, report: &Report) {
    for expectation in &report.expectations {
        let (style, word) = match expectation.state {
            ExpectationState::Broken => (Style::Red, "is BROKEN:"),
            ExpectationState::Unknown => (Style::Yellow, "was NOT CHECKED:"),
            ExpectationState::Kept => (Style::Green, "is kept:"),
        };
        let body =
            [(Style::Plain, expectation.text.clone()), (style, word.to_owned()), (Style::Plain, expectation.reason.clone())];
        page.paragraph((Style::Bold, "expect".to_owned()), GUTTER, &body);
    }
}

/// `GPU: no driver` becomes `GPU (no driver)`.
fn in_brackets(spot: &str) -> String {
    spot.split_once(": ").map_or_else(|| spot.to_owned(), |(what, why)| format!("{what} ({why})"))
}

/// `10 segments, 5012 events of a trace`.
fn snapshots(report: &Report) -> String {
    let sum = |of: fn(&lowtide_model::SnapshotReport) -> u64| report.snapshots.iter().map(of).fold(0, u64::saturating_add);
    let events = words::pieces(sum(|one| one.events), "event", "events");
    format!("{}, {events} of the trace", words::pieces(sum(|one| one.segments), "segment", "segments"))
}

/// `120 numbers in 2 series`.
fn numbers(report: &Report) -> String {
    let points = report.logged.iter().map(|one| one.points).fold(0, u64::saturating_add);
    let series = words::pieces(report.logged.len() as u64, "series", "series");
    format!("{} in {series}", words::pieces(points, "number", "numbers"))
}

/// What was watched, how closely, at what cost; what could not be seen.
pub fn seen(page: &mut Page, report: &Report, verbose: bool) {
    let sampling = &report.sampling;
    let mut saw = match sampling.interval_s {
        _ if !report.snapshots.is_empty() => snapshots(report),
        _ if only_told(report) => "no measurements".to_owned(),
        _ if !report.logged.is_empty() => numbers(report),
        s if s > 0.0 && s <= 1.05 => format!("{} Hz for {}", words::three_digits(1.0 / s), words::span(report.duration_s)),
        s if s > 1.05 => format!("every {} for {}", words::span(s), words::span(report.duration_s)),
        _ => format!("{} samples in {}", sampling.ticks, words::span(report.duration_s)),
    };
    if report.cost.core_share > 0.0 {
        saw.push_str(&format!(", cost {} of a core", words::percent(report.cost.core_share)));
    }
    if let Some(longest) = report.cost.stops_ms.iter().copied().reduce(f64::max) {
        let stops = words::pieces(report.cost.stops_ms.len() as u64, "stop", "stops");
        saw.push_str(&format!(", {stops} of up to {} ms", words::three_digits(longest)));
    }
    if report.cost.looks > 0 {
        let times = words::times(report.cost.looks);
        saw.push_str(&format!(", looked {times}, held still for {} in all", words::step(report.cost.held_seconds)));
    }
    if sampling.rollup_skipped > 0 {
        let skipped = words::pieces(u64::from(sampling.rollup_skipped), "process", "processes");
        saw.push_str(&format!(", {skipped} too big to tell shared pages apart"));
    }
    if verbose {
        let reads = sampling.rollup_reads;
        let longest = words::three_digits(report.cost.longest_read_ms);
        saw.push_str(&format!(
            ", {} samples, {reads} reads of smaps_rollup of up to {longest} ms, recorder {}",
            sampling.ticks,
            Bytes(report.cost.recorder_rss_bytes)
        ));
    }
    if !report.blind_spots.is_empty() {
        let spots: Vec<String> = report.blind_spots.iter().map(|spot| in_brackets(spot)).collect();
        saw.push_str(&format!(" | not seen: {}", spots.join(", ")));
    }
    page.labelled("saw", &saw);
    let run = &report.run;
    let mut parts = Vec::new();
    if !run.command.is_empty() {
        parts.push(if verbose || !page.lays_out() { run.command.clone() } else { cut(&run.command, 2 * page.width()) });
    }
    if !run.host.is_empty() {
        parts.push(format!("on {}", run.host));
    }
    if !matches!(run.source.as_str(), "" | "run" | "attach" | "import") {
        parts.push(format!("read from {}", run.source));
    }
    let mut line = parts.join(" ");
    for (name, value) in [("", Some(&run.ended)), ("recording ", run.recording.as_ref())] {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            line.push_str(&format!("{}{name}{value}", if line.is_empty() { "" } else { "; " }));
        }
    }
    if !line.is_empty() {
        page.labelled("run", &line);
    }
}

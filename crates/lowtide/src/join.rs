//! What a run showed and what the source shows, of the same line: two proofs of one leak.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use lowtide_causes::{Checked, check_parts};
use lowtide_lint::check::Confidence;
use lowtide_lint::program::Rooted;
use lowtide_model::{Bytes, Finding, Holder, ObjectGrown, Report, Seconds, Site};

/// Findings of a run whose lines are looked up in the source, at most.
const MOST: usize = 8;

/// Says of what grew in a run where a rule finds the same in its line. Files that are not here, or not what they were, say
/// nothing.
pub fn with_source(report: &mut Report) {
    // Several findings often have their lines in one file.
    let mut rules = InSource::default();
    for finding in report.findings.iter_mut().filter(|finding| finding.class.grows()).take(MOST) {
        let (mut said, mut cause) = (Vec::new(), None);
        for site in finding.lines() {
            // Of several lines it is said which one.
            let at = if finding.site.as_ref() == Some(site) { String::new() } else { format!(", at line {}", site.line) };
            for found in rules.at(site) {
                let what = if found.what.is_empty() { found.cause.title } else { &found.what };
                said.push(format!("the source shows it by itself, too ({}{at}): {what}", found.cause.id));
                if cause.is_none() && says_more(finding.cause.as_ref(), &finding.objects, found) {
                    cause = Some(found.cause);
                }
            }
        }
        if let Some(cause) = cause {
            finding.cause = Some(cause.id.to_owned());
            finding.fix = Some(cause.fix.text.to_owned());
        }
        finding.evidence.extend(said);
        for other in &mut finding.beside {
            let found = other.site.as_ref().map_or_else(Vec::new, |site| rules.at(site));
            if let Some(found) = found.into_iter().find(|found| says_more(other.cause.as_ref(), &[], found)) {
                other.cause = Some(found.cause.id.to_owned());
            }
        }
    }
}

/// What rules find in files that a run names, each checked once.
#[derive(Default)]
struct InSource(HashMap<PathBuf, Checked>);

impl InSource {
    /// What they find in a line that is still the same.
    fn at(&mut self, site: &Site) -> Vec<&lowtide_causes::Finding> {
        let Some(path) = Path::new(&site.file).canonicalize().ok().filter(|path| path.is_file()) else { return Vec::new() };
        let check = |path: &PathBuf| check_parts(&Rooted::new("/"), &[std::slice::from_ref(path)]);
        let found = self.0.entry(path).or_insert_with_key(check).findings.iter();
        let here = |found: &lowtide_causes::Finding| found.site.line == site.line as usize && found.site.text == site.text;
        found.filter(|found| here(found) && !found.ignored).collect()
    }
}

/// Causes that any container shows which gets more: of what sort it is, a rule may know better.
const GENERAL: [&str; 2] = ["LT202", "LT301"];
/// Beginning of the ids of causes by an autograd graph.
const BY_GRAPH: &str = "LT1";

/// Whether the source tells the cause better than what was seen in the run. A hint does not, and neither does what was seen not
/// to be so: that tensors have a graph.
fn says_more(cause: Option<&String>, objects: &[ObjectGrown], found: &lowtide_causes::Finding) -> bool {
    let is_open = objects.is_empty() || objects.iter().any(|object| object.grad_fn || is_unread(object));
    let known = |cause: &String| !GENERAL.contains(&cause.as_str());
    let says = found.confidence > Confidence::Low && !GENERAL.contains(&found.cause.id);
    match cause {
        None => true,
        Some(cause) => says && !known(cause) && (is_open || !found.cause.id.starts_with(BY_GRAPH)),
    }
}

/// A tensor of which no more than its Python object could be read.
fn is_unread(object: &ObjectGrown) -> bool {
    object.device.is_empty() && object.kind.ends_with("Tensor")
}

/// Puts what grew in a run before what did not, by how fast its holder did; each with what was measured. How many lines grew.
pub fn with_run(source: &mut Report, run: &Report) -> usize {
    let grew: Vec<&Finding> = run.findings.iter().filter(|finding| finding.class.grows()).collect();
    let mut found: Vec<(f64, Finding)> = Vec::new();
    for mut finding in source.findings.drain(..) {
        let here = |site: &Site| finding.site.as_ref().is_some_and(|own| is_same(own, site));
        let of_holder = grew.iter().find(|live| live.lines().any(here)).map(|live| (*live, live.holder.as_ref()));
        let beside = || grew.iter().find_map(|live| Some((*live, live.beside.iter().find(|one| one.site.iter().any(here))?)));
        let seen = of_holder.or_else(|| beside().map(|(live, other)| (live, Some(&other.holder))));
        let pace = seen.map_or(-1.0, |(live, holder)| pace(live, holder));
        if let Some((live, holder)) = seen {
            // The rate is that of all that grew: of a part only what was measured at its holder is said.
            finding.growth = live.growth.clone().filter(|_| of_holder.is_some());
            finding.holder = holder.cloned();
            let part = holder.map_or(String::new(), |holder| {
                let grew = Bytes(holder.bytes_delta.unsigned_abs());
                format!("{} grew by {grew} in {}, a part of this: ", holder.name, Seconds(holder.seconds))
            });
            finding.evidence.push(format!("the run shows it, too: {part}{}", live.text));
        }
        found.push((pace, finding));
    }
    let joined = found.iter().filter(|(pace, _)| *pace >= 0.0).count();
    // Stable: what did not grow stays in the order of files and lines.
    found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    source.findings = found.into_iter().map(|(_, finding)| finding).collect();
    joined
}

/// How fast that grew which a line adds to, bytes per second: what was measured at its holder, else all that the run did.
fn pace(live: &Finding, holder: Option<&Holder>) -> f64 {
    let measured = holder.filter(|holder| holder.seconds > 0.0).map(|holder| holder.bytes_delta as f64 / holder.seconds);
    measured.or_else(|| Some(live.growth.as_ref()?.bytes_per_second)).unwrap_or_default().max(0.0)
}

/// The same line of the same file. Paths may be told from different folders: then their ends count, and the text of the line.
fn is_same(one: &Site, other: &Site) -> bool {
    let whole = |site: &Site| Path::new(&site.file).canonicalize().unwrap_or_else(|_| PathBuf::from(&site.file));
    one.line == other.line && (whole(one) == whole(other) || one.text == other.text && same_name(one, other))
}

fn same_name(one: &Site, other: &Site) -> bool {
    let name = |site: &Site| Path::new(&site.file).file_name().map(std::ffi::OsStr::to_owned);
    name(one).is_some() && name(one) == name(other)
}

#[cfg(test)]
mod tests {
    use lowtide_model::{Beside, Class, Growth, Verdict};

    use super::*;

    fn site(file: &str, line: u32, text: &str) -> Option<Site> {
        Some(Site { file: file.to_owned(), line, column: None, text: text.to_owned() })
    }

    fn found(class: Class, site: Option<Site>, pace: Option<f64>) -> Finding {
        let growth = pace.map(|pace| Growth::per_second(pace, [0.0, 0.0]));
        Finding { site, growth, ..Finding::new(class, "ram", "+1 MiB per minute") }
    }

    #[test]
    fn what_grew_comes_first_by_how_fast() {
        let mut source = Report::empty(Verdict::Undecided);
        for (line, text) in [(3, "a.append(x)"), (5, "b.append(x)"), (9, "c.append(x)")] {
            source.findings.push(found(Class::Source, site("/here/train.py", line, text), None));
        }
        let mut run = Report::empty(Verdict::Leak);
        run.findings = vec![
            found(Class::Leak, site("/there/train.py", 5, "b.append(x)"), Some(10.0)),
            found(Class::Leak, site("/there/train.py", 9, "c.append(x)"), Some(900.0)),
            found(Class::Leak, site("/there/train.py", 3, "another()"), Some(5.0)),
            found(Class::Leak, None, Some(5.0)),
        ];
        let others = site("/there/train.py", 1, "d.append(x)").into_iter().collect();
        run.findings[1].sites = others;
        let holder = Holder { name: "e".to_owned(), bytes_delta: 3 << 20, seconds: 2e4, ..Holder::default() };
        run.findings[1].beside = vec![Beside { holder, site: site("/there/train.py", 8, "e.append(x)"), cause: None }];
        for (line, text) in [(1, "d.append(x)"), (8, "e.append(x)")] {
            source.findings.push(found(Class::Source, site("/here/train.py", line, text), None));
        }
        assert_eq!(with_run(&mut source, &run), 4);
        let lines: Vec<_> = source.findings.iter().filter_map(|finding| Some(finding.site.as_ref()?.line)).collect();
        assert_eq!(lines, [9, 1, 8, 5, 3], "another line of what grew fastest has its pace");
        assert!(source.findings[0].evidence[0].contains("+1 MiB"), "{:?}", source.findings[0].evidence);
        let beside = &source.findings[2];
        assert!(beside.evidence[0].contains("e grew by 3 MiB") && beside.growth.is_none(), "{:?}", beside.evidence);
        assert!(source.findings[4].evidence.is_empty(), "the file has changed since");
    }

    #[test]
    fn a_line_that_a_rule_finds_has_both_proofs() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("train.py");
        let text = "import torch\nnet = torch.nn.Linear(2, 2)\nkept = []\nwhile True:\n    loss = net(x).sum()\n    loss.backward()\n    kept.append(loss)\n";
        std::fs::write(&file, text).expect("a file");
        let both = |line, text: &str| {
            let mut report = Report::empty(Verdict::Leak);
            report.findings = vec![found(Class::Leak, site(&file.display().to_string(), line, text), Some(1.0))];
            with_source(&mut report);
            let finding = report.findings.remove(0);
            (finding.cause, finding.evidence.len())
        };
        assert_eq!(both(7, "kept.append(loss)"), (Some("LT103".to_owned()), 1));
        assert_eq!(both(7, "kept.append(other)"), (None, 0), "it was another file then");
        assert_eq!(both(5, "loss = net(x).sum()"), (None, 0));
        // Of a holder with several lines, each is looked up.
        let mut report = Report::empty(Verdict::Leak);
        let first = site(&file.display().to_string(), 5, "loss = net(x).sum()");
        let others = site(&file.display().to_string(), 7, "kept.append(loss)").into_iter().collect();
        report.findings = vec![Finding { sites: others, ..found(Class::Leak, first, Some(1.0)) }];
        with_source(&mut report);
        assert_eq!(report.findings[0].cause.as_deref(), Some("LT103"));
        assert!(report.findings[0].evidence[0].contains("line 7"), "{:?}", report.findings[0].evidence);
    }

    #[test]
    fn a_rule_tells_what_sort_of_container_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("train.py");
        let text = "import torch\nnet = torch.nn.Linear(2, 2)\nkept = []\nwhile True:\n    loss = net(x).sum()\n    loss.backward()\n    kept.append(loss)\n";
        std::fs::write(&file, text).expect("a file");
        let object = |kind: &str, device: &str, grad_fn| ObjectGrown {
            kind: kind.to_owned(),
            device: device.to_owned(),
            grad_fn,
            ..ObjectGrown::default()
        };
        let with = |cause: &str, objects: Vec<ObjectGrown>| {
            let mut report = Report::empty(Verdict::Leak);
            let finding = found(Class::Leak, site(&file.display().to_string(), 7, "kept.append(loss)"), Some(1.0));
            report.findings = vec![Finding { cause: Some(cause.to_owned()), objects, ..finding }];
            with_source(&mut report);
            let finding = report.findings.remove(0);
            (finding.cause.unwrap_or_default(), finding.fix.is_some())
        };
        let more = |cause: &str, objects| with(cause, objects) == ("LT103".to_owned(), true);
        assert!(more("LT301", Vec::new()));
        assert!(more("LT301", vec![object("torch.Tensor", "", false)]), "a look had no time for tensors");
        assert!(more("LT202", vec![object("torch.Tensor", "cpu", true)]));
        assert!(!more("LT202", vec![object("torch.Tensor", "cpu", false)]), "they were seen to have none");
        assert!(!more("LT301", vec![object("dict", "", false)]), "no tensors");
        assert!(!more("LT207", Vec::new()), "an exception keeps it");
    }
}

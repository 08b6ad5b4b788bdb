//! What a run showed and what the source shows, of the same line: two proofs of one leak.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use lowtide_causes::{Checked, check_parts};
use lowtide_lint::check::Confidence;
use lowtide_lint::program::Rooted;
use lowtide_model::{Finding, ObjectGrown, Report, Site};

/// Lines of a run that are looked up in the source, at most.
const MOST: usize = 8;

/// Says of what grew in a run where a rule finds the same in its line. Files that are not here, or not what they were, say
/// nothing.
pub fn with_source(report: &mut Report) {
    // Several findings often have their lines in one file.
    let mut checked: HashMap<PathBuf, Checked> = HashMap::new();
    for finding in report.findings.iter_mut().filter(|finding| finding.class.grows()).take(MOST) {
        let (mut said, mut cause) = (Vec::new(), None);
        for site in finding.lines() {
            let Some(path) = Path::new(&site.file).canonicalize().ok().filter(|path| path.is_file()) else { continue };
            let check = |path: &PathBuf| check_parts(&Rooted::new("/"), &[std::slice::from_ref(path)]);
            let found = checked.entry(path).or_insert_with_key(check);
            let same =
                found.findings.iter().filter(|found| found.site.line == site.line as usize && found.site.text == site.text);
            // Of several lines it is said which one.
            let at = if finding.site.as_ref() == Some(site) { String::new() } else { format!(", at line {}", site.line) };
            for found in same.filter(|found| !found.ignored) {
                let what = if found.what.is_empty() { found.cause.title } else { &found.what };
                said.push(format!("the source shows it by itself, too ({}{at}): {what}", found.cause.id));
                if cause.is_none() && says_more(finding, found) {
                    cause = Some(found.cause);
                }
            }
        }
        if let Some(cause) = cause {
            finding.cause = Some(cause.id.to_owned());
            finding.fix = Some(cause.fix.text.to_owned());
        }
        finding.evidence.extend(said);
    }
}

/// Causes that any container shows which gets more: of what sort it is, a rule may know better.
const GENERAL: [&str; 2] = ["LT202", "LT301"];
/// Beginning of the ids of causes by an autograd graph.
const BY_GRAPH: &str = "LT1";

/// Whether the source tells the cause better than what was seen in the run. A hint does not, and neither does what was seen not
/// to be so: that tensors have a graph.
fn says_more(finding: &Finding, found: &lowtide_causes::Finding) -> bool {
    let is_open = finding.objects.is_empty() || finding.objects.iter().any(|object| object.grad_fn || is_unread(object));
    let known = |cause: &String| !GENERAL.contains(&cause.as_str());
    let says = found.confidence > Confidence::Low && !GENERAL.contains(&found.cause.id);
    match &finding.cause {
        None => true,
        Some(cause) => says && !known(cause) && (is_open || !found.cause.id.starts_with(BY_GRAPH)),
    }
}

/// A tensor of which no more than its Python object could be read.
fn is_unread(object: &ObjectGrown) -> bool {
    object.device.is_empty() && object.kind.ends_with("Tensor")
}

/// Puts what grew in a run before what did not, by how fast; each with what was measured. How many lines grew.
pub fn with_run(source: &mut Report, run: &Report) -> usize {
    let grew: Vec<&Finding> = run.findings.iter().filter(|finding| finding.class.grows()).collect();
    let mut joined = 0;
    for finding in &mut source.findings {
        let Some(site) = &finding.site else { continue };
        let live = grew.iter().find(|live| live.lines().any(|live| is_same(site, live)));
        if let Some(live) = live {
            joined += 1;
            finding.growth.clone_from(&live.growth);
            finding.holder.clone_from(&live.holder);
            finding.evidence.push(format!("the run shows it, too: {}", live.text));
        }
    }
    // Stable: what did not grow stays in the order of files and lines.
    let pace = |finding: &Finding| finding.growth.as_ref().map(|growth| growth.bytes_per_second);
    source.findings.sort_by_key(|finding| Reverse(pace(finding).map(|pace| pace.max(0.0).to_bits())));
    joined
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
    use lowtide_model::{Class, Growth, Verdict};

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
        source.findings.push(found(Class::Source, site("/here/train.py", 1, "d.append(x)"), None));
        assert_eq!(with_run(&mut source, &run), 3);
        let lines: Vec<_> = source.findings.iter().filter_map(|finding| Some(finding.site.as_ref()?.line)).collect();
        assert_eq!(lines, [9, 1, 5, 3], "another line of what grew fastest has its pace");
        assert!(source.findings[0].evidence[0].contains("+1 MiB"), "{:?}", source.findings[0].evidence);
        assert!(source.findings[3].evidence.is_empty(), "the file has changed since");
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

//! Static rules against leaks of public reports, told again in `tests/public` before the rules saw them: how many are found, and
//! that none is claimed on the repaired side.

// The figures are what the run is for.
#![allow(clippy::print_stdout)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use lowtide_causes::check;
use lowtide_lint::check::{Check, Confidence};
use lowtide_lint::flow::Flow;
use lowtide_lint::program::{Models, Program, Rooted};

/// One line of `reports.tsv`.
struct Report {
    /// Its folder.
    program: String,
    /// Findings of any of these name it rightly, the closest first.
    causes: Vec<String>,
    /// Whether the rules find it, as last written down.
    found: bool,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/public")
}

fn reports() -> Vec<Report> {
    let table = std::fs::read_to_string(folder().join("reports.tsv")).expect("the table");
    table
        .lines()
        .skip(1)
        .map(|line| {
            let [program, causes, found, reference, told] = line.split('\t').collect::<Vec<_>>()[..] else {
                panic!("not five columns: {line}");
            };
            assert!(reference.starts_with("https://") && told.len() > 60, "{program}: no reference, or nothing told");
            Report { program: program.to_owned(), causes: causes.split(' ').map(str::to_owned).collect(), found: found == "yes" }
        })
        .collect()
}

/// The files of one side of a program: `before.py`, or all of `before/`.
fn side(program: &str, side: &str) -> Vec<PathBuf> {
    let one = folder().join(program).join(format!("{side}.py"));
    if one.exists() {
        return vec![one];
    }
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder().join(program).join(side))
        .unwrap_or_else(|error| panic!("{program}: {side}: {error}"))
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    files
}

/// What is found in these files at default settings: file, line, cause.
fn findings(files: &[PathBuf]) -> BTreeSet<(PathBuf, usize, String)> {
    let program = Program::load(&Rooted::new("/"), files, &[]);
    assert!(program.errors().is_empty(), "{:?}", program.errors());
    let models = Models::new(&program);
    let flow = Flow::new(&models);
    check(&Check::new(&flow))
        .into_iter()
        .filter(|finding| finding.confidence > Confidence::Low)
        .map(|finding| (Path::new("/").join(&finding.site.file), finding.site.line, finding.cause.id.to_owned()))
        .collect()
}

/// The lines marked as the leak.
fn marked(files: &[PathBuf]) -> BTreeSet<(PathBuf, usize)> {
    let mut marked = BTreeSet::new();
    for file in files {
        let text = std::fs::read_to_string(file).expect("a program");
        marked.extend(text.lines().zip(1..).filter(|(line, _)| line.ends_with("  # the leak")).map(|(_, at)| (file.clone(), at)));
    }
    marked
}

#[test]
fn what_the_table_says_is_found_is_found_and_nothing_on_the_repaired_side() {
    let reports = reports();
    assert!(reports.len() >= 36, "{} reports", reports.len());
    let (mut lost, mut claimed, mut groups) = (String::new(), String::new(), BTreeMap::<String, (usize, usize)>::new());
    for report in &reports {
        let files = side(&report.program, "before");
        let leaks = marked(&files);
        assert!(!leaks.is_empty(), "{}: no line is marked", report.program);
        let found = findings(&files)
            .into_iter()
            .any(|(file, line, cause)| report.causes.contains(&cause) && leaks.contains(&(file, line)));
        let group = groups.entry(report.causes.first().expect("a cause")[..3].to_owned()).or_default();
        group.0 += usize::from(found);
        group.1 += 1;
        if report.found && !found {
            let _ = writeln!(lost, "{}: not found any more", report.program);
        } else if found && !report.found {
            println!("{}: found now: its line of reports.tsv can say yes", report.program);
        }
        for (file, line, cause) in findings(&side(&report.program, "after")) {
            let _ = writeln!(claimed, "{}:{line}: {cause} on the repaired side", file.display());
        }
    }
    for (group, (found, all)) in &groups {
        println!("{group}: {found} of {all} found");
    }
    println!("{} of {} found", groups.values().map(|(found, _)| found).sum::<usize>(), reports.len());
    assert!(lost.is_empty() && claimed.is_empty(), "{lost}{claimed}");
}

#[test]
fn every_program_is_in_the_table() {
    let listed: BTreeSet<String> = reports().into_iter().map(|report| report.program).collect();
    let there: BTreeSet<String> = std::fs::read_dir(folder())
        .expect("the programs")
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(listed, there);
}

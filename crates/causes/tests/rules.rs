//! Static rules against programs whose truth is known: exactly the marked lines are found.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use lowtide_causes::{Finding, all, check};
use lowtide_lint::check::{Check, Confidence};
use lowtide_lint::flow::Flow;
use lowtide_lint::program::{Models, Program, Rooted};

fn findings(path: &Path) -> BTreeSet<(usize, String)> {
    let program = Program::load(&Rooted::new("/"), &[path.to_owned()], &[]);
    assert!(program.errors().is_empty(), "{:?}", program.errors());
    let models = Models::new(&program);
    let flow = Flow::new(&models);
    let id = |finding: &Finding| match finding.confidence {
        Confidence::Low => format!("{} hint", finding.cause.id),
        _ => finding.cause.id.to_owned(),
    };
    check(&Check::new(&flow)).into_iter().map(|finding| (finding.site.line, id(&finding))).collect()
}

/// The lines of a program that are marked as leaks (`# LT101`), or as what is no more than a hint (`# LT101 hint`).
fn marked(path: &Path) -> BTreeSet<(usize, String)> {
    let text = std::fs::read_to_string(path).expect("a program");
    let ids = text.lines().zip(1..).filter_map(|(line, at)| Some((at, line.split_once("  # LT")?.1.trim())));
    ids.map(|(at, id)| (at, format!("LT{id}"))).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the corpus").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// A rule has a file in which at least five lines leak, or, where its question is one of a whole program, a folder of programs
/// of which at least five do and at least five do not.
#[test]
fn exactly_the_marked_lines_are_found() {
    let rules = entries(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules"));
    let mut wrong = Vec::new();
    let mut leaks: BTreeMap<String, usize> = BTreeMap::new();
    for rule in &rules {
        let programs = if rule.is_dir() { entries(rule) } else { vec![rule.clone()] };
        for path in &programs {
            let (marked, found) = (marked(path), findings(path));
            marked.iter().for_each(|(_, id)| *leaks.entry(id.replace(" hint", "")).or_default() += 1);
            let name = path.display();
            wrong.extend(marked.difference(&found).map(|(line, id)| format!("{name}:{line}: {id} not found")));
            wrong.extend(found.difference(&marked).map(|(line, id)| format!("{name}:{line}: {id} is wrong")));
        }
        let harmless = programs.iter().filter(|path| marked(path).is_empty()).count();
        assert!(!rule.is_dir() || harmless >= 5, "{}: {harmless} harmless programs", rule.display());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for cause in all().filter(|cause| cause.rule.is_some()) {
        let count = leaks.get(cause.id).copied().unwrap_or_default();
        assert!(count >= 5, "{}: {count} leaks in the corpus", cause.id);
    }
}

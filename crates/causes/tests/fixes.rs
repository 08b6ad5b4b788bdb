//! Every fix of every program of the corpora leaves Python, and takes its finding away.

use std::path::{Path, PathBuf};

use lowtide_causes::{check_parts, fix_part};
use lowtide_lint::program::{InMemory, Rooted};
use lowtide_lint::source::Source;
use lowtide_lint::tree::Tree;

/// The programs of this crate's tests, by folder, and those of the zoo.
fn parts() -> Vec<Vec<PathBuf>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = |folder: &Path| Tree::below(&[folder.to_owned()], |_| false).files;
    let alone = files(&here.join("tests/rules")).into_iter().chain(files(&here.join("../../zoo"))).map(|file| vec![file]);
    let reports =
        std::fs::read_dir(here.join("tests/public")).into_iter().flatten().flatten().filter(|entry| entry.path().is_dir());
    alone.chain(reports.map(|entry| files(&entry.path()))).collect()
}

#[test]
fn a_fixed_file_is_python_and_has_no_finding_that_could_be_fixed() {
    let mut made = 0;
    for part in parts() {
        let before = check_parts(&Rooted::new("/"), &[&part]).findings;
        let fixed = fix_part(&Rooted::new("/"), &part, &|_| true);
        made += fixed.iter().map(|one| one.causes.len()).sum::<usize>();
        let mut files = InMemory::default();
        for path in &part {
            files.0.insert(path.clone(), std::fs::read(path).expect("a file"));
        }
        for one in &fixed {
            assert!(Source::parse(&one.path, &one.after).is_ok(), "{}", one.path.display());
            files.0.insert(one.path.clone(), one.after.clone());
        }
        let after = check_parts(&files, &[&part]).findings;
        let left: Vec<_> =
            after.iter().filter(|one| one.fix.is_some() && !one.ignored).map(|one| (&one.site, one.cause.id)).collect();
        assert!(left.is_empty(), "{left:?}");
        // What was kept with its graph may still be kept, without it.
        let other = |findings: &[lowtide_causes::Finding]| {
            let others = findings.iter().filter(|one| one.fix.is_none() || one.ignored);
            others.filter(|one| !matches!(one.cause.id, "LT201" | "LT202" | "LT204" | "LT301")).count()
        };
        assert_eq!(other(&before), other(&after), "a fix takes its own finding away and no other: {part:?}");
    }
    // A corpus without fixes would show nothing.
    assert!(made >= 15, "{made}");
}

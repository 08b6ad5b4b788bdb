//! The zoo's programs as source: a rule finds the program that its page names, and nothing is found in a repaired one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use lowtide_causes::{Severity, all, check_parts};
use lowtide_lint::check::Confidence;
use lowtide_lint::program::Rooted;

/// Causes that a run shows of these programs and no source does, with the reason.
const ONLY_SEEN_RUNNING: &[(&str, &str)] = &[
    // The counterpart: a bar of one's own that keeps what it is given is LT302's.
    ("05_progress_history", "LT303"),
    // The state is kept under a key whose parts come from a generator: it may come again.
    ("09_fed_rounds", "LT203"),
    // How large the auxiliary batch is hangs on an argument of the command line.
    ("12_triplet_spike", "LT505"),
    // One tensor, whose size is computed: nothing says that it is the whole evaluation.
    ("19_val_spike", "LT208"),
    // Bounded: each cache by its limit, the workers by their epoch, the features by their number.
    ("13_frame_lru", "LT402"),
    ("43_worker_respawn", "LT403"),
    ("44_feature_cache", "LT307"),
];

/// The programs, each leaking and repaired, without a word that tells which.
fn rendered() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../zoo/render.py");
    let done = Command::new("python3").arg(script).arg(folder.path()).status().expect("python3");
    assert!(done.success());
    folder
}

fn found(path: PathBuf, hints: bool) -> BTreeSet<&'static str> {
    let helpers = path.with_file_name("zoolib.py");
    let mut part = [path.clone(), helpers];
    part.sort();
    let checked = check_parts(&Rooted::new("/"), &[&part]);
    assert!(checked.errors.is_empty(), "{:?}", checked.errors);
    let told = checked.findings.iter().filter(|one| one.site.file == path);
    // What is harmless is told as a hint, to whoever asks for it.
    let told = told.filter(|one| one.confidence > Confidence::Low || hints && one.cause.severity == Severity::Harmless);
    told.map(|one| one.cause.id).collect()
}

#[test]
fn rules_find_their_programs_and_nothing_in_repaired_ones() {
    let folder = rendered();
    let (mut wrong, mut found_all) = (Vec::new(), 0);
    let mut programs: Vec<String> = std::fs::read_dir(folder.path())
        .expect("the programs")
        .filter_map(|entry| Some(entry.expect("an entry").file_name().to_str()?.strip_suffix(".leak.py")?.to_owned()))
        .collect();
    programs.sort();
    assert!(programs.len() >= 30, "{}", programs.len());
    for program in &programs {
        let page = format!("zoo/{program}.py");
        let leaking = found(folder.path().join(format!("{program}.leak.py")), true);
        for cause in all().filter(|cause| cause.rule.is_some() && cause.sources.contains(&&*page)) {
            if !leaking.contains(cause.id) && !ONLY_SEEN_RUNNING.contains(&(&**program, cause.id)) {
                wrong.push(format!("{program}: {} not found, but {leaking:?}", cause.id));
            }
            found_all += usize::from(leaking.contains(cause.id));
        }
        let repaired = found(folder.path().join(format!("{program}.fixed.py")), false);
        if !repaired.is_empty() {
            wrong.push(format!("{program}: {repaired:?} in the repaired program"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(found_all >= 22, "{found_all}");
}

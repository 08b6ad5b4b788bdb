//! The seeds, and damaged copies of them, through every target, without libFuzzer.

use std::path::{Path, PathBuf};

const TARGETS: [(&str, fn(&[u8])); 13] = [
    ("ingest", lowtide_fuzz::ingest),
    ("verdict", lowtide_fuzz::verdict),
    ("record", lowtide_fuzz::record),
    ("kernel", lowtide_fuzz::kernel),
    ("python", lowtide_fuzz::python),
    ("rules", lowtide_fuzz::rules),
    ("config", lowtide_fuzz::config),
    ("marks", lowtide_fuzz::marks),
    ("remote", lowtide_fuzz::remote),
    ("heap", lowtide_fuzz::heap),
    ("snapshot", lowtide_fuzz::snapshot),
    ("log", lowtide_fuzz::log),
    ("scalars", lowtide_fuzz::scalars),
];

/// What the linter, its rules and the readers of metrics are tested with are seeds, too.
const TESTED: [(&str, &str); 3] = [
    ("python", "../crates/lint/tests/feeds/corpus"),
    ("rules", "../crates/causes/tests/rules"),
    ("scalars", "../crates/ingest/tests/scalars"),
];

fn seeds(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut seeds = files(&here.join("seeds").join(target));
    for (_, folder) in TESTED.iter().filter(|(name, _)| *name == target) {
        seeds.extend(files(&here.join(folder)));
    }
    seeds.sort();
    seeds
}

fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files: Vec<_> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), std::fs::read(&path).expect("a readable seed")))
        .collect();
    assert!(!files.is_empty(), "no seeds in {}", folder.display());
    files
}

#[test]
fn every_seed_is_read() {
    for (name, target) in TARGETS {
        for (path, bytes) in seeds(name) {
            eprintln!("{name}: {}", path.display());
            target(&bytes);
        }
    }
}

#[test]
fn heaps_of_every_version_are_walked_and_those_that_cannot_be_are_refused() {
    let objects = |name: &str| {
        let seeds = seeds("heap");
        let (_, bytes) = seeds.iter().find(|(path, _)| path.ends_with(name)).expect("a seed of this name");
        lowtide_fuzz::heap_objects(bytes)
    };
    for minor in 8..=14 {
        let counted = objects(&format!("mixed-3.{minor}"));
        assert!(matches!(counted, Ok(200..)), "3.{minor}: {counted:?}");
    }
    assert!(matches!(objects("chain-of-lists"), Ok(200..)));
    let refused = objects("everybody-claims-one-array").expect_err("it would take for ever");
    assert!(refused.contains("claim more memory than there is"), "{refused}");
}

/// A small generator of numbers, the same in every run (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % below.max(1) as u64) as usize
    }
}

fn damage(bytes: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    for _ in 0..=dice.roll(6) {
        let at = dice.roll(bytes.len() + 1);
        match dice.roll(6) {
            0 if at < bytes.len() => bytes[at] = dice.roll(256) as u8,
            1 if at < bytes.len() => bytes[at] ^= 1 << dice.roll(8),
            2 => bytes.insert(at, dice.roll(256) as u8),
            3 => bytes.truncate(at),
            4 => {
                let from = dice.roll(other.len() + 1);
                let to = (from + dice.roll(64)).min(other.len());
                bytes.splice(at..at, other[from..to].iter().copied());
            }
            _ => {
                let to = (at + dice.roll(32)).min(bytes.len());
                bytes.drain(at..to);
            }
        }
    }
}

/// Changes a program so that it mostly stays one: lines go, come twice, change places or come from another program with the
/// indentation of those before them, and words stand where others stood.
fn mix(text: &str, other: &str, dice: &mut Dice) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let others: Vec<&str> = other.lines().collect();
    for _ in 0..=dice.roll(8) {
        let at = dice.roll(lines.len());
        let Some(line) = lines.get(at).cloned() else { break };
        let indentation = line.len() - line.trim_start().len();
        match dice.roll(6) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, line),
            2 => {
                let to = dice.roll(lines.len());
                lines.swap(at, to);
            }
            3 => {
                let from = dice.roll(others.len());
                let some = others.iter().skip(from).take(1 + dice.roll(6));
                let some: Vec<String> = some.map(|one| format!("{}{}", &line[..indentation], one.trim_start())).collect();
                lines.splice(at..at, some);
            }
            _ => {
                let words = |line: &str| -> Vec<String> {
                    let parts = line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
                    parts.filter(|word| !word.is_empty()).map(str::to_owned).collect()
                };
                let (own, new) = (words(&line), words(others.get(dice.roll(others.len())).copied().unwrap_or_default()));
                if let (Some(own), Some(new)) = (own.get(dice.roll(own.len())), new.get(dice.roll(new.len()))) {
                    lines[at] = line.replacen(own.as_str(), new, 1);
                }
            }
        }
    }
    lines.join("\n")
}

/// How many of the mixed programs were still Python.
fn mixed(rounds: usize, from: u64) -> usize {
    let seeds = seeds("rules");
    let mut dice = Dice(from);
    let mut python = 0;
    for _ in 0..rounds {
        let text = |dice: &mut Dice| String::from_utf8_lossy(&seeds[dice.roll(seeds.len())].1).into_owned();
        let mut program = text(&mut dice);
        for _ in 0..=dice.roll(3) {
            program = mix(&program, &text(&mut dice), &mut dice);
        }
        let done = std::panic::catch_unwind(|| {
            lowtide_fuzz::python(program.as_bytes());
            lowtide_fuzz::rules(program.as_bytes());
        });
        assert!(done.is_ok(), "it broke on:\n{program}");
        python += usize::from(lowtide_fuzz::is_python(program.as_bytes()));
    }
    python
}

#[test]
fn mixed_programs_are_checked_and_fixed() {
    let python = mixed(400, 1);
    assert!(python >= 40, "only {python} of 400 were still Python");
}

/// For as many minutes as `LOWTIDE_FUZZ_MINUTES` says; prints what it did.
#[test]
#[ignore = "a campaign of many minutes"]
fn mixed_programs_for_minutes() {
    let minutes: u64 = std::env::var("LOWTIDE_FUZZ_MINUTES").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let (start, mut all, mut python) = (std::time::Instant::now(), 0, 0);
    let begin = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1, |time| time.as_secs());
    while start.elapsed().as_secs() < minutes * 60 {
        python += mixed(500, begin + all as u64);
        all += 500;
    }
    eprintln!("{all} programs, {python} of them Python, from {begin}");
}

/// Of all targets, or of the one that `LOWTIDE_FUZZ_ONLY` names.
fn damaged(rounds: usize) {
    let only = std::env::var("LOWTIDE_FUZZ_ONLY").ok();
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    assert!(TARGETS.iter().any(|(name, _)| wanted(name)), "no target is called {only:?}");
    for (name, target) in TARGETS.into_iter().filter(|(name, _)| wanted(name)) {
        let seeds = seeds(name);
        let mut dice = Dice(name.len() as u64);
        for _ in 0..rounds {
            let mut bytes = seeds[dice.roll(seeds.len())].1.clone();
            let other = &seeds[dice.roll(seeds.len())].1;
            damage(&mut bytes, other, &mut dice);
            target(&bytes);
        }
    }
}

#[test]
fn damaged_seeds_are_read_or_refused() {
    damaged(300);
}

#[test]
#[ignore = "takes minutes"]
fn many_damaged_seeds_are_read_or_refused() {
    damaged(100_000);
}

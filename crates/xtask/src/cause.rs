//! A new cause: its file, its place in the list of its group, and a program for its rule.

use std::fs;
use std::path::{Path, PathBuf};

/// The folders of causes, by the first digit of their ids.
const GROUPS: [(char, &str); 7] =
    [('1', "graphs"), ('2', "tensors"), ('3', "containers"), ('4', "loading"), ('5', "gpu"), ('6', "collector"), ('7', "habits")];

/// Makes the files of a cause in the repository at `root`; what to do next.
pub fn scaffold(root: &Path, id: &str, name: &str) -> Result<String, String> {
    let group = group_of(id)?;
    if !is_name(name) {
        return Err(format!("{name:?} is no name: small letters and digits, with hyphens between words"));
    }
    let folder = root.join("crates/causes/src").join(group);
    let module = name.replace('-', "_");
    let (page, list) = (folder.join(format!("{module}.rs")), folder.join("mod.rs"));
    let program = root.join("crates/causes/tests/rules").join(format!("{}.py", id.to_lowercase()));
    if let Some(taken) = taken(&root.join("crates/causes/src"), id) {
        return Err(format!("{id} is taken by {}; an id never changes its meaning", taken.display()));
    }
    if page.exists() || program.exists() {
        return Err(format!("{} or {} is there already", page.display(), program.display()));
    }
    let registered = register(&read(&list)?, &module)
        .ok_or_else(|| format!("{} has no list of causes where one is looked for", list.display()))?;
    write(&page, &page_of(id, name))?;
    write(&program, &program_of(id))?;
    write(&list, &registered)?;
    Ok(format!(
        "{}: fill in the page, the signature and the rule\n{}: five programs that leak, five that look like it\nthen: cargo run -p lowtide-causes --example pages && cargo nextest run -p lowtide-causes",
        page.display(),
        program.display()
    ))
}

fn group_of(id: &str) -> Result<&'static str, String> {
    let digits = id.strip_prefix("LT").filter(|digits| digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit()));
    let group = digits.and_then(|digits| GROUPS.iter().find(|(first, _)| digits.starts_with(*first)));
    group.map(|(_, folder)| *folder).ok_or_else(|| {
        let groups: Vec<String> = GROUPS.iter().map(|(first, folder)| format!("LT{first}xx {folder}")).collect();
        format!("{id:?} is no id of a cause: LT and three digits ({})", groups.join(", "))
    })
}

fn is_name(name: &str) -> bool {
    let word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    name.split('-').all(word) && name.starts_with(|letter: char| letter.is_ascii_lowercase())
}

/// The file that has an id already.
fn taken(causes: &Path, id: &str) -> Option<PathBuf> {
    let says = format!("id: \"{id}\"");
    let files = GROUPS.iter().filter_map(|(_, folder)| fs::read_dir(causes.join(folder)).ok()).flatten().flatten();
    files.map(|entry| entry.path()).find(|path| fs::read_to_string(path).is_ok_and(|text| text.contains(&says)))
}

/// A group's `mod.rs` with one cause more: its module among the others, itself last in the list.
fn register(list: &str, module: &str) -> Option<String> {
    let mut modules: Vec<&str> = list.lines().filter(|line| line.starts_with("mod ")).collect();
    let old = modules.join("\n");
    let new = format!("mod {module};");
    modules.push(&new);
    modules.sort_unstable();
    let end = list.rfind("];")?;
    (!old.is_empty() && list.contains(&old))
        .then(|| format!("{}    &{module}::CAUSE,\n{}", &list[..end], &list[end..]).replacen(&old, &modules.join("\n"), 1))
}

fn page_of(id: &str, name: &str) -> String {
    let title = name.replace('-', " ");
    let title = title[..1].to_uppercase() + &title[1..];
    format!(
        r##"//! {id}: {title}.

use crate::{{Cause, Fix, Language, Live, Severity}};
use lowtide_lint::check::{{Check, Hit}};

/// The page.
pub(crate) const CAUSE: Cause = Cause {{
    id: "{id}",
    name: "{name}",
    title: "{title}",
    severity: Severity::Leak,
    happens: "FILL IN: what the program does.",
    keeps: "FILL IN: why that keeps memory.",
    shows: "FILL IN: how a run shows it.",
    fix: Fix {{
        text: "FILL IN: what to do.",
        language: Language::Python,
        before: r#"FILL IN: the code that leaks"#,
        after: r#"FILL IN: the code that does not"#,
    }},
    harmless: "FILL IN: when it is none.",
    sources: &["FILL IN: https://..., zoo/..."],
    signature: Some(signature),
    rule: Some(rule),
}};

/// How well what was seen in a run fits, of 100.
fn signature(_: &Live) -> Option<u8> {{
    None
}}

/// FILL IN: what the source must show.
fn rule(_: &Check) -> Vec<Hit> {{
    Vec::new()
}}
"##
    )
}

fn program_of(id: &str) -> String {
    format!(
        "# FILL IN: five programs that leak, their lines marked so:  # {id}\n# and five that look like it and are harmless.\n"
    )
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "//! Tensors.\n\nmod a_first;\nmod z_last;\n\nuse crate::Cause;\n\npub(crate) const ALL: &[&Cause] = &[\n    &a_first::CAUSE,\n    &z_last::CAUSE,\n];\n";

    fn repository() -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(root.path().join("crates/causes/src/tensors")).expect("folders");
        fs::create_dir_all(root.path().join("crates/causes/tests/rules")).expect("folders");
        fs::write(root.path().join("crates/causes/src/tensors/mod.rs"), LIST).expect("a file");
        root
    }

    #[test]
    fn a_cause_gets_its_files_and_its_place() {
        let root = repository();
        scaffold(root.path(), "LT299", "kept-queue").expect("made");
        let list = read(&root.path().join("crates/causes/src/tensors/mod.rs")).expect("the list");
        assert!(
            list.contains("mod a_first;\nmod kept_queue;\nmod z_last;\n") && list.ends_with("    &kept_queue::CAUSE,\n];\n"),
            "{list}"
        );
        let page = read(&root.path().join("crates/causes/src/tensors/kept_queue.rs")).expect("the page");
        assert!(page.contains("id: \"LT299\"") && page.contains("title: \"Kept queue\""), "{page}");
        assert!(scaffold(root.path(), "LT299", "other-name").expect_err("the id is taken").contains("kept_queue.rs"));
    }

    #[test]
    fn what_is_wrong_is_said_and_nothing_is_made() {
        let root = repository();
        for (id, name, said) in [
            ("LT9", "a", "three digits"),
            ("LT800", "a", "LT7xx habits"),
            ("LT201", "Kept Queue", "hyphens"),
            ("LT101", "a", "mod.rs"),
        ] {
            let error = scaffold(root.path(), id, name).expect_err(said);
            assert!(error.contains(said), "{error}");
        }
        assert_eq!(fs::read_dir(root.path().join("crates/causes/src/tensors")).expect("the folder").count(), 1);
    }
}

//! What every page must have, and that the documentation is what the pages say.

use std::collections::HashSet;
use std::path::Path;

use lowtide_causes::{Language, all, by_id, index, markdown, text};
use lowtide_lint::source::Source;

#[test]
fn ids_are_in_order_and_unique() {
    let ids: Vec<_> = all().map(|cause| cause.id).collect();
    assert!(ids.is_sorted() && ids.iter().collect::<HashSet<_>>().len() == ids.len(), "{ids:?}");
    assert!(ids.iter().all(|id| id.len() == 5 && id.starts_with("LT") && id[2..].parse::<u16>().is_ok()));
    let names: HashSet<_> = all().map(|cause| cause.name).collect();
    assert_eq!(names.len(), ids.len());
    assert_eq!(by_id("lt103").map(|cause| cause.name), Some("output-kept-with-graph"));
    assert_eq!(by_id("output-kept-with-graph").map(|cause| cause.id), Some("LT103"));
    assert!(by_id("LT999").is_none());
}

#[test]
fn every_part_of_every_page_says_something() {
    for cause in all() {
        for (part, words) in
            [(cause.title, 3), (cause.happens, 6), (cause.keeps, 5), (cause.shows, 4), (cause.harmless, 4), (cause.fix.text, 3)]
        {
            assert!(part.split_whitespace().count() >= words, "{}: {part:?}", cause.id);
        }
        for part in [cause.happens, cause.keeps, cause.shows, cause.harmless, cause.fix.text] {
            assert!(part.ends_with(['.', '?', ':']), "{}: a sentence ends: {part:?}", cause.id);
        }
        assert!(!cause.sources.is_empty(), "{}", cause.id);
    }
}

#[test]
fn examples_are_python() {
    for cause in all().filter(|cause| cause.fix.language == Language::Python) {
        for code in [cause.fix.before, cause.fix.after] {
            if let Err(error) = Source::parse(Path::new(cause.id), code.as_bytes()) {
                panic!("{error}\n{code}");
            }
        }
    }
}

#[test]
fn programs_of_the_zoo_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for cause in all() {
        for source in cause.sources.iter().filter(|source| !source.starts_with("https://")) {
            assert!(root.join(source).is_file(), "{}: {source}", cause.id);
        }
    }
}

#[test]
fn the_documentation_is_what_the_pages_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/causes");
    let again = "run `cargo run -p lowtide-causes --example pages -- docs/causes`";
    let read =
        |name: String| std::fs::read_to_string(folder.join(&name)).unwrap_or_else(|error| panic!("{name}: {error}; {again}"));
    assert!(read("README.md".to_owned()) == index(), "README.md: {again}");
    for cause in all() {
        assert!(read(format!("{}.md", cause.id)) == markdown(cause), "{}: {again}", cause.id);
    }
    let files = std::fs::read_dir(&folder).expect("docs/causes").count();
    assert_eq!(files, all().count() + 1, "a page of a cause that is gone: {again}");
}

#[test]
fn lines_fit_the_terminal() {
    for cause in all() {
        let page = text(cause, 80);
        let code = |line: &str| line.starts_with("      ") || line.starts_with("  http");
        let long = page.lines().skip(1).find(|line| line.chars().count() > 80 && !code(line));
        assert_eq!(long, None, "{}", cause.id);
    }
}

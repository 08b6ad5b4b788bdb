//! Applies the rules to every Python file below the given paths, as `lowtide check` does, and says how long it took.
//!
//!     cargo run --release -p lowtide-causes --example check -- FOLDER...
//!     cargo run --release -p lowtide-causes --example check -- --hints FOLDER...

#![allow(clippy::print_stdout)]

use std::time::Instant;

use lowtide_lint::check::Confidence;
use lowtide_lint::program::Rooted;
use lowtide_lint::tree::Tree;

fn main() {
    let start = Instant::now();
    let hints = std::env::args().nth(1).is_some_and(|first| first == "--hints");
    let paths: Vec<_> = std::env::args().skip(1 + usize::from(hints)).map(Into::into).collect();
    let tree = Tree::below(&paths, |_| false);
    let checked = lowtide_causes::check_parts(&Rooted::new("/"), &tree.parts());
    let told = |finding: &&lowtide_causes::Finding| (hints || finding.confidence > Confidence::Low) && !finding.ignored;
    for finding in checked.findings.iter().filter(told) {
        let site = &finding.site;
        let (id, sure) = (finding.cause.id, finding.confidence);
        println!("{}:{}:{}: {id} {sure:?} {} | {}", site.file.display(), site.line, site.column, site.text, finding.what);
    }
    checked.errors.iter().for_each(|error| println!("{error}"));
    println!("{} files, {} findings, {} ms", tree.files.len(), checked.findings.len(), start.elapsed().as_millis());
}

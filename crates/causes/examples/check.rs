//! Applies the rules to every Python file below the given folders, each as a program of its own.
//!
//!     cargo run --release -p lowtide-causes --example check -- FOLDER...

#![allow(clippy::print_stdout)]

#[path = "../../lint/examples/files/mod.rs"]
mod files;

use std::time::Instant;

use lowtide_lint::check::Check;
use lowtide_lint::flow::Flow;
use lowtide_lint::program::{Models, Program, Rooted};

fn main() {
    let paths = files::asked_for();
    let root = Rooted::new("/");
    let (mut found, start) = (0, Instant::now());
    for path in &paths {
        let program = Program::load(&files::Alone(&root, path), std::slice::from_ref(path), &[]);
        let models = Models::new(&program);
        let flow = Flow::new(&models);
        for finding in lowtide_causes::check(&Check::of_all(&flow)) {
            found += 1;
            let site = finding.site;
            println!("{}:{}:{}: {} {}", site.file.display(), site.line, site.column, finding.cause.id, site.text);
        }
    }
    println!("{} files, {found} findings, {} ms", paths.len(), start.elapsed().as_millis());
}

//! Reads every Python file below the given folders, each as a program of its own, and says how long it took.
//!
//!     cargo run --release -p lowtide-lint --example read -- FOLDER...

#![allow(clippy::print_stdout)]

mod files;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use lowtide_lint::flow::Flow;
use lowtide_lint::model::Model;
use lowtide_lint::program::{Files, Models, Program, Rooted};
use lowtide_lint::source::Source;

fn main() {
    let paths = files::asked_for();
    let root = Rooted::new("/");
    let (mut bytes, mut refused) = (0, 0);
    let (mut parse, mut model, mut flow) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    let mut slowest: Vec<(Duration, PathBuf)> = Vec::new();
    for path in &paths {
        let Ok(content) = root.read(path) else { continue };
        bytes += content.len();
        let start = Instant::now();
        match Source::parse(path, &content) {
            Ok(source) => {
                parse += start.elapsed();
                let start = Instant::now();
                std::hint::black_box(Model::new(&source));
                model += start.elapsed();
            }
            Err(error) => {
                refused += 1;
                println!("{error}");
            }
        }
        let program = Program::load(&files::Alone(&root, path), std::slice::from_ref(path), &[]);
        let start = Instant::now();
        let models = Models::new(&program);
        std::hint::black_box(Flow::new(&models));
        flow += start.elapsed();
        slowest.push((start.elapsed(), path.clone()));
    }
    slowest.sort();
    for (time, path) in slowest.iter().rev().take(3) {
        println!("{:6} ms  {}", time.as_millis(), path.display());
    }
    println!(
        "{} files, {} KiB, {refused} refused; parse {} ms, model {} ms, flow {} ms",
        paths.len(),
        bytes >> 10,
        parse.as_millis(),
        model.as_millis(),
        flow.as_millis()
    );
}

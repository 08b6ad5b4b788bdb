//! What the rules of all causes find in a program, or in all programs of a tree.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use lowtide_lint::check::{Check, Confidence};
use lowtide_lint::feeds::Site;
use lowtide_lint::fix::Fix;
use lowtide_lint::flow::Flow;
use lowtide_lint::model::{BindingKind, Model};
use lowtide_lint::program::{Files, MAX_IMPORTED_BYTES, Models, Program};
use lowtide_lint::source::{Ignores, SourceError};

use crate::{Cause, all};

/// Parts that are read at a time, at most: each takes some 60 MiB, and a machine may have a hundred processors.
const MOST_AT_A_TIME: usize = 8;

/// A pattern that leaks, and where.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Why it leaks.
    pub cause: &'static Cause,
    /// The statement.
    pub site: Site,
    /// What is kept and by what; empty where the cause's title says it all.
    pub what: String,
    /// How sure it is.
    pub confidence: Confidence,
    /// Its author says that it is none.
    pub ignored: bool,
    /// What would take it away.
    pub fix: Option<Fix>,
}

/// Applies every rule to the user's own files of a program, in the order of files and lines.
#[must_use]
pub fn check(check: &Check) -> Vec<Finding> {
    let program = check.flow.models.program;
    let mut found: Vec<Finding> = all()
        .filter_map(|cause| Some((cause, cause.rule?)))
        .flat_map(|(cause, rule)| rule(check).into_iter().map(move |hit| (cause, hit)))
        .filter(|(cause, hit)| !(is_about_graphs(cause) && is_of_another_framework(check.flow.models.of(hit.file))))
        .map(|(cause, hit)| {
            // Few files have a finding: the comments of the others are never read.
            let source = &program.sources()[hit.file.0 as usize];
            let ignored = Ignores::of(source).cover(source, hit.offset, cause.id, cause.name);
            // The text of a notebook is not what its file holds.
            let fix = hit.fix.clone().filter(|_| !source.is_notebook());
            Finding { cause, site: check.site(&hit), what: hit.what, confidence: hit.confidence, ignored, fix }
        })
        .collect();
    sort(&mut found);
    // A rule may come to one statement by two ways, and only one of them may know what would mend it.
    found.dedup_by(|later, first| {
        let same = later.cause.id == first.cause.id && later.site == first.site;
        if same && first.fix.is_none() {
            first.fix = later.fix.take();
        }
        same
    });
    // A hint says nothing where another rule is sure.
    let sure: HashSet<Site> = found.iter().filter(|one| one.confidence > Confidence::Low).map(|one| one.site.clone()).collect();
    found.retain(|one| one.confidence > Confidence::Low || !sure.contains(&one.site));
    found
}

fn is_about_graphs(cause: &Cause) -> bool {
    cause.id.starts_with("LT1")
}

/// Whether a file computes with another framework than torch: its gradients are functions of their own, and nothing that is kept
/// keeps a graph.
fn is_of_another_framework(model: &Model) -> bool {
    const OTHERS: &[&str] = &["flax", "jax", "mlx", "mxnet", "paddle", "tensorflow"];
    let imported = |of: &[&str]| {
        let bindings = model.scopes.iter().flat_map(|scope| scope.names.values()).flatten();
        bindings.into_iter().any(|binding| match &binding.kind {
            BindingKind::Import { path, level: 0 } => path.split('.').next().is_some_and(|first| of.contains(&first)),
            _ => false,
        })
    };
    imported(OTHERS) && !imported(&["accelerate", "lightning", "pytorch_lightning", "torch", "torchvision", "transformers"])
}

fn sort(findings: &mut [Finding]) {
    findings.sort_by(|one, other| (&one.site, one.cause.id).cmp(&(&other.site, other.cause.id)));
}

/// What was found in a tree of files.
#[derive(Debug, Default)]
pub struct Checked {
    /// In the order of files and lines, each once.
    pub findings: Vec<Finding>,
    /// Files that could not be read as Python.
    pub errors: Vec<SourceError>,
    /// Comments that ask to ignore what there is no rule for, in a sentence each.
    pub unknown: Vec<String>,
}

/// Applies every rule to files that belong together in parts: each is read as one program, several at a time.
#[must_use]
pub fn check_parts(files: &(dyn Files + Sync), parts: &[&[PathBuf]]) -> Checked {
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Checked::default()));
    let work = || {
        while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
            let one = check_part(files, part);
            let mut all = all.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            all.findings.extend(one.findings);
            all.errors.extend(one.errors);
            all.unknown.extend(one.unknown);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_AT_A_TIME).min(parts.len());
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let mut checked = all.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    sort(&mut checked.findings);
    checked.unknown.sort();
    checked.errors.sort_by(|one, other| one.path().cmp(other.path()));
    checked
}

/// What can be told of files that start programs; hints, all of them.
#[must_use]
pub fn check_scripts(files: &dyn Files, scripts: &[PathBuf]) -> Vec<Finding> {
    crate::gpu::expandable_segments_mask::in_scripts(files, scripts)
}

pub(crate) fn check_part(files: &dyn Files, part: &[PathBuf]) -> Checked {
    read_part(files, part, |what, errors| Checked { findings: check(what), errors, unknown: unknown(what) })
}

/// `# lowtide: ignore[LT999]`: what has no effect has to be said.
fn unknown(check: &Check) -> Vec<String> {
    let mut said = Vec::new();
    for (_, model) in check.files() {
        for (line, named) in Ignores::of(model.source).named().filter(|(_, named)| !named.is_empty()) {
            if !all().any(|cause| Ignores::means(named, cause.id, cause.name)) {
                let (cell, line) = model.source.in_cell(line);
                let cell = cell.map_or_else(String::new, |cell| format!(" (in cell {cell})"));
                let named: String = named.chars().take(40).collect();
                said.push(format!(
                    "{}:{line}{cell}: no rule `{named}` to be ignored; `lowtide causes` lists them: an id, its beginning or a name",
                    model.source.path().display()
                ));
            }
        }
    }
    said
}

/// Reads a part as one program, of which only its own files are asked about: what it imports from another part is found there.
pub(crate) fn read_part<T>(files: &dyn Files, part: &[PathBuf], ask: impl FnOnce(&Check, Vec<SourceError>) -> T) -> T {
    let program = Program::load_within(files, part, &[], MAX_IMPORTED_BYTES);
    let models = Models::new(&program);
    let flow = Flow::new(&models);
    let own = |path: &Path| part.binary_search_by(|one| one.as_path().cmp(path)).is_ok();
    let library = part.iter().all(|path| lowtide_lint::program::is_library(path));
    let wanted = models.iter().filter(|(file, model)| own(model.source.path()) && (library || !program.in_library(*file)));
    let what = Check::of(&flow, wanted.map(|(file, _)| file).collect());
    let errors = program.errors().iter().filter(|error| own(error.path())).cloned().collect();
    ask(&what, errors)
}

//! Python source, all the way to the statements that add to each of its variables.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use lowtide_lint::feeds::{ClassRef, Grows, Holder, Root, Step, feeds};
use lowtide_lint::model::{Model, ScopeId};
use lowtide_lint::program::InMemory;
use lowtide_lint::source::Source;

/// Questions that are asked of one input.
const QUESTIONS: usize = 12;

/// Python files, one after the other, each but the first begun by `# file: NAME`.
pub fn python(bytes: &[u8]) {
    let path = PathBuf::from("/train.py");
    let files = split(bytes);
    let first = &files[&path];
    let Ok(source) = Source::parse(&path, first) else { return };
    let model = Model::new(&source);
    let module = || Root::Module { name: "train".to_owned(), file: Some(path.clone()) };
    let list = || Grows::container("list");
    let mut names: Vec<&str> = model.scope(ScopeId::MODULE).names.keys().copied().collect();
    names.sort_unstable();
    let mut holders = Vec::new();
    for name in names.iter().take(QUESTIONS / 3) {
        for grows in [list(), Grows::Graph, Grows::Value] {
            holders.push(Holder::new(module(), vec![Step::Name((*name).to_owned())], grows));
        }
    }
    for (scope, class) in model.classes().take(QUESTIONS / 3) {
        let class = ClassRef { module: "train".to_owned(), name: class.name.to_string(), file: Some(path.clone()) };
        let name = model.scope(scope).names.keys().min().copied().unwrap_or("x").to_owned();
        holders.push(Holder {
            key: Some("'loss'".to_owned()),
            ..Holder::new(Root::Instance(class), vec![Step::Attribute { name, owner: None }, Step::Item], list())
        });
    }
    holders.push(Holder::new(Root::Garbage, Vec::new(), Grows::Value));
    holders.push(Holder::new(module(), Vec::new(), Grows::Gradients));
    let answers = feeds(&InMemory(files.clone()), &[path], &[], &holders);
    for answer in answers {
        assert_eq!(answer.statements.is_empty(), answer.reason.is_some(), "a reason where there is nothing, and only there");
        for statement in &answer.statements {
            let lines = String::from_utf8_lossy(&files[&statement.site.file]).lines().count();
            assert!((1..=lines + 1).contains(&statement.site.line), "a line that is there");
        }
    }
}

/// Files by their paths; the first is `/train.py`.
pub(crate) fn split(bytes: &[u8]) -> HashMap<PathBuf, Vec<u8>> {
    const MARK: &[u8] = b"# file: ";
    let mut files = HashMap::new();
    let mut name = PathBuf::from("/train.py");
    let mut body = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if let Some(next) = line.strip_prefix(MARK) {
            files.insert(name, std::mem::take(&mut body));
            name = Path::new("/").join(String::from_utf8_lossy(next).trim().trim_start_matches('/'));
        } else {
            body.extend_from_slice(line);
        }
    }
    files.insert(name, body);
    files.entry(PathBuf::from("/train.py")).or_default();
    files
}

#![allow(clippy::unwrap_used)]

use super::*;

fn program(files: &[(&str, &str)], entry: &str) -> Program {
    let memory = InMemory(files.iter().map(|(path, text)| (PathBuf::from(path), text.as_bytes().to_vec())).collect());
    Program::load(&memory, &[PathBuf::from(entry)], &[])
}

#[test]
fn imports_of_the_users_own_are_followed() {
    let program = program(
        &[
            ("/p/train.py", "from lib.state import HISTORY as h\nimport lib.util\nimport torch\nh.append(1)\nlib.util.f()\n"),
            ("/p/lib/__init__.py", ""),
            ("/p/lib/state.py", "from . import deep\nHISTORY = []\n"),
            ("/p/lib/deep.py", "from ..other import nothing\n"),
            ("/p/lib/util.py", "from lib.state import HISTORY\ndef f(): HISTORY.append(2)\n"),
            ("/p/torch.pyi", ""),
        ],
        "/p/train.py",
    );
    assert_eq!(program.sources().len(), 5);
    assert!(program.errors().is_empty());
    let models = Models::new(&program);
    let train = program.by_path(Path::new("/p/train.py")).unwrap();
    let state = program.by_path(Path::new("/p/lib/state.py")).unwrap();
    let util = program.by_path(Path::new("/p/lib/util.py")).unwrap();
    let found: Vec<_> = models
        .of(train)
        .calls
        .iter()
        .map(|call| match &*call.call.func {
            Expr::Attribute(each) if each.attr.as_str() == "append" => models.definition(train, call.scope, &each.value),
            func => models.definition(train, call.scope, func),
        })
        .collect();
    assert_eq!(found, [Some((state, ScopeId::MODULE, "HISTORY")), Some((util, ScopeId::MODULE, "f"))]);
}

#[test]
fn what_cannot_be_read_is_said_and_the_rest_goes_on() {
    let program = program(&[("/p/a.py", "import b, c\n"), ("/p/b.py", "x = ("), ("/p/c.py", "print 'x'\n")], "/p/a.py");
    assert_eq!(program.sources().len(), 1);
    let said: Vec<String> = program.errors().iter().map(ToString::to_string).collect();
    assert!(said[0].starts_with("/p/b.py:1:"), "{said:?}");
    assert!(said[1].contains("Python 2"), "{said:?}");
}

#[test]
fn circles_end() {
    let program = program(&[("/p/a.py", "import b\nfrom b import x\nx.y\n"), ("/p/b.py", "from a import x\n")], "/p/a.py");
    let models = Models::new(&program);
    let a = program.by_path(Path::new("/p/a.py")).unwrap();
    assert_eq!(models.named(a, ScopeId::MODULE, &["x"]), None);
}

#[test]
fn links_stay_below_the_root() {
    let root = tempfile::tempdir().unwrap();
    let inside = root.path().join("app");
    std::fs::create_dir(&inside).unwrap();
    std::fs::write(inside.join("real.py"), "x = 1").unwrap();
    std::os::unix::fs::symlink("/app/real.py", inside.join("link.py")).unwrap();
    std::os::unix::fs::symlink("../../../../../../etc/hostname", inside.join("out.py")).unwrap();
    std::os::unix::fs::symlink("loop.py", inside.join("loop.py")).unwrap();
    let files = Rooted::new(root.path());
    assert_eq!(files.read(Path::new("/app/link.py")).unwrap(), b"x = 1");
    assert!(files.read(Path::new("/app/out.py")).is_err());
    assert!(files.read(Path::new("/app/loop.py")).is_err());
    assert!(!files.is_file(Path::new("/app")));
}

#[test]
fn folders_that_are_links_are_followed_below_the_root() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(root.path().join("data/v1/sub")).unwrap();
    std::fs::write(root.path().join("data/v1/sub/a.py"), "x = 1").unwrap();
    std::fs::write(root.path().join("data/b.py"), "y = 1").unwrap();
    std::fs::create_dir(root.path().join("app")).unwrap();
    std::os::unix::fs::symlink("/data/v1", root.path().join("app/now")).unwrap();
    std::os::unix::fs::symlink("round", root.path().join("app/round")).unwrap();
    let files = Rooted::new(root.path());
    // Twice: the second time each folder is known.
    for _ in 0..2 {
        assert_eq!(files.read(Path::new("/app/now/sub/a.py")).unwrap(), b"x = 1");
        assert_eq!(
            files.read(Path::new("/app/now/../b.py")).unwrap(),
            b"y = 1",
            "as the kernel goes: above where the link leads to"
        );
        assert_eq!(files.read(Path::new("app/now/sub/../sub/a.py")).unwrap(), b"x = 1");
        assert!(files.read(Path::new("/app/round/a.py")).is_err());
        assert!(files.read(Path::new("/app/none/a.py")).is_err());
    }
    let long = PathBuf::from(format!("/app{}/a.py", "/x".repeat(1 << 20)));
    assert!(files.read(&long).is_err());
}

/// The names of the files that are read of a program, of which so many imported bytes are.
fn read_within(files: &[(&str, &str)], entry: &str, most_imported: usize) -> Vec<String> {
    let memory = InMemory(files.iter().map(|(path, text)| (PathBuf::from(path), text.as_bytes().to_vec())).collect());
    let program = Program::load_within(&memory, &[PathBuf::from(entry)], &[], most_imported);
    program.sources().iter().map(|source| source.path().display().to_string()).collect()
}

#[test]
fn what_is_imported_has_a_bounded_size() {
    let chain: Vec<(String, String)> =
        (0..50).map(|at| (format!("/p/m{at}.py"), format!("import m{}\nx = 1\n", at + 1))).collect();
    let files: Vec<(&str, &str)> = chain.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let bytes = chain[1].1.len();
    assert_eq!(read_within(&files, "/p/m0.py", 0).len(), 1, "entries are always read");
    // One more than fits is read, as its size is not known before.
    assert_eq!(read_within(&files, "/p/m0.py", 3 * bytes + 1).len(), 1 + 4);
    assert_eq!(read_within(&files, "/p/m0.py", usize::MAX).len(), 50);
}

#[test]
fn what_classes_inherit_from_is_read_first() {
    let files = [
        ("/p/train.py", "import util, log\nfrom core import Model\nclass A(Model): pass\n"),
        ("/p/util.py", "u = 1\n"),
        ("/p/log.py", "l = 1\n"),
        ("/p/core/__init__.py", "from .other import thing\nfrom .base import Base as Model\n"),
        ("/p/core/other.py", "thing = 1\n"),
        ("/p/core/base.py", "from torch import nn\nclass Base(nn.Module): pass\n"),
    ];
    let read = read_within(&files, "/p/train.py", usize::MAX);
    assert_eq!(read[..3], ["/p/train.py", "/p/core/__init__.py", "/p/core/base.py"]);
    assert_eq!(read.len(), files.len());
}

#[test]
fn what_a_file_hands_on_is_followed_when_it_is_asked_for() {
    let files = [
        ("/p/core/__init__.py", "from .other import thing\nfrom .base import *\n"),
        ("/p/core/base.py", "class Model: pass\n"),
        ("/p/core/other.py", "from core import Model\nclass A(Model): pass\n"),
    ];
    // The file that asks is read before what it asks of is looked through again.
    assert_eq!(read_within(&files, "/p/core/__init__.py", usize::MAX).len(), 3);
    let looped = [("/p/a.py", "from b import *\nclass A(X): pass\n"), ("/p/b.py", "from a import *\nclass B(X): pass\n")];
    assert_eq!(read_within(&looped, "/p/a.py", usize::MAX).len(), 2, "a circle ends");
}

#[test]
fn modules_that_import_all_of_one_another_are_asked_once_each() {
    // Following every way from each would be 11 to the power of the hops: this test would not end.
    let names: Vec<String> = (0..12).map(|number| format!("/p/m{number}.py")).collect();
    let all: String = (0..12).map(|number| format!("from m{number} import *\n")).collect();
    let mut texts = vec![format!("{all}nowhere()\nthing()\n"); 12];
    texts[7].push_str("def thing(): pass\n");
    let files: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    let program = program(&files, "/p/m0.py");
    let models = Models::new(&program);
    let (first, last) = (program.by_path(Path::new("/p/m0.py")).unwrap(), program.by_path(Path::new("/p/m7.py")).unwrap());
    let named = |name: &str| models.named(first, ScopeId::MODULE, &[name]);
    assert_eq!(named("nowhere"), None);
    assert_eq!(named("thing"), Some((last, ScopeId::MODULE, "thing")));
}

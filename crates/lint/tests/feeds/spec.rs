//! Holders written as one line of text.
//!
//!     module:train.py history                      a global variable
//!     frame:train.py:main runs []                  an item of a local variable
//!     frame:train.py:main hist ['loss']            the item by this key
//!     instance:train.py:Trainer .losses            an attribute, however the instance is kept alive
//!     module:train.py t .log@logger.py:Logger      an attribute whose owner's class is known
//!
//! and after `=` what grows: a type, `graph`, `gradients`, `value`, `places`, or `kind@file:Class` for a class that is a container.

use std::path::Path;

use lowtide_lint::feeds::{ClassRef, FunctionRef, Grows, Holder, Root, Step};

/// Where all programs lie.
pub const APP: &str = "/app";

/// Reads a holder of a program that lies in [`APP`].
pub fn holder(text: &str) -> Holder {
    holder_in(text, Path::new(APP))
}

/// Reads a holder of a program that lies in this folder.
pub fn holder_in(text: &str, folder: &Path) -> Holder {
    let (path, grows) = text.split_once('=').expect("a holder says what grows: `= list`");
    let mut words = path.split_whitespace();
    let root = root(words.next().expect("a holder has a root"), folder);
    let path: Vec<Step> = words.clone().map(|word| step(word, folder)).collect();
    let key = words.last().and_then(|word| word.strip_prefix('[')?.strip_suffix(']')).filter(|key| !key.is_empty());
    Holder { key: key.map(str::to_owned), ..Holder::new(root, path, self::grows(grows.trim(), folder)) }
}

fn root(word: &str, folder: &Path) -> Root {
    let mut parts = word.split(':');
    let kind = parts.next().expect("a kind");
    let file = parts.next();
    let name = parts.next();
    let line = parts.next().map(|line| line.parse().expect("a line"));
    let path = || folder.join(file.expect("a file"));
    let function = || FunctionRef { file: path(), name: name.expect("a function").to_owned(), line };
    match kind {
        "module" => Root::Module { name: module_name(file.expect("a file")), file: Some(path()) },
        "frame" => Root::Frame { file: path(), function: name.expect("a function").to_owned(), line },
        "class" => Root::Class(class(file.expect("a file"), name.expect("a class"), folder)),
        "instance" => Root::Instance(class(file.expect("a file"), name.expect("a class"), folder)),
        "closure" => Root::Closure(function()),
        "default" => Root::Default(function()),
        "lru" => Root::LruCache(function()),
        "garbage" => Root::Garbage,
        other => panic!("no root {other}"),
    }
}

fn step(word: &str, folder: &Path) -> Step {
    if word.starts_with('[') {
        return Step::Item;
    }
    let Some(attribute) = word.strip_prefix('.') else { return Step::Name(word.to_owned()) };
    let (name, owner) = match attribute.split_once('@') {
        Some((name, owner)) => (name, Some(owner_class(owner, folder))),
        None => (attribute, None),
    };
    Step::Attribute { name: name.to_owned(), owner }
}

fn grows(text: &str, folder: &Path) -> Grows {
    match text.split_once('@') {
        Some((kind, owner)) => Grows::Container { kind: kind.to_owned(), class: Some(owner_class(owner, folder)) },
        None => match text {
            "graph" => Grows::Graph,
            "gradients" => Grows::Gradients,
            "value" => Grows::Value,
            "places" => Grows::Places,
            kind => Grows::container(kind),
        },
    }
}

fn owner_class(text: &str, folder: &Path) -> ClassRef {
    let (file, name) = text.split_once(':').expect("FILE:CLASS");
    class(file, name, folder)
}

fn class(file: &str, name: &str, folder: &Path) -> ClassRef {
    ClassRef { module: module_name(file), name: name.to_owned(), file: Some(folder.join(file)) }
}

fn module_name(file: &str) -> String {
    let folders = ["lib/python3.11/", "site-packages/"];
    let file = folders.iter().fold(file, |file, folder| file.strip_prefix(folder).unwrap_or(file));
    file.trim_end_matches(".py").trim_end_matches("/__init__").replace('/', ".")
}

//! The statements that add to an attribute or a variable of a file.
//!
//!     cargo run -p lowtide-lint --example feeds -- FILE Class.attribute|variable [TYPE] [ENTRY...]

#![allow(clippy::print_stdout)]

use std::path::PathBuf;

use lowtide_lint::feeds::{ClassRef, Grows, Holder, Root, Step, feeds};
use lowtide_lint::program::Rooted;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(name)) = (arguments.next(), arguments.next()) else {
        println!("usage: feeds FILE Class.attribute|variable [TYPE] [ENTRY...]");
        return;
    };
    let kind = arguments.next().unwrap_or_else(|| "list".to_owned());
    let file = PathBuf::from(file);
    let module = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let (root, step) = match name.split_once('.') {
        Some((class, attribute)) => (
            Root::Instance(ClassRef { module, name: class.to_owned(), file: Some(file.clone()) }),
            Step::Attribute { name: attribute.to_owned(), owner: None },
        ),
        None => (Root::Module { name: module, file: Some(file.clone()) }, Step::Name(name)),
    };
    let grows = match kind.as_str() {
        "graph" => Grows::Graph,
        "value" => Grows::Value,
        "places" => Grows::Places,
        kind => Grows::container(kind),
    };
    let mut entries: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    entries.push(file);
    let answer = &feeds(&Rooted::new("/"), &entries, &[], &[Holder::new(root, vec![step], grows)])[0];
    for statement in &answer.statements {
        let site = &statement.site;
        println!("{}:{}:{}  {}", site.file.display(), site.line, site.column, site.text);
        println!(
            "    {:?}, {:?}, in {}, {} loops, repeated {}, phase {:?}, library {}, bound {:?}",
            statement.kind,
            statement.certainty,
            statement.function.as_deref().unwrap_or("the module"),
            statement.loops,
            statement.repeated,
            statement.phase,
            statement.library,
            statement.bound
        );
    }
    if let Some(reason) = &answer.reason {
        println!("none: {reason}");
    }
}

//! The name of what holds something.

use lowtide_pyheap::{Path, Place, StepName};

/// As its author would write it: `trainer.history`, `cache["x"]`; with its module where that is not the program itself, and a local
/// of a generator or a coroutine with that.
pub fn name(path: &Path) -> String {
    let mut text = match &path.root {
        Place::Module { name, .. } if name != "__main__" => name.clone(),
        Place::Module { .. } | Place::Frame { .. } => String::new(),
        other if path.steps.is_empty() => other.to_string(),
        other => format!("{other}:"),
    };
    for (index, step) in path.steps.iter().enumerate() {
        // Who holds the generator tells less than what it is: most often a loop that goes over it.
        let before = index.checked_sub(1).and_then(|before| path.steps.get(before)).filter(|before| is_running(&before.kind));
        let running = before.and_then(|before| before.function.as_ref());
        if let (Some(function), StepName::Variable(name)) = (running, &step.name) {
            text = format!("{}(): {name}", function.name);
            continue;
        }
        let separated = |name: &str| if text.is_empty() { name.to_owned() } else { format!(".{name}") };
        let next = match &step.name {
            // In a method its author calls it by the class.
            StepName::Variable(name) if index == 0 && matches!(name.as_str(), "self" | "cls") => {
                step.kind.rsplit('.').next().unwrap_or(name).to_owned()
            }
            StepName::Variable(name) | StepName::Attribute(name) => separated(name),
            StepName::Key(key) => format!("[{key}]"),
            StepName::Index(index) => format!("[{index}]"),
            // A chain of links has no names but one.
            StepName::Item if text.ends_with("[...]") => String::new(),
            StepName::Item => "[...]".to_owned(),
            StepName::Closure(name) => format!(" (closure's {name})"),
            StepName::Default(name) => format!(" (default of {name})"),
            StepName::Inner(name) => separated(name),
        };
        text.push_str(&next);
    }
    text
}

/// Types of what runs a function bit by bit.
fn is_running(kind: &str) -> bool {
    matches!(kind, "generator" | "coroutine" | "async_generator")
}

#[cfg(test)]
mod tests {
    use lowtide_pyheap::{Function, ObjectId, Step};

    use super::*;

    #[test]
    fn a_local_of_a_generator_is_told_with_it() {
        let step = |name, kind: &str, function: Option<&str>| {
            let function = function.map(|name| Function { name: name.to_owned(), file: String::new(), line: 0 });
            Step { name, kind: kind.to_owned(), function, id: ObjectId(0) }
        };
        let root =
            Place::Frame { thread: 0, native: None, function: "main".to_owned(), file: "train.py".to_owned(), line: Some(9) };
        let local = |name: &str| StepName::Variable(name.to_owned());
        let mut steps = vec![
            step(StepName::Inner("in use".to_owned()), "enumerate", None),
            step(StepName::Item, "generator", Some("batches")),
            step(local("source"), "generator", Some("windows")),
            step(local("history"), "list", None),
        ];
        let named = |steps: &[Step]| name(&Path { root: root.clone(), steps: steps.to_vec(), left_out: 0 });
        assert_eq!(named(&steps), "windows(): history");
        assert_eq!(named(&steps[..3]), "batches(): source");
        let link = || step(StepName::Item, "tuple", None);
        assert_eq!(named(&[step(local("chain"), "tuple", None), link(), link(), link()]), "chain[...]");
        steps.push(step(StepName::Index(3), "dict", None));
        assert_eq!(named(&steps), "windows(): history[3]");
        assert_eq!(
            named(&[step(local("trainer"), "Trainer", None), step(StepName::Attribute("seen".to_owned()), "list", None)]),
            "trainer.seen"
        );
    }
}

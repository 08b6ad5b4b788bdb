#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use super::*;
use crate::model::ScopeId;
use crate::program::{InMemory, Program};

/// The places, as text, that can hold what the module's variable `x` holds.
fn aliases_of_x(text: &str) -> Vec<String> {
    let path = PathBuf::from("/a.py");
    let files = InMemory([(path.clone(), text.as_bytes().to_vec())].into());
    let program = Program::load(&files, &[path], &[]);
    let models = Models::new(&program);
    let flow = Flow::new(&models);
    let file = program.by_path(Path::new("/a.py")).unwrap();
    let seed = At { place: Place::Variable(file, ScopeId::MODULE, "x"), depth: 0 };
    let model = models.of(file);
    let mut found: Vec<String> = flow
        .aliases(&[seed], false)
        .into_iter()
        .map(|alias| {
            let name = match alias.at.place {
                Place::Variable(_, scope, name) if scope == ScopeId::MODULE => name.to_owned(),
                Place::Variable(_, scope, name) => format!("{}:{name}", model.qualified_name(scope)),
                Place::Attribute(class, name) => format!("{}.{name}", model.qualified_name(class.scope)),
                Place::Result(_, scope) => format!("{}()", model.qualified_name(scope)),
                other => format!("{other:?}"),
            };
            format!("{name}{}", "[]".repeat(alias.at.depth as usize))
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

#[test]
fn objects_are_followed_through_names_items_and_calls() {
    let found = aliases_of_x("x = []\ny = x\nz = {'k': y}\ndef f(p):\n    q = p\n    return q\nw = f(z['k'])\n");
    assert_eq!(found, ["f()", "f:p", "f:q", "w", "x", "y", "z[]"]);
}

#[test]
fn two_objects_given_to_one_helper_stay_two() {
    let found = aliases_of_x("x = []\ny = []\ndef f(p):\n    p.append(1)\nf(x)\nf(y)\n");
    assert_eq!(found, ["f:p", "x"]);
}

#[test]
fn attributes_are_shared_by_those_who_inherit_and_not_by_others() {
    let found = aliases_of_x(
        "x = []\nclass A:\n    def __init__(self, r):\n        self.r = r\nclass B(A):\n    def g(self):\n        b = self.r\nclass C:\n    def g(self):\n        c = self.r\nA(x)\n",
    );
    assert_eq!(found, ["A.__init__:r", "A.r", "B.g:b", "B.r", "x"]);
}

#[test]
fn what_a_function_makes_is_another_one_for_each_caller() {
    let text = "def make():\n    rows = []\n    return rows\nx = make()\ny = make()\n";
    assert_eq!(aliases_of_x(text), ["make()", "make:rows", "x"]);
    // But not what it only hands out.
    let text = "all = []\ndef give():\n    rows = all\n    return rows\nx = give()\ny = give()\n";
    assert_eq!(aliases_of_x(text), ["all", "give()", "give:rows", "x", "y"]);
}

#[test]
fn circles_and_endless_nesting_end() {
    assert!(aliases_of_x("x = []\ny = x\nx = y\nx = [x]\nx = x[0]\n").len() < 20);
    let long: String = (0..500).map(|at| format!("x{at} = x\nx = [x{at}]\n")).collect();
    assert!(aliases_of_x(&long).len() < 4_001);
}

#[test]
fn a_parameter_is_what_all_calls_give() {
    let classes =
        "x = []\nclass A:\n    def __init__(self):\n        self.r = x\nclass B:\n    def __init__(self):\n        self.r = []\n";
    let both = format!("{classes}def f(one):\n    g = one.r\nf(A())\nf(A())\n");
    assert_eq!(aliases_of_x(&both), ["A.r", "f:g", "x"]);
    let either = format!("{classes}def f(one):\n    g = one.r\nf(A())\nf(B())\n");
    assert_eq!(aliases_of_x(&either), ["A.r", "x"]);
    let unknown = format!("{classes}def f(one):\n    g = one.r\nf(A())\nf(something)\n");
    assert_eq!(aliases_of_x(&unknown), ["A.r", "x"]);
    let itself = format!("{classes}def f(one):\n    g = one.r\n    f(one)\nf(A())\n");
    assert_eq!(aliases_of_x(&itself), ["A.r", "x"]);
}

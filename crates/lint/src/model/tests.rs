#![allow(clippy::unwrap_used)]

use std::path::Path;

use super::*;

fn source(text: &str) -> Source {
    Source::parse(Path::new("a.py"), text.as_bytes()).unwrap()
}

fn named(model: &Model, name: &str) -> ScopeId {
    ScopeId(u32::try_from(model.scopes.iter().position(|scope| scope.name() == name).unwrap()).unwrap())
}

#[test]
fn names_belong_to_the_scope_that_binds_them() {
    let source = source(
        "x = 1\nclass A:\n    x = 2\n    def f(self):\n        return x\n    y = [x for _ in x]\ndef g():\n    global x\n    x = 3\n    z = 4\n    def h():\n        nonlocal z\n        z = 5\n        w = 6\n",
    );
    let model = Model::new(&source);
    let owner = |scope: &str, name: &str| model.owner(named(&model, scope), name).map(|owner| model.scope(owner).name());
    assert_eq!(owner("f", "x"), Some("<module>"), "a class is skipped by its methods");
    assert_eq!(owner("g", "x"), Some("<module>"), "global");
    assert_eq!(owner("h", "z"), Some("g"), "nonlocal");
    assert_eq!(owner("h", "w"), Some("h"));
    assert_eq!(owner("A", "x"), Some("A"));
    assert_eq!(owner("h", "len"), None, "a built-in");
    assert_eq!(model.qualified_name(named(&model, "h")), "g.<locals>.h");
    assert_eq!(model.qualified_name(named(&model, "f")), "A.f");
}

#[test]
fn names_go_through_imports_and_their_aliases() {
    let source = source(
        "import torch.nn.functional as F\nfrom tqdm import tqdm as bar\nimport os.path\nfrom . import util\nfrom ..a.b import c as d\nF.relu(1)\nbar()\nos.path.join()\nutil.f()\nd()\nlen()\nown = 1\nown.f()\n",
    );
    let model = Model::new(&source);
    let names: Vec<_> = model.calls.iter().map(|call| model.full_name(call.scope, &call.call.func)).collect();
    let names: Vec<_> = names.iter().map(Option::as_deref).collect();
    assert_eq!(
        names,
        [
            Some("torch.nn.functional.relu"),
            Some("tqdm.tqdm"),
            Some("os.path.join"),
            Some(".util.f"),
            Some("..a.b.c"),
            Some("len"),
            None
        ]
    );
}

#[test]
fn loops_are_counted_inside_their_function() {
    let source = source(
        "for a in b:\n    while c:\n        f()\n    def g():\n        h()\n        [i() for x in y]\n    else_()\nelse:\n    j()\n",
    );
    let model = Model::new(&source);
    let mut loops: Vec<_> =
        model.calls.iter().map(|call| (source.slice(Ranged::range(call.call)), model.loops(call.block))).collect();
    loops.sort_unstable();
    assert_eq!(loops, [("else_()", 1), ("f()", 2), ("h()", 0), ("i()", 1), ("j()", 0)]);
}

#[test]
fn loop_variables_come_from_what_is_looped_over() {
    let source = source(
        "for i, x in enumerate(xs): pass\nfor k, v in d.items(): pass\nfor a, b in zip(p, q): pass\nfor z in tqdm(list(zs)): pass\nfor k in d.keys(): pass\nu, w = [], {}\n",
    );
    let model = Model::new(&source);
    let text = |expr: &Expr| source.slice(Ranged::range(expr)).to_owned();
    let from: Vec<_> = model.assigns.iter().map(|each| (text(each.target), text(each.value))).collect();
    let pair = |target: &str, value: &str| (target.to_owned(), value.to_owned());
    assert_eq!(
        from,
        [pair("x", "xs"), pair("v", "d"), pair("a", "p"), pair("b", "q"), pair("z", "zs"), pair("u", "[]"), pair("w", "{}")]
    );
}

#[test]
fn depth_is_no_danger() {
    for (piece, end) in [("a.", "b"), ("-", "1"), ("a + ", "1"), ("not ", "1")] {
        let text = format!("x = {}{end}\n", piece.repeat(1_900));
        let source = source(&text);
        assert!(Model::new(&source).assigns.len() == 1, "{piece}");
    }
}

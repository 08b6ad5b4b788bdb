//! Every fix of every program of the corpora leaves Python, and takes its finding away.

use std::path::{Path, PathBuf};

use lowtide_causes::{check_parts, fix_part};
use lowtide_lint::program::{InMemory, Rooted};
use lowtide_lint::source::Source;
use lowtide_lint::tree::Tree;

/// The programs of this crate's tests, by folder, and those of the zoo.
fn parts() -> Vec<Vec<PathBuf>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = |folder: &Path| Tree::below(&[folder.to_owned()], |_| false).files;
    let alone = files(&here.join("tests/rules")).into_iter().chain(files(&here.join("../../zoo"))).map(|file| vec![file]);
    let reports =
        std::fs::read_dir(here.join("tests/public")).into_iter().flatten().flatten().filter(|entry| entry.path().is_dir());
    alone.chain(reports.map(|entry| files(&entry.path()))).collect()
}

#[test]
fn a_fixed_file_is_python_and_has_no_finding_that_could_be_fixed() {
    let mut made = 0;
    for part in parts() {
        let before = check_parts(&Rooted::new("/"), &[&part]).findings;
        let fixed = fix_part(&Rooted::new("/"), &part, &|_| true);
        made += fixed.iter().map(|one| one.causes.len()).sum::<usize>();
        let mut files = InMemory::default();
        for path in &part {
            files.0.insert(path.clone(), std::fs::read(path).expect("a file"));
        }
        for one in &fixed {
            assert!(Source::parse(&one.path, &one.after).is_ok(), "{}", one.path.display());
            files.0.insert(one.path.clone(), one.after.clone());
        }
        let after = check_parts(&files, &[&part]).findings;
        let left: Vec<_> =
            after.iter().filter(|one| one.fix.is_some() && !one.ignored).map(|one| (&one.site, one.cause.id)).collect();
        assert!(left.is_empty(), "{left:?}");
        // What was kept with its graph may still be kept, without it.
        let other = |findings: &[lowtide_causes::Finding]| {
            let others = findings.iter().filter(|one| one.fix.is_none() || one.ignored);
            others.filter(|one| !matches!(one.cause.id, "LT201" | "LT202" | "LT204" | "LT301")).count()
        };
        assert_eq!(other(&before), other(&after), "a fix takes its own finding away and no other: {part:?}");
    }
    // A corpus without fixes would show nothing.
    assert!(made >= 15, "{made}");
}

/// The text that fixes leave of a program, those that are safe or all.
fn fixed(text: &str, all: bool) -> String {
    let path = PathBuf::from("/train.py");
    let files = InMemory([(path.clone(), text.as_bytes().to_vec())].into());
    let wanted = |finding: &lowtide_causes::Finding| {
        all || finding.fix.as_ref().is_some_and(|fix| fix.safety == lowtide_lint::fix::Safety::Safe)
    };
    let fixed = fix_part(&files, &[path], &wanted);
    fixed.first().map_or_else(|| text.to_owned(), |one| String::from_utf8_lossy(&one.after).into_owned())
}

/// A program that keeps what a layer gives of each batch, and reads it in these lines.
fn keeping(reads: &str) -> String {
    format!(
        "import torch
from torch import nn

net, layer = nn.Linear(4, 1), nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
kept = []
for epoch in range(100):
    for x in torch.load('batches.pt'):
        optimizer.zero_grad()
        loss = net(x).sum()
        loss.backward()
        optimizer.step()
        kept.append(layer(x))
{reads}
"
    )
}

#[test]
fn a_fix_is_safe_only_where_nobody_uses_the_graph() {
    for reads in [
        "print(len(kept))",
        "mean = torch.stack([one.detach().mean(0) for one in kept]).mean(0)",
        "for one in kept:\n    print(one.sum().item())",
        "print(float(kept[-1].mean()), kept[0].shape)",
    ] {
        let text = fixed(&keeping(reads), false);
        assert!(text.contains("kept.append(layer(x).detach())"), "{reads}: {text}");
    }
    for reads in [
        "torch.stack(kept).sum().backward()",
        "for one in kept:\n    one.mean().backward()",
        "last = kept[-1]",
        "publish(kept)",
        "others = list(kept)",
        "print(kept[0].requires_grad)",
        "print(kept)",
        "def best():\n    return kept[0]",
    ] {
        assert!(!fixed(&keeping(reads), false).contains("detach"), "{reads}");
        assert_ne!(fixed(&keeping("same = kept"), true), keeping("same = kept"));
    }
    // Another name leads to the same list; and a model of somebody's may give more than a tensor.
    let shared = keeping("").replace("kept = []", "kept = other = []");
    assert!(!fixed(&shared, false).contains("detach"));
    let unknown = keeping("").replace("layer = nn.Linear(4, 1), nn.Linear(4, 4)", "layer = nn.Linear(4, 1), nn.LSTM(4, 4)");
    assert!(!fixed(&unknown, false).contains("detach"));
}

#[test]
fn gradients_that_are_kept_are_let_go_by_an_unsafe_fix() {
    let text = keeping("").replace("optimizer.zero_grad()", "optimizer.zero_grad(set_to_none=False)");
    assert!(fixed(&text, false).contains("zero_grad(set_to_none=False)"), "what reads them may count on zeros");
    let all = fixed(&text, true);
    assert!(!all.contains("set_to_none=False") && all.contains("optimizer.zero_grad("), "{all}");
}

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

/// An evaluation without `no_grad`, with this in its loop and this at its end.
fn evaluation(inside: &str, gives: &str) -> String {
    format!(
        "import torch
from torch import nn

criterion = nn.MSELoss()


class Trainer:
    @staticmethod
    def evaluate(net: nn.Module, loader, log):  # each epoch
        net.eval()
        total, seen = 0.0, []
        for x, y in loader:
            loss = criterion(net(x), y)
            {inside}
        {gives}
"
    )
}

#[test]
fn an_evaluation_gets_no_grad_and_surely_where_numbers_alone_leave_it() {
    let decorated = "    @staticmethod\n    @torch.no_grad()\n    def evaluate(net: nn.Module, loader, log):  # each epoch\n";
    for (inside, gives) in [
        ("total += loss.item()", "return total / len(loader)"),
        ("seen.append(loss.item())", "print(sum(seen))"),
        ("print(f'{loss.item():.3f}')", "return {'loss': float(loss), 'name': 'x'}"),
    ] {
        let text = fixed(&evaluation(inside, gives), false);
        assert!(text.contains(decorated), "{inside}: {text}");
        assert!(fixed(&text, true) == text, "once is enough");
    }
    for (inside, gives) in [
        ("seen.append(loss.item())", "return loss"),
        ("log(loss)", "return total"),
        ("net.last = loss", "return total"),
        ("total += loss.item()", "return [each() for each in log]"),
    ] {
        let program = evaluation(inside, gives);
        assert!(!fixed(&program, false).contains("@torch.no_grad"), "{inside}; {gives}");
        assert!(fixed(&program, true).contains(decorated), "{inside}; {gives}");
    }
    let windows = evaluation("total += loss.item()", "return total").replace('\n', "\r\n");
    assert!(fixed(&windows, false).contains(&decorated.replace('\n', "\r\n")));
    // No `torch` by its name; and a generator runs when the decorator is done.
    let renamed = evaluation("total += loss.item()", "return total").replace("import torch\n", "import torch as th\n");
    assert!(!fixed(&renamed, true).contains("no_grad"));
    let generator = evaluation("yield loss.item()", "print(total)");
    assert!(!fixed(&generator, true).contains("no_grad"));
}

#[test]
fn an_evaluation_of_a_model_that_keeps_what_it_computes_is_no_safe_fix() {
    let with_forward = |body: &str| {
        let net = format!(
            "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.body = nn.Linear(2, 2)\n        self.seen = []\n        self.count = 0\n\n    \
             def forward(self, x):\n        y = self.body(x)\n        {body}\n        return y\n\n\nclass Trainer:"
        );
        evaluation("total += loss.item()", "return total").replace("class Trainer:", &net).replace("net: nn.Module", "net: Net")
    };
    for body in ["self.hidden = y", "self.seen.append(y)", "self.seen[0] = y.mean()"] {
        let program = with_forward(body);
        assert!(!fixed(&program, false).contains("@torch.no_grad"), "{body}");
        assert!(fixed(&program, true).contains("@torch.no_grad"), "{body}");
    }
    for body in ["pass", "self.count = 1", "hidden = y"] {
        assert!(fixed(&with_forward(body), false).contains("@torch.no_grad"), "{body}");
    }
}

#[test]
fn a_part_of_a_tensor_is_copied_and_surely_where_nothing_writes_into_the_whole() {
    let program = |inside: &str| {
        format!(
            "import torch
from torch import nn

net = nn.Linear(4, 4)


def gather(loader):
    first = []
    with torch.no_grad():
        for x in loader:
            out = net(x)
            {inside}first.append(out[:, 0])  # the first of each
    return torch.cat(first)
"
        )
    };
    assert!(fixed(&program(""), false).contains("first.append(out[:, 0].clone())  # the first of each\n"));
    let written = program("out *= 2\n            ");
    assert!(!fixed(&written, false).contains("clone"));
    assert!(fixed(&written, true).contains("clone"));
    assert!(!fixed(&program("").replace("nn.Linear(4, 4)", "nn.LSTM(4, 4)"), false).contains("clone"));
}

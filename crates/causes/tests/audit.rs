//! The audit of data sets: what each method that sends an object to a device is said to do.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use lowtide_causes::{Audited, Does, datasets};
use lowtide_lint::check::Workers;
use lowtide_lint::program::InMemory;

fn audit(text: &str) -> Vec<Audited> {
    let path = PathBuf::from("/sets.py");
    let files = InMemory([(path.clone(), text.as_bytes().to_vec())].into());
    let (rows, errors) = datasets(&files, &[&[path]]);
    assert!(errors.is_empty(), "{errors:?}");
    rows
}

/// A data set whose `to` has this body, and what it is said to do.
fn does(body: &str) -> (Does, Vec<String>) {
    let body: String = body.lines().map(|line| format!("        {line}\n")).collect();
    let text = format!(
        "import dataclasses\nimport torch\nfrom collections import namedtuple\nfrom torch.utils.data import DataLoader, Dataset\n\
         Pair = namedtuple('Pair', 'x y')\n\
         class Rows(Dataset):\n    def __init__(self, rows):\n        self.rows = rows\n        self.where = 'cpu'\n    \
         def __getitem__(self, at):\n        return self.rows[at]\n    def to(self, where):\n{body}"
    );
    let [row] = <[Audited; 1]>::try_from(audit(&text)).unwrap();
    (row.does, row.attributes)
}

#[test]
fn what_is_moved_is_told_in_whatever_samples_it_lies() {
    let moves = (Does::Moves, vec!["rows".to_owned()]);
    assert_eq!(does("self.rows = self.rows.to(where)\nreturn self"), moves);
    assert_eq!(does("self.rows = [row.to(where) for row in self.rows]"), moves);
    assert_eq!(does("self.rows = [Pair(row.x.to(where), row.y) for row in self.rows]"), moves);
    assert_eq!(does("self.rows = [row._replace(x=row.x.to(where)) for row in self.rows]"), moves);
    assert_eq!(does("for at, row in enumerate(self.rows):\n    self.rows[at] = Pair(*[part.to(where) for part in row])"), moves);
    assert_eq!(does("self.rows = [dataclasses.replace(row, x=row.x.to(where)) for row in self.rows]"), moves);
    let all = does("for name, value in vars(self).items():\n    setattr(self, name, value.to(where))\nreturn self");
    assert_eq!(all, (Does::Moves, Vec::new()));
}

#[test]
fn what_only_notes_hands_on_or_gives_a_copy_is_told_apart() {
    assert_eq!(does("self.where = where\nreturn self"), (Does::Notes, vec!["where".to_owned()]));
    assert_eq!(does("self.rows.to(where)\nreturn self").0, Does::HandsOn);
    assert_eq!(does("return Rows(self.rows.to(where))").0, Does::Copies);
    assert_eq!(does("other = Rows.__new__(Rows)\nother.rows = self.rows.to(where)\nreturn other").0, Does::Copies);
    assert_eq!(does("self.rows = [Pair(row.x, where) for row in self.rows]\nreturn self").0, Does::Unclear);
}

#[test]
fn loaders_are_seen_through_parts_of_data_sets() {
    let rows = audit(
        "import torch\nfrom torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, Subset\n\
         class A(Dataset):\n    def __getitem__(self, at):\n        return self.rows[at]\n    def to(self, d):\n        self.rows = self.rows.to(d)\n        return self\n\
         class B(IterableDataset):\n    def __iter__(self):\n        yield from self.rows\n    def to(self, d):\n        self.d = d\n        return self\n\
         class C(A):\n    pass\n\
         class D:\n    def to(self, d):\n        self.d = d\n        return self\n\
         DataLoader(ConcatDataset([A().to('cuda'), C()]), num_workers=3)\n\
         DataLoader(Subset(B().to('cuda'), range(4)))\n",
    );
    let of = |name: &str| rows.iter().find(|row| row.name == name).unwrap();
    assert_eq!((of("A.to").is_data, of("A.to").workers, of("A.to").calls), (true, Some(Workers::Some), 1));
    assert_eq!((of("B.to").is_data, of("B.to").workers, of("B.to").does), (true, Some(Workers::None), Does::Notes));
    assert_eq!((of("D.to").is_data, of("D.to").workers, of("D.to").calls), (false, None, 0));
}

//! What the source does to keep a container from growing for ever, in the forms that programs write it in, and what only looks so.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use lowtide_lint::feeds::{Bound, feeds};
use lowtide_lint::program::InMemory;

use crate::spec::{APP, holder};

#[derive(Debug, PartialEq)]
enum Told {
    Free,
    Maybe,
    Emptied,
    Ceiling(Option<u64>),
}

/// What bounds `spec` by the line of `program` that ends in `# <-`.
fn told(program: &str, spec: &str) -> Told {
    let entry = Path::new(APP).join("train.py");
    let line = program.lines().position(|line| line.ends_with("# <-")).expect("a line that adds") + 1;
    let files: HashMap<PathBuf, Vec<u8>> = [(entry.clone(), program.as_bytes().to_vec())].into();
    let answer = &feeds(&InMemory(files), &[entry], &[], &[holder(spec)])[0];
    let statement = answer.statements.iter().find(|each| each.site.line == line);
    let statement = statement.unwrap_or_else(|| panic!("line {line} of {program}: {answer:?}"));
    match &statement.bound {
        None => Told::Free,
        Some(Bound::EmptiedIf(_)) => Told::Maybe,
        Some(Bound::Emptied(_)) => Told::Emptied,
        Some(Bound::Ceiling(_, number)) => Told::Ceiling(*number),
        Some(other) => panic!("{other:?} of {program}"),
    }
}

/// A class that keeps rows: `init` is done when it is made, `put` after each row, `more` are other methods.
fn rows(init: &str, put: &str, more: &str) -> String {
    let indent = |text: &str, by: usize| text.lines().map(|line| format!("{:by$}{line}\n", "")).collect::<String>();
    format!(
        "import random\n\nclass Rows:\n    def __init__(self, room=9, every=9):\n        self.rows, self.ids = [], []\n        \
         self.room, self.every, self.steps, self.config = room, every, 0, {{'every': 9}}\n{}\n    \
         def put(self, row, step, seed, verbose):\n        self.rows.append(row)  # <-\n{}\n{}\n\
         kept = Rows()\nfor i in range(10**9):\n    kept.put([i], i, 7, i > 9)\n",
        indent(init, 8),
        indent(put, 8),
        indent(more, 4),
    )
}

fn of_rows(init: &str, put: &str, more: &str) -> Told {
    told(&rows(init, put, more), "instance:train.py:Rows .rows = list")
}

#[test]
fn a_remainder_of_what_is_counted_comes_round() {
    const COMES: &[&str] = &[
        "step % 100 == 0",
        "not step % 100",
        "(step + 1) % 100 == 0",
        "step % self.every == 0",
        "0 == step % self.every",
        "not step % self.every",
        "self.steps % self.every == 0",
        "step % self.config['every'] == 0",
        "step % (self.every * 2) == 0",
        "step % max(1, self.every) == 0",
        "step % self.every == self.every - 1",
        "step > 0 and step % self.every == 0",
        "step and not step % self.every",
        "step >= self.room and step % self.every == 0",
        "step % self.every == 0 or verbose",
        "self.trainer.global_step % self.every == 0",
    ];
    const MAY_NOT: &[&str] = &[
        "verbose",
        "step % self.every",
        "step % self.every == 3",
        "step % self.every != 0",
        "7 % self.every == 0",
        "seed % self.every == 0",
        "hash(seed) % self.every == 0",
        "self.room % self.every == 0",
        "self.every % self.steps == 0",
        "step % self.steps == 0",
        "step % len(self.rows) == 0",
        "verbose and step % self.every == 0",
        // Who asks for the number of times says that it may be off.
        "self.every and step % self.every == 0",
        "self.every > 0 and (step + 1) % self.every == 0",
        "self.args.rank % self.every == 0",
        "self.args.epochs % self.every == 0",
        "self.args.local_step_id % self.every == 0",
        "step < 100 and step % self.every == 0",
        "step % self.every == 0 and step % self.room == 0 and verbose",
    ];
    let met = |test: &str| of_rows("", &format!("self.steps += 1\nif {test}:\n    self.rows.clear()"), "");
    for test in COMES {
        assert_eq!(met(test), Told::Emptied, "{test}");
    }
    for test in MAY_NOT {
        assert_eq!(met(test), Told::Maybe, "{test}");
    }
    // The number of times gets larger and larger: it comes ever later.
    for more in ["self.every *= 2", "self.every = self.every * 2"] {
        let put = format!("if step % self.every == 0:\n    self.rows.clear()\n    {more}");
        assert_eq!(of_rows("", &put, ""), Told::Maybe, "{more}");
    }
    assert_eq!(of_rows("", "size = self.room\nif size % self.every == 0:\n    self.rows.clear()", ""), Told::Maybe);
    assert_eq!(of_rows("", "now = step\nif now % self.every == 0:\n    self.rows.clear()", ""), Told::Emptied);
    // Set once, before the loop.
    let looped = |test: &str| {
        let program = format!(
            "rows = []\ndef train(n, every):\n    total = n + len(rows)\n    for step in range(n):\n        \
             rows.append(step)  # <-\n        if {test}: rows.clear()\nwhile True:\n    train(5, 7)\n"
        );
        told(&program, "module:train.py rows = list")
    };
    assert_eq!(looped("step % every == 0"), Told::Emptied);
    assert_eq!(looped("total % every == 0"), Told::Maybe);
    assert_eq!(looped("n % every == 0"), Told::Maybe);
}

#[test]
fn a_collector_that_is_off_is_run_by_hand_every_so_many_steps() {
    let bound = |test: &str, once: &str| {
        let program = format!(
            "import gc\nclass Manual:\n    def __init__(self, every):\n        {once}\n        gc.disable()  # <-\n        \
             self.every, self.steps = every, 0\n    def step(self, verbose):\n        self.steps += 1\n        \
             if {test}:\n            gc.collect()\nmanual = Manual(150)\nfor i in range(10**9):\n    manual.step(i > 9)\n"
        );
        told(&program, "garbage = object")
    };
    assert_eq!(bound("self.steps % self.every == 0", "pass"), Told::Emptied);
    assert_eq!(bound("verbose", "pass"), Told::Maybe);
    assert_eq!(bound("self.steps % self.every == 0", "gc.collect()"), Told::Emptied);
    // Collected once, when it is made.
    assert_eq!(bound("verbose", "gc.collect()"), Told::Maybe);
    let switched = |rounds: &str| {
        let program = format!("import gc\ndef work(rows):\n    gc.disable()  # <-\n    use(rows)\n    gc.enable()\n{rounds}");
        told(&program, "garbage = object")
    };
    assert_eq!(switched("for rows in parts():\n    work(rows)\n"), Told::Emptied);
    assert_eq!(switched("work(parts())\n"), Told::Maybe, "it is off for the whole of it");
}

#[test]
fn a_length_is_compared_by_way_of_a_local() {
    const BOUNDED: &[&str] = &[
        "excess = len(self.rows) - self.room\nif excess > 0:\n    del self.rows[:excess]",
        "excess = max(0, len(self.rows) - self.room)\nif excess > 0:\n    self.rows.pop(0)",
        "size = len(self.rows)\nif size > self.room:\n    self.rows.pop(0)",
        "size = len(self.rows)\nwhile size > self.room:\n    self.rows.pop(0)\n    size -= 1",
        "over = len(self.rows) - self.room\nwhile over > 0:\n    self.rows.pop(0)\n    over -= 1",
        "over = len(self.rows) - self.room\nfor _ in range(over):\n    self.rows.pop(0)",
        "for _ in range(len(self.rows) - self.room):\n    self.rows.pop(0)",
        "for _ in range(max(0, len(self.rows) - self.room)):\n    self.rows.pop(0)",
        "for row in list(self.rows)[:len(self.rows) - self.room]:\n    self.rows.remove(row)",
        "if len(self.rows) - self.room > 0:\n    self.rows.pop(0)",
        "if (over := len(self.rows) - self.room) > 0:\n    del self.rows[:over]",
        "self._prune()",
    ];
    const MAY_NOT: &[&str] = &[
        // What it was when it was made, or of something else.
        "excess = self.room\nif excess > 0:\n    self.rows.pop(0)",
        "excess = len(self.ids) - self.room\nif excess > 0:\n    self.rows.pop(0)",
        "excess = len(self.rows) - len(self.ids)\nif excess > 3:\n    self.rows.pop(0)",
        "excess = len(self.rows) - self.room\nexcess = step\nif excess > 0:\n    self.rows.pop(0)",
        "excess = len(self.rows) - self.room\nif excess < 0:\n    self.rows.pop(0)",
        "excess = len(self.rows) - self.room\nif excess > 0 and verbose:\n    self.rows.pop(0)",
        "excess = 0\nif verbose:\n    excess = len(self.rows) - self.room\nif excess > 0:\n    self.rows.pop(0)",
        "if verbose:\n    for _ in range(len(self.rows) - self.room):\n        self.rows.pop(0)",
        "for _ in range(self.room):\n    if verbose:\n        self.rows.pop(0)",
        "for _ in range(len(self.rows) - self.room):\n    if verbose:\n        self.rows.pop(0)",
        "for _ in range(self.room - len(self.ids)):\n    self.rows.pop(0)",
    ];
    let prune = "def _prune(self):\n    excess = len(self.rows) - self.room\n    if excess > 0:\n        del self.rows[:excess]";
    for put in BOUNDED {
        assert_eq!(of_rows("", put, prune), Told::Ceiling(None), "{put}");
    }
    for put in MAY_NOT {
        assert_eq!(of_rows("", put, ""), Told::Maybe, "{put}");
    }
    assert_eq!(of_rows("", "over = len(self.rows) - 50\nif over > 0:\n    del self.rows[:over]", ""), Told::Ceiling(Some(50)));
    assert_eq!(of_rows("", "for _ in range(len(self.rows) - 50):\n    self.rows.pop(0)", ""), Told::Ceiling(Some(50)));
    // The length of before the loop stays what it was.
    let looped = |body: &str| {
        let program = format!("def main(room):\n    rows = []\n{body}main(9)\n");
        told(&program, "frame:train.py:main rows = list")
    };
    let inside = "    while True:\n        rows.append(1)  # <-\n        size = len(rows)\n        if size > room: rows.pop(0)\n";
    let before = "    size = len(rows)\n    while True:\n        rows.append(1)  # <-\n        if size > room: rows.pop(0)\n";
    assert_eq!(looped(inside), Told::Ceiling(None));
    assert_eq!(looped(before), Told::Maybe);
}

#[test]
fn a_condition_stands_in_a_function_that_is_asked() {
    let full = |returned: &str| format!("def is_full(self):\n    return {returned}\n");
    let pops = "while self.is_full():\n    self.evict()";
    let evict = "def evict(self):\n    self.rows.pop(0)\n";
    let bound = |returned: &str| of_rows("", pops, &(full(returned) + evict));
    assert_eq!(bound("len(self.rows) > self.room"), Told::Ceiling(None));
    assert_eq!(bound("len(self.rows) > 40"), Told::Ceiling(Some(40)));
    assert_eq!(bound("self.room is not None and len(self.rows) > self.room"), Told::Ceiling(None));
    for other in ["len(self.ids) > self.room", "len(self.rows) < self.room", "self.steps > self.room", "len(self.rows) > 0"] {
        assert_eq!(bound(other), Told::Maybe, "{other}");
    }
    assert_eq!(bound("self.steps and len(self.rows) > self.room"), Told::Maybe);
    let more = full("len(self.rows) > self.room") + evict;
    assert_eq!(of_rows("", "if self.is_full():\n    self.evict()", &more), Told::Ceiling(None));
    assert_eq!(of_rows("", "if verbose and self.is_full():\n    self.evict()", &more), Told::Maybe);
    assert_eq!(
        of_rows("", "while not self.has_room():\n    self.evict()", &(more.replace("is_full", "has_room").replace('>', "<="))),
        Told::Ceiling(None)
    );
    // What there is any of is taken, and no more is said.
    let empty = "def is_empty(self):\n    return not self.rows\n".to_owned() + evict;
    assert_eq!(of_rows("", "if not self.is_empty():\n    self.evict()", &empty), Told::Maybe);
    let property = |decorator: &str| {
        let more = format!("@{decorator}\n{}", full("len(self.rows) > self.room")) + evict;
        of_rows("", "while self.is_full:\n    self.evict()", &more)
    };
    assert_eq!(property("property"), Told::Ceiling(None));
    assert_eq!(property("cached_property"), Told::Maybe);
    // It says yes at times only.
    let twice = "def is_full(self):\n    if not self.steps:\n        return False\n    return len(self.rows) > self.room\n"
        .to_owned()
        + evict;
    assert_eq!(of_rows("", pops, &twice), Told::Maybe);
    let program = "class Rows:\n    def __init__(self):\n        self.rows = []\n    def is_full(self):\n        return len(self.rows) >= 8\n    \
                   def put(self, row):\n        if not self.is_full():\n            self.rows.append(row)  # <-\n\
                   kept = Rows()\nfor i in range(10**9):\n    kept.put(i)\n";
    assert_eq!(told(program, "instance:train.py:Rows .rows = list"), Told::Ceiling(Some(8)));
}

#[test]
fn another_object_counts_what_there_is() {
    let bound = |charge: &str, over: &str, put: &str, drop: &str| {
        let program = format!(
            "class Budget:\n    def __init__(self, limit):\n        self.limit, self.spent, self.calls = limit, 0, 0\n    \
             def charge(self, n):\n        {charge}\n    def give_back(self, n):\n        self.spent -= n\n    \
             def over(self):\n        return {over}\n\
             class Cache:\n    def __init__(self, budget, other):\n        self.budget, self.other = budget, other\n        \
             self.docs = {{}}\n    def put(self, key, doc):\n        self.docs[key] = doc  # <-\n        {put}\n        \
             while self.budget.over():\n            self.drop()\n    def drop(self):\n        \
             old = self.docs.pop(next(iter(self.docs)))\n        {drop}\n\
             cache = Cache(Budget(1 << 20), Budget(1 << 20))\nfor i in range(10**9):\n    cache.put(f'doc-{{i}}', [i])\n"
        );
        told(&program, "instance:train.py:Cache .docs = dict")
    };
    let (adds, over) = ("self.spent += n", "self.spent > self.limit");
    let (charged, less) = ("self.budget.charge(len(doc))", "self.budget.charge(-len(old))");
    assert_eq!(bound(adds, over, charged, less), Told::Ceiling(None));
    assert_eq!(bound(adds, over, "self.budget.charge(n=len(doc))", "self.budget.give_back(len(old))"), Told::Ceiling(None));
    for (charge, over, put, drop) in [
        (adds, over, "pass", less),
        (adds, over, charged, "pass"),
        (adds, over, charged, "self.budget.charge(len(old))"),
        (adds, over, "self.budget.charge(-len(doc))", less),
        (adds, over, "self.other.charge(len(doc))", less),
        (adds, over, charged, "self.other.charge(-len(old))"),
        ("self.calls += n", over, charged, less),
        ("self.calls += 1", "self.calls > self.limit", charged, less),
        (adds, "self.spent < self.limit", charged, less),
    ] {
        assert_eq!(bound(charge, over, put, drop), Told::Maybe, "{charge} | {over} | {put} | {drop}");
    }
}

#[test]
fn a_dict_whose_values_are_cut_loses_some_of_what_it_has() {
    let bound = |body: &str| {
        let program = format!(
            "class Memory:\n    def __init__(self, room):\n        self.room, self.other, self.kept = room, {{}}, {{}}\n    \
             def add(self, label, images):\n        self.kept[label] = list(images)  # <-\n        \
             quota = self.room // len(self.kept)\n{body}\n\
             memory = Memory(100)\nfor i in range(10**9):\n    memory.add(i, [i])\n"
        );
        told(&program, "instance:train.py:Memory .kept = dict")
    };
    for cut in [
        "        for key, kept in self.kept.items():\n            self.kept[key] = kept[:quota]",
        "        for key, kept in list(self.kept.items()):\n            self.kept[key] = list(kept)[:quota]",
        "        for key in self.kept:\n            self.kept[key] = self.kept[key][:quota]",
        "        for kept in self.kept.values():\n            del kept[quota:]",
        "        for key in self.kept:\n            del self.kept[key][quota:]",
        "        self.kept = {key: kept[:quota] for key, kept in self.kept.items()}",
        // It keeps its entries: that is no limit, whatever is asked before.
        "        if len(self.kept) > 9:\n            for key, kept in self.kept.items():\n                self.kept[key] = kept[:quota]",
    ] {
        assert_eq!(bound(cut), Told::Maybe, "{cut}");
    }
    for other in [
        "        for key, kept in self.kept.items():\n            self.kept[key] = kept[:]",
        "        for key, kept in self.kept.items():\n            self.kept[label] = kept[:quota]",
        "        for key, kept in self.kept.items():\n            self.other[key] = kept[:quota]",
        "        for key, kept in self.other.items():\n            self.kept[key] = kept[:quota]",
        "        for kept in self.other.values():\n            del kept[quota:]",
        "        self.other = {key: kept[:quota] for key, kept in self.kept.items()}",
    ] {
        assert_eq!(bound(other), Told::Free, "{other}");
    }
    // What each label has is cut to a length.
    let program = "class Memory:\n    def __init__(self):\n        self.kept = {}\n    def add(self, label, image):\n        \
                   self.kept[label].append(image)  # <-\n        for key, kept in self.kept.items():\n            \
                   self.kept[key] = kept[-9:]\nmemory = Memory()\nfor i in range(10**9):\n    memory.add(i % 5, i)\n";
    assert_eq!(told(program, "instance:train.py:Memory .kept ['3'] = list"), Told::Emptied);
}

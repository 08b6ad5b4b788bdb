//! Small programs, each with its holders and the lines that add to them.
//!
//! `#? name: HOLDER` asks; a line that ends in `# <- name` is an answer, `# <- name bounded` one that is bounded whatever
//! happens, `# <- name maybe` one that is bounded under a condition. The answers must be exactly these lines. `# file: x.py` begins another file.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use lowtide_lint::feeds::{Answer, Bound, ClassRef, Kind, feeds};
use lowtide_lint::program::InMemory;

use crate::spec::{APP, holder};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Free,
    Maybe,
    Bounded,
}

type Line = (PathBuf, usize);

struct Case {
    name: String,
    files: HashMap<PathBuf, Vec<u8>>,
    questions: Vec<(String, String)>,
    answers: HashMap<String, BTreeMap<Line, Expected>>,
}

fn read(path: &Path) -> Case {
    let text = std::fs::read_to_string(path).expect("a readable program");
    let mut case = Case {
        name: path.file_name().expect("a name").to_string_lossy().into_owned(),
        files: HashMap::new(),
        questions: Vec::new(),
        answers: HashMap::new(),
    };
    let mut file = Path::new(APP).join("train.py");
    let mut body = String::new();
    let mut number = 0;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("# file: ") {
            case.files.insert(file, std::mem::take(&mut body).into_bytes());
            file = Path::new(APP).join(name);
            number = 0;
            continue;
        }
        number += 1;
        body.push_str(line);
        body.push('\n');
        if let Some(question) = line.strip_prefix("#? ") {
            let (name, spec) = question.split_once(": ").expect("`#? name: HOLDER`");
            case.questions.push((name.to_owned(), spec.to_owned()));
        }
        for mark in line.split("# <- ").skip(1) {
            let mut words = mark.split_whitespace();
            let name = words.next().expect("a name").to_owned();
            let expected = match words.next() {
                Some("bounded") => Expected::Bounded,
                Some("maybe") => Expected::Maybe,
                _ => Expected::Free,
            };
            case.answers.entry(name).or_default().insert((file.clone(), number), expected);
        }
    }
    case.files.insert(file, body.into_bytes());
    case
}

fn given(answer: &Answer) -> BTreeMap<Line, Expected> {
    answer
        .statements
        .iter()
        .map(|statement| {
            let bound = match &statement.bound {
                None => Expected::Free,
                Some(bound) if bound.is_firm() => Expected::Bounded,
                Some(Bound::EmptiedIf(_) | Bound::Local) => Expected::Maybe,
                Some(other) => panic!("{other:?}"),
            };
            ((statement.site.file.clone(), statement.site.line), bound)
        })
        .collect()
}

#[test]
fn every_holder_gets_exactly_its_lines() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/feeds/corpus");
    let mut paths: Vec<_> = std::fs::read_dir(folder).expect("the corpus").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let (mut asked, mut wrong) = (0, Vec::new());
    for path in paths {
        let case = read(&path);
        let entry = Path::new(APP).join("train.py");
        let files = InMemory(case.files);
        let holders: Vec<_> = case.questions.iter().map(|(_, spec)| holder(spec)).collect();
        let answers = feeds(&files, &[entry], &[], &holders);
        for ((name, spec), answer) in case.questions.iter().zip(&answers) {
            asked += 1;
            assert!(answer.unread.iter().all(|file| file.contains("not found")), "{}: {:?}", case.name, answer.unread);
            let expected = case.answers.get(name).cloned().unwrap_or_default();
            let given = given(answer);
            assert_eq!(
                answer.reason.is_some(),
                given.is_empty(),
                "{} {name}: a reason where there is nothing, and only there",
                case.name
            );
            if given != expected {
                let show = |lines: &BTreeMap<Line, Expected>| {
                    lines
                        .iter()
                        .map(|((file, line), bound)| format!("{}:{line} {bound:?}", file.display()))
                        .collect::<Vec<_>>()
                        .join(", ")
                };
                wrong.push(format!(
                    "{} {name}: {spec}\n   expected {}\n   given    {}  {:?}",
                    case.name,
                    show(&expected),
                    show(&given),
                    answer.reason
                ));
            }
        }
        for name in case.answers.keys() {
            assert!(case.questions.iter().any(|(asked, _)| asked == name), "{}: nobody asks for {name}", case.name);
        }
    }
    assert!(wrong.is_empty(), "{} of {asked} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(asked >= 60, "{asked} holders");
}

#[test]
fn what_a_library_keeps_itself_leads_to_the_call_of_the_program() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/feeds/corpus/library_functions.py");
    let case = read(&path);
    let files = InMemory(case.files);
    let asked = |name: &str| holder(&case.questions.iter().find(|(asked, _)| asked == name).expect("a question").1);
    let holders = ["finalizers", "known", "unknown", "jobs"].map(asked);
    let answers = feeds(&files, &[Path::new(APP).join("train.py")], &[], &holders);
    let via = |at: usize| {
        let [statement] = &answers[at].statements[..] else { panic!("{:?}", answers[at]) };
        (statement.via.iter().map(|site| site.text.as_str()).collect::<Vec<_>>(), statement.repeated)
    };
    assert_eq!(via(0), (vec!["weakkeep.finalize(model, print, step)"], true));
    assert_eq!(via(1), (vec!["f.file(step, model)"], true));
    assert_eq!(via(2), (Vec::new(), false), "nobody calls that");
    assert_eq!(via(3), (vec!["f.Job(step).start()"], true), "made there, and filed by itself");
}

#[test]
fn what_a_framework_calls_runs_again_and_again_though_it_hands_on() {
    const METHOD: &str = "
from framework import Trainer

class Scoring(Trainer):
    def __init__(self):
        super().__init__()
        self.scores = []

    def compute(self, batch):
        loss = BODY
        self.scores.append(loss)
        return loss

Scoring().train()
";
    let repeated = |body: &str, rest: &str| {
        let text = METHOD.replace("BODY", body) + rest;
        let entry = Path::new(APP).join("train.py");
        let files = InMemory(HashMap::from([(entry.clone(), text.into_bytes())]));
        let answers = feeds(&files, &[entry], &[], &[holder("instance:train.py:Scoring .scores = list")]);
        let [statement] = &answers[0].statements[..] else { panic!("{:?}", answers[0]) };
        statement.repeated
    };
    assert!(repeated("super().compute(batch)", ""));
    assert!(repeated("super(Scoring, self).compute(batch)", ""));
    assert!(!repeated("batch.sum()", "Scoring().compute(3)\n"), "the program itself calls it, once");
}

#[test]
fn a_method_that_is_inherited_from_a_library_is_called_by_the_program() {
    const LIBRARY: &str = "
class State:
    def __init__(self):
        self.log_history = []

class Trainer:
    def __init__(self):
        self.state = State()

    def log(self, logs):
        self.state.log_history.append(logs)

    def train(self):
        while True:
            self.compute_loss()
            self.log({})
";
    const PROGRAM: &str = "
from trainers import Trainer

class Mine(Trainer):
    def compute_loss(self):
        self.log({'loss': 1})

class Other(Trainer):
    def compute_loss(self):
        self.log({'other': 1})

Mine().train()
";
    let library = "lib/python3.11/site-packages/trainers/__init__.py";
    let app = Path::new(APP);
    let files: HashMap<PathBuf, Vec<u8>> =
        [("train.py", PROGRAM), (library, LIBRARY)].map(|(name, text)| (app.join(name), text.as_bytes().to_vec())).into();
    let asked = holder(&format!("frame:{library}:Trainer.train self .state .log_history@{library}:State = list"));
    let mine = ClassRef { module: "__main__".to_owned(), name: "Mine".to_owned(), file: Some(app.join("train.py")) };
    let by = |through: Vec<ClassRef>| {
        let asked = lowtide_lint::feeds::Holder { through, ..asked.clone() };
        let search = [app.join("lib/python3.11/site-packages")];
        let answer = &feeds(&InMemory(files.clone()), &[app.join("train.py")], &search, &[asked])[0];
        let first = answer.statements.first().expect("a statement");
        assert!(first.library && first.site.text.contains("append"), "{first:?}");
        first.via.iter().map(|site| site.text.clone()).collect::<Vec<_>>()
    };
    assert_eq!(by(vec![mine]).first().map(String::as_str), Some("self.log({'loss': 1})"));
    assert!(!by(Vec::new()).iter().any(|text| text.contains("log")), "which class it is must be known");
}

#[test]
fn what_a_library_empties_when_a_thing_begins_or_ends_is_not_emptied_in_use() {
    let library = "lib/python3.11/site-packages/pipes/__init__.py";
    let app = Path::new(APP);
    // `put` is what it does before it adds, `more` are other methods.
    let bound = |put: &str, more: &str| {
        let text = format!(
            "class Pipe:\n    def __init__(self):\n        self.thread = None\n        self.buffer = []\n\
             \n    def put(self, x):\n        {put}\n        self.buffer.append(x)\n\
             \n    def start(self):\n        self.buffer.clear()\n        self.thread = object()\n\n{more}\n\
             \nclass Joined(Pipe):\n    def put(self, x):\n        {put}\n        self.buffer.append(x)\n"
        );
        let program = "import pipes\np = pipes.Pipe()\nfor step in range(100):\n    p.put(step)\np.close()\n";
        let files: HashMap<PathBuf, Vec<u8>> =
            [("train.py", program.to_owned()), (library, text)].map(|(name, text)| (app.join(name), text.into_bytes())).into();
        let asked = holder(&format!("module:train.py p .buffer@{library}:Pipe = list"));
        let search = [app.join("lib/python3.11/site-packages")];
        let answer = &feeds(&InMemory(files), &[app.join("train.py")], &search, &[asked])[0];
        let first = answer.statements.first().expect("a statement");
        assert!(first.site.text.contains("append"), "{first:?}");
        first.bound.clone()
    };
    let late = bound("if self.thread is None: self.start()", "");
    assert!(matches!(late, Some(Bound::EmptiedIf(_))), "{late:?}");
    let falsy = bound("if not self.thread: self.start()", "");
    assert!(matches!(falsy, Some(Bound::EmptiedIf(_))), "{falsy:?}");
    // Under a condition on anything else, or on what it does not make, it is emptied in use.
    for put in ["if x is None: self.start()", "if self.other is None: self.start()", "self.start()"] {
        let used = bound(put, "");
        assert!(matches!(used, Some(Bound::Emptied(_))), "{put}: {used:?}");
    }
    let clear = |name: &str| format!("    def {name}(self):\n        self.buffer.clear()\n");
    for name in ["close", "_terminate_broken", "__del__"] {
        let more = format!("{}\n    def each(self, xs):\n        for x in xs:\n            self.{name}()\n", clear(name));
        let ended = bound("pass", &more.replace("self.thread = object()", ""));
        assert!(!ended.as_ref().is_some_and(Bound::is_firm), "{name}: {ended:?}");
    }
    let flushed = format!("{}\n    def each(self, xs):\n        for x in xs:\n            self.flush()\n", clear("flush"));
    let used = bound("pass", &flushed);
    assert!(used.as_ref().is_some_and(Bound::is_firm), "{used:?}");
}

#[test]
fn a_limit_is_told_with_its_number_where_the_source_has_one() {
    let app = Path::new(APP);
    let number = |before: &str, made: &str, body: &str| {
        let program =
            format!("import collections\n{before}\nxs = {made}\ndef main():\n    while True:\n{body}\nmain()\n").into_bytes();
        let files: HashMap<PathBuf, Vec<u8>> = [(app.join("train.py"), program)].into();
        let asked = holder("module:train.py xs = list");
        let answer = &feeds(&InMemory(files), &[app.join("train.py")], &[], &[asked])[0];
        let first = answer.statements.first().unwrap_or_else(|| panic!("a statement: {before} {made} {body}"));
        match &first.bound {
            Some(Bound::Ceiling(_, number)) => *number,
            other => panic!("a ceiling: {other:?} of {before} {made} {body}"),
        }
    };
    let pops = |test: &str| format!("        xs.append(1)\n        if {test}: xs.pop(0)");
    assert_eq!(number("", "[]", &pops("len(xs) > 10_000")), Some(10_000));
    assert_eq!(number("", "[]", &pops("10_000 < len(xs)")), Some(10_000));
    assert_eq!(number("N = 500", "[]", &pops("len(xs) > N")), Some(500));
    assert_eq!(number("", "[]", "        xs.append(1)\n        while len(xs) > 70: xs.pop(0)"), Some(70));
    assert_eq!(number("", "[]", "        if len(xs) < 70: xs.append(1)"), Some(70));
    assert_eq!(number("N = 30", "collections.deque(maxlen=N)", "        xs.append(1)"), Some(30));
    let method = |given: &str, more: &str| {
        let class = format!(
            "class Window:\n    def __init__(self, n=40):\n        self.ys = []\n        self.n = {given}\n\
             \n    def put(self, y):\n        xs.append(y)\n        if len(xs) > self.n: xs.pop(0)\nw = Window()\n{more}"
        );
        number(&class, "[]", "        w.put(1)")
    };
    assert_eq!(method("40", ""), Some(40));
    assert_eq!(method("n", ""), None);
    assert_eq!(method("40", "w.n = 50"), None);
    // Given twice, read from elsewhere, or worked out: a number that may be another one is none.
    assert_eq!(number("N = 500\nN = 600", "[]", &pops("len(xs) > N")), None);
    assert_eq!(number("import os\nN = int(os.environ['N'])", "[]", &pops("len(xs) > N")), None);
    assert_eq!(number("N = 500", "[]", &pops("len(xs) > N * 2")), None);
}

fn first_of(program: &str, name: &str) -> lowtide_lint::feeds::Statement {
    let case = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/feeds/corpus").join(program));
    let asked = holder(&case.questions.iter().find(|(asked, _)| asked == name).expect("a question").1);
    let answers = feeds(&InMemory(case.files), &[Path::new(APP).join("train.py")], &[], &[asked]);
    answers[0].statements.first().expect("a line").clone()
}

#[test]
fn an_item_of_a_librarys_mapping_is_set_by_the_programs_line() {
    for (name, line) in [("plans", "plans[graph] = Plan(graph)"), ("other", "other.setdefault(graph, Plan(graph))")] {
        let first = first_of("library_items.py", name);
        assert_eq!(first.via.iter().map(|site| site.text.as_str()).collect::<Vec<_>>(), [line], "{name}");
        assert!(first.repeated, "{name}");
    }
}

#[test]
fn what_only_a_library_fills_leads_to_the_line_that_makes_it() {
    for (name, line) in [("boxes", "mailing.deliver_to(mailing.Box(10**9))"), ("posts", "post.send(graph)")] {
        let first = first_of("library_items.py", name);
        assert_eq!(first.via.iter().map(|site| site.text.as_str()).collect::<Vec<_>>(), [line], "{name}");
        assert!(first.repeated, "{name}");
    }
}

#[test]
fn what_is_read_and_set_again_with_more_gets_longer() {
    let kind = |name| first_of("set_again.py", name).kind;
    assert_eq!(["spans", "trail", "table"].map(kind), [Kind::Rebuilt; 3]);
    assert_eq!(kind("last"), Kind::Assigned, "it was given another value in between");
}

#[test]
fn where_a_value_is_made_comes_before_where_it_is_asked_for() {
    let first = first_of("averages.py", "shown");
    assert_eq!((first.site.line, first.kind), (12, Kind::Averaged), "{}", first.site.text);
}

#[test]
fn what_keeps_the_last_one_inside_is_a_chain() {
    let kind = |name| first_of("wrapped.py", name).kind;
    assert_eq!(["augment", "last", "head"].map(kind), [Kind::Wrapped; 3]);
    assert_eq!(kind("plain"), Kind::Assigned);
}

#[test]
fn an_object_that_gets_larger_does_so_by_the_chain_in_it() {
    let case = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/feeds/corpus/wrapped.py"));
    let train = Path::new(APP).join("train.py");
    let class = |name: &str| ClassRef { module: "train".into(), name: name.into(), file: Some(train.clone()) };
    let files = InMemory(case.files);
    let asked = |name: &str| {
        let all = lowtide_lint::feeds::Holder { through: vec![class(name)], ..holder("module:train.py history = value") };
        let answers = feeds(&files, std::slice::from_ref(&train), &[], &[all]);
        answers[0].statements.iter().map(|statement| (statement.site.text.clone(), statement.kind)).collect::<Vec<_>>()
    };
    assert_eq!(asked("History"), [("self.last = Frame(image, self.last)  # <- last".to_owned(), Kind::Wrapped)]);
    assert!(asked("Search").iter().all(|(text, _)| !text.contains("self.last")), "not of that class");
}

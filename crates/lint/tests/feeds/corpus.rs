//! Small programs, each with its holders and the lines that add to them.
//!
//! `#? name: HOLDER` asks; a line that ends in `# <- name` is an answer, `# <- name bounded` one that is bounded whatever
//! happens, `# <- name maybe` one that is bounded under a condition. The answers must be exactly these lines. `# file: x.py` begins another file.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use lowtide_lint::feeds::{Answer, Bound, feeds};
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

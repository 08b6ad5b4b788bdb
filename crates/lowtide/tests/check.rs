//! `lowtide check` on files, as a user runs it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const LEAKS: &str = "\
import torch


def train(model, loader, criterion, opt):
    total = 0
    for x, y in loader:
        loss = criterion(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss
    return total
";

fn lowtide(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lowtide")).arg("check").args(args).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn a_finding_has_its_line_and_its_fix_and_the_exit_code_says_so() {
    let folder = project(&[("src/train.py", LEAKS), ("src/model.py", "x = 1\n")]);
    let output = lowtide(folder.path(), &[]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    for part in [
        "./src/train.py:11:9  LT101",
        "    10 |     opt.step()\n    11 |     total += loss\n       |     ^\n    12 | return total",
        "why ",
        "fix ",
        "1 pattern that leaks in 2 files",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    assert_eq!(lowtide(folder.path(), &["--fail-on", "none"]).status.code(), Some(0));
    assert_eq!(lowtide(folder.path(), &["src/model.py"]).status.code(), Some(0));
}

#[test]
fn what_the_author_looked_at_and_what_is_not_asked_for_is_left_out() {
    let said = LEAKS.replace("total += loss", "total += loss  # lowtide: ignore[LT101] ten steps only");
    let folder = project(&[("a.py", &said), ("made/b.py", LEAKS)]);
    let output = lowtide(folder.path(), &["--exclude", "made/"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("0 patterns that leak in 1 file, 1 ignored by comments"), "{}", text(&output.stdout));
    assert_eq!(lowtide(folder.path(), &["--ignore", "LT101"]).status.code(), Some(0));
    assert_eq!(lowtide(folder.path(), &["--select", "LT2,LT3"]).status.code(), Some(0));
    assert_eq!(lowtide(folder.path(), &["--select", "LT1"]).status.code(), Some(1));
    assert_eq!(lowtide(folder.path(), &["--select", "nonsense"]).status.code(), Some(2));
    std::fs::write(folder.path().join("lowtide.toml"), "[check]\nexclude = ['made']\n").unwrap();
    assert_eq!(lowtide(folder.path(), &[]).status.code(), Some(0));
    std::fs::write(folder.path().join("lowtide.toml"), "[check]\nexclud = ['made']\n").unwrap();
    let wrong = lowtide(folder.path(), &[]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("lowtide.toml:2:1"), "{}", text(&wrong.stderr));
}

#[test]
fn a_file_that_is_no_python_is_one_line_and_the_rest_is_checked() {
    let folder = project(&[("old.py", "print 'hello'\n"), ("broken.py", "def f(:\n"), ("train.py", LEAKS)]);
    let output = lowtide(folder.path(), &[]);
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 2), "{said}");
    assert!(said.contains("broken.py:1:7: syntax error") && said.contains("old.py:1: Python 2"), "{said}");
    assert!(text(&output.stdout).contains("1 pattern that leaks in 1 file; 2 files could not be read"));
    assert_eq!(lowtide(folder.path(), &["old.py"]).status.code(), Some(3));
    let missing = lowtide(folder.path(), &["nowhere"]);
    assert_eq!(missing.status.code(), Some(3));
    assert!(text(&missing.stderr).contains("nowhere"));
}

#[test]
fn standard_input_has_the_name_that_it_is_given() {
    let folder = project(&[]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_lowtide"))
        .args(["check", "-", "--stdin-filename", "pipe.py", "--format", "json"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(LEAKS.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(report["schema"], "lowtide.report/1");
    let finding = &report["findings"][0];
    assert_eq!((&finding["class"], &finding["cause"]), (&"source".into(), &"LT101".into()));
    assert_eq!(finding["site"], serde_json::json!({"file": "pipe.py", "line": 11, "column": 9, "text": "total += loss"}));
    assert!(finding["why"].is_string() && finding["fix"].is_string());
}

#[test]
fn forms_for_code_hosts_and_ci() {
    let folder = project(&[("train.py", LEAKS)]);
    let sarif: serde_json::Value = serde_json::from_slice(&lowtide(folder.path(), &["--format", "sarif"]).stdout).unwrap();
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "LT101");
    let rule = &sarif["runs"][0]["tool"]["driver"]["rules"][0];
    let title = lowtide_causes::by_id("LT101").unwrap().title;
    assert_eq!(rule["shortDescription"]["text"], title, "a rule says what all its findings have in common");
    assert!(rule["fullDescription"]["text"].is_string() && rule["help"]["text"].is_string());
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "train.py");
    assert_eq!((&place["region"]["startLine"], &place["region"]["startColumn"]), (&11.into(), &9.into()));
    let github = text(&lowtide(folder.path(), &["--format", "github"]).stdout);
    assert!(github.starts_with("::warning file=train.py,line=11,col=9,title=LT101::"), "{github}");
    let junit = text(&lowtide(folder.path(), &["-o", "found.xml"]).stdout);
    assert!(junit.is_empty());
    let junit = std::fs::read_to_string(folder.path().join("found.xml")).unwrap();
    assert!(junit.contains("failures=\"1\"") && junit.contains("name=\"LT101:11\""), "{junit}");
}

#[test]
fn a_safe_fix_is_made_and_the_rest_of_the_file_stays_what_it_was() {
    let program = LEAKS.replace("        total += loss\n", "        total += loss  # every step: ü\n").replace('\n', "\r\n");
    let folder = project(&[("train.py", &program)]);
    let file = folder.path().join("train.py");
    let latin: Vec<u8> = [b"# coding: latin-1\r\n".to_vec(), program.chars().map(|letter| letter as u8).collect()].concat();
    std::fs::write(&file, &latin).unwrap();

    let shown = lowtide(folder.path(), &["--diff"]);
    assert_eq!(std::fs::read(&file).unwrap(), latin, "--diff writes nothing");
    assert_eq!(shown.status.code(), Some(1), "there is something to be fixed");
    assert_eq!(lowtide(folder.path(), &["--diff", "--fail-on", "none"]).status.code(), Some(0));
    let diff = text(&shown.stdout);
    assert!(
        diff.contains("\n-        total += loss  # every") && diff.contains("\n+        total += loss.detach()  # every"),
        "{diff}"
    );

    let fixed = lowtide(folder.path(), &["--fix"]);
    assert_eq!(fixed.status.code(), Some(0), "{}{}", text(&fixed.stdout), text(&fixed.stderr));
    assert!(text(&fixed.stderr).contains("train.py: fixed 1 of LT101"), "{}", text(&fixed.stderr));
    let expected = text(&latin).replace("total += loss  #", "total += loss.detach()  #");
    assert_eq!(text(&std::fs::read(&file).unwrap()), expected);
    assert_eq!(lowtide(folder.path(), &["--diff"]).status.code(), Some(0), "nothing is left to be fixed");
}

#[test]
fn what_may_change_more_than_memory_has_to_be_asked_for() {
    let kept = "def train(model, loader, criterion, outs):\n    for x, y in loader:\n        out = model(x)\n        criterion(out, y).backward()\n        outs.append(out)\n\n\ntrain(net, data, loss, [])\nnet.parameters()\n";
    let program = format!(
        "import torch\nnet = torch.nn.Linear(2, 2)\n{}",
        kept.replace("model, ", "").replace("model(", "net(").replace("train(net, ", "train(")
    );
    let folder = project(&[("a.py", &program)]);
    let before = lowtide(folder.path(), &["--fix"]);
    assert_eq!(before.status.code(), Some(1), "{}", text(&before.stdout));
    assert!(text(&before.stdout).contains("1 can be fixed by --unsafe-fixes"), "{}", text(&before.stdout));
    assert_eq!(std::fs::read_to_string(folder.path().join("a.py")).unwrap(), program);
    assert_eq!(lowtide(folder.path(), &["--unsafe-fixes"]).status.code(), Some(0));
    assert!(std::fs::read_to_string(folder.path().join("a.py")).unwrap().contains("outs.append(out.detach())"));
}

#[test]
fn standard_input_leaves_fixed_through_standard_output() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lowtide"))
        .args(["check", "-", "--fix"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(LEAKS.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stdout), LEAKS.replace("total += loss", "total += loss.detach()"));
}

#[test]
fn notebooks_are_told_by_cell_and_a_broken_one_in_one_line() {
    let lines: Vec<String> = LEAKS.lines().map(|line| format!("{line}\n")).collect();
    let notebook = serde_json::json!({"nbformat": 4, "metadata": {}, "cells": [
        {"cell_type": "markdown", "source": ["# Training"]},
        {"cell_type": "code", "source": "%matplotlib inline\n!pip list\n", "outputs": []},
        {"cell_type": "code", "source": lines, "outputs": []},
    ]});
    let folder = project(&[("a.ipynb", &notebook.to_string()), ("b.ipynb", "{\"cells\": [")]);
    let output = lowtide(folder.path(), &["--fix"]);
    let shown = text(&output.stdout);
    assert!(shown.contains("./a.ipynb:11:9  LT101  cell 3: "), "{shown}");
    assert_eq!(std::fs::read_to_string(folder.path().join("a.ipynb")).unwrap(), notebook.to_string(), "notebooks are not fixed");
    let errors = text(&output.stderr);
    assert!(errors.contains("b.ipynb: no notebook that can be read") && errors.lines().count() == 1, "{errors}");
}

#[test]
fn code_hosts_are_pointed_to_the_line_of_a_notebooks_file() {
    let lines: Vec<String> = LEAKS.lines().map(|line| format!("{line}\n")).collect();
    let notebook = serde_json::json!({"nbformat": 4, "metadata": {}, "cells": [
        {"cell_type": "markdown", "source": ["# Training"]},
        {"cell_type": "code", "source": lines, "outputs": []},
    ]});
    let written = serde_json::to_string_pretty(&notebook).unwrap();
    let folder = project(&[("a.ipynb", &written)]);
    let at = 1 + written.lines().position(|line| line.contains("total += loss")).unwrap();
    let github = text(&lowtide(folder.path(), &["--format", "github"]).stdout);
    assert!(github.starts_with(&format!("::warning file=a.ipynb,line={at},title=LT101::cell 2, line 11: ")), "{github}");
    let sarif: serde_json::Value = serde_json::from_slice(&lowtide(folder.path(), &["--format", "sarif"]).stdout).unwrap();
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], at);
    assert!(result["message"]["text"].as_str().unwrap().starts_with("cell 2, line 11: "));
    // For people it is the cell's own line.
    assert!(text(&lowtide(folder.path(), &[]).stdout).contains("./a.ipynb:11:9  LT101  cell 2: "));
}

#[test]
fn a_comment_that_ignores_what_there_is_no_rule_for_is_told_in_one_line() {
    let program = LEAKS.replace("total += loss\n", "total += loss  # lowtide: ignore[LT909, LT101]\n");
    let folder = project(&[("a.py", &program), ("b.py", "# lowtide: ignore-file[LT3, nonsense]\n")]);
    let output = lowtide(folder.path(), &[]);
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), said.lines().count()), (Some(0), 2), "{said}");
    assert!(said.contains("a.py:11: no rule `LT909` to be ignored") && said.contains("b.py:1: no rule `nonsense`"), "{said}");
}

#[test]
fn settings_may_stand_in_the_projects_file() {
    let folder = project(&[("a.py", LEAKS), ("pyproject.toml", "[tool.lowtide.check]\nignore = [\"LT101\"]\n")]);
    assert_eq!(lowtide(folder.path(), &[]).status.code(), Some(0));
}

#[test]
fn the_audit_tells_who_moves_data_and_who_only_notes_the_device() {
    let folder = project(&[(
        "sets.py",
        "import torch\n\
         from torch import nn\n\
         from torch.utils.data import DataLoader, Dataset\n\
         class Clips(Dataset):\n    def __init__(self, rows):\n        self.rows = rows\n    \
         def __getitem__(self, at):\n        return self.rows[at]\n    \
         def to(self, where):\n        self.rows = [row.to(where) for row in self.rows]\n        return self\n\
         class Feed:\n    def to(self, where):\n        self.where = torch.device(where)\n        return self\n\
         class Batch:\n    def __init__(self, x):\n        self.x = x\n    def cuda(self):\n        return Batch(self.x.cuda())\n\
         class Net(nn.Module):\n    def to(self, where):\n        self.w = self.w.to(where)\n\
         clips = Clips([])\nclips.to('cuda')\nDataLoader(clips, num_workers=2)\nFeed().to('cuda')\n",
    )]);
    let output = lowtide(folder.path(), &["--audit", "datasets", "."]);
    let table = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{table}");
    let line = |name: &str| {
        let line = table.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name} in {table}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(line("Clips.to").starts_with("Clips.to moves data: self.rows a loader with workers 1 "), "{table}");
    assert!(line("Feed.to").starts_with("Feed.to notes the device: self.where no loader 1 "), "{table}");
    assert!(line("Batch.cuda").starts_with("Batch.cuda gives a moved copy no loader 0 "), "{table}");
    assert!(!table.contains("Net"), "models are none: {table}");
    assert!(
        table.contains("3 classes that can be sent to a device: 1 move data (LT501), 1 only note the device (LT506)"),
        "{table}"
    );

    let output = lowtide(folder.path(), &["--audit", "datasets", "--format", "json", "."]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["schema"], "lowtide.audit/1");
    assert_eq!(json["classes"][0]["does"], "moves");
    assert_eq!(json["classes"][0]["workers"], "some");
    let output = lowtide(folder.path(), &["--audit", "datasets", "--format", "sarif", "."]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn a_setting_in_a_script_is_told_where_it_is_asked_for() {
    let folder = project(&[("run.sh", "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n"), ("a.py", "x = 1\n")]);
    let asked = lowtide(folder.path(), &["--select", "LT504", "."]);
    assert_eq!(asked.status.code(), Some(1));
    assert!(text(&asked.stdout).contains("run.sh:1"), "{}", text(&asked.stdout));
    let plain = lowtide(folder.path(), &["."]);
    assert_eq!(plain.status.code(), Some(0), "{}", text(&plain.stdout));
}

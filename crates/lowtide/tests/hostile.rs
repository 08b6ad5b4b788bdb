//! Files with lines of ten megabytes and names that want to do harm, shown in every form.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::{lowtide, output, text};

/// Clears a screen, turns the direction of writing, hides, wants to be markup or a workflow command; no end of a line in it.
const HOSTILE: &str = "</script><img src=x onerror=x>\u{1b}[2J\u{9b}31m\u{7}\u{202e}\u{2066}\u{200b}\u{feff} ::error::x";
const FORMS: [&str; 7] = ["text", "json", "html", "markdown", "junit", "github", "sarif"];
/// More than a form of any of these files has to say. Bytes; a page has 75 kB of scripts.
const MOST: usize = 1_000_000;

fn shown(folder: &Path, arguments: &[&str]) -> String {
    let done = output(lowtide(folder).args(arguments).current_dir(folder).env("COLUMNS", "100").env("LINES", "40"));
    let (out, said) = (text(&done.stdout), text(&done.stderr));
    assert!(!out.is_empty() && !said.contains("internal error"), "{arguments:?}: {said}");
    // What is said beside it reaches the same terminal.
    for text in [&out, &said] {
        assert!(text.len() < MOST, "{arguments:?}: {} bytes", text.len());
        let acts = |c: char| {
            (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202e}' | '\u{2066}' | '\u{200b}' | '\u{feff}')
        };
        let at = text.find(acts);
        assert_eq!(at, None, "{arguments:?}: {:?}", at.map(|at| text[at..].chars().take(40).collect::<String>()));
    }
    out
}

#[test]
fn lines_of_ten_megabytes_are_shown_short_and_safe() {
    let folder = tempfile::tempdir().unwrap();
    let long = HOSTILE.repeat(10_000_000 / HOSTILE.len());
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "source.py",
        format!(
            "losses = []\ndef train(model, loader):\n    for x in loader:\n        loss = model(x).mean()\n        loss.backward()\n        losses.append(loss)  # {long}\n"
        ),
    );
    let mut log: String = (0..300)
        .map(|i| {
            format!("2026-11-28 10:{:02}:{:02} step {i} RAM: {:.2}GB {HOSTILE}\n", i / 60, i % 60, 12.0 + 0.01 * f64::from(i))
        })
        .collect();
    log.push_str(&format!("{long} RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB {long}\n"));
    write("train.log", log);
    // A table's line has a MiB at most; a longer one is refused, in a line that can be read.
    let wide = HOSTILE.repeat(900_000 / HOSTILE.len());
    write("wide.csv", format!("time,rss_mb,x\n0,1,{long}\n"));
    let refused = output(lowtide(folder.path()).args(["report", "wide.csv"]).current_dir(folder.path()));
    assert!(refused.status.code() == Some(3) && refused.stderr.len() < 1000, "{}", text(&refused.stderr));
    let rows: String = (0..300).map(|t| format!("{t},{},{}\n", 1000 + t, if t == 7 { wide.as_str() } else { HOSTILE })).collect();
    write("run.csv", format!("time,rss_mb,{HOSTILE}\n{rows}"));
    for form in FORMS {
        for (command, file) in [("check", "source.py"), ("report", "train.log")] {
            let out = shown(folder.path(), &[command, file, "--format", form]);
            assert!(!matches!(form, "html" | "junit") || !out.contains("<img"), "{command} {form}");
        }
    }
    shown(folder.path(), &["report", "run.csv", "--format", "html"]);
    for file in ["train.log", "run.csv"] {
        shown(folder.path(), &["live", "--once", file]);
        shown(folder.path(), &["compare", file, file]);
    }
}

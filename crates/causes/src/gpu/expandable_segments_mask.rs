//! LT504: `expandable_segments` is set to hide a leak.

use std::path::PathBuf;

use crate::{Cause, Finding, Fix, Language, Severity};
use lowtide_lint::ask::{given, last_name, says};
use lowtide_lint::check::{Check, Confidence, Hit};
use lowtide_lint::feeds::Site;
use lowtide_lint::model::{Expr, Ranged};
use lowtide_lint::program::{FileId, Files};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT504",
    name: "expandable-segments-mask",
    title: "`expandable_segments` is set to hide a leak",
    severity: Severity::Habit,
    happens: "`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` was added when the run ran out of memory.",
    keeps: "It helps against fragmentation: reserved memory that no request fits into. It does nothing about \
                allocated memory that rises.",
    shows: "The end comes later, at a higher allocated value. Compare allocated, not reserved, at the same point \
                of each epoch.",
    fix: Fix {
        text: "Find what is kept first; then decide about fragmentation by its own numbers.",
        language: Language::Shell,
        before: r#"export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"#,
        after: r#"unset PYTORCH_CUDA_ALLOC_CONF"#,
    },
    harmless: "Where allocated is level and reserved is far above it, with batch shapes that change: that is what \
                   it is for.",
    sources: &["https://docs.pytorch.org/docs/stable/notes/cuda.html"],
    signature: None,
    rule: Some(rule),
};

const SETTING: &str = "expandable_segments:True";
const WHAT: &str = "`expandable_segments` helps against fragmentation only: allocated memory that rises goes on rising";

/// The same in what starts programs: lines of shell scripts, Dockerfiles and YAML that set it. What stands behind a `#` is said,
/// not done.
pub(crate) fn in_scripts(files: &dyn Files, scripts: &[PathBuf]) -> Vec<Finding> {
    let mut found = Vec::new();
    for path in scripts {
        let Ok(bytes) = files.read(path) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        let mut before = "";
        for (line, at) in text.lines().zip(1..) {
            let code = line.split(" #").next().unwrap_or_default();
            // `- name: PYTORCH_CUDA_ALLOC_CONF` on one line of YAML, `value: ...` on the next.
            let named_before = before.trim_end().ends_with("ALLOC_CONF") && code.trim_start().starts_with("value:");
            before = code;
            let set = code
                .find("ALLOC_CONF")
                .or_else(|| named_before.then_some(0))
                .and_then(|name| code[name..].find(SETTING).map(|value| name + value));
            let Some(column) = set.filter(|_| !code.trim_start().starts_with('#')) else { continue };
            let ignored = line
                .split_once("lowtide: ignore")
                .is_some_and(|(_, ids)| !ids.starts_with('[') || ids.contains(CAUSE.id) || ids.contains(CAUSE.name));
            let column = code[..column].chars().count() + 1;
            let site = Site { file: path.clone(), cell: None, line: at, column, text: line.trim().chars().take(300).collect() };
            found.push(Finding { cause: &CAUSE, site, what: WHAT.to_owned(), confidence: Confidence::Low, ignored, fix: None });
        }
    }
    found
}

/// The setting, wherever the program makes it. No source shows whether it hides anything: it is a hint.
fn rule(check: &Check) -> Vec<Hit> {
    let hit = |file: FileId, offset| Hit::new(file, offset).saying(WHAT).with(Confidence::Low);
    let is_on = |value: &Expr| says(value, SETTING);
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        let by_key = model.assigns.iter().filter(|assign| {
            is_on(assign.value) && matches!(assign.target, Expr::Subscript(item) if says(&item.slice, "ALLOC_CONF"))
        });
        hits.extend(by_key.map(|assign| hit(file, assign.target.start())));
        let by_call = model.calls.iter().filter(|call| {
            matches!(
                last_name(&call.call.func),
                Some("setdefault" | "putenv" | "_set_allocator_settings" | "_accelerator_setAllocatorSettings" | "setenv")
            ) && given(call.call).any(is_on)
        });
        hits.extend(by_call.map(|call| hit(file, call.call.start())));
        // `{**os.environ, "PYTORCH_CUDA_ALLOC_CONF": ...}`, given to a call or to a variable.
        let in_dictionary = |value: &Expr| match value {
            Expr::Dict(dict) => {
                let names = |key: &Expr| says(key, "ALLOC_CONF");
                dict.items.iter().any(|item| is_on(&item.value) && item.key.as_ref().is_some_and(names))
            }
            _ => false,
        };
        let by_dictionary = model.calls.iter().filter(|call| {
            given(call.call).any(|value| in_dictionary(value) || last_name(&call.call.func) == Some("update") && is_on(value))
                // `dict(os.environ, PYTORCH_CUDA_ALLOC_CONF=...)`
                || call.call.arguments.keywords.iter().any(|each| {
                    is_on(&each.value) && each.arg.as_ref().is_some_and(|name| name.ends_with("ALLOC_CONF"))
                })
        });
        hits.extend(by_dictionary.map(|call| hit(file, call.call.start())));
        let by_variable = model.assigns.iter().filter(|assign| in_dictionary(assign.value));
        hits.extend(by_variable.map(|assign| hit(file, assign.target.start())));
    }
    hits
}

#[cfg(test)]
mod tests {
    use lowtide_lint::program::InMemory;

    use super::*;

    #[test]
    fn scripts_that_set_it_are_found_and_comments_are_not() {
        let text = "#!/bin/sh\nexport PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n\
                    # PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n\
                    python a.py # PYTORCH_ALLOC_CONF=expandable_segments:True\n\
                    ENV PYTORCH_ALLOC_CONF=a:1,expandable_segments:True # lowtide: ignore[LT504] measured\n\
                    echo expandable_segments:True\nPYTORCH_ALLOC_CONF=expandable_segments:False\n  \
                    PYTORCH_ALLOC_CONF: \"expandable_segments:True\"\n  \
                    - name: PYTORCH_CUDA_ALLOC_CONF\n    value: expandable_segments:True\n    value: expandable_segments:True\n";
        let path = PathBuf::from("run.sh");
        let files = InMemory([(path.clone(), text.as_bytes().to_vec())].into());
        let found = in_scripts(&files, &[path, PathBuf::from("nowhere.sh")]);
        let lines: Vec<_> = found.iter().map(|one| (one.site.line, one.ignored)).collect();
        assert_eq!(lines, [(2, false), (5, true), (8, false), (10, false)]);
        assert_eq!(found[0].site.column, 32);
    }
}

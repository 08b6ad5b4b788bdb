//! Which rules and files `lowtide check` is about: from the project's settings and the command line.

use std::path::Path;

use lowtide_causes::{Cause, Finding};
use lowtide_lint::check::Confidence;

use crate::config::CheckConfig;
use crate::exit::Failure;

/// The same, read and found right.
#[derive(Debug)]
pub struct Rules {
    select: Vec<String>,
    ignore: Vec<String>,
    exclude: lowtide_lint::tree::Globs,
}

impl Rules {
    /// The command line's selection takes the place of the project's; what either leaves out is left out.
    pub fn of(config: &CheckConfig, select: &[String], ignore: &[String], exclude: &[String]) -> Result<Self, Failure> {
        let select = if select.is_empty() { config.select.clone() } else { select.to_vec() };
        let ignore = [&config.ignore[..], ignore].concat();
        if let Some(unknown) = select.iter().chain(&ignore).find(|id| !lowtide_causes::all().any(|cause| is_meant(id, cause))) {
            return Err(Failure::usage(format!(
                "no rule `{unknown}`; `lowtide causes` lists them: an id, its beginning or a name"
            )));
        }
        let globs = [&config.exclude[..], exclude].concat();
        let exclude = lowtide_lint::tree::Globs::of(&globs).map_err(|error| Failure::usage(format!("--exclude {error}")))?;
        Ok(Self { select, ignore, exclude })
    }

    /// Whether a finding is wanted. What is no more than a hint has to be asked for.
    pub fn want(&self, finding: &Finding) -> bool {
        let asked_for = self.select.iter().any(|id| is_meant(id, finding.cause));
        (asked_for || self.select.is_empty() && finding.confidence > Confidence::Low)
            && !self.ignore.iter().any(|id| is_meant(id, finding.cause))
    }

    /// Whether anything was asked for by name.
    pub fn want_hints(&self) -> bool {
        !self.select.is_empty()
    }

    /// Whether a file is not to be looked at.
    pub fn leave_out(&self, path: &Path) -> bool {
        self.exclude.matches(path)
    }
}

/// By an id, by its beginning (at least `LT` and a digit), or by a name.
fn is_meant(id: &str, cause: &Cause) -> bool {
    let id = id.trim();
    let beginning = id.len() >= 3 && cause.id.get(..id.len()).is_some_and(|begins| begins.eq_ignore_ascii_case(id));
    beginning || cause.name.eq_ignore_ascii_case(id)
}

#[cfg(test)]
mod tests {
    use lowtide_lint::feeds::Site;

    use super::*;

    fn rules(select: &[&str], ignore: &[&str]) -> Result<Rules, Failure> {
        let owned = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        Rules::of(&CheckConfig::default(), &owned(select), &owned(ignore), &owned(&["third_party/**", "*_pb2.py"]))
    }

    #[test]
    fn ids_beginnings_and_names() {
        let finding = |id, confidence| Finding {
            cause: lowtide_causes::by_id(id).expect("a cause"),
            site: Site { file: "a.py".into(), cell: None, line: 1, column: 1, text: String::new() },
            what: String::new(),
            confidence,
            ignored: false,
            fix: None,
        };
        let some = rules(&["LT1", "lt301"], &["loss-summed-with-graph"]).expect("right");
        for (id, wanted) in [("LT101", false), ("LT103", true), ("LT301", true), ("LT302", false)] {
            assert_eq!(some.want(&finding(id, Confidence::High)), wanted, "{id}");
        }
        assert!(some.want(&finding("LT103", Confidence::Low)), "asked for");
        let all = rules(&[], &["LT602"]).expect("right");
        for (id, confidence, wanted) in [
            ("LT601", Confidence::High, true),
            ("LT601", Confidence::Medium, true),
            ("LT601", Confidence::Low, false),
            ("LT602", Confidence::High, false),
        ] {
            assert_eq!(all.want(&finding(id, confidence)), wanted, "{id} {confidence:?}");
        }
        for wrong in ["L", "LT9", "no-such-thing", ""] {
            assert!(rules(&[wrong], &[]).expect_err(wrong).text.contains("lowtide causes"), "{wrong}");
        }
    }

    #[test]
    fn what_is_left_out() {
        let rules = rules(&[], &[]).expect("right");
        for (path, left_out) in [("third_party/a/b.py", true), ("./src/x_pb2.py", true), ("src/third.py", false)] {
            assert_eq!(rules.leave_out(Path::new(path)), left_out, "{path}");
        }
        let wrong = Rules::of(&CheckConfig::default(), &[], &[], &["[z-a]".to_owned()]).expect_err("no glob");
        assert!(wrong.text.contains("[z-a]"), "{}", wrong.text);
    }
}

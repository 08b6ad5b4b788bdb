//! What the rules of all causes find in a program.

use lowtide_lint::check::Check;
use lowtide_lint::feeds::Site;

use crate::{Cause, all};

/// A pattern that leaks, and where.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Why it leaks.
    pub cause: &'static Cause,
    /// The statement.
    pub site: Site,
}

/// Applies every rule to the user's own files of a program, in the order of files and lines.
#[must_use]
pub fn check(check: &Check) -> Vec<Finding> {
    let mut found: Vec<Finding> = all()
        .filter_map(|cause| Some((cause, cause.rule?)))
        .flat_map(|(cause, rule)| rule(check).into_iter().map(move |hit| (cause, hit)))
        .map(|(cause, hit)| Finding { cause, site: check.site(hit) })
        .collect();
    found.sort_by(|one, other| (&one.site, one.cause.id).cmp(&(&other.site, other.cause.id)));
    found
}

//! From an object that grows to the statements that add to it.
//!
//! The question is a path of names ([`Holder`]), as it is seen in a process; the answer is statements of the source,
//! ranked, each with what bounds it. A statement is returned only where the source shows that it means this object: by the
//! same name, or by following what the name is given to ([`crate::flow`]). Where there is none, the answer says why, and
//! nothing is made up.

mod answer;
mod asked;
mod bounds;
mod ceiling;
mod containers;
mod context;
mod counted;
mod find;
mod fresh;
mod graph;
mod holder;
mod joined;
mod keys;
mod library;
mod limit;
mod making;
mod ops;
mod positions;
mod rounds;
mod special;
mod target;
mod trimmed;
mod wrapped;

use std::path::PathBuf;

pub use answer::{Answer, Bound, Certainty, Kind, Phase, Site, Statement};
pub(crate) use bounds::site;
pub use containers::{Addition, Containers, innermost_loop, is_inside};
pub use holder::{ClassRef, FunctionRef, Grows, Holder, Root, Step};
pub(crate) use joined::Old;
pub use special::{CYCLE, TEE, cache_limit};

use crate::flow::Flow;
use crate::program::{Files, Models, Program};

/// Statements of one answer, at most.
pub const MAX_STATEMENTS: usize = 20;
/// Characters of a line that are shown.
const MAX_TEXT: usize = 300;

/// Answers for several holders of one program. `entries` are the files that the process was started with, `search` the
/// folders of its `sys.path`; files that the holders name are read, too.
#[must_use]
pub fn feeds(files: &(dyn Files + Sync), entries: &[PathBuf], search: &[PathBuf], holders: &[Holder]) -> Vec<Answer> {
    let mut all: Vec<PathBuf> = entries.to_vec();
    for path in holders.iter().flat_map(Holder::files) {
        if !all.contains(path) {
            all.push(path.clone());
        }
    }
    let program = Program::load(files, &all, search);
    let models = Models::new(&program);
    let flow = Flow::new(&models);
    let finder = find::Finder::new(&flow);
    holders.iter().map(|holder| finder.answer(holder)).collect()
}

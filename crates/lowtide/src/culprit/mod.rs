//! Who is to blame for what grew: from the objects that a look at a process has found, by the names that lead to them, to the
//! lines of the program's own source that add to them.
//!
//! The way is the live heap's ([`lowtide_pyheap::Path`]), the lines are the source's ([`lowtide_lint::feeds`]); [`mod@holder`]
//! puts the one into the words of the other, [`mod@source`] is where the source comes from. Nothing is run or imported, and where
//! no line can be shown, the reason is given in place of one.

mod cause;
mod holder;
mod modules;
mod source;
pub mod words;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use lowtide_lint::feeds::{self, Answer, Bound, Certainty, Kind, Statement};
use lowtide_lint::program::is_library;
use lowtide_pyheap::memory::Memory;
use lowtide_pyheap::types::TypeId;
use lowtide_pyheap::{Census, HolderGrowth, Keyed, ObjectId, Place};

pub use cause::{Seen, cause};
pub use holder::Facts;
use holder::holder;
pub use modules::Modules;
pub use source::Sources;

/// Lines beside the first that are kept.
const OTHERS: usize = 5;
/// Growth by less between two looks is no accusation, however clear its line: healthy programs keep a few numbers for each step.
pub const WORTH: i64 = 64 << 10;
/// Nobody keeps objects of a page and more by the way, or threads and files: their growth counts whatever it is in all.
const HEAVY: i64 = 4096;
/// Why an optimizer's state is none to blame.
const OF_MODULES: &str =
    "its keys are parameters that modules have: it has an entry for each of them, and grows as the model does";

/// Something that grew, and the lines that add to it.
#[derive(Clone, Debug)]
pub struct Culprit {
    /// What grew: the object, the way to it (`path`, also as text), its type, by how much since the look before.
    pub holder: HolderGrowth,
    /// The type of most of what it has, where it is a container.
    pub holds: Option<String>,
    /// What its elements hold of the operating system's, what brings others with it first: threads, files.
    pub opens: Vec<&'static str>,
    /// The most elements that it takes, by what it says itself.
    pub limit: Option<u64>,
    /// The line that adds to it, with what is known of it.
    pub site: Option<Statement>,
    /// Other lines that add to it, the most telling first.
    pub others: Vec<Statement>,
    /// Whether what holds it is a library's own, not the program's.
    pub in_library: bool,
    /// Where the program itself is at the moment: for a library's holder, whose line says little.
    pub near: Option<Near>,
    /// What to think of it.
    pub standing: Standing,
    /// Files of these lines that were changed after the process began: lines may have moved.
    pub changed: Vec<PathBuf>,
}

/// Where a thread is in the program's own source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Near {
    /// The file.
    pub file: PathBuf,
    /// The line.
    pub line: u32,
    /// The function.
    pub function: String,
}

/// What to think of something that grew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A line adds to it again and again, and nothing in the source takes it away: what it grew by stays.
    Culprit,
    /// The same, but the line is told by an attribute's name alone, or what takes away does so under a condition.
    Suspect,
    /// The source keeps it from growing for ever, or what its keys are elements of does.
    Bounded,
    /// No line can be shown, or none that runs again and again. The reason.
    Unknown(String),
}

impl Culprit {
    /// How long it was and is. What is put in its place anew each time may lie where something else was before.
    pub fn length(&self) -> Option<[u64; 2]> {
        let anew = self.site.iter().chain(&self.others).any(|statement| statement.kind == Kind::Rebuilt);
        self.holder.len.filter(|_| !anew).map(|(before, now)| [before, now])
    }

    /// What its elements hold of the operating system's, in words; `None` where nothing.
    pub fn opened(&self) -> Option<String> {
        (!self.opens.is_empty()).then(|| self.opens.join(lowtide_model::OPENS_AND))
    }
}

/// The lines that add to what grew, in the order of `grown` (that of the most bytes), then those of `whole`: containers that may have
/// grown at any time, or never. Reads the program's files, parses them and runs nothing; to be called when the process goes on
/// again. Takes some 10 ms for each MiB of source, so that of the many small containers that libraries have, those that hold less than
/// `least` bytes have no line.
pub fn culprits(facts: Facts, grown: &[HolderGrowth], whole: &[HolderGrowth], least: i64) -> Vec<Culprit> {
    let Facts { sources, census, modules, .. } = facts;
    let is_worth_it = |whole: &HolderGrowth| whole.bytes >= least || !facts.is_librarys(&whole.path);
    let of_whole =
        |whole| if is_worth_it(whole) { holder(&facts, whole) } else { Err("a library has it, and it is small".to_owned()) };
    let of_grown = grown.iter().map(|grown| holder(&facts, grown));
    let questions: Vec<Result<feeds::Holder, String>> = of_grown.chain(whole.iter().map(of_whole)).collect();
    let asked: Vec<feeds::Holder> = questions.iter().flatten().cloned().collect();
    let asks = !asked.is_empty();
    let answers = if asks { feeds::feeds(sources, modules.entries(), modules.search(), &asked) } else { Vec::new() };
    let mut answers = answers.into_iter();
    let near = near(sources, census);
    let each = grown.iter().chain(whole).zip(questions).map(|(grown, question)| {
        let answer = match question {
            Ok(_) => answers.next().unwrap_or_default(),
            Err(reason) => Answer { reason: Some(reason), ..Answer::default() },
        };
        let answer = with_unread(answer);
        let in_library = facts.is_librarys(&grown.path);
        let opens = if grown.path.is_book() { Vec::new() } else { census.opens(grown.id) };
        let mut culprit = culprit(grown.clone(), answer, in_library, opens, sources);
        culprit.limit = census.limit(grown.id);
        if culprit.limit.is_some() {
            // Whatever the source seems to do: what it makes elsewhere, or under conditions, is there.
            culprit.standing = Standing::Bounded;
        }
        match &grown.keyed {
            _ if !matches!(culprit.standing, Standing::Culprit | Standing::Suspect) => {}
            Some(Keyed::Among { len, .. }) => (culprit.standing, culprit.limit) = (Standing::Bounded, *len),
            Some(Keyed::Modules) => culprit.standing = Standing::Unknown(OF_MODULES.to_owned()),
            None => {}
        }
        culprit.limit = culprit.limit.or_else(|| limit(&culprit));
        culprit.holds = grown.len.and_then(|_| holds(census, grown.id));
        culprit.near = near.clone().filter(|_| in_library);
        culprit
    });
    each.collect()
}

/// Tensors that have a graph, by the address of their object.
pub fn graphs(memory: Option<&Memory>) -> HashSet<u64> {
    memory.map(|memory| memory.graphs.held.iter().map(|held| held.python).collect()).unwrap_or_default()
}

/// Where there is no line, a file that was not understood may be the reason.
fn with_unread(mut answer: Answer) -> Answer {
    if let (Some(reason), Some(unread)) = (&mut answer.reason, answer.unread.first()) {
        reason.push_str(&format!("; not read: {unread}"));
    }
    answer
}

fn culprit(holder: HolderGrowth, answer: Answer, in_library: bool, opens: Vec<&'static str>, sources: &Sources) -> Culprit {
    let Answer { mut statements, reason, .. } = answer;
    // `n += 1` makes no tensor and no object of a class any longer.
    let is_text = ["str", "bytes", "bytearray", "tuple"].contains(&holder.kind.as_str());
    statements.retain(|statement| statement.kind != Kind::Extend || holder.len.is_some() || is_text);
    let standing = standing(&holder, !opens.is_empty(), &statements, reason);
    let files: HashSet<&Path> = statements.iter().map(|statement| statement.site.file.as_path()).collect();
    let mut changed: Vec<PathBuf> = files.into_iter().filter(|file| sources.has_changed(file)).map(Path::to_owned).collect();
    changed.sort();
    let mut statements = statements.into_iter();
    let site = statements.next();
    // Beside a line of the program, those of libraries are others' uses of the same name.
    let own = site.as_ref().is_some_and(|site| !site.library);
    let others = statements.filter(|other| !(own && other.library)).take(OTHERS).collect();
    Culprit { holder, holds: None, opens, limit: None, site, others, in_library, near: None, standing, changed }
}

/// How many elements the source lets it have, where every line that adds to it is under a limit, and that has not been passed.
fn limit(culprit: &Culprit) -> Option<u64> {
    let number = |statement: &Statement| match statement.bound {
        Some(Bound::Ceiling(_, number)) => number,
        _ => None,
    };
    let limit = number(culprit.site.as_ref()?)?;
    let all = culprit.others.iter().all(|other| number(other) == Some(limit));
    // What is taken out after it was added has been one too many for a moment.
    let fits = culprit.holder.len.is_none_or(|(_, now)| now <= limit.saturating_add(1));
    (all && limit > 0 && fits && culprit.standing == Standing::Bounded).then_some(limit)
}

fn standing(holder: &HolderGrowth, opens: bool, statements: &[Statement], reason: Option<String>) -> Standing {
    let Some(first) = statements.first() else {
        if holder.path.root == Place::Garbage {
            return Standing::Unknown("the collector is on, as far as the source shows, and will come to them".to_owned());
        }
        return Standing::Unknown(reason.unwrap_or_else(|| "no line of the source adds to it".to_owned()));
    };
    // A local dies with its call: however much it grows until then, that is a peak.
    if first.bound.as_ref().is_some_and(|bound| bound.is_firm() || *bound == Bound::Local) {
        return Standing::Bounded;
    }
    if first.library && first.via.is_empty() {
        return Standing::Unknown("it is a library's own, and no line of the program leads there".to_owned());
    }
    let more = holder.len.map_or(0, |(before, now)| now.saturating_sub(before));
    if !first.repeated && !matches!(first.kind, Kind::CollectorOff | Kind::Cache) && !ran_again(statements, more) {
        return Standing::Unknown("the line that adds to it does not run again and again, as far as the source shows".to_owned());
    }
    if first.kind == Kind::Assigned {
        return Standing::Unknown(
            "it is given a new one each time; that these grow for ever is not to be seen in the source".to_owned(),
        );
    }
    let heavy = more > 0 && (opens || holder.bytes / i64::try_from(more).unwrap_or(i64::MAX) >= HEAVY);
    if holder.bytes < WORTH && !heavy {
        return Standing::Unknown("it grew by too little to matter; looks that are further apart tell more".to_owned());
    }
    let was_empty = holder.len.is_some_and(|(before, _)| before == 0);
    if was_empty && matches!(first.bound, Some(Bound::EmptiedIf(_))) {
        return Standing::Unknown("it was empty at the look before: it is filled and emptied in turns, perhaps".to_owned());
    }
    let maybe = first.bound.is_some() || first.certainty == Certainty::ByName;
    if maybe { Standing::Suspect } else { Standing::Culprit }
}

/// Whether the run itself shows that a line runs again and again, whoever calls it: no other adds to what got several more, and it
/// adds one at a time.
fn ran_again(statements: &[Statement], more: u64) -> bool {
    match statements {
        [only] => more > 1 && matches!(only.kind, Kind::Add | Kind::Item) && only.certainty == Certainty::Traced && !only.library,
        _ => false,
    }
}

/// Whether a line runs again and again, and what it adds stays.
pub fn adds_again(statement: &Statement) -> bool {
    let stays = !statement.bound.as_ref().is_some_and(|bound| bound.is_firm() || *bound == Bound::Local);
    let again = statement.repeated || matches!(statement.kind, Kind::CollectorOff | Kind::Cache);
    let own = !statement.library || !statement.via.is_empty();
    stays && again && own && statement.kind != Kind::Assigned
}

/// The type of most of what a container has.
fn holds(census: &Census, container: ObjectId) -> Option<String> {
    let objects = census.objects();
    let mut counts: HashMap<TypeId, u64> = HashMap::new();
    objects.children(container).for_each(|id| *counts.entry(objects.kind(id)).or_default() += 1);
    // Classes of one name are one.
    let mut by_name: HashMap<&str, u64> = HashMap::new();
    for (kind, count) in counts {
        *by_name.entry(&census.types().get(kind)?.name).or_default() += count;
    }
    let (kind, _) = by_name.into_iter().max_by(|(a, x), (b, y)| x.cmp(y).then(b.cmp(a)))?;
    Some(kind.to_owned())
}

/// Where the main thread is in the program's own source.
fn near(sources: &Sources, census: &Census) -> Option<Near> {
    census.stack(0).into_iter().find_map(|place| {
        let Place::Frame { function, file, line: Some(line), .. } = place else { return None };
        let file = sources.path(&file)?;
        (!is_library(&file)).then_some(Near { file, line, function })
    })
}

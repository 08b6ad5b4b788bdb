//! Puts an answer together: places, what is done to them, bounds, rank.

use ruff_python_ast::Number;

use super::bounds::{Bounds, at, site};
use super::context::Contexts;
use super::holder::{ClassRef, Grows, Holder, Root};
use super::ops::{Op, Ops, name_of};
use super::target::Target;
use super::{Answer, Bound, Certainty, Kind, MAX_STATEMENTS, Statement, graph, library, special};
use crate::flow::{Alias, At, Flow, Place};
use crate::model::{Expr, Model};
use crate::program::FileId;

/// Answers questions about one program.
pub(super) struct Finder<'f, 'p> {
    pub flow: &'f Flow<'p>,
    pub ops: Ops<'p>,
    pub contexts: Contexts,
}

/// A statement and what its rank depends on.
pub(super) struct Ranked {
    pub statement: Statement,
    /// Steps from the holder's own name.
    pub steps: usize,
    /// In a constructor: runs once per object.
    pub in_init: bool,
}

impl<'f, 'p> Finder<'f, 'p> {
    pub fn new(flow: &'f Flow<'p>) -> Self {
        Self { flow, ops: Ops::new(flow), contexts: Contexts::new(flow.models) }
    }

    pub fn answer(&self, holder: &Holder) -> Answer {
        let unread = self.flow.models.program.errors().iter().map(ToString::to_string).collect();
        let mut answer = Answer { unread, ..Answer::default() };
        let found = special::find(self, holder).unwrap_or_else(|| self.named(holder));
        match found {
            Ok(mut found) => {
                rank(&mut found);
                answer.statements = found.into_iter().map(|each| each.statement).take(MAX_STATEMENTS).collect();
                if answer.statements.is_empty() {
                    answer.reason = Some("no statement of the files that were read adds to it by name".to_owned());
                }
            }
            Err(reason) => answer.reason = Some(reason),
        }
        answer
    }

    /// What bounds what has these names.
    pub fn bounds<'a>(&'a self, aliases: &'a [Alias<'p>]) -> Bounds<'a, 'p> {
        Bounds { flow: self.flow, ops: &self.ops, contexts: &self.contexts, aliases, local_of: None }
    }

    /// Statements for a holder that names lead to.
    fn named(&self, holder: &Holder) -> Result<Vec<Ranked>, String> {
        let target = Target::of(self.flow, holder)?;
        let aliases = self.flow.aliases(&target.seeds, true);
        let bounds = Bounds { local_of: target.local_of, ..self.bounds(&aliases) };
        let mut found = match holder.grows {
            Grows::Graph => graph::find(self, &aliases),
            // A longer one in its place each time says more than that there is another one.
            Grows::Value => {
                let mut longer = self.adding(holder, &aliases, Certainty::Traced, &bounds);
                longer.retain(|each| each.statement.kind == Kind::Rebuilt);
                if longer.is_empty() { self.assigned(&aliases, true) } else { longer }
            }
            _ => Vec::new(),
        };
        if found.is_empty() {
            found = self.adding(holder, &aliases, Certainty::Traced, &bounds);
            // A number that is added to is no graph.
            found.retain(|each| holder.grows != Grows::Graph || each.statement.kind != Kind::Extend);
        }
        if found.iter().all(|each| each.in_init && !each.statement.repeated) {
            found.extend(self.by_name(holder, &target));
        }
        if let Some(object) = &target.library {
            library::reach(self, holder, object, &mut found);
        }
        if let Root::Module { name: module, .. } | Root::Class(ClassRef { module, .. }) = &holder.root {
            library::called(self, module, &mut found);
        }
        if found.is_empty() {
            found = self.assigned(&aliases, false);
        }
        // What was put there once gets larger by what is in it.
        if holder.grows == Grows::Value && !found.iter().any(|each| each.statement.repeated) {
            let links = self.links(holder);
            found = if links.is_empty() { found } else { links };
        }
        Ok(found)
    }

    /// What adds to any of these places.
    pub fn adding(&self, holder: &Holder, aliases: &[Alias<'p>], certainty: Certainty, bounds: &Bounds<'_, 'p>) -> Vec<Ranked> {
        // Reading a key that is missing adds it.
        let by_reading = matches!(holder.grows.type_name(), "defaultdict" | "Counter");
        // Setting an item of a list makes it no longer.
        let fixed = matches!(holder.grows.type_name(), "list" | "deque" | "ndarray" | "Tensor" | "array" | "bytearray");
        let mut found = Vec::new();
        for alias in aliases {
            for op in at(&self.ops.adds, alias.at) {
                if is_reader(op) && !by_reading || op.what == Kind::Item && fixed {
                    continue;
                }
                if holder.key.as_ref().is_some_and(|key| op.container.is_some_and(|at| is_under_another(at, key))) {
                    continue;
                }
                let mut ranked = self.ranked(op, alias, certainty);
                ranked.statement.bound =
                    bounds.in_one_process(op).or_else(|| bounds.length().filter(|_| holder.grows == Grows::Places));
                found.push(ranked);
            }
        }
        if by_reading {
            let seeds: Vec<At<'p>> = aliases.iter().map(|alias| At { depth: alias.at.depth + 1, ..alias.at }).collect();
            for alias in self.flow.aliases(&seeds, true) {
                found.extend(at(&self.ops.adds, alias.at).map(|op| self.ranked(op, &alias, certainty)));
            }
        }
        found
    }

    /// What assigns to any of these places. With `repeated`, a value that stays what it was is left out.
    fn assigned(&self, aliases: &[Alias<'p>], repeated: bool) -> Vec<Ranked> {
        let mut found = Vec::new();
        for alias in aliases.iter().filter(|alias| alias.steps == 0) {
            for op in at(&self.ops.assigned, alias.at) {
                if super::fresh::is_fresh(op.what) {
                    continue;
                }
                let kind = if self.wraps(op, alias.at) { Kind::Wrapped } else { Kind::Assigned };
                let ranked = self.ranked(&op.with(kind), alias, Certainty::Traced);
                if repeated || ranked.statement.repeated {
                    found.push(ranked);
                }
            }
        }
        found
    }

    /// Statements on an attribute of this name, where no other class has one.
    fn by_name(&self, holder: &Holder, target: &Target<'p>) -> Vec<Ranked> {
        let Some((name, depth, classes)) = &target.by_name else { return Vec::new() };
        let Some(known) = self.flow.attribute_name(name) else { return Vec::new() };
        let elsewhere: Vec<_> = self.flow.classes_with(known).into_iter().filter(|class| !classes.contains(class)).collect();
        let mut seeds = vec![At { place: Place::Unknown(known), depth: *depth }];
        if classes.is_empty() {
            // Which class is meant is not known: it must be the only one.
            if elsewhere.len() > 1 {
                return Vec::new();
            }
            seeds.extend(elsewhere.iter().map(|class| At { place: Place::Attribute(*class, known), depth: *depth }));
        } else if !elsewhere.is_empty() {
            return Vec::new();
        }
        let aliases = self.flow.aliases(&seeds, true);
        let mut found = self.adding(holder, &aliases, Certainty::ByName, &self.bounds(&aliases));
        // What is emptied is told by the name alone, too.
        for bound in found.iter_mut().filter_map(|each| each.statement.bound.as_mut()) {
            if let Bound::Emptied(site) = bound {
                *bound = Bound::EmptiedIf(site.clone());
            }
        }
        found
    }

    /// A statement with all that is known of it but its bound.
    pub fn ranked(&self, op: &Op<'p, Kind>, alias: &Alias<'p>, certainty: Certainty) -> Ranked {
        let mut ranked = self.described(op, certainty);
        ranked.steps = alias.steps;
        ranked.statement.via = alias.site.iter().map(|(file, offset)| site(self.flow, *file, *offset)).collect();
        ranked
    }

    /// A statement by itself.
    pub fn described(&self, op: &Op<'p, Kind>, certainty: Certainty) -> Ranked {
        let model = self.flow.models.of(op.file);
        let function = model.function_of(op.scope);
        let class = model.method_of(op.scope).map(|(class, _)| model.qualified_name(class));
        let statement = Statement {
            site: site(self.flow, op.file, op.offset),
            kind: op.what,
            function: function.map(|function| model.qualified_name(function)),
            class,
            loops: model.loops(op.block),
            repeated: self.contexts.is_repeated(model, op.file, op.scope, op.block),
            phase: self.contexts.phase(model, op.file, op.scope, op.block),
            certainty,
            bound: None,
            library: self.flow.models.program.in_library(op.file),
            via: Vec::new(),
        };
        let in_init = function.is_some_and(|function| model.scope(function).name() == "__init__");
        Ranked { statement, steps: 0, in_init }
    }
}

/// Whether an expression is an item by a constant key that is not this one: `hist["lr"]` is not `hist["loss"]`.
fn is_under_another(container: &Expr, key: &str) -> bool {
    let by = match container {
        Expr::Subscript(item) => &*item.slice,
        Expr::Call(call) if matches!(name_of(call), Some("get" | "setdefault")) => match call.arguments.args.first() {
            Some(by) => by,
            None => return false,
        },
        _ => return false,
    };
    match by {
        Expr::StringLiteral(by) => {
            let quoted: String = by.value.to_str().chars().flat_map(char::escape_debug).collect();
            // Long keys are cut.
            key.strip_prefix('\'')
                .and_then(|key| key.strip_suffix('\''))
                .is_some_and(|key| !key.ends_with("...") && key != quoted)
        }
        Expr::NumberLiteral(by) => match &by.value {
            Number::Int(by) => key.parse::<i64>().is_ok_and(|key| by.as_i64() != Some(key)),
            _ => false,
        },
        _ => false,
    }
}

/// `d[k]` and the like only read, unless a missing key is made by it.
fn is_reader(op: &Op<'_, Kind>) -> bool {
    op.what == Kind::Item && op.key.is_none()
}

/// The most telling first, each line once.
fn rank(found: &mut Vec<Ranked>) {
    found.sort_by_key(|each| {
        let statement = &each.statement;
        (
            statement.bound.as_ref().is_some_and(Bound::is_firm),
            statement.certainty,
            !statement.repeated,
            each.in_init,
            statement.bound.is_some(),
            each.steps,
            statement.site.clone(),
        )
    });
    let mut seen = std::collections::HashSet::new();
    found.retain(|each| seen.insert((each.statement.site.file.clone(), each.statement.site.line)));
}

impl Holder {
    /// The files that the question itself names.
    pub(super) fn files(&self) -> impl Iterator<Item = &std::path::PathBuf> {
        let root = match &self.root {
            Root::Module { file, .. } => file.as_ref(),
            Root::Frame { file, .. } => Some(file),
            Root::Class(class) | Root::Instance(class) => class.file.as_ref(),
            Root::Closure(function) | Root::Default(function) | Root::LruCache(function) => Some(&function.file),
            Root::Garbage => None,
        };
        let owners = self.path.iter().filter_map(|step| match step {
            super::Step::Attribute { owner: Some(owner), .. } => owner.file.as_ref(),
            _ => None,
        });
        let own = match &self.grows {
            Grows::Container { class: Some(class), .. } => class.file.as_ref(),
            _ => None,
        };
        root.into_iter().chain(owners).chain(own)
    }
}

/// The files of the user's own program.
pub(super) fn users<'p>(flow: &Flow<'p>) -> impl Iterator<Item = (FileId, &'p Model<'p>)> {
    flow.models.iter().filter(|(file, _)| is_users(flow, *file))
}

/// The file of an operation is part of the user's own program.
pub(super) fn is_users(flow: &Flow, file: FileId) -> bool {
    !flow.models.program.in_library(file)
}

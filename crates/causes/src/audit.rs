//! The audit of data sets: every class that can be sent to a device, and whether it then moves its data or only notes where to.

use std::path::PathBuf;

use lowtide_lint::ask::{given, last_name, method, receiver};
use lowtide_lint::check::{Check, Hit, Workers};
use lowtide_lint::feeds::Site;
use lowtide_lint::flow::{ClassId, Place};
use lowtide_lint::model::{BindingKind, Bound, Expr, ExprCall, Ranged, ScopeId};
use lowtide_lint::program::{FileId, Files};
use lowtide_lint::source::SourceError;
use serde::Serialize;

use crate::gpu::dataset_to_device::{attribute_of, moved};
use crate::rules::read_part;

/// Methods by which an object is sent to a device.
const METHODS: &[&str] = &["to", "cuda", "to_device", "move_to", "move_to_device"];

/// A class with such a method.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Audited {
    /// The method.
    pub site: Site,
    /// The class and the method: `Clips.to`.
    pub name: String,
    /// A loader reads it, or it inherits from a data set of torch.
    pub is_data: bool,
    /// Whether its loaders have workers; none where the program makes none.
    pub workers: Option<Workers>,
    /// What the method does.
    pub does: Does,
    /// The attributes that it moves, or in which it notes the device.
    pub attributes: Vec<String>,
    /// How often the program calls it.
    pub calls: usize,
}

/// What a method does that is to send an object to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Does {
    /// It moves what the object holds.
    Moves,
    /// It gives a new object, with what this one holds on the device.
    Copies,
    /// It hands on to another method.
    HandsOn,
    /// It notes the device.
    Notes,
    /// The source does not tell.
    Unclear,
}

impl Does {
    /// In a word or two.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Moves => "moves data",
            Self::Copies => "gives a moved copy",
            Self::HandsOn => "hands on",
            Self::Notes => "notes the device",
            Self::Unclear => "not clear",
        }
    }
}

/// The classes of a tree, those that move data first, with the files that could not be read. Models are left out.
#[must_use]
pub fn datasets(files: &dyn Files, parts: &[&[PathBuf]]) -> (Vec<Audited>, Vec<SourceError>) {
    let (mut all, mut errors) = (Vec::new(), Vec::new());
    for part in parts {
        let (rows, unread) = read_part(files, part, |check, errors| (audit(check), errors));
        all.extend(rows);
        errors.extend(unread);
    }
    all.sort_by(|one: &Audited, other| (one.does, !one.is_data, &one.site).cmp(&(other.does, !other.is_data, &other.site)));
    (all, errors)
}

fn audit(check: &Check) -> Vec<Audited> {
    let mut rows = Vec::new();
    for (file, model) in check.files() {
        for (method, definition) in model.functions().filter(|(_, definition)| METHODS.contains(&definition.name.as_str())) {
            let Some(class) = model.scope(method).parent.filter(|parent| model.scope(*parent).is_class()) else { continue };
            let class = ClassId { file, scope: class };
            if check.autograd.is_module(class) {
                continue;
            }
            let (does, mut attributes) = what_it_does(check, file, class, method);
            attributes.sort();
            attributes.dedup();
            rows.push(Audited {
                site: check.site(&Hit::new(file, definition.name.start())),
                name: model.qualified_name(method),
                is_data: check.is_read_by_loader(class),
                workers: check.workers_of(class),
                does,
                attributes,
                calls: calls_of(check, file, method),
            });
        }
    }
    rows
}

/// Calls that mean this method for certain: other classes have one of the same name.
fn calls_of(check: &Check, file: FileId, method: ScopeId) -> usize {
    let calls = check.callers(file, method).into_iter();
    calls.filter(|(from, call)| check.flow.callee(*from, call.scope, &call.call.func) == Some((file, method))).count()
}

fn what_it_does(check: &Check, file: FileId, class: ClassId, function: ScopeId) -> (Does, Vec<String>) {
    let model = check.flow.models.of(file);
    let (mut moves, mut notes) = (Vec::new(), Vec::new());
    for assign in
        model.assigns.iter().filter(|assign| model.function_of(assign.scope) == Some(function) && assign.how == Bound::Whole)
    {
        let Some(attribute) = attribute_of(check, file, class, assign.scope, assign.target) else { continue };
        if moved(check, file, assign.scope, assign.value, true) {
            moves.push(attribute.to_owned());
        } else if is_device(check, file, assign.scope, assign.value) {
            notes.push(attribute.to_owned());
        }
    }
    let calls: Vec<_> = model.calls.iter().filter(|call| model.function_of(call.scope) == Some(function)).collect();
    let sends = |name: Option<&str>| name.is_some_and(|name| METHODS.contains(&name) || matches!(name, "apply" | "_apply"));
    let returned = model.results.iter().any(|result| {
        result.scope == function
            && calls.iter().any(|call| result.value.range().contains_range(call.call.range()) && is_moved(call.call))
    });
    // `setattr(self, name, value.to(device))`
    let all = calls.iter().any(|call| match &*call.call.arguments.args {
        [object, _, value] if last_name(&call.call.func) == Some("setattr") => {
            check.flow.own_class(file, call.scope, object) == Some(class) && moved(check, file, call.scope, value, true)
        }
        _ => false,
    });
    match () {
        () if !moves.is_empty() || all => (Does::Moves, moves),
        () if returned || gives_moved(check, file, function) => (Does::Copies, Vec::new()),
        () if calls.iter().any(|call| sends(last_name(&call.call.func))) => (Does::HandsOn, notes),
        () if !notes.is_empty() => (Does::Notes, notes),
        () => (Does::Unclear, Vec::new()),
    }
}

/// Whether a method gives an object whose attributes it has moved: `other.rows = self.rows.to(device); return other`.
fn gives_moved(check: &Check, file: FileId, function: ScopeId) -> bool {
    let model = check.flow.models.of(file);
    let is_given = |name: &str| {
        model.returned(function).any(|result| matches!(result.value, Expr::Name(each) if each.id.as_str() == name))
            && model.scope(function).bindings(name).iter().any(|binding| matches!(binding.kind, BindingKind::Value))
    };
    model.assigns.iter().any(|assign| {
        let Expr::Attribute(target) = assign.target else { return false };
        model.function_of(assign.scope) == Some(function)
            && matches!(&*target.value, Expr::Name(name) if is_given(name.id.as_str()))
            && moved(check, file, assign.scope, assign.value, true)
    })
}

/// A call of `to` or `cuda` on something, not on what is inherited.
fn is_moved(call: &ExprCall) -> bool {
    matches!(method(call), Some("to" | "cuda")) && receiver(call).is_some_and(|on| !is_super(on))
}

fn is_super(on: &Expr) -> bool {
    matches!(on, Expr::Call(call) if last_name(&call.func) == Some("super"))
}

/// A parameter, `torch.device(...)` of one, or a text.
fn is_device<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, value: &'p Expr) -> bool {
    match value {
        Expr::StringLiteral(_) => true,
        Expr::Call(call) => last_name(&call.func) == Some("device") && given(call).count() > 0,
        Expr::Name(_) => check.flow.places(file, scope, value).into_iter().any(|at| match at.place {
            Place::Variable(of, owner, name) => {
                let bindings = check.flow.models.of(of).scope(owner).bindings(name);
                bindings.iter().any(|binding| matches!(binding.kind, BindingKind::Parameter { .. }))
            }
            _ => false,
        }),
        _ => false,
    }
}

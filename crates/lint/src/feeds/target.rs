//! From a holder's path of names to the places in the source that it means.

use std::path::Path;

use super::holder::{ClassRef, FunctionRef, Grows, Holder, Root, Step};
use crate::flow::{At, ClassId, Flow, Place};
use crate::model::{BindingKind, ScopeId, ScopeKind};
use crate::program::FileId;

/// What a holder means in the source.
#[derive(Debug, Default)]
pub(super) struct Target<'p> {
    /// Where the container lies.
    pub seeds: Vec<At<'p>>,
    /// The attribute's name, where it may be looked for by name alone: with the classes that are known to have it.
    pub by_name: Option<(String, u32, Vec<ClassId>)>,
    /// The place of the library's object that holds it, where the holder is a library's attribute.
    pub library: Option<Library<'p>>,
    /// The function whose locals the container is one of.
    pub local_of: Option<(FileId, ScopeId)>,
}

/// An object of a library that holds what grows.
#[derive(Debug)]
pub(super) struct Library<'p> {
    /// The user's places of the object.
    pub seeds: Vec<At<'p>>,
    /// Its class.
    pub class: Option<ClassRef>,
    /// The attribute that grows.
    pub attribute: String,
    /// How many items below it.
    pub depth: u32,
}

impl<'p> Target<'p> {
    /// Finds the places.
    ///
    /// # Errors
    /// One sentence, where a name of the path is not in the source.
    pub fn of(flow: &Flow<'p>, holder: &Holder) -> Result<Self, String> {
        let named = holder.path.iter().rposition(|step| *step != Step::Item);
        let mut target = match named {
            Some(at) => named_target(flow, holder, at)?,
            None => unnamed_target(flow, holder)?,
        };
        // A class of the program that is a container itself adds to itself in its methods.
        if let Grows::Container { class: Some(class), .. } = &holder.grows
            && let Some(class) = find_class(flow, class)
        {
            target
                .seeds
                .extend(flow.classes.ancestors(class).iter().map(|class| At { place: Place::Instance(*class), depth: 0 }));
        }
        Ok(target)
    }
}

fn unnamed_target<'p>(flow: &Flow<'p>, holder: &Holder) -> Result<Target<'p>, String> {
    match &holder.root {
        // Which default it is is not known: every parameter that has one.
        Root::Default(function) => {
            let (file, scope) = function_ref(flow, function)?;
            let parameters = flow.models.of(file).scope(scope).names.iter().filter(|(_, bindings)| {
                bindings.iter().any(|each| matches!(each.kind, BindingKind::Parameter { default: Some(_), .. }))
            });
            let seeds = parameters.map(|(name, _)| At { place: Place::Variable(file, scope, name), depth: 0 }).collect();
            Ok(Target { seeds, ..Target::default() })
        }
        // A container of a class of its own has that class, at least.
        Root::Garbage | Root::Instance(_) => Ok(Target::default()),
        _ => Err("nothing that has a name in the source leads to it".to_owned()),
    }
}

fn named_target<'p>(flow: &Flow<'p>, holder: &Holder, at: usize) -> Result<Target<'p>, String> {
    let depth = u32::try_from(holder.path.len() - at - 1).unwrap_or(u32::MAX);
    match &holder.path[at] {
        Step::Name(name) if at == 0 => {
            let (place, local_of) = variable(flow, &holder.root, name)?;
            Ok(Target { seeds: vec![At { place, depth }], local_of, ..Target::default() })
        }
        Step::Name(name) => Err(format!("the name `{name}` in the middle of a path is no variable")),
        Step::Attribute { name, owner } => {
            let owner = owner.as_ref().or_else(|| owner_by_root(holder, at));
            attribute_target(flow, holder, at, name, owner, depth)
        }
        Step::Item => Err("nothing that has a name in the source leads to it".to_owned()),
    }
}

/// The class that the root itself says the first step belongs to.
fn owner_by_root(holder: &Holder, at: usize) -> Option<&ClassRef> {
    match &holder.root {
        Root::Class(class) | Root::Instance(class) if at == 0 => Some(class),
        _ => None,
    }
}

fn attribute_target<'p>(
    flow: &Flow<'p>,
    holder: &Holder,
    at: usize,
    name: &str,
    owner: Option<&ClassRef>,
    depth: u32,
) -> Result<Target<'p>, String> {
    let class = owner.and_then(|owner| find_class(flow, owner)).or_else(|| class_by_path(flow, holder, at));
    if let Some(class) = class {
        let line = flow.classes.ancestors(class);
        let seeds = line.iter().filter_map(|class| attribute_of(flow, *class, name)).map(|place| At { place, depth });
        let mut target =
            Target { seeds: seeds.collect(), by_name: Some((name.to_owned(), depth, line.to_vec())), ..Target::default() };
        if line.iter().all(|class| flow.models.program.in_library(class.file)) {
            target.library = library_object(flow, holder, at, name, owner);
        }
        return Ok(target);
    }
    if let Some(library) = library_object(flow, holder, at, name, owner) {
        let by_name = owner.is_none().then(|| (name.to_owned(), depth, Vec::new()));
        return Ok(Target { library: Some(library), by_name, ..Target::default() });
    }
    if owner.is_none() {
        return Ok(Target { by_name: Some((name.to_owned(), depth, Vec::new())), ..Target::default() });
    }
    let owner = owner.map_or("an unknown class", |owner| &owner.name);
    Err(format!("the class `{owner}`, whose attribute `{name}` it is, is in none of the files that were read"))
}

/// The attribute's place with the name as it stands in the source.
fn attribute_of<'p>(flow: &Flow<'p>, class: ClassId, name: &str) -> Option<Place<'p>> {
    flow.attribute_name(name).map(|name| Place::Attribute(class, name))
}

/// The class of the object that has the last attribute, by the variable that the path begins with.
fn class_by_path(flow: &Flow, holder: &Holder, at: usize) -> Option<ClassId> {
    let Step::Name(name) = holder.path.first()? else { return None };
    let (place, _) = variable(flow, &holder.root, name).ok()?;
    let mut class = flow.class_at(place, holder.path.get(1) == Some(&Step::Item))?;
    for step in holder.path.get(1..at)? {
        if let Step::Attribute { name, .. } = step {
            class = flow.class_of_attribute_of(class, name)?;
        }
    }
    Some(class)
}

/// The user's places of the object whose attribute it is.
fn library_object<'p>(flow: &Flow<'p>, holder: &Holder, at: usize, name: &str, class: Option<&ClassRef>) -> Option<Library<'p>> {
    let depth = u32::try_from(holder.path.len() - at - 1).unwrap_or(u32::MAX);
    let before = holder.before(at);
    let seeds = if at == 0 { Vec::new() } else { Target::of(flow, &before).ok()?.seeds };
    if seeds.is_empty() && class.is_none() {
        return None;
    }
    Some(Library { seeds, class: class.cloned(), attribute: name.to_owned(), depth })
}

type Local = Option<(FileId, ScopeId)>;

/// The place of the variable that a path begins with, and whose local it is.
fn variable<'p>(flow: &Flow<'p>, root: &Root, name: &str) -> Result<(Place<'p>, Local), String> {
    let (file, scope, local) = match root {
        Root::Module { name: module, file } => (module_file(flow, module, file.as_deref())?, ScopeId::MODULE, false),
        Root::Frame { file, function, line } => {
            let reference = FunctionRef { file: file.clone(), name: function.clone(), line: *line };
            let (file, scope) = function_ref(flow, &reference)?;
            (file, scope, scope != ScopeId::MODULE)
        }
        Root::Closure(function) | Root::Default(function) => {
            let (file, scope) = function_ref(flow, function)?;
            (file, scope, false)
        }
        Root::Class(class) => {
            let class = find_class(flow, class)
                .ok_or_else(|| format!("the class `{}` is in none of the files that were read", class.name))?;
            (class.file, class.scope, false)
        }
        _ => return Err(format!("`{name}` is no variable")),
    };
    let model = flow.models.of(file);
    // An imported object is the other file's.
    let imported = flow.models.named(file, scope, &[name]).filter(|(to, ..)| *to != file);
    if let Some((to, owner, name)) = imported {
        return Ok((flow.variable(to, owner, name), None));
    }
    let unbound = || format!("{} binds no variable `{name}` there", model.source.path().display());
    let owner = model.owner(scope, name).ok_or_else(unbound)?;
    let names = &model.scope(owner).names;
    let (name, _) = names.get_key_value(name).ok_or_else(|| format!("no variable `{name}`"))?;
    Ok((flow.variable(file, owner, name), local.then_some((file, owner))))
}

/// The file of a module: by its path, or by the end of its path where the process sees another tree than we do.
fn module_file(flow: &Flow, module: &str, file: Option<&Path>) -> Result<FileId, String> {
    if let Some(found) = file.and_then(|file| flow.models.program.by_path(file)) {
        return Ok(found);
    }
    let relative = module.replace('.', "/");
    let ends = [format!("{relative}.py"), format!("{relative}/__init__.py")];
    let found = flow.models.iter().find(|(_, model)| ends.iter().any(|end| model.source.path().ends_with(end)));
    found.map(|(file, _)| file).ok_or_else(|| match file {
        Some(file) => format!("{} was not read", file.display()),
        None => format!("no file is known for the module `{module}`"),
    })
}

/// The scope of a function: by its qualified name, else by its name and line.
pub(super) fn function_ref(flow: &Flow, function: &FunctionRef) -> Result<(FileId, ScopeId), String> {
    let file = flow.models.program.by_path(&function.file).ok_or_else(|| format!("{} was not read", function.file.display()))?;
    let model = flow.models.of(file);
    if function.name == "<module>" {
        return Ok((file, ScopeId::MODULE));
    }
    let all = || model.scopes.iter().zip(0..).map(|(scope, id)| (ScopeId(id), scope));
    let exact: Vec<ScopeId> =
        all().filter(|(id, scope)| !scope.is_class() && model.qualified_name(*id) == function.name).map(|(id, _)| id).collect();
    let bare = function.name.rsplit('.').next().unwrap_or(&function.name);
    let same: Vec<ScopeId> = if exact.is_empty() {
        all().filter(|(_, scope)| !scope.is_class() && scope.name() == bare).map(|(id, _)| id).collect()
    } else {
        exact
    };
    let within = |id: &ScopeId| {
        function.line.is_some_and(|line| lines_of(flow, file, *id).is_some_and(|(first, last)| (first..=last).contains(&line)))
    };
    // The innermost of those around the line.
    let found =
        same.iter().rfind(|id| within(id)).or_else(|| same.first().filter(|_| same.len() == 1 || function.line.is_none()));
    found
        .map(|id| (file, *id))
        .ok_or_else(|| format!("{} has no function `{}` at that line", function.file.display(), function.name))
}

fn lines_of(flow: &Flow, file: FileId, scope: ScopeId) -> Option<(usize, usize)> {
    let model = flow.models.of(file);
    let range = match model.scope(scope).kind {
        ScopeKind::Function(function) => function.range,
        ScopeKind::Lambda(lambda) => lambda.range,
        _ => return None,
    };
    Some((model.source.place(range.start()).line, model.source.place(range.end()).line))
}

/// The class of the program that a reference means.
pub(super) fn find_class(flow: &Flow, class: &ClassRef) -> Option<ClassId> {
    let bare = class.name.rsplit('.').next().unwrap_or(&class.name);
    let file = module_file(flow, &class.module, class.file.as_deref()).ok();
    let mut found = None;
    for candidate in flow.classes.iter() {
        let model = flow.models.of(candidate.file);
        if file.is_some_and(|file| file != candidate.file) || model.scope(candidate.scope).name() != bare {
            continue;
        }
        if model.qualified_name(candidate.scope) == class.name {
            return Some(candidate);
        }
        found = Some(candidate);
    }
    // Without a file, a name alone must be the module's, too.
    found.filter(|_| file.is_some())
}

//! From what is known of a culprit to its cause in the catalogue.

use lowtide_causes::{Cause, Class, Container, Live, Memory, RootKind, matching};
use lowtide_model::ObjectGrown;
use lowtide_pyheap::{Place, StepName};

use super::{Culprit, Standing};

/// Whose functions they are.
const COMPILER: &str = "torch._dynamo";
/// Beginnings of the names by which `torch.compile` files its functions among a program's own (torch 2).
const COMPILED: [&str; 2] = ["__compiled_fn_", "__resume_at_"];

/// The cause that fits best, of somebody who is to blame. `objects`: what became more there.
pub fn cause(culprit: &Culprit, objects: &[ObjectGrown]) -> Option<&'static Cause> {
    // No line of the program adds to what torch compiles.
    if !matches!(culprit.standing, Standing::Culprit | Standing::Suspect) && owner(culprit) != COMPILER {
        return None;
    }
    matching(&live(culprit, objects)).first().map(|found| found.cause)
}

fn live(culprit: &Culprit, objects: &[ObjectGrown]) -> Live {
    let (growth, statement) = (&culprit.holder, culprit.site.as_ref());
    let tensors = objects.first().is_some_and(|object| !object.device.is_empty());
    let graph = objects.iter().any(|object| object.grad_fn);
    // A tensor that grows by its history alone: no container has more in it.
    let chain = growth.len.is_none() && growth.kind.ends_with("Tensor");
    Live {
        kind: match (chain, tensors, objects.is_empty()) {
            (true, _, _) => Memory::Graph,
            (_, true, _) => Memory::Tensors,
            (_, _, false) => Memory::Objects,
            _ => Memory::Unknown,
        },
        class: Some(Class::Leak),
        phase: statement.and_then(|statement| statement.phase),
        container: growth.len.map(|_| container(&growth.kind)),
        root: root(culprit),
        owner: owner(culprit),
        // Most elements of a list of closures are functions, most bytes are what they hold.
        objects: objects.iter().map(|object| object.kind.clone()).chain(culprit.holds.clone()).collect(),
        grad_fn: graph,
        on_gpu: objects.iter().any(|object| object.device.starts_with("cuda")),
        statement: statement.map(|statement| statement.kind),
        ..Live::default()
    }
}

fn container(kind: &str) -> Container {
    match kind.rsplit('.').next().unwrap_or(kind) {
        "list" => Container::List,
        "dict" | "defaultdict" | "OrderedDict" | "Counter" => Container::Dict,
        "set" => Container::Set,
        "deque" => Container::Deque,
        _ => Container::Other,
    }
}

fn root(culprit: &Culprit) -> Option<RootKind> {
    let path = &culprit.holder.path;
    for step in path.steps.iter().rev() {
        match step.name {
            StepName::Closure(_) => return Some(RootKind::Closure),
            StepName::Default(_) => return Some(RootKind::Default),
            _ => {}
        }
    }
    match path.root {
        Place::Module { .. } => Some(RootKind::Module),
        Place::Frame { .. } => Some(RootKind::Local),
        Place::Type => Some(RootKind::Class),
        Place::Garbage => Some(RootKind::Garbage),
        _ => None,
    }
}

/// The type whose attribute it is, else the module.
fn owner(culprit: &Culprit) -> String {
    let path = &culprit.holder.path;
    let compiled =
        |name: &StepName| matches!(name, StepName::Variable(name) if COMPILED.iter().any(|begin| name.starts_with(begin)));
    if path.steps.iter().any(|step| compiled(&step.name)) {
        return COMPILER.to_owned();
    }
    let above = path.steps.len().checked_sub(2).map(|at| path.steps[at].kind.clone());
    above.unwrap_or_else(|| match &path.root {
        Place::Module { name, .. } => name.clone(),
        _ => String::new(),
    })
}

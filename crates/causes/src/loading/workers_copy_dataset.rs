//! LT401: DataLoader workers copy the data set page by page.

use crate::{Cause, Fix, Language, Live, Role, Severity};
use lowtide_lint::ask::{given, last_name, method, receiver};
use lowtide_lint::check::{Check, Confidence, Hit, Workers};
use lowtide_lint::flow::{At, Place};
use lowtide_lint::model::{Bound, Comprehension, Expr, ExprCall, Ranged, ScopeId};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT401",
    name: "workers-copy-dataset",
    title: "DataLoader workers copy the data set page by page",
    severity: Severity::Bounded,
    happens: "The data set holds many Python objects (a list of paths, of dicts), and workers read it.",
    keeps: "Workers are forked and share the parent's pages at first. Reading a Python object writes its reference \
                count, and the kernel copies the page: every worker ends with a copy of its own.",
    shows: "Private memory of each worker climbs during the first epoch, and stops at the size of the data set per \
                worker. PSS shows it, RSS hides it.",
    fix: Fix {
        text: "Hold the samples in one array: numpy, torch, pyarrow, or a file that is mapped. Fewer workers cost \
                   less.",
        language: Language::Python,
        before: r#"self.samples = [(path, label) for path, label in index]"#,
        after: r#"self.paths = numpy.array([path for path, label in index])
self.labels = numpy.array([label for path, label in index])"#,
    },
    harmless: "It is bounded by data set times workers: no leak if that fits.",
    sources: &[
        "https://github.com/pytorch/pytorch/issues/13246",
        "https://docs.pytorch.org/docs/stable/data.html",
        "zoo/16_worker_cow.py",
    ],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.role == Some(Role::Worker) && live.statement.is_none()).then_some(70)
}

/// Names, calls and containers that are looked through from an attribute to how its list is made.
const MAX_LOOKS: usize = 6;

/// An attribute from which `__getitem__` takes its samples, that is given a list or dictionary of as many Python objects as there
/// are samples, in a data set that a loader with workers reads.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits: Vec<Hit> = Vec::new();
    let own = |file: FileId| check.files().any(|(own, _)| own == file);
    for class in check.flow.classes.iter().filter(|class| own(class.file) && check.is_read_by_loader(*class)) {
        let confidence = match check.workers_of(class) {
            Some(Workers::None) => continue,
            Some(Workers::Unknown | Workers::Some) => Confidence::Medium,
            None => Confidence::Low,
        };
        for name in check.sample_attributes(class) {
            let places = check.flow.classes.ancestors(class).iter().map(|class| Place::Attribute(*class, name));
            let assigned: Vec<_> = places.flat_map(|place| check.flow.assigned(place).copied().collect::<Vec<_>>()).collect();
            // What some caller gives tells little of what all do.
            let find = |callers| {
                assigned.iter().copied().find(|(file, assign)| {
                    assign.how == Bound::Whole
                        && own(*file)
                        && (holds_objects(check, *file, assign.scope, assign.value, MAX_LOOKS, callers)
                            || is_filled(check, *file, assign.scope, assign.target))
                })
            };
            let (of_objects, confidence) = match find(false) {
                Some(found) => (Some(found), confidence),
                None => (find(true), Confidence::Low),
            };
            let Some((file, assign)) = of_objects else { continue };
            let what = format!(
                "`self.{name}` is a list of Python objects that workers read: each comes to have a copy of its own, page by page"
            );
            let hit = Hit::new(file, assign.target.start()).saying(what).with(confidence);
            match hits.iter_mut().find(|other| (other.file, other.offset) == (hit.file, hit.offset)) {
                Some(other) => other.confidence = other.confidence.max(confidence),
                None => hits.push(hit),
            }
        }
    }
    hits
}

/// Whether a value is a list or dictionary of many Python objects.
fn holds_objects<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, value: &'p Expr, looks: usize, callers: bool) -> bool {
    let Some(looks) = looks.checked_sub(1) else { return false };
    let inner = |value: &'p Expr| holds_objects(check, file, scope, value, looks, callers);
    let made = |element: &'p Expr, generators: &'p [Comprehension]| {
        generators.iter().any(|generator| check.is_long(file, scope, &generator.iter)) && is_object(check, file, scope, element)
    };
    match value {
        Expr::ListComp(each) => made(&each.elt, &each.generators),
        Expr::Generator(each) => made(&each.elt, &each.generators),
        // Mostly a map of the few labels that there are.
        Expr::DictComp(each) => callers && made(&each.value, &each.generators),
        Expr::Subscript(item) => inner(&item.value),
        Expr::BinOp(each) => inner(&each.left) || inner(&each.right),
        Expr::If(each) => inner(&each.body) || inner(&each.orelse),
        Expr::BoolOp(each) => each.values.iter().any(inner),
        Expr::Call(call) => {
            let name = check.flow.models.of(file).full_name(scope, &call.func);
            match name.as_deref() {
                Some("list" | "sorted" | "tuple" | "reversed" | "dict" | "random.sample") => given(call).any(inner),
                Some(
                    "json.load" | "json.loads" | "glob.glob" | "os.listdir" | "csv.reader" | "csv.DictReader" | "yaml.safe_load",
                ) => true,
                _ => match method(call) {
                    Some("readlines" | "splitlines" | "tolist" | "to_dict" | "iterdir" | "rglob" | "glob") => {
                        check.flow.callee(file, scope, &call.func).is_none()
                    }
                    Some("items" | "values" | "keys" | "copy" | "get") => receiver(call).is_some_and(inner),
                    _ => false,
                },
            }
        }
        Expr::Name(_) => {
            let others = if callers { given_by_callers(check, file, scope, value) } else { Vec::new() };
            is_filled(check, file, scope, value)
                || check
                    .values(file, scope, value)
                    .into_iter()
                    .chain(others)
                    .any(|(file, scope, value)| holds_objects(check, file, scope, value, looks, callers))
        }
        _ => false,
    }
}

fn given_by_callers<'p>(
    check: &Check<'_, 'p>,
    file: FileId,
    scope: ScopeId,
    value: &'p Expr,
) -> Vec<(FileId, ScopeId, &'p Expr)> {
    check.flow.places(file, scope, value).into_iter().filter(|at| at.depth == 0).flat_map(|at: At| check.given_to(at)).collect()
}

/// Whether a loop that may be long appends objects to it.
fn is_filled<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, container: &'p Expr) -> bool {
    let places = check.flow.places(file, scope, container);
    let model = check.flow.models.of(file);
    if places.is_empty() || model.calls.is_empty() {
        return false;
    }
    check.puts(file, model).into_iter().any(|put| {
        put.key.is_none()
            && check.long_loop(file, put.block).is_some()
            && check.flow.places(file, put.scope, put.container).iter().any(|at| places.contains(at))
            && check.makes_samples(file, put.scope).is_none()
            && is_object(check, file, put.scope, put.value)
            && !check.value(file, put.scope, put.block, put.value).is_data()
    })
}

/// No tensor and no array, which have one object for many numbers, and nothing that is opened.
fn is_object<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, element: &'p Expr) -> bool {
    let parts: &'p [Expr] = if let Expr::Tuple(tuple) = element { &tuple.elts } else { std::slice::from_ref(element) };
    let block = check.flow.models.of(file).scope(scope).block;
    let is_data = |part: &'p Expr| {
        let by_call = |call: &ExprCall| {
            last_name(&call.func).is_some_and(|name| GIVE_DATA.contains(&name))
                || method(call).is_some_and(|name| STAY_DATA.contains(&name))
        };
        matches!(part, Expr::Call(call) if by_call(call)) || check.value(file, scope, block, part).is_data()
    };
    !element.is_none_literal_expr()
        && !parts.iter().any(is_data)
        && !super::frame_cache_per_reader::is_reader(check, file, scope, element)
        // A few data sets in one.
        && check.flow.class_of(file, scope, element).is_none_or(|class| check.flow.method(class, "__getitem__").is_none())
}

/// Functions that give tensors and arrays.
const GIVE_DATA: &[&str] = &["array", "as_tensor", "asarray", "from_numpy", "load", "tensor"];
/// Methods of tensors that give tensors.
const STAY_DATA: &[&str] = &["clone", "cuda", "detach", "float", "half", "numpy", "to"];

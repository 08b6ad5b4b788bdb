//! LT401: DataLoader workers copy the data set page by page.

use super::dataset_parts::{is_loaded, is_one_array, of_arrays, parts_are_asked_for};
use crate::{Cause, Fix, Language, Live, Role, Severity};
use lowtide_lint::ask::{given, last_name, method, names_in, receiver};
use lowtide_lint::check::{Check, Confidence, Hit, Workers};
use lowtide_lint::flow::{At, Place};
use lowtide_lint::model::{Assign, Bound, Comprehension, Expr, ExprCall, Number, Operator, Ranged, ScopeId};
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
/// So many objects take some megabytes for each worker.
const MANY: i64 = 10_000;

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
            if assigned.iter().any(|(file, assign)| is_one_array(check, *file, assign)) {
                continue;
            }
            // What some caller gives tells little of what all do, and what is not seen may be anything.
            let find = |lenient| {
                assigned.iter().copied().find(|(file, assign)| {
                    assign.how == Bound::Whole
                        && own(*file)
                        && (holds_objects(check, *file, assign.scope, assign.value, MAX_LOOKS, lenient)
                            || is_filled(check, *file, assign.scope, assign.target, lenient))
                })
            };
            let own_assigns = || assigned.iter().copied().filter(|(file, assign)| assign.how == Bound::Whole && own(*file));
            let by_workers = confidence;
            let (of_objects, confidence) = match find(false) {
                Some(found) if check.has_all_samples(class, name) || is_of_many(check, found) => (Some(found), confidence),
                _ => match own_assigns()
                    .find(|(file, assign)| is_loaded(check, *file, assign) && parts_are_asked_for(check, class, name))
                {
                    Some(found) => (Some(found), confidence),
                    None => (find(true), Confidence::Low),
                },
            };
            if of_objects.is_none()
                && let Some((found, nested)) = own_assigns().find_map(|found| Some((found, of_arrays(check, found)?)))
            {
                let what = format!(
                    "`self.{name}` is a list of arrays that workers read: the object in front of each is written to, and the pages around it copied"
                );
                let confidence = if nested && check.has_all_samples(class, name) { by_workers } else { Confidence::Low };
                hits.push(Hit::new(found.0, found.1.target.start()).saying(what).with(confidence));
            }
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
fn holds_objects<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, value: &'p Expr, looks: usize, lenient: bool) -> bool {
    let Some(looks) = looks.checked_sub(1) else { return false };
    let inner = |value: &'p Expr| holds_objects(check, file, scope, value, looks, lenient);
    let made = |element: &'p Expr, generators: &'p [Comprehension]| {
        generators.iter().any(|generator| check.is_long(file, scope, &generator.iter))
            && is_object(check, file, scope, element)
            && (lenient || is_sure(check, file, scope, element, generators, MAX_LOOKS))
    };
    match value {
        Expr::ListComp(each) => made(&each.elt, &each.generators),
        Expr::Generator(each) => made(&each.elt, &each.generators),
        // Mostly a map of the few labels that there are.
        Expr::DictComp(each) => lenient && made(&each.value, &each.generators),
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
                    // A function of the program that puts the list together.
                    _ => check.flow.callee(file, scope, &call.func).is_some_and(|(of, function)| {
                        let model = check.flow.models.of(of);
                        let made = check.flow.models.class(file, scope, &call.func).is_some();
                        let mut results = model.returned(function).take(MAX_LOOKS);
                        !made && results.any(|result| holds_objects(check, of, result.scope, result.value, looks, lenient))
                    }),
                },
            }
        }
        Expr::Name(_) => {
            let given = given_by_callers(check, file, scope, value);
            let holds =
                |(file, scope, value): (FileId, ScopeId, &'p Expr)| holds_objects(check, file, scope, value, looks, lenient);
            is_filled(check, file, scope, value, lenient)
                || check.values(file, scope, value).into_iter().any(holds)
                // What one caller gives tells little of what others do.
                || if lenient { given.into_iter().any(holds) } else { !given.is_empty() && given.into_iter().all(holds) }
        }
        _ => false,
    }
}

/// Whether the source says that a list is long: it counts to a large number, or to a multiple of one.
fn is_of_many<'p>(check: &Check<'_, 'p>, (file, assign): (FileId, &'p Assign<'p>)) -> bool {
    let Expr::ListComp(list) = assign.value else { return false };
    list.generators.iter().any(|generator| {
        let Expr::Call(range) = &generator.iter else { return false };
        last_name(&range.func) == Some("range")
            && range.arguments.args.iter().any(|end| {
                let by_name = end.is_name_expr().then(|| check.only_value(file, assign.scope, end)).flatten();
                has_large_number(by_name.map_or(end, |(_, value)| value), MAX_LOOKS)
            })
    })
}

fn has_large_number(value: &Expr, looks: usize) -> bool {
    let Some(looks) = looks.checked_sub(1) else { return false };
    match value {
        Expr::NumberLiteral(literal) => match &literal.value {
            Number::Int(number) => number.as_i64().is_none_or(|number| number >= MANY),
            _ => false,
        },
        Expr::BinOp(each) if each.op == Operator::Mult => {
            has_large_number(&each.left, looks) || has_large_number(&each.right, looks)
        }
        Expr::Call(call) if last_name(&call.func) == Some("int") => {
            call.arguments.args.iter().any(|of| has_large_number(of, looks))
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
fn is_filled<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, container: &'p Expr, lenient: bool) -> bool {
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
            && (lenient || is_sure(check, file, put.scope, put.value, &[], MAX_LOOKS))
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

/// Whether the source shows that an element is a Python object: a text, a dictionary, a list, an instance of a class, or what
/// was read from a file that gives such.
fn is_sure<'p>(
    check: &Check<'_, 'p>,
    file: FileId,
    scope: ScopeId,
    element: &'p Expr,
    around: &'p [Comprehension],
    looks: usize,
) -> bool {
    let Some(looks) = looks.checked_sub(1) else { return false };
    let inner = |element: &'p Expr| is_sure(check, file, scope, element, around, looks);
    match element {
        Expr::Dict(_) | Expr::List(_) | Expr::Tuple(_) | Expr::Set(_) | Expr::ListComp(_) | Expr::DictComp(_) => true,
        Expr::StringLiteral(_) | Expr::FString(_) => true,
        Expr::BinOp(each) => inner(&each.left) || inner(&each.right),
        Expr::If(each) => inner(&each.body) || inner(&each.orelse),
        Expr::Subscript(item) => is_read(check, file, scope, &item.value, around, looks),
        Expr::Call(call) => {
            let name = check.flow.models.of(file).full_name(scope, &call.func);
            name.is_some_and(|name| MAKE_OBJECTS.contains(&name.as_str()))
                || method(call).is_some_and(|name| GIVE_TEXT.contains(&name))
                || check.flow.class_of(file, scope, element).is_some()
        }
        Expr::Name(_) => {
            let places = check.flow.places(file, scope, element);
            let mut given = places.iter().filter(|at| at.depth == 0).flat_map(|at| check.flow.assigned(at.place));
            is_read(check, file, scope, element, around, looks)
                || given.any(|(file, assign)| {
                    matches!(assign.how, Bound::Whole | Bound::Part)
                        && is_sure(check, *file, assign.scope, assign.value, &[], looks)
                })
        }
        _ => false,
    }
}

/// Whether a value is, or is a part of, what was read from a file or a folder and is made of Python objects.
fn is_read<'p>(
    check: &Check<'_, 'p>,
    file: FileId,
    scope: ScopeId,
    value: &'p Expr,
    around: &'p [Comprehension],
    looks: usize,
) -> bool {
    let Some(looks) = looks.checked_sub(1) else { return false };
    let inner = |value: &'p Expr| is_read(check, file, scope, value, around, looks);
    match value {
        Expr::Subscript(item) => inner(&item.value),
        Expr::Call(call) => {
            let name = check.flow.models.of(file).full_name(scope, &call.func);
            match name.as_deref() {
                Some(name) if READ.contains(&name) => true,
                Some("enumerate" | "list" | "reversed" | "sorted" | "zip") => call.arguments.args.iter().any(inner),
                _ => match method(call) {
                    Some("glob" | "iterdir" | "readlines" | "rglob" | "splitlines" | "to_dict") => {
                        check.flow.callee(file, scope, &call.func).is_none()
                    }
                    Some("get" | "items" | "keys" | "values") => receiver(call).is_some_and(inner),
                    _ => last_name(&call.func) == Some("tqdm") && call.arguments.args.first().is_some_and(inner),
                },
            }
        }
        Expr::Name(_) => {
            let by_name = |generator: &&'p Comprehension| names_in(&generator.target).iter().any(|name| is_name(value, name));
            if let Some(generator) = around.iter().find(by_name) {
                return inner(&generator.iter);
            }
            let places = check.flow.places(file, scope, value);
            let mut given = places.iter().filter(|at| at.depth == 0).flat_map(|at| check.flow.assigned(at.place));
            given.any(|(file, assign)| is_read(check, *file, assign.scope, assign.value, &[], looks))
        }
        _ => false,
    }
}

fn is_name(value: &Expr, name: &str) -> bool {
    matches!(value, Expr::Name(each) if each.id.as_str() == name)
}

/// Functions that give a Python object that is no number.
const MAKE_OBJECTS: &[&str] = &[
    "dict",
    "json.loads",
    "list",
    "os.path.abspath",
    "os.path.basename",
    "os.path.join",
    "pathlib.Path",
    "repr",
    "str",
    "tuple",
];
/// Methods of texts and paths that give texts, paths or lists of them.
const GIVE_TEXT: &[&str] = &[
    "as_posix",
    "decode",
    "format",
    "groups",
    "join",
    "joinpath",
    "lower",
    "lstrip",
    "replace",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "strip",
    "upper",
    "with_suffix",
];
/// Functions that read what is made of Python objects.
const READ: &[&str] = &[
    "csv.DictReader",
    "csv.reader",
    "glob.glob",
    "json.load",
    "json.loads",
    "open",
    "os.listdir",
    "os.scandir",
    "os.walk",
    "pickle.load",
    "pickle.loads",
    "yaml.safe_load",
];

/// Functions that give tensors and arrays.
const GIVE_DATA: &[&str] = &["array", "as_tensor", "asarray", "from_numpy", "load", "tensor"];
/// Methods of tensors that give tensors.
const STAY_DATA: &[&str] = &["clone", "cuda", "detach", "float", "half", "numpy", "to"];

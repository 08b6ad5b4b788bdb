//! LT501: A Dataset's `.to(device)` moves every sample.

use crate::kept::is_record;
use crate::{Cause, Class, Fix, Language, Live, Severity};
use lowtide_lint::ask::{given, keyword, last_name, names_in, receiver};
use lowtide_lint::check::{Check, Confidence, Hit, loops_around};
use lowtide_lint::flow::{ClassId, Place};
use lowtide_lint::model::{Assign, BlockKind, Bound, Call, Expr, ExprCall, Ranged, ScopeId};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT501",
    name: "dataset-to-device",
    title: "A Dataset's `.to(device)` moves every sample",
    severity: Severity::Floor,
    happens: "The data set has a `to` method that moves all its samples at once, and training calls it; or its constructor does it.",
    keeps: "The whole data set lies on the GPU for the run, though one batch at a time is needed; with a copy left \
                in RAM it is there twice.",
    shows: "One jump at the start, of the data set's size, and a floor that stays.",
    fix: Fix {
        text: "Move batches, not data sets.",
        language: Language::Python,
        before: r#"dataset.to("cuda")"#,
        after: r#"for x, y in loader:
    x, y = x.to("cuda", non_blocking=True), y.to("cuda", non_blocking=True)"#,
    },
    harmless: "A data set that is small beside the GPU: it saves the copies.",
    sources: &["https://docs.pytorch.org/docs/stable/data.html", "zoo/01_ds_to_device.py"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.class == Some(Class::Floor) && live.holds_tensors()).then_some(70)
}

/// A method of a data set, its constructor among them, that moves all that `__getitem__` takes samples from.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        for assign in model.assigns.iter().filter(|assign| assign.how == Bound::Whole) {
            let Some((class, method)) = model.method_of(assign.scope) else { continue };
            let class = ClassId { file, scope: class };
            let name = model.scope(method).name();
            if matches!(name, "__getitem__" | "__iter__" | "__next__")
                || !check.is_read_by_loader(class)
                || !moves(check, file, assign, name)
            {
                continue;
            }
            let samples = check.sample_attributes(class);
            let Some(attribute) =
                attribute_of(check, file, class, assign.scope, assign.target).filter(|name| samples.contains(name))
            else {
                continue;
            };
            let asked_for = name == "__init__" || !check.callers(file, method).is_empty();
            let what = format!(
                "`{}.{name}` puts all of `self.{attribute}` on the device at once, where it stays",
                model.scope(class.scope).name()
            );
            let confidence = if asked_for { Confidence::Medium } else { Confidence::Low };
            hits.push(Hit::new(file, assign.target.start()).saying(what).with(confidence));
        }
        hits.extend(model.calls_named(&["setattr"]).into_iter().filter_map(|call| all_attributes(check, file, call)));
    }
    hits
}

/// `for name, value in vars(self).items(): setattr(self, name, value.to(device))`: all that a data set has.
fn all_attributes<'p>(check: &Check<'_, 'p>, file: FileId, call: &Call<'p>) -> Option<Hit> {
    let model = check.flow.models.of(file);
    let [object, name, value] = &*call.call.arguments.args else { return None };
    let (class, method) = model.method_of(call.scope)?;
    let class = ClassId { file, scope: class };
    let over_own = loops_around(model, call.block).any(|round| match model.block(round).kind {
        BlockKind::For(each) => {
            let over = check.text(file, each.iter.range());
            names_in(&each.target).iter().any(|one| matches!(name, Expr::Name(name) if name.id.as_str() == *one))
                && (over.contains("vars(") || over.contains("__dict__"))
        }
        _ => false,
    });
    let method_name = model.scope(method).name();
    let for_moving = matches!(method_name, "to" | "cuda" | "to_device" | "move_to" | "move_to_device");
    (over_own
        && check.flow.own_class(file, call.scope, object) == Some(class)
        && check.is_read_by_loader(class)
        && moved(check, file, call.scope, value, for_moving)
        && !check.callers(file, method).is_empty())
    .then(|| {
        Hit::new(file, call.call.start()).with(Confidence::Medium).saying(format!(
            "`{}.{method_name}` puts every tensor of the data set on the device at once, where it stays",
            model.scope(class.scope).name()
        ))
    })
}

/// The attribute of a class that a target is, or is a part of: `self.rows`, `self.rows[i]`, `row["x"]` in a loop over it.
pub(crate) fn attribute_of<'p>(
    check: &Check<'_, 'p>,
    file: FileId,
    class: ClassId,
    scope: ScopeId,
    target: &'p Expr,
) -> Option<&'p str> {
    let mut base = target;
    while let Expr::Subscript(item) = base {
        base = &item.value;
    }
    match base {
        Expr::Attribute(each) => (check.flow.own_class(file, scope, &each.value) == Some(class)).then_some(each.attr.as_str()),
        Expr::Name(_) if target.is_subscript_expr() => check.flow.places(file, scope, base).into_iter().find_map(|at| {
            check
                .flow
                .assigned(at.place)
                .filter(|(_, assign)| assign.how == Bound::Element || assign.how == Bound::Part)
                .find_map(|(file, assign)| match assign.value {
                    Expr::Attribute(each) => {
                        (check.flow.own_class(*file, assign.scope, &each.value) == Some(class)).then_some(each.attr.as_str())
                    }
                    _ => None,
                })
        }),
        _ => None,
    }
}

/// Whether a value was moved to a GPU, or, in a method that is there for moving, to a device that its caller names.
fn moves<'p>(check: &Check<'_, 'p>, file: FileId, assign: &Assign<'p>, method: &str) -> bool {
    let for_moving = matches!(method, "to" | "cuda" | "to_device" | "move_to" | "move_to_device");
    moved(check, file, assign.scope, assign.value, for_moving)
}

pub(crate) fn moved<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, value: &'p Expr, for_moving: bool) -> bool {
    let inner = |value: &'p Expr| moved(check, file, scope, value, for_moving);
    match value {
        Expr::ListComp(each) => inner(&each.elt),
        Expr::Generator(each) => inner(&each.elt),
        Expr::DictComp(each) => inner(&each.value),
        Expr::Starred(each) => inner(&each.value),
        Expr::Tuple(each) => each.elts.iter().any(inner),
        Expr::List(each) => each.elts.iter().any(inner),
        Expr::Dict(each) => each.items.iter().any(|item| inner(&item.value)),
        Expr::Call(call) if gives_record(check, file, scope, call) => given(call).any(inner),
        Expr::Call(call) => moved_by(check, file, scope, call, for_moving),
        _ => false,
    }
}

/// Whether a call puts together what it is given: `Sample(x.to(device), y)`, `sample._replace(x=...)`, `tuple(...)`.
fn gives_record(check: &Check, file: FileId, scope: ScopeId, call: &ExprCall) -> bool {
    let model = check.flow.models.of(file);
    let is_named_tuple = |name: &str| {
        model.assigns.iter().any(|assign| {
            matches!(assign.target, Expr::Name(target) if target.id.as_str() == name)
                && matches!(assign.value, Expr::Call(made) if last_name(&made.func) == Some("namedtuple"))
        })
    };
    match (&*call.func, model.full_name(scope, &call.func).as_deref()) {
        (_, Some("dict" | "list" | "tuple" | "dataclasses.replace" | "copy.replace")) => true,
        (Expr::Attribute(method), _) if method.attr.as_str() == "_replace" => true,
        (Expr::Name(name), _) if is_named_tuple(name.id.as_str()) => true,
        _ => is_record(check, file, scope, call),
    }
}

fn moved_by<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, call: &'p ExprCall, for_moving: bool) -> bool {
    let of_caller = |device: &'p Expr| {
        for_moving
            && check.flow.places(file, scope, device).iter().any(|at| match at.place {
                Place::Variable(of, owner, name) => check
                    .flow
                    .models
                    .of(of)
                    .scope(owner)
                    .bindings(name)
                    .iter()
                    .any(|binding| matches!(binding.kind, lowtide_lint::model::BindingKind::Parameter { .. })),
                _ => false,
            })
    };
    match last_name(&call.func) {
        Some("to") => {
            receiver(call).is_some() && given(call).any(|device| check.is_gpu(file, scope, device) || of_caller(device))
        }
        Some("cuda") => receiver(call).is_some(),
        Some("clone") => for_moving && receiver(call).is_some(),
        Some("contiguous" | "float" | "pin_memory" | "half" | "long") => {
            receiver(call).is_some_and(|on| moved(check, file, scope, on, for_moving))
        }
        _ => ["device", "map_location"]
            .iter()
            .filter_map(|name| keyword(call, name))
            .any(|device| check.is_gpu(file, scope, device)),
    }
}

//! LT601: Reference cycles wait for the collector.

use crate::let_go::{is_let_go, keeps_parameter};
use crate::{Cause, Class, Fix, Language, Live, RootKind, Severity};
use lowtide_lint::ask::{given, last_name};
use lowtide_lint::check::{Check, Confidence, Hit, loops_around};
use lowtide_lint::feeds::Kind;
use lowtide_lint::flow::ClassId;
use lowtide_lint::model::{BindingKind, Bound, Call, Expr, Model, Ranged, ScopeId, TextRange, TextSize};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT601",
    name: "cycles-collected-late",
    title: "Reference cycles wait for the collector",
    severity: Severity::Sawtooth,
    happens: "Objects refer to each other in a circle: a trainer and its callback, a context and its hook.",
    keeps: "Reference counts never reach zero. Only the garbage collector frees them, when enough *objects* were \
                made; a few objects with large tensors do not trigger it.",
    shows: "A sawtooth whose teeth end when the collector runs. With glibc, RSS may stay at the top.",
    fix: Fix {
        text: "Break the circle (a weak reference, `del`), or call `gc.collect()` once per epoch.",
        language: Language::Python,
        before: r#"self.ctx = ctx"#,
        after: r#"self.ctx = weakref.ref(ctx)"#,
    },
    harmless: "Where the peak fits, it is only pressure, no leak.",
    sources: &["https://docs.python.org/3/library/gc.html", "zoo/20_gc_sawtooth.py"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.root == Some(RootKind::Garbage) && live.statement != Some(Kind::CollectorOff) || live.class == Some(Class::Sawtooth))
        .then_some(75)
}

/// An attribute of an object that leads back to it.
struct Circle<'p> {
    class: ClassId,
    /// None where it is a hook that the object is given to.
    attribute: Option<&'p str>,
    file: FileId,
    offset: TextSize,
}

/// An object that refers to itself, of which each round of a training makes another with data in it; or a model that does and is
/// made again and again.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        for circle in circles(check, file, model) {
            if circle.attribute.is_some_and(|attribute| is_broken(check, attribute)) || !is_made_again(check, circle.class) {
                continue;
            }
            let name = check.flow.models.of(circle.class.file).qualified_name(circle.class.scope);
            let way = circle.attribute.map_or_else(|| "its own hook".to_owned(), |attribute| format!("`self.{attribute}`"));
            hits.push(Hit::new(circle.file, circle.offset).with(Confidence::Medium).saying(format!(
                "{way} leads back to its `{name}`: each one that is made stays, with all that it has, until the collector comes by"
            )));
        }
    }
    hits
}

fn circles<'p>(check: &Check<'_, 'p>, file: FileId, model: &Model<'p>) -> Vec<Circle<'p>> {
    let by_attribute = model.assigns.iter().filter(|assign| assign.how == Bound::Whole).filter_map(|assign| {
        let Expr::Attribute(target) = assign.target else { return None };
        let attribute = Some(target.attr.as_str());
        let offset = assign.target.start();
        if let Some(class) = check.flow.own_class(file, assign.scope, &target.value) {
            return leads_back(check, file, assign.scope, class, assign.value, 4).then_some(Circle {
                class,
                attribute,
                file,
                offset,
            });
        }
        // `self.child.parent = self`
        let Expr::Attribute(part) = &*target.value else { return None };
        let class = check.flow.own_class(file, assign.scope, &part.value)?;
        is_self(check, file, assign.scope, class, assign.value).then_some(Circle { class, attribute, file, offset })
    });
    let by_hook =
        model.calls.iter().filter_map(|call| {
            let Expr::Attribute(method) = &*call.call.func else { return None };
            let name = method.attr.as_str();
            if !(name.starts_with("register_") && name.ends_with("hook")) {
                return None;
            }
            let (class, _) = model.method_of(call.scope)?;
            let class = ClassId { file, scope: class };
            let hook = call.call.arguments.args.first()?;
            let on_itself = check.flow.own_class(file, call.scope, &method.value) == Some(class);
            (on_itself && check.autograd.is_module(class) && leads_back(check, file, call.scope, class, hook, 4))
                .then(|| Circle { class, attribute: None, file, offset: call.call.start() })
        });
    by_attribute.chain(by_hook).collect()
}

fn is_self<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, class: ClassId, value: &'p Expr) -> bool {
    value.is_name_expr() && check.flow.own_class(file, scope, value) == Some(class)
}

/// Whether a value keeps the object whose method this is: itself, a method of it, a function that uses it, or an object that is
/// given it and keeps it.
fn leads_back<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, class: ClassId, value: &'p Expr, left: usize) -> bool {
    let Some(left) = left.checked_sub(1) else { return false };
    let inner = |value: &'p Expr| leads_back(check, file, scope, class, value, left);
    match value {
        Expr::Name(name) => {
            is_self(check, file, scope, class, value) || is_closure_over_self(check, file, scope, class, name.id.as_str())
        }
        Expr::Attribute(each) => {
            is_self(check, file, scope, class, &each.value) && is_plain_method(check, class, each.attr.as_str())
        }
        Expr::Lambda(lambda) => uses_self(check, file, scope, class, lambda.range),
        Expr::List(each) => each.elts.iter().any(inner),
        Expr::Tuple(each) => each.elts.iter().any(inner),
        Expr::Dict(each) => each.items.iter().any(|item| inner(&item.value)),
        Expr::Call(call) if last_name(&call.func) == Some("partial") => given(call).any(inner),
        Expr::Call(call) => {
            let model = check.flow.models.of(file);
            let Some((to, kept_by)) = check.flow.models.class(file, scope, &call.func) else { return false };
            let kept_by = ClassId { file: to, scope: kept_by };
            let Some((to, constructor)) = check.flow.method(kept_by, "__init__") else { return false };
            let Some(made) = model.calls.iter().find(|each| each.call.range() == call.range()) else { return false };
            check.flow.given(file, made, to, constructor).iter().any(|one| {
                one.depth == 0
                    && is_self(check, file, scope, class, one.value)
                    && keeps_parameter(check, to, constructor, one.parameter)
            })
        }
        _ => false,
    }
}

/// A method that is bound to its object: no property, which gives a value, and none that needs no object.
fn is_plain_method(check: &Check, class: ClassId, name: &str) -> bool {
    let Some((file, method)) = check.flow.method(class, name) else { return false };
    let model = check.flow.models.of(file);
    model.functions().any(|(scope, function)| scope == method && function.decorator_list.is_empty())
}

/// A function inside of this one that uses the object.
fn is_closure_over_self(check: &Check, file: FileId, scope: ScopeId, class: ClassId, name: &str) -> bool {
    let model = check.flow.models.of(file);
    let inner = model.bindings(scope, name).iter().find_map(|binding| match binding.kind {
        BindingKind::Function(inner) if model.scope(inner).parent == Some(scope) => Some(inner),
        _ => None,
    });
    inner.is_some_and(|inner| {
        model.functions().any(|(of, function)| of == inner && uses_self(check, file, scope, class, function.range))
    })
}

fn uses_self(check: &Check, file: FileId, scope: ScopeId, class: ClassId, text: TextRange) -> bool {
    let model = check.flow.models.of(file);
    let Some((of, method)) = model.method_of(scope).filter(|(of, _)| *of == class.scope && class.file == file) else {
        return false;
    };
    let _ = of;
    let Some(own) =
        model.scope(method).parameters().and_then(|parameters| parameters.args.first().or(parameters.posonlyargs.first()))
    else {
        return false;
    };
    let own = own.parameter.name.as_str();
    check.text(file, text).split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|word| word == own)
}

/// Whether something takes the attribute away again: `del step.hook`, `self.hook = None`.
fn is_broken(check: &Check, attribute: &str) -> bool {
    let is_it = |target: &Expr| matches!(target, Expr::Attribute(each) if each.attr.as_str() == attribute);
    check.flow.models.iter().any(|(_, model)| {
        model.deletes.iter().any(|delete| is_it(delete.target))
            || model.assigns.iter().any(|assign| {
                is_it(assign.target)
                    && assign.value.is_none_literal_expr()
                    && model.function_of(assign.scope).is_none_or(|function| model.scope(function).name() != "__init__")
            })
            || model.calls.iter().any(|call| {
                matches!(&*call.call.func, Expr::Attribute(method) if method.attr.as_str() == "clear" && is_it(&method.value))
            })
    })
}

/// Whether a loop that trains or runs a model makes such an object with data of its round; or a model that it runs in that round.
fn is_made_again(check: &Check, class: ClassId) -> bool {
    let is_module = check.autograd.is_module(class);
    let line = check.flow.classes.descendants(class).iter();
    let names: Vec<&str> = line.map(|class| check.flow.models.of(class.file).scope(class.scope).name()).collect();
    check.flow.models.iter().any(|(file, model)| {
        model.calls_named(&names).into_iter().any(|call| {
            let made = check.flow.models.class(file, call.scope, &call.call.func);
            let is_one = made.is_some_and(|(file, scope)| check.flow.classes.ancestors(ClassId { file, scope }).contains(&class));
            is_one
                && if is_module {
                    is_made_to_be_run(check, file, model, call)
                } else {
                    is_made_with_data(check, file, model, call)
                }
        })
    })
}

/// Whether a loop makes a model and runs it, or trains something, itself or in a function that makes the model and lets go of it:
/// others put the layers of one model together.
fn is_made_to_be_run<'p>(check: &Check<'_, 'p>, file: FileId, model: &Model<'p>, call: &Call<'p>) -> bool {
    let function = model.function_of(call.scope);
    let constructs = function.is_some_and(|function| model.scope(function).name() == "__init__");
    let by_loop =
        || check.long_loop(file, call.block).is_some_and(|round| check.trains_in(file, round) || check.runs_model(file, round));
    let by_call = || {
        function.is_some_and(|function| {
            check.is_called_in_loop(file, function) && check.trains(file, function) && is_let_go(check, file, model, call)
        })
    };
    !constructs && (by_loop() || by_call())
}

fn is_made_with_data<'p>(check: &Check<'_, 'p>, file: FileId, model: &Model<'p>, call: &Call<'p>) -> bool {
    let runs = |round| check.trains_in(file, round) || check.runs_model(file, round);
    let by_loop = loops_around(model, call.block).any(runs);
    let by_call = || model.function_of(call.scope).is_some_and(|function| check.is_called_in_training_loop(file, function));
    if !by_loop && !by_call() {
        return false;
    }
    let is_element = |value: &Expr| {
        let Expr::Name(name) = value else { return false };
        loops_around(model, call.block).filter(|round| runs(*round)).any(|round| {
            model.assigns.iter().any(|assign| {
                assign.block == round
                    && matches!(assign.how, Bound::Element | Bound::Part)
                    && matches!(assign.target, Expr::Name(target) if target.id == name.id)
            })
        })
    };
    given(call.call).any(|value| is_element(value) || check.value(file, call.scope, call.block, value).is_data())
}

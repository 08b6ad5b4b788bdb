//! LT208: All episodes of a validation are held at once.

use crate::words::code;
use crate::{Cause, Class, Fix, Language, Live, Severity};
use lowtide_lint::ask::{keyword, last_name, method, names_in, receiver};
use lowtide_lint::check::{Check, Confidence, Hit, loops_around};
use lowtide_lint::feeds::Phase;
use lowtide_lint::flow::ClassId;
use lowtide_lint::model::{
    Assign, BindingKind, BlockId, BlockKind, Bound, Call, Comprehension, Expr, Model, Ranged, ScopeId, ScopeKind,
};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT208",
    name: "episodes-held-at-once",
    title: "All episodes of a validation are held at once",
    severity: Severity::Spike,
    happens: "Episodes, queries or videos of a whole validation are loaded or computed before the first is scored; or a framework \
                  collects the outputs of all batches because it is asked to.",
    keeps: "The peak has the size of all, though one at a time is needed.",
    shows: "A spike at each validation, of constant height, that comes back entirely.",
    fix: Fix {
        text: "Score each when it is there (a generator), and keep the numbers.",
        language: Language::Python,
        before: r#"episodes = [make(i) for i in range(500)]
scores = [score(e) for e in episodes]"#,
        after: r#"scores = [score(make(i)) for i in range(500)]"#,
    },
    harmless: "If the spike fits the limit, it is only a spike. Where a metric needs all scores at once, keep these and not what they \
                   are computed from: `preprocess_logits_for_metrics` of HF's Trainer is made for that.",
    sources: &["zoo/19_val_spike.py"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.class == Some(Class::Spikes) && live.phase == Some(Phase::Validation)).then_some(60)
}

/// In an evaluation: a list of all batches or episodes that is gone through once. In the frameworks: outputs that they collect,
/// and nobody reads, or of which only the index of the largest is read.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        let whole = model.assigns.iter().filter(|assign| assign.how == Bound::Whole && assign.target.is_name_expr());
        for assign in whole {
            let in_evaluation = || {
                check.containers.phase(file, assign.scope, assign.block) == Some(Phase::Validation)
                    || is_evaluation_by_call(model, model.function_of(assign.scope))
            };
            if holds_many(check, file, assign) && in_evaluation() && is_gone_through_once(check, file, model, assign) {
                hits.push(Hit::new(file, assign.target.start()).with(Confidence::Medium).saying(format!(
                    "{} holds all of an evaluation at once, where one after the other would do",
                    code(check, file, assign.target)
                )));
            }
        }
        hits.extend(outputs_for_nothing(check, file, model));
        hits.extend(all_logits(check, file, model));
    }
    hits
}

/// Whether a function calls `eval()` of a model and no `backward`.
fn is_evaluation_by_call(model: &Model, function: Option<ScopeId>) -> bool {
    let called = |name: &str| {
        model.calls.iter().any(|call| {
            model.function_of(call.scope) == function
                && matches!(&*call.call.func, Expr::Attribute(method) if method.attr.as_str() == name)
        })
    };
    function.is_some() && called("eval") && !called("backward") && !called("train")
}

/// `list(loader)`, `[sampler.sample() for _ in range(n)]`, `[dataset[i] for i in picks]`: so many of what something makes or reads.
fn holds_many<'p>(check: &Check<'_, 'p>, file: FileId, assign: &Assign<'p>) -> bool {
    match assign.value {
        // `episodes = []`, and a loop that is long puts one after the other there.
        Expr::List(list) if list.elts.is_empty() => is_filled(check, file, assign),
        Expr::Call(call)
            if matches!(last_name(&call.func), Some("list" | "tuple"))
                && check.flow.callee(file, assign.scope, &call.func).is_none() =>
        {
            call.arguments.args.first().is_some_and(|of| check.is_loader_of(file, assign.scope, of))
        }
        Expr::ListComp(list) => {
            let [generator] = &*list.generators else { return false };
            let loads = check.is_loader_of(file, assign.scope, &generator.iter);
            let makes = match &*list.elt {
                // `str(i)`, `f(i)` of names and numbers are told by what is done with them.
                Expr::Call(_) => true,
                Expr::Subscript(item) => !item.slice.is_literal_expr() && !item.slice.is_slice_expr(),
                _ => false,
            };
            loads || makes && check.is_long(file, assign.scope, &generator.iter)
        }
        _ => false,
    }
}

/// Whether one long loop that counts puts what something makes or reads into a list, and runs no model.
fn is_filled<'p>(check: &Check<'_, 'p>, file: FileId, list: &Assign<'p>) -> bool {
    let model = check.flow.models.of(file);
    let puts = check.puts(file, model);
    let mut own = puts.iter().filter(|put| check.same(file, put.scope, put.container, list.target)).peekable();
    let makes = |value: &Expr| match value {
        Expr::Call(_) => true,
        Expr::DictComp(each) => moves(&each.value) && iterates_over_call(&each.generators),
        Expr::ListComp(each) => moves(&each.elt) && iterates_over_call(&each.generators),
        _ => false,
    };
    own.peek().is_some()
        && own.all(|put| {
            let mut rounds = loops_around(model, put.block);
            let round = rounds.next().filter(|_| rounds.next().is_none());
            makes(put.value)
                && put.key.is_none()
                && model.block(put.block).kind.is_loop()
                && round.is_some_and(|round| {
                    let BlockKind::For(each) = model.block(round).kind else { return false };
                    check.is_long(file, put.scope, &each.iter) && !check.runs_model(file, round)
                })
        })
}

/// `v.to(device)`
fn moves(value: &Expr) -> bool {
    matches!(value, Expr::Call(call) if matches!(method(call), Some("to" | "cuda")))
}

/// `for k, v in dataset.sample().items()`
fn iterates_over_call(generators: &[Comprehension]) -> bool {
    generators.first().is_some_and(|each| match &each.iter {
        Expr::Call(call) => receiver(call).is_some_and(Expr::is_call_expr),
        _ => false,
    })
}

/// Whether a list is read by one loop and by nothing else but `len`, and that loop gives its elements to a model.
fn is_gone_through_once<'p>(check: &Check<'_, 'p>, file: FileId, model: &Model<'p>, list: &Assign<'p>) -> bool {
    let Expr::Name(name) = list.target else { return false };
    let Some(function) = model.function_of(list.scope) else { return false };
    let ScopeKind::Function(definition) = model.scope(function).kind else { return false };
    if model.owner(list.scope, name.id.as_str()) != Some(function) || model.bindings(list.scope, name.id.as_str()).len() != 1 {
        return false;
    }
    let is_it = |value: &Expr| matches!(value, Expr::Name(each) if each.id == name.id);
    let elements: Vec<&Assign> = model
        .assigns
        .iter()
        .filter(|assign| {
            matches!(assign.how, Bound::Element | Bound::Part)
                && is_it(assign.value)
                && model.function_of(assign.scope) == Some(function)
        })
        .collect();
    let Some(round) = elements.first().map(|first| first.block).filter(|_| !model.block(list.block).kind.is_loop()) else {
        return false;
    };
    let lengths = model.calls.iter().filter(|call| {
        model.function_of(call.scope) == Some(function)
            && last_name(&call.call.func) == Some("len")
            && call.call.arguments.args.first().is_some_and(is_it)
    });
    let filled = check
        .puts(file, model)
        .iter()
        .filter(|put| is_it(put.container) && model.function_of(put.scope) == Some(function))
        .count();
    let words = check.text(file, definition.range).split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let reads = words.filter(|word| *word == name.id.as_str()).count();
    elements.iter().all(|assign| assign.block == round)
        && reads == 2 + lengths.count() + filled
        && is_scored(check, file, model, round, &elements)
}

/// Whether elements are given to a model in a loop, or to a method of one: `model(x)`, `model.score(x)`, `x.to(device)`.
fn is_scored<'p>(check: &Check<'_, 'p>, file: FileId, model: &Model<'p>, round: BlockId, elements: &[&Assign<'p>]) -> bool {
    let names: Vec<&str> = elements.iter().flat_map(|assign| names_in(assign.target)).collect();
    let switched = |func: &Expr| {
        let Some(first) = lowtide_lint::model::dotted(func).and_then(|parts| parts.first().map(ToString::to_string)) else {
            return false;
        };
        model.calls.iter().any(|call| {
            matches!(&*call.call.func, Expr::Attribute(method) if method.attr.as_str() == "eval"
                && lowtide_lint::model::dotted(&method.value).is_some_and(|parts| parts.first() == Some(&first.as_str())))
        })
    };
    model.calls.iter().filter(|call| check.is_within(file, call.block, round)).any(|call| {
        let of_element = |value: &Expr| base(value, 8).is_some_and(|name| names.contains(&name));
        let moved = matches!(&*call.call.func, Expr::Attribute(method)
            if matches!(method.attr.as_str(), "to" | "cuda") && of_element(&method.value));
        moved
            || call.call.arguments.args.iter().any(of_element)
                && (check.autograd.calls_model(file, call.scope, &call.call.func)
                    || switched(&call.call.func)
                    || is_asked_without(check, file, model, call))
    })
}

/// Whether something that a function was given is called under a `with` that switches gradients off, and what it gives is for nothing
/// else that was given: a model, then, and no tokenizer.
fn is_asked_without<'p>(check: &Check<'_, 'p>, file: FileId, model: &Model<'p>, call: &Call<'p>) -> bool {
    let is_given = |call: &Call<'p>| {
        let Expr::Name(name) = &*call.call.func else { return false };
        let mut bindings = model.bindings(call.scope, name.id.as_str()).iter().peekable();
        bindings.peek().is_some() && bindings.all(|binding| matches!(binding.kind, BindingKind::Parameter { .. }))
    };
    let is_for_another = || {
        model.calls.iter().any(|outer| {
            outer.call.arguments.range().contains_range(call.call.range())
                && (is_given(outer) || check.autograd.calls_model(file, outer.scope, &outer.call.func))
        })
    };
    let is_under_with = || {
        model.blocks_within(call.block).any(|block| match block.kind {
            BlockKind::With(with) => with.items.iter().any(|item| {
                let text = check.text(file, item.context_expr.range());
                text.contains("no_grad") || text.contains("inference_mode")
            }),
            _ => false,
        })
    };
    is_given(call) && is_under_with() && !is_for_another()
}

/// The variable that a value is, or is a part of, wherever it is moved: not what is computed from it, as the tokens of a text.
fn base(value: &Expr, left: usize) -> Option<&str> {
    let left = left.checked_sub(1)?;
    match value {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(each) => base(&each.value, left),
        Expr::Subscript(item) => base(&item.value, left),
        Expr::Starred(each) => base(&each.value, left),
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) if matches!(method.attr.as_str(), "to" | "cuda" | "float" | "unsqueeze" | "view") => {
                base(&method.value, left)
            }
            _ => None,
        },
        _ => None,
    }
}

/// Lightning before 2 keeps what each step returns where a module has `training_epoch_end` or its like: for nothing, where that
/// reads none of it.
fn outputs_for_nothing<'p>(check: &Check<'_, 'p>, file: FileId, model: &Model<'p>) -> Vec<Hit> {
    const HOOKS: &[(&str, &str)] =
        &[("training_epoch_end", "training_step"), ("validation_epoch_end", "validation_step"), ("test_epoch_end", "test_step")];
    let mut hits = Vec::new();
    for (scope, function) in model.functions() {
        let Some((hook, step)) = HOOKS.iter().find(|(hook, _)| *hook == function.name.as_str()) else { continue };
        let Some((class, _)) = model.method_of(scope) else { continue };
        let class = ClassId { file, scope: class };
        let Some(outputs) = function.parameters.args.get(1).map(|each| each.parameter.name.as_str()) else { continue };
        let body = function.body.first().zip(function.body.last());
        let text =
            body.map_or("", |(first, last)| check.text(file, lowtide_lint::model::TextRange::new(first.start(), last.end())));
        let reads = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|word| word == outputs);
        let returns = check.flow.method(class, step).is_some_and(|(of, step)| {
            let model = check.flow.models.of(of);
            model.results.iter().filter(|result| result.scope == step).any(|result| match result.value {
                Expr::Dict(each) => each.items.len() > 1,
                Expr::Tuple(_) => true,
                _ => false,
            })
        });
        let is_lightning = check.has_base(class, |name| name.ends_with("LightningModule"));
        if is_lightning && !reads && returns {
            hits.push(Hit::new(file, function.start()).with(Confidence::Medium).saying(format!(
                "because of `{hook}`, Lightning before 2 keeps what `{step}` returns of every batch of the epoch, and nothing reads it"
            )));
        }
    }
    hits
}

/// A Trainer of transformers that gathers all logits of an evaluation for a metric that takes the index of the largest, of a model
/// whose logits are as many as its vocabulary for each token.
fn all_logits<'p>(check: &Check<'_, 'p>, file: FileId, model: &Model<'p>) -> Vec<Hit> {
    const OF_TOKENS: &[&str] = &["ForCausalLM", "LMHeadModel", "ForMaskedLM"];
    let mut hits = Vec::new();
    let with_metrics = model
        .calls
        .iter()
        .filter(|call| keyword(call.call, "compute_metrics").is_some_and(|given| !given.is_none_literal_expr()));
    for call in with_metrics {
        let is_trainer =
            check.called(file, call).is_some_and(|name| name.starts_with("transformers.") && name.ends_with("Trainer"))
                || check.flow.models.class(file, call.scope, &call.call.func).is_some_and(|(file, scope)| {
                    check.has_base(ClassId { file, scope }, |name| name.starts_with("transformers.") && name.ends_with("Trainer"))
                });
        let reduced = keyword(call.call, "preprocess_logits_for_metrics").is_some()
            || call.call.arguments.keywords.iter().any(|keyword| keyword.arg.is_none());
        if is_trainer && !reduced && takes_index(check, file, call) {
            let of_tokens = model.calls.iter().any(|made| {
                lowtide_lint::model::dotted(&made.call.func)
                    .is_some_and(|parts| parts.iter().any(|part| OF_TOKENS.iter().any(|name| part.ends_with(name))))
            });
            let confidence = if of_tokens { Confidence::Medium } else { Confidence::Low };
            hits.push(Hit::new(file, call.call.start()).with(confidence).saying(
                "the trainer gathers all logits of an evaluation for a metric that takes the index of the largest: \
                 `preprocess_logits_for_metrics` can take it batch by batch",
            ));
        }
    }
    hits
}

/// Whether a metric begins by taking the index of the largest.
fn takes_index<'p>(check: &Check<'_, 'p>, file: FileId, call: &Call<'p>) -> bool {
    let Some(metric) = keyword(call.call, "compute_metrics") else { return false };
    let Some((of, function)) = check.flow.callee(file, call.scope, metric) else { return false };
    let model = check.flow.models.of(of);
    model
        .calls
        .iter()
        .any(|inner| model.function_of(inner.scope) == Some(function) && last_name(&inner.call.func) == Some("argmax"))
}

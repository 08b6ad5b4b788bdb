//! LT103: Outputs are kept together with their graph.

use super::cached_embedding_with_graph::is_cached;
use crate::keys::is_added;
use crate::words::code;
use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::ask::{argument, given, is_backward, names_in, says, slices_in};
use lowtide_lint::check::{Check, Confidence, Hit, Put, loops_around};
use lowtide_lint::feeds::{Bound as Limit, is_inside};
use lowtide_lint::flow::{At, ClassId, Place};
use lowtide_lint::model::{Assign, BindingKind, BlockKind, Bound, Expr, Model, Operator, Ranged, ScopeId};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT103",
    name: "output-kept-with-graph",
    title: "Outputs are kept together with their graph",
    severity: Severity::Leak,
    happens: "Outputs or losses are appended to a list or filed in a dictionary as they come from the model.",
    keeps: "Each kept tensor holds the graph that made it: the inputs, the activations, and the parameters' \
                gradient nodes of its step.",
    shows: "Much more memory than the kept tensors themselves have: one batch's activations for every element of \
                the list. Where the list is cleared at the epoch's end, a sawtooth.",
    fix: Fix {
        text: "Detach before keeping; move to the CPU what is only looked at later.",
        language: Language::Python,
        before: r#"self.outputs.append(out)"#,
        after: r#"self.outputs.append(out.detach().cpu())"#,
    },
    harmless: "Outputs that are kept for one loss over several of them, and go with its `backward`.",
    sources: &["https://docs.pytorch.org/docs/stable/notes/faq.html", "zoo/03_adapter_graph_epoch.py"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.has_graph() && live.adds_to_container()).then_some(90)
}

/// Something with a graph is put into a container that outlives the round and is not emptied in it.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        let mut puts = check.puts(file, model);
        puts.extend(check.extensions(file, model));
        for put in puts.iter().filter(|put| keeps(check, put)) {
            if is_cached(check, put)
                || check.firm_bound(put).is_some() && !is_let_go_late(check, put)
                || check.autograd.is_summed_up(file, put.scope, put.container) && !is_used_in_part(check, model, put)
            {
                continue;
            }
            let what = format!("{} keeps {} with its graph", code(check, file, put.container), code(check, file, put.value));
            let proven = check.spans_steps(file, put.scope, put.block, put.container, put.value);
            let confidence = if proven { Confidence::High } else { Confidence::Low };
            let hit = Hit::new(file, put.offset).saying(what).with(confidence);
            hits.push(hit.fixed(check.detach(file, put.scope, put.block, put.value, put.container)));
        }
        hits.extend(model.assigns.iter().filter_map(|assign| joined(check, file, assign)));
    }
    hits
}

/// `outs = torch.cat((outs, out))` in each round, also where it is cut to a length afterwards: what is cut off is not freed, for what
/// is left has the graph of all.
fn joined<'p>(check: &Check<'_, 'p>, file: FileId, assign: &Assign<'p>) -> Option<Hit> {
    let Assign { target, scope, block, .. } = *assign;
    let mut whole = assign.value;
    while let Expr::Subscript(cut) = whole {
        whole = &cut.value;
    }
    let call = whole.as_call_expr().filter(|_| assign.how == Bound::Whole)?;
    let elements = match call.arguments.args.first()? {
        Expr::Tuple(all) => &all.elts,
        Expr::List(all) => &all.elts,
        _ => return None,
    };
    let model = check.flow.models.of(file);
    let joins = model
        .full_name(scope, &call.func)
        .is_some_and(|name| matches!(name.as_str(), "torch.cat" | "torch.concat" | "torch.hstack" | "torch.vstack"));
    let old = |element: &'p Expr| check.same(file, scope, target, element);
    let added = elements.iter().find(|element| !old(element)).filter(|_| joins && elements.iter().any(old))?;
    let kept = check.containers.is_repeated(file, scope, block)
        && check.outlives(file, scope, block, target)
        && (check.carries(file, scope, block, assign.target.start(), added) || is_queued(check, file, assign, added))
        && check.spans_steps(file, scope, block, target, added)
        && !check.autograd.reaches_backward(file, assign)
        && !check.containers.is_renewed(file, scope, block, target, assign.target.start());
    kept.then(|| {
        Hit::new(file, target.start())
            .saying(format!("{} gets longer by {} with its graph", code(check, file, target), code(check, file, added)))
            .fixed(check.detach(file, scope, block, added, target))
    })
}

/// Whether a round around calls `backward` on no more than a slice of the container, which was made before it: what the slice leaves
/// out keeps the graphs of earlier rounds. `torch.stack(kept[-32:]).sum().backward()`
fn is_used_in_part<'p>(check: &Check<'_, 'p>, model: &Model<'p>, put: &Put<'p>) -> bool {
    let places = check.flow.places(put.file, put.scope, put.container);
    loops_around(model, put.block).any(|round| {
        let inside = |block| is_inside(model, block, round);
        let passes = model.calls.iter().any(|call| inside(call.block) && is_backward(call.call));
        let renewed =
            || places.iter().any(|at| check.flow.assigned(at.place).any(|(of, made)| *of == put.file && inside(made.block)));
        let by_slice = || {
            let has_slice =
                |value: &'p Expr| slices_in(value).into_iter().any(|whole| check.same(put.file, put.scope, whole, put.container));
            let mut parts = model.assigns.iter().filter(|assign| inside(assign.block) && has_slice(assign.value)).peekable();
            parts.peek().is_some() && parts.all(|assign| check.autograd.reaches_backward(put.file, assign))
        };
        passes && !renewed() && by_slice()
    })
}

/// Whether an object gets longer what it made itself, by what it is given with its graph or by what goes through a model that it is,
/// in a file that trains. Caches of keys and values are set anew for each text.
fn is_queued<'p>(check: &Check<'_, 'p>, file: FileId, assign: &Assign<'p>, added: &'p Expr) -> bool {
    let model = check.flow.models.of(file);
    let places = check.flow.places(file, assign.scope, assign.target);
    let own = |at: &At| matches!(at.place, Place::Attribute(..)) && at.depth == 0;
    let is_made = |of: FileId, made: &Assign| {
        let model = check.flow.models.of(of);
        made.range == assign.range
            || model.function_of(made.scope).is_none_or(|function| model.scope(function).name() == "__init__")
    };
    places.iter().any(own)
        && model.source.text().contains(".backward(")
        && places.iter().all(|at| check.flow.assigned(at.place).all(|(of, made)| is_made(*of, made)))
        && (check.autograd.is_handed(file, assign.scope, assign.block, added)
            || check.autograd.is_activation(file, assign.scope, assign.block, added))
}

/// Whether something with its graph is put where it outlives the round.
pub(super) fn keeps<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    let Put { file, scope, block, container, value, .. } = *put;
    check.containers.is_repeated(file, scope, block)
        && check.outlives(file, scope, block, container)
        && (check.carries(file, scope, block, put.offset, value) || is_handed(check, put))
        && !is_slot(check, put)
        && !is_models_slot(check, put)
        && !is_tensor(check, put)
}

/// Whether it is put into a tensor that was made before, or among the attributes of an object.
fn is_tensor<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    let made = check.values(put.file, put.scope, put.container);
    let by_torch = |file, scope, value: &Expr| match value {
        Expr::Call(call) => {
            let name = check.flow.models.of(file).full_name(scope, &call.func).unwrap_or_default();
            name.strip_prefix("torch.").is_some_and(|name| !name.contains('.'))
        }
        _ => false,
    };
    // `self.register_buffer("memory", ...)`
    let buffer = put.container.as_attribute_expr().is_some_and(|container| {
        let model = check.flow.models.of(put.file);
        model
            .calls_named(&["register_buffer"])
            .iter()
            .any(|call| argument(call.call, 0, "name").is_some_and(|name| says(name, container.attr.as_str())))
    });
    let of_attributes = buffer || matches!(put.container, Expr::Attribute(each) if each.attr.as_str() == "__dict__");
    of_attributes || !made.is_empty() && made.into_iter().all(|(file, scope, value)| by_torch(file, scope, value))
}

/// Whether an object that is no model puts something into a container of its own that it is given with its graph, for good or until
/// a framework logs. A log of such is LT302's.
fn is_handed<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    let Put { file, scope, block, container, value, key, .. } = *put;
    let own = |at: &At| matches!(at.place, Place::Attribute(..));
    let for_good = || {
        check.containers.bound(file, scope, block, container, key).is_none()
            && check.containers.is_never_emptied(file, scope, container)
    };
    check.flow.places(file, scope, container).iter().any(own)
        && is_added(check, put)
        && check.is_handed(file, scope, block, value)
        && (is_let_go_by_framework(check, put) || for_good())
        && !crate::containers::logger_keeps_values::keeps(check, put)
}

/// Whether a container is made anew around the innermost loop, and that loop takes a training step in each of its rounds: the
/// graphs of all of its steps, a whole epoch mostly, are alive at once; or goes over a loader and runs a model.
fn is_let_go_late<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    let model = check.flow.models.of(put.file);
    if !matches!(check.firm_bound(put), Some(Limit::Emptied(_))) {
        return false;
    }
    if is_let_go_by_framework(check, put) {
        return true;
    }
    let Some(round) = loops_around(model, put.block).next() else { return false };
    let made_around = || check.containers.is_made_around(put.file, put.scope, put.container, round);
    // An evaluation that records graphs.
    if check.goes_over_loader(put.file, round) && check.runs_model(put.file, round) && !check.trains_in(put.file, round) {
        return made_around();
    }
    let steps = model.calls.iter().any(|call| is_backward(call.call) && is_inside(model, call.block, round));
    // The batches that one step of an optimizer is made of.
    let begins = |outer| model.calls_named(&["zero_grad"]).iter().any(|call| is_inside(model, call.block, outer));
    let accumulates = !begins(round) && loops_around(model, put.block).nth(1).is_some_and(begins);
    steps && !accumulates && made_around()
}

/// `states[i] = cell(x, states[i])`, `averages[i] = 0.9 * averages[i] + 0.1 * x`
fn updates<'p>(check: &Check<'_, 'p>, put: &Put<'p>, key: &'p Expr) -> bool {
    let text = |expr: &Expr| check.text(put.file, expr.range());
    // `for key, make in self.losses.items(): self.losses[key] = make()`
    let model = check.flow.models.of(put.file);
    let over_itself = loops_around(model, put.block).any(|round| match model.block(round).kind {
        BlockKind::For(each) => {
            let named = key.as_name_expr().is_some_and(|key| names_in(&each.target).contains(key.id.as_str()));
            let over = text(&each.iter).trim_start_matches("enumerate(").trim_start_matches("list(");
            named
                && over
                    .strip_prefix(text(put.container))
                    .is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
        }
        _ => false,
    });
    if over_itself {
        return true;
    }
    let is_entry = |value: &Expr| match value {
        Expr::Subscript(item) => text(&item.value) == text(put.container) && text(&item.slice) == text(key),
        _ => false,
    };
    match put.value {
        Expr::Call(call) => given(call).any(is_entry),
        value => has_operand(value, &is_entry, 8),
    }
}

/// Whether a value is computed from something by signs: `0.9 * averages[name] + 0.1 * new`.
fn has_operand(value: &Expr, is_it: &dyn Fn(&Expr) -> bool, left: usize) -> bool {
    let Some(left) = left.checked_sub(1) else { return false };
    match value {
        Expr::BinOp(each) => [&*each.left, &*each.right].into_iter().any(|side| is_it(side) || has_operand(side, is_it, left)),
        _ => false,
    }
}

/// Whether only the methods that a framework calls once in many steps take anything out of a container: where it logs.
fn is_let_go_by_framework<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    let mut taken = check.containers.let_go(put.file, put.scope, put.container).into_iter().peekable();
    taken.peek().is_some()
        && taken.all(|(file, scope, _)| {
            let model = check.flow.models.of(file);
            model.method_of(scope).is_some_and(|(class, method)| {
                model.scope(method).name() == "__init__"
                    || matches!(model.scope(method).name(), "log" | "on_log")
                        && check.containers.is_foreign(ClassId { file, scope: class })
            })
        })
}

/// An entry of a list whose length a model has settled: each pass puts its own in the place of the last one's.
fn is_models_slot<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    let settled = |value: &Expr| match value {
        Expr::List(list) => !list.elts.is_empty(),
        Expr::BinOp(product) => product.op == Operator::Mult && product.left.is_list_expr(),
        _ => false,
    };
    let made = check.values(put.file, put.scope, put.container);
    put.key.is_some()
        && check.autograd.is_in_module(put.file, put.scope)
        && !made.is_empty()
        && made.into_iter().all(|(_, _, value)| settled(value))
}

/// Whether a key is computed of numbers that an object is made with and keeps: `heads[self.index - 1]`.
fn is_of_object<'p>(check: &Check<'_, 'p>, put: &Put<'p>, key: &'p Expr) -> bool {
    match key {
        Expr::NumberLiteral(_) => true,
        Expr::BinOp(each) => [&*each.left, &*each.right].into_iter().all(|side| is_of_object(check, put, side)),
        Expr::Attribute(_) => {
            let places = check.flow.places(put.file, put.scope, key);
            !places.is_empty()
                && places.iter().all(|at| {
                    matches!(at.place, Place::Attribute(..))
                        && check.flow.assigned(at.place).all(|(of, made)| {
                            let model = check.flow.models.of(*of);
                            model.function_of(made.scope).is_none_or(|function| model.scope(function).name() == "__init__")
                        })
                })
        }
        _ => false,
    }
}

/// An entry of the function around, under a key that is given by its caller: the results of workers; one that is computed from what
/// it was before.
fn is_slot<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    if put.key.is_some_and(|key| updates(check, put, key) || is_of_object(check, put, key)) {
        return true;
    }
    let Some(Expr::Name(key)) = put.key else { return false };
    let model = check.flow.models.of(put.file);
    let own = model.function_of(put.scope);
    let outer = |at: &At| matches!(at.place, Place::Variable(_, owner, _) if owner != ScopeId::MODULE && Some(owner) != own);
    let given = model.bindings(put.scope, key.id.as_str()).iter().any(|each| matches!(each.kind, BindingKind::Parameter { .. }));
    given && check.flow.places(put.file, put.scope, put.container).iter().all(outer)
}

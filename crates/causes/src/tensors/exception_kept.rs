//! LT207: An exception is kept, and with it every frame it went through.

use crate::kept::{Sort, sort};
use crate::keys::is_added;
use crate::words::{code, function};
use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::check::{Check, Confidence, Hit, Put, loops_around};
use lowtide_lint::feeds::is_inside;
use lowtide_lint::flow::Place;
use lowtide_lint::model::{Assign, Binding, BindingKind, BlockKind, Bound, Expr, Model, Ranged, ScopeKind};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT207",
    name: "exception-kept",
    title: "An exception is kept, and with it every frame it went through",
    severity: Severity::Leak,
    happens: "A caught exception is stored: in a list of errors, on an object, in a future that nobody asks.",
    keeps: "An exception holds its traceback, the traceback holds the frames, and the frames hold their locals: \
                the batch, the outputs, the loss.",
    shows: "Growth with the number of failures. A step that ran out of memory and was caught frees nothing while \
                its exception lives.",
    fix: Fix {
        text: "Keep the text; let the exception go at the end of `except`.",
        language: Language::Python,
        before: r#"try:
    step(batch)
except RuntimeError as error:
    errors.append(error)"#,
        after: r#"try:
    step(batch)
except RuntimeError as error:
    errors.append(str(error))"#,
    },
    harmless: "An exception that is raised again or dropped.",
    sources: &["https://docs.python.org/3/reference/compound_stmts.html"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    live.has_exceptions().then_some(94)
}

/// A caught exception is put somewhere for good; or the last one is, where a loop goes on.
fn rule(check: &Check) -> Vec<Hit> {
    let puts = check.kept_for_good().iter().filter(|put| sort(check, put) == Sort::Exception);
    let mut hits: Vec<Hit> = puts
        .map(|put| {
            Hit::new(put.file, put.offset).saying(format!(
                "{} keeps each exception that {} catches, with all frames that it went through",
                code(check, put.file, put.container),
                function(check, put.file, put.scope)
            ))
        })
        .collect();
    for (file, model) in check.files().filter(|(_, model)| model.source.text().contains("torch")) {
        for put in check.puts(file, model).iter().filter(|put| is_kept_by_loop(check, put)) {
            if !hits.iter().any(|hit| (hit.file, hit.offset) == (file, put.offset)) {
                hits.push(Hit::new(file, put.offset).with(Confidence::Medium).saying(format!(
                    "{} keeps each exception that {} catches, with all frames that it went through, until the loop is over",
                    code(check, file, put.container),
                    function(check, file, put.scope)
                )));
            }
        }
        for assign in model.assigns.iter().filter(|assign| is_last_kept(check, file, model, assign)) {
            hits.push(Hit::new(file, assign.target.start()).with(Confidence::Medium).saying(format!(
                "{} keeps the last exception that {} catches, with all frames that it went through",
                code(check, file, assign.target),
                function(check, file, assign.scope)
            )));
        }
    }
    hits
}

/// Whether a list that is there before a loop over batches gets each exception of that loop, or one of an object each of a method
/// that is called again and again.
fn is_kept_by_loop<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    let Put { file, scope, block, container, value, .. } = *put;
    is_added(check, put)
        && sort(check, put) == Sort::Exception
        && (loops_around(check.flow.models.of(file), block).next().is_some()
            || container.is_attribute_expr() && check.runs_with_training(file, scope, block))
        && check.spans_steps(file, scope, block, container, value)
        && check.gets_only_more(put)
}

/// `self.last_error = error` where a model ran, that nothing takes away again, raises or asks for its traceback.
fn is_last_kept<'p>(check: &Check<'_, 'p>, file: FileId, model: &Model<'p>, assign: &Assign<'p>) -> bool {
    let (Bound::Whole, Expr::Attribute(_) | Expr::Name(_), Expr::Name(caught)) = (assign.how, assign.target, assign.value) else {
        return false;
    };
    let handled = model.blocks_within(assign.block).any(|block| matches!(block.kind, BlockKind::Except));
    let is_caught = |binding: &Binding| matches!(binding.kind, BindingKind::Other);
    if !handled || !model.bindings(assign.scope, caught.id.as_str()).iter().any(is_caught) {
        return false;
    }
    let places = check.flow.places(file, assign.scope, assign.target);
    // A local lasts as long as the loop that trains, or that batches are taken from.
    let round =
        loops_around(model, assign.block).find(|round| check.trains_in(file, *round) || check.goes_over_loader(file, *round));
    let owned = places.iter().all(|at| match at.place {
        Place::Attribute(..) => true,
        Place::Variable(of, owner, _) => of == file && Some(owner) == model.function_of(assign.scope) && round.is_some(),
        _ => false,
    });
    let name = |expr: &Expr| model.source.slice(expr.range()).to_owned();
    let (target, error) = (name(assign.target), name(assign.value));
    let text = model.source.text();
    let own = model.function_of(assign.scope).map_or(text, |function| match model.scope(function).kind {
        ScopeKind::Function(definition) => model.source.slice(definition.range()),
        _ => text,
    });
    // Who raises it again, or asks where it came from, needs it.
    let is_needed =
        [format!("raise {target}"), format!("{target}.__traceback__")].iter().any(|use_| text.contains(use_.as_str()))
            || own.contains(&format!("{error}.with_traceback(None)"))
            || own.contains(&format!("{error}.__traceback__ = None"));
    // A future, a queue or a thread that has failed once is done.
    let goes_on = check.runs_again(file, assign.scope, assign.block) && !leaves(text, model, assign);
    let is_taken_back = || {
        places.iter().flat_map(|at| check.flow.assigned(at.place)).any(|(of, other)| {
            let model = check.flow.models.of(*of);
            // In a constructor, or in the body of a class.
            let made = model.function_of(other.scope).is_none_or(|function| model.scope(function).name() == "__init__")
                || assign.target.is_name_expr() && round.is_some_and(|round| !is_inside(model, other.block, round));
            !(made || *of == file && other.range == assign.range)
        })
    };
    !places.is_empty() && owned && goes_on && !is_needed && !is_taken_back()
}

/// Whether the handler leaves the loop or the function after it: by `raise`, `return` or `break`.
fn leaves(text: &str, model: &Model, assign: &Assign) -> bool {
    // The lines behind it that are indented as deep are of the same block.
    let start = usize::from(assign.range.start());
    let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let indent = &text[line..start];
    let rest = text[usize::from(assign.range.end())..].lines().skip(1);
    model.blocks_within(assign.block).count() > 0
        && rest.take_while(|line| line.trim().is_empty() || line.starts_with(indent)).any(|line| {
            let own = line.strip_prefix(indent).unwrap_or_default();
            ["raise", "return", "break"].iter().any(|word| own == *word || own.starts_with(&format!("{word} ")))
        })
}

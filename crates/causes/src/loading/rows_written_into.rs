//! Data sets whose rows are lists or dictionaries that they keep, and that write what they decode into the row itself: the row that
//! was read once stays decoded.

use lowtide_lint::ask::{method, names_in, receiver};
use lowtide_lint::check::{Check, Put};
use lowtide_lint::flow::{ClassId, Place};
use lowtide_lint::model::{Binding, BindingKind, Bound, Expr, ExprCall, ExprSubscript, Ranged, ScopeId, TextSize};
use lowtide_lint::program::FileId;

/// Names and calls that are looked through for one value.
const MAX_LOOKS: usize = 5;
/// Callers of a function that writes into what it is given.
const MAX_CALLERS: usize = 8;

/// The data set into whose row something is put that was decoded for one sample, and the attribute that has the rows.
pub(super) fn data_set_of<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> Option<(ClassId, &'p str)> {
    let key = put.key?;
    let rows = rows_of(check, put)?;
    let decodes = is_large(check, put, put.value, MAX_LOOKS)
        && is_of_dictionary(check, put, key)
        && !is_made_of_entry(check, put)
        && !is_taken_out(check, put);
    decodes.then_some(rows)
}

/// The rows that the container is one of: in the method that makes a sample, or in a function that this gives the row to.
fn rows_of<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> Option<(ClassId, &'p str)> {
    let Put { file, scope, container, .. } = *put;
    if let Some(class) = check.makes_samples(file, scope) {
        return row_of(check, file, scope, class, container, put.offset);
    }
    let Expr::Name(name) = container else { return None };
    let model = check.flow.models.of(file);
    let function = model.function_of(scope)?;
    let bindings = model.bindings(scope, name.id.as_str());
    let is_parameter = |binding: &Binding| matches!(binding.kind, BindingKind::Parameter { .. });
    if bindings.is_empty() || !bindings.iter().all(is_parameter) || model.owner(scope, name.id.as_str()) != Some(function) {
        return None;
    }
    check.callers(file, function).into_iter().take(MAX_CALLERS).find_map(|(from, call)| {
        let class = check.makes_samples(from, call.scope)?;
        let given = check.flow.given(from, &call, file, function).into_iter();
        let row = given.filter(|one| one.parameter == name.id.as_str() && one.depth == 0).map(|one| one.value).next()?;
        row_of(check, from, call.scope, class, row, call.statement.start())
    })
}

/// The attribute whose element an expression is at a place of a method: `self.rows[index]`, or a variable that was given nothing
/// else before.
fn row_of<'p>(
    check: &Check<'_, 'p>,
    file: FileId,
    scope: ScopeId,
    class: ClassId,
    expr: &'p Expr,
    at: TextSize,
) -> Option<(ClassId, &'p str)> {
    let element = |value: &'p Expr| {
        let Expr::Attribute(rows) = value else { return None };
        let own = check.flow.own_class(file, scope, &rows.value).is_some();
        (own && is_kept_list(check, class, rows.attr.as_str())).then_some((class, rows.attr.as_str()))
    };
    // By an index: a few parts may be asked for by their names.
    let by_index = |item: &'p ExprSubscript| {
        let found = element(&item.value).filter(|_| !item.slice.is_slice_expr() && !item.slice.is_literal_expr());
        found.filter(|(class, rows)| check.has_all_samples(*class, rows))
    };
    match expr {
        Expr::Subscript(item) => by_index(item),
        Expr::Name(name) => {
            let model = check.flow.models.of(file);
            let function = model.function_of(scope)?;
            let before = model.assigns.iter().filter(|assign| {
                assign.scope == function
                    && assign.range.start() < at
                    && matches!(assign.target, Expr::Name(target) if target.id == name.id)
            });
            let mut found = before.map(|assign| match (assign.how, assign.value) {
                (Bound::Whole, Expr::Subscript(item)) => by_index(item),
                (Bound::Element, value) => element(value),
                _ => None,
            });
            let first = found.next()??;
            found.all(|other| other == Some(first)).then_some(first)
        }
        _ => None,
    }
}

/// Whether all that an attribute of a data set is ever given are lists or dictionaries of Python: their elements are the same objects
/// each time. What a library keeps makes them anew, mostly.
fn is_kept_list(check: &Check, class: ClassId, name: &str) -> bool {
    let Some(name) = check.flow.attribute_name(name) else { return false };
    let places = check.flow.classes.ancestors(class).iter().map(|class| Place::Attribute(*class, name));
    let assigned: Vec<_> = places.flat_map(|place| check.flow.assigned(place).copied().collect::<Vec<_>>()).collect();
    !assigned.is_empty()
        && assigned.iter().all(|(file, assign)| match assign.how {
            Bound::Whole => is_list(check, *file, assign.scope, assign.value, MAX_LOOKS),
            Bound::Augmented(_) => true,
            _ => false,
        })
}

fn is_list<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, value: &'p Expr, looks: usize) -> bool {
    let Some(looks) = looks.checked_sub(1) else { return false };
    let inner = |value: &'p Expr| is_list(check, file, scope, value, looks);
    let is_row = |element: &'p Expr| !check.value(file, scope, check.flow.models.of(file).scope(scope).block, element).is_data();
    match value {
        Expr::List(list) => list.elts.iter().all(is_row),
        Expr::ListComp(each) => is_row(&each.elt),
        Expr::DictComp(each) => is_row(&each.value),
        Expr::Dict(each) => each.items.iter().all(|item| is_row(&item.value)),
        Expr::BinOp(each) => inner(&each.left) && inner(&each.right),
        Expr::Subscript(item) => item.slice.is_slice_expr() && inner(&item.value),
        Expr::Call(call) => {
            let name = check.flow.models.of(file).full_name(scope, &call.func);
            match name.as_deref() {
                Some("list" | "sorted" | "dict") | Some("json.load" | "json.loads") => true,
                _ if method(call) == Some("to_dict") => true,
                _ => {
                    let Some((of, function)) = check.flow.callee(file, scope, &call.func) else { return false };
                    let mut results = check.flow.models.of(of).returned(function).peekable();
                    check.flow.models.class(file, scope, &call.func).is_none()
                        && results.peek().is_some()
                        && results.all(|result| is_list(check, of, result.scope, result.value, looks))
                }
            }
        }
        Expr::Name(_) => {
            let all = check.values(file, scope, value).into_iter();
            let given = check.flow.places(file, scope, value).into_iter().filter(|at| at.depth == 0);
            let given = given.flat_map(|at| check.given_to(at)).take(MAX_CALLERS);
            let mut all = all.chain(given).peekable();
            all.peek().is_some() && all.all(|(file, scope, value)| is_list(check, file, scope, value, looks))
        }
        _ => false,
    }
}

/// Whether the row is a dictionary: its keys are texts, or what was there under this key has parts with names.
fn is_of_dictionary<'p>(check: &Check<'_, 'p>, put: &Put<'p>, key: &'p Expr) -> bool {
    key.is_string_literal_expr() || key.is_f_string_expr() || {
        let entry = entry(check, put, key);
        let text = check.flow.models.of(put.file).source.text();
        text.match_indices(&entry).any(|(at, _)| has_named_part(&text[at + entry.len()..]))
    }
}

fn entry(check: &Check, put: &Put, key: &Expr) -> String {
    format!("{}[{}]", check.text(put.file, put.container.range()), check.text(put.file, key.range()))
}

/// `["path"]`, `[0]["path"]`
fn has_named_part(rest: &str) -> bool {
    let rest = match rest.strip_prefix('[').and_then(|number| number.split_once(']')) {
        Some((number, rest)) if number.bytes().all(|digit| digit.is_ascii_digit()) => rest,
        _ => rest,
    };
    ["[\"", "['"].iter().any(|open| rest.starts_with(open))
}

/// Whether a value is computed from what the entry was: it takes the place of that, and of as much memory. A name in it is less.
fn is_made_of_entry<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    let Some(key) = put.key else { return false };
    let entry = entry(check, put, key);
    let mentions = |value: &Expr| {
        let text = check.text(put.file, value.range());
        text.match_indices(&entry).any(|(at, _)| !has_named_part(&text[at + entry.len()..]))
    };
    let model = check.flow.models.of(put.file);
    let by_name = |name: &str| {
        model.assigns.iter().any(|assign| {
            assign.scope == put.scope
                && matches!(assign.target, Expr::Name(target) if target.id.as_str() == name)
                && mentions(assign.value)
        })
    };
    mentions(put.value) || names_in(put.value).into_iter().any(by_name)
}

/// Whether the same function takes it out of the row again: `del row["image"]`, `row.pop("image")`.
fn is_taken_out(check: &Check, put: &Put) -> bool {
    let model = check.flow.models.of(put.file);
    let is_row = |expr: &Expr| check.text(put.file, expr.range()) == check.text(put.file, put.container.range());
    let function = model.function_of(put.scope);
    model.deletes.iter().any(|delete| {
        model.function_of(delete.scope) == function && matches!(delete.target, Expr::Subscript(item) if is_row(&item.value))
    }) || model.calls.iter().any(|call| {
        model.function_of(call.scope) == function
            && matches!(method(call.call), Some("pop" | "popitem" | "clear"))
            && receiver(call.call).is_some_and(is_row)
    })
}

/// Whether a value is a tensor, an array, or an image or sound that a library reads.
fn is_large<'p>(check: &Check<'_, 'p>, put: &Put<'p>, value: &'p Expr, looks: usize) -> bool {
    let Some(looks) = looks.checked_sub(1) else { return false };
    if check.value(put.file, put.scope, put.block, value).is_data() {
        return true;
    }
    match value {
        Expr::Call(call) => {
            reads(check, put, call) || is_whole(call) && receiver(call).is_some_and(|on| is_large(check, put, on, looks))
        }
        Expr::Name(_) => {
            let mut values = check.values(put.file, put.scope, value).into_iter().filter(|(of, _, _)| *of == put.file).peekable();
            values.peek().is_some() && values.all(|(_, scope, value)| scope == put.scope && is_large(check, put, value, looks))
        }
        _ => false,
    }
}

/// A method that gives as much as it is called on: `image.convert("RGB")`.
fn is_whole(call: &ExprCall) -> bool {
    matches!(method(call), Some("convert" | "copy" | "resize" | "astype"))
}

fn reads(check: &Check, put: &Put, call: &ExprCall) -> bool {
    let Some(name) = check.flow.models.of(put.file).full_name(put.scope, &call.func) else { return false };
    matches!(
        name.as_str(),
        "PIL.Image.open"
            | "cv2.imread"
            | "imageio.imread"
            | "imageio.v2.imread"
            | "imageio.v3.imread"
            | "librosa.load"
            | "numpy.load"
            | "skimage.io.imread"
            | "soundfile.read"
            | "torchaudio.load"
            | "torchvision.io.read_image"
            | "torchvision.io.decode_image"
    )
}

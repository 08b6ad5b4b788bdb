//! What the samples of a data set are, beside lists that the source puts together itself: what a file gives, and lists of arrays.

use lowtide_lint::check::{Check, loops_around};
use lowtide_lint::flow::ClassId;
use lowtide_lint::model::{Assign, Expr, Model, ScopeId, ScopeKind};
use lowtide_lint::program::FileId;

/// What gives back whatever was saved.
const LOADERS: &[&str] = &["cPickle.load", "dill.load", "joblib.load", "pickle.load", "pickle.loads", "torch.load"];

/// Whether a value is what a file gives that may hold anything: `pickle.load(f)`.
pub(super) fn is_loaded(check: &Check, file: FileId, assign: &Assign) -> bool {
    let Expr::Call(call) = assign.value else { return false };
    check.flow.models.of(file).full_name(assign.scope, &call.func).is_some_and(|name| LOADERS.contains(&&*name))
}

/// Whether an attribute is given one array in the end, whatever it was put together from: `self.x = np.concatenate(self.x)`.
pub(super) fn is_one_array(check: &Check, file: FileId, assign: &Assign) -> bool {
    const JOIN: &[&str] = &["array", "asarray", "cat", "concat", "concatenate", "hstack", "stack", "tensor", "vstack"];
    let (Expr::Call(call), Expr::Attribute(target)) = (assign.value, assign.target) else { return false };
    let own = |value: &Expr| matches!(value, Expr::Attribute(each) if each.attr.as_str() == target.attr.as_str());
    let joins = |name: String| {
        ["numpy.", "torch.", "pandas."].iter().any(|library| name.starts_with(library))
            && name.rsplit('.').next().is_some_and(|last| JOIN.contains(&last))
    };
    call.arguments.args.first().is_some_and(own)
        && check.flow.models.of(file).full_name(assign.scope, &call.func).is_some_and(joins)
}

/// Whether samples are asked for their parts by a name, so that each is a dictionary: `self.rows[index]["feature"]`, also
/// `row = self.rows[index]` and then `row["feature"]`.
pub(super) fn parts_are_asked_for(check: &Check, class: ClassId, name: &str) -> bool {
    let Some((file, method)) = check.flow.method(class, "__getitem__") else { return false };
    let model = check.flow.models.of(file);
    let ScopeKind::Function(definition) = model.scope(method).kind else { return false };
    let text = check.text(file, definition.range);
    let is_sample = |value: &Expr| match value {
        Expr::Subscript(item) => {
            !item.slice.is_string_literal_expr()
                && matches!(&*item.value, Expr::Attribute(each) if each.attr.as_str() == name && each.value.is_name_expr())
        }
        _ => false,
    };
    let by_key = |row: &str| ["[\"", "['", ".get(\"", ".get('"].iter().any(|open| text.contains(&format!("{row}{open}")));
    let by_name = || {
        let rows = model.assigns.iter().filter(|assign| assign.scope == method && is_sample(assign.value));
        rows.filter_map(|assign| assign.target.as_name_expr()).any(|row| by_key(row.id.as_str()))
    };
    // `self.rows[index]["feature"]`
    let directly = || {
        let mut rest = text;
        while let Some(at) = rest.find(&format!("self.{name}[")) {
            rest = &rest[at + 1..];
            let Some(close) = rest.find(']') else { break };
            if ["[\"", "['"].iter().any(|open| rest[close + 1..].starts_with(open)) && !rest[..close].contains(['"', '\'']) {
                return true;
            }
        }
        false
    };
    by_name() || directly()
}

/// Whether an attribute is given a list of arrays or tensors, and whether those are many small ones: the list is filled in loops
/// of loops, as with the windows of several series.
pub(super) fn of_arrays<'p>(check: &Check<'_, 'p>, (file, assign): (FileId, &'p Assign<'p>)) -> Option<bool> {
    let model = check.flow.models.of(file);
    if let Expr::ListComp(list) = assign.value {
        let long = list.generators.iter().any(|generator| check.is_long(file, assign.scope, &generator.iter));
        return (long && is_array(check, file, assign.scope, model, &list.elt)).then_some(list.generators.len() > 1);
    }
    let places = check.flow.places(file, assign.scope, assign.target);
    let puts = check.puts(file, model).into_iter().filter(|put| {
        put.key.is_none()
            && check.long_loop(file, put.block).is_some()
            && check.makes_samples(file, put.scope).is_none()
            && check.flow.places(file, put.scope, put.container).iter().any(|at| places.contains(at))
            && is_array(check, file, put.scope, model, put.value)
    });
    puts.map(|put| loops_around(model, put.block).count() > 1).max()
}

fn is_array<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, model: &Model<'p>, value: &'p Expr) -> bool {
    let opened = matches!(value, Expr::Call(call) if model.full_name(scope, &call.func).is_some_and(|name| name == "numpy.load"));
    opened || check.value(file, scope, model.scope(scope).block, value).is_data()
}

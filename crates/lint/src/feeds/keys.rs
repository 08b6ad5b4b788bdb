//! Keys of which there are only so many, told by where they come from: sizes of tensors, and the numbers of samples that a data set
//! gives with them.
//!
//! A key is followed back through variables, loops and the callers of a function; all that it can come from has to be of the kind.

use ruff_python_ast::Operator;

use super::bounds::Bounds;
use super::find::users;
use super::ops::name_of;
use super::positions::is_position;
use crate::check::LOADERS;
use crate::flow::Place;
use crate::model::{Assign, BindingKind, Bound as Way, Call, Expr, Item, ScopeId};
use crate::program::FileId;

/// Variables, calls and parts of expressions that are followed from a key.
const STEPS: usize = 10;
/// Callers of one function that are asked what they give.
const MAX_CALLERS: usize = 24;
/// Methods that give the same numbers, as something else or elsewhere.
const SAME: &[&str] =
    &["clone", "cpu", "cuda", "detach", "flatten", "int", "item", "long", "numpy", "squeeze", "to", "tolist", "view"];

/// An expression where it is written.
#[derive(Clone, Copy)]
struct Written<'p> {
    file: FileId,
    scope: ScopeId,
    expr: &'p Expr,
}

impl<'p> Written<'p> {
    fn with(self, expr: &'p Expr) -> Self {
        Self { expr, ..self }
    }
}

impl<'p> Bounds<'_, 'p> {
    /// Whether a key is made of sizes of tensors: a training has batches of so many different lengths, and no more.
    pub(super) fn is_size(&self, file: FileId, scope: ScopeId, key: &'p Expr) -> bool {
        self.size(Written { file, scope, expr: key }, STEPS)
    }

    fn size(&self, at: Written<'p>, steps: usize) -> bool {
        let Some(steps) = steps.checked_sub(1) else { return false };
        let of = |expr: &'p Expr| self.size(at.with(expr), steps);
        let or_constant = |expr: &'p Expr| expr.is_literal_expr() || of(expr);
        match at.expr {
            Expr::Name(_) => {
                let from = |value: Written<'p>| self.size(value, steps);
                self.origins(
                    at,
                    &|assign| match assign.how {
                        // `b, t, d = x.shape`
                        Way::Whole | Way::Part => from(Written { file: at.file, scope: assign.scope, expr: assign.value }),
                        _ => false,
                    },
                    &from,
                )
            }
            Expr::Attribute(each) => match each.attr.as_str() {
                "shape" => !self.gets_more(at.with(&each.value)),
                "dtype" | "device" | "ndim" => true,
                _ => false,
            },
            Expr::Subscript(each) => of(&each.value),
            Expr::Call(call) => match (&*call.func, &*call.arguments.args) {
                (Expr::Attribute(method), _) if method.attr.as_str() == "size" => !self.gets_more(at.with(&method.value)),
                (Expr::Name(name), [only]) => matches!(name.id.as_str(), "int" | "str" | "tuple" | "max" | "min") && of(only),
                (Expr::Name(name), all) => {
                    matches!(name.id.as_str(), "max" | "min") && !all.is_empty() && all.iter().all(or_constant)
                }
                _ => false,
            },
            Expr::Tuple(each) => each.elts.iter().any(of) && each.elts.iter().all(or_constant),
            Expr::BinOp(each) => {
                each.op != Operator::Pow
                    && or_constant(&each.left)
                    && or_constant(&each.right)
                    && !(each.left.is_literal_expr() && each.right.is_literal_expr())
            }
            Expr::FString(each) => {
                let mut parts = each.value.elements().filter_map(|part| part.as_interpolation()).peekable();
                parts.peek().is_some() && parts.all(|part| of(&part.expression))
            }
            _ => false,
        }
    }

    /// Whether something is added to what an expression is, or it is put together anew: its size is another one each time.
    fn gets_more(&self, at: Written<'p>) -> bool {
        let places = self.flow.places(at.file, at.scope, at.expr);
        places.iter().any(|at| super::bounds::at(&self.ops.adds, *at).next().is_some())
    }

    /// Whether a key is the number of a sample, or what a data set has at that number: it comes from what `__getitem__` is asked for, or
    /// from what a loader gives with each sample.
    pub(super) fn is_sample_number(&self, file: FileId, scope: ScopeId, key: &'p Expr) -> bool {
        self.numbers_samples(Written { file, scope, expr: key }, None, STEPS)
    }

    /// Whether an expression, or an item of it, has such numbers.
    fn numbers_samples(&self, at: Written<'p>, item: Option<Item<'p>>, steps: usize) -> bool {
        let Some(steps) = steps.checked_sub(1) else { return false };
        if item.is_none() && is_position(self.flow.models.of(at.file), at.scope, at.expr) {
            return true;
        }
        let of = |expr: &'p Expr| self.numbers_samples(at.with(expr), item, steps);
        match at.expr {
            Expr::Name(_) => {
                let from = |value: Written<'p>| self.numbers_samples(value, item, steps);
                self.origins(at, &|assign| self.assigns_samples(at.file, assign, item, steps), &from)
            }
            Expr::Subscript(each) => match (Item::of(&each.slice), item) {
                (Some(part), None) if part != Item::Any => self.numbers_samples(at.with(&each.value), Some(part), steps),
                (_, item) => item.is_none() && of(&each.value),
            },
            Expr::Call(call) => match (&*call.func, &*call.arguments.args) {
                (Expr::Attribute(method), _) => SAME.contains(&method.attr.as_str()) && of(&method.value),
                (Expr::Name(name), [only]) => matches!(name.id.as_str(), "int" | "list" | "str" | "tuple") && of(only),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether an assignment gives such numbers: `i, x = batch`, `for i, x in loader:`, `for i in numbers.tolist():`.
    fn assigns_samples(&self, file: FileId, assign: &Assign<'p>, item: Option<Item<'p>>, steps: usize) -> bool {
        let value = Written { file, scope: assign.scope, expr: assign.value };
        match (assign.how, assign.part.items()) {
            (Way::Whole, _) => self.numbers_samples(value, item, steps),
            (Way::Part, [part]) => item.is_none() && self.numbers_samples(value, Some(*part), steps),
            (Way::Element | Way::Part, [_, part]) => {
                item.is_none() && self.is_loader(value, steps) && self.all_give_numbers(Some(*part))
            }
            (Way::Element, _) if self.is_loader(value, steps) => self.all_give_numbers(item),
            (Way::Element, _) => item.is_none() && self.numbers_samples(value, None, steps),
            _ => false,
        }
    }

    /// Whether an expression is a loader that the program makes.
    fn is_loader(&self, at: Written<'p>, steps: usize) -> bool {
        let Some(steps) = steps.checked_sub(1) else { return false };
        match at.expr {
            Expr::Call(call) => name_of(call).is_some_and(|name| LOADERS.contains(&name)),
            Expr::Name(_) | Expr::Attribute(_) => {
                let from = |value: Written<'p>| self.is_loader(value, steps);
                let by = |assign: &Assign<'p>| {
                    assign.how == Way::Whole && from(Written { file: at.file, scope: assign.scope, expr: assign.value })
                };
                self.origins(at, &by, &from)
            }
            _ => false,
        }
    }

    /// Whether every data set of the program gives the numbers of its samples, themselves or as this part of them.
    fn all_give_numbers(&self, part: Option<Item<'p>>) -> bool {
        let mut methods = users(self.flow).flat_map(|(_, model)| {
            let is_data =
                |method| model.method_of(method).is_some_and(|(class, _)| !model.scope(class).bindings("__len__").is_empty());
            let methods = model.functions().filter(move |(method, each)| each.name.as_str() == "__getitem__" && is_data(*method));
            methods.map(move |(method, _)| (model, method))
        });
        let gives = |(model, method): (&'p crate::model::Model<'p>, ScopeId)| {
            let mut returned = model.returned(method).peekable();
            returned.peek().is_some()
                && returned.all(|result| {
                    let number = match (part, result.value) {
                        (None, value) => Some(value),
                        (Some(Item::At(at)), Expr::Tuple(each)) => each.elts.get(usize::from(at)),
                        (Some(Item::Key(key)), Expr::Dict(each)) => {
                            let is_it = |name: &Expr| Item::of(name) == Some(Item::Key(key));
                            each.items.iter().find(|item| item.key.as_ref().is_some_and(is_it)).map(|item| &item.value)
                        }
                        _ => None,
                    };
                    number.is_some_and(|number| is_position(model, method, number))
                })
        };
        let first = methods.next();
        first.is_some_and(gives) && methods.all(gives)
    }

    /// Whether all that a variable or an attribute is given fits: what is assigned to it, and what callers give to a parameter.
    fn origins(&self, at: Written<'p>, assigned: &dyn Fn(&Assign<'p>) -> bool, given: &dyn Fn(Written<'p>) -> bool) -> bool {
        let places = self.flow.places(at.file, at.scope, at.expr);
        let [place] = &*places else { return false };
        if place.depth != 0 {
            return false;
        }
        let mut any = false;
        for (file, assign) in self.flow.assigned(place.place) {
            // Another file's assignments are written in its scopes.
            if *file != at.file || !assigned(assign) {
                return false;
            }
            any = true;
        }
        let Place::Variable(file, owner, name) = place.place else { return any };
        let is_parameter = |kind: &BindingKind| matches!(kind, BindingKind::Parameter { .. });
        if !self.flow.models.of(file).scope(owner).bindings(name).iter().any(|binding| is_parameter(&binding.kind)) {
            return any;
        }
        let callers = self.flow.callers(file, owner);
        let gives = |(from, call): &(FileId, Call<'p>)| {
            let values = self.flow.given(*from, call, file, owner);
            let mut values = values.into_iter().filter(|each| each.parameter == name);
            values
                .next()
                .is_some_and(|each| each.depth == 0 && given(Written { file: *from, scope: call.scope, expr: each.value }))
        };
        !callers.is_empty() && callers.len() <= MAX_CALLERS && callers.iter().all(gives)
    }
}

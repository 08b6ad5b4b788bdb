//! What a value is, as far as the source shows: whether it is worth the memory that it takes.

use super::Check;
use crate::ask::{argument, keyword};
use crate::model::{BlockId, Bound, Expr, ExprCall, Operator, ScopeId};
use crate::program::FileId;

/// Variables and calls that are followed for one value.
const MAX_DEPTH: usize = 24;
/// Expressions that are looked at for one value: functions that call one another in many places would be followed for minutes.
const MAX_LOOKS: usize = 300;
/// Callers of a function that are asked what they give.
const MAX_CALLERS: usize = 8;
/// `return`s of a function that are looked at.
const MAX_RESULTS: usize = 8;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A tensor, or something made of tensors.
    Tensor,
    /// An array of numpy.
    Array,
    /// A number, a short text.
    Small,
    /// The source does not tell.
    Unknown,
}

impl Value {
    /// Whether it has the size of data.
    #[must_use]
    pub fn is_data(self) -> bool {
        matches!(self, Self::Tensor | Self::Array)
    }

    /// What a container of several values is.
    fn of_several(values: impl Iterator<Item = Self>) -> Self {
        let values: Vec<Self> = values.collect();
        match () {
            () if values.contains(&Self::Tensor) => Self::Tensor,
            () if values.contains(&Self::Array) => Self::Array,
            () if !values.is_empty() && values.iter().all(|value| *value == Self::Small) => Self::Small,
            () => Self::Unknown,
        }
    }
}

impl<'p> Check<'_, 'p> {
    /// What an expression's value is.
    #[must_use]
    pub fn value(&self, file: FileId, scope: ScopeId, block: BlockId, expr: &'p Expr) -> Value {
        if self.autograd.carries(file, scope, block, expr) {
            Value::Tensor
        } else {
            self.looks_left.set(MAX_LOOKS);
            self.value_within(file, scope, expr, MAX_DEPTH)
        }
    }

    fn value_within(&self, file: FileId, scope: ScopeId, expr: &'p Expr, left: usize) -> Value {
        let (Some(left), Some(looks)) = (left.checked_sub(1), self.looks_left.get().checked_sub(1)) else {
            return Value::Unknown;
        };
        self.looks_left.set(looks);
        let of = |expr: &'p Expr| self.value_within(file, scope, expr, left);
        match expr {
            Expr::NumberLiteral(_)
            | Expr::StringLiteral(_)
            | Expr::FString(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_)
            | Expr::BytesLiteral(_) => Value::Small,
            Expr::Name(_) => self.named_value(file, scope, expr, left),
            Expr::Attribute(each) => match each.attr.as_str() {
                "shape" | "dtype" | "device" | "ndim" => Value::Small,
                "data" | "grad" | "T" | "mT" if of(&each.value) == Value::Tensor => Value::Tensor,
                _ => self.named_value(file, scope, expr, left),
            },
            Expr::BinOp(each) if each.op == Operator::Mod && each.left.is_string_literal_expr() => Value::Small,
            Expr::BinOp(each) => Value::of_several([of(&each.left), of(&each.right)].into_iter()),
            Expr::Compare(each) => match of(&each.left) {
                Value::Tensor => Value::Tensor,
                _ => Value::Unknown,
            },
            Expr::UnaryOp(each) => of(&each.operand),
            Expr::Subscript(each) => match of(&each.value) {
                Value::Small => Value::Unknown,
                other => other,
            },
            Expr::If(each) => Value::of_several([of(&each.body), of(&each.orelse)].into_iter()),
            Expr::Named(each) => of(&each.value),
            Expr::Tuple(each) => Value::of_several(each.elts.iter().map(of)),
            Expr::List(each) => Value::of_several(each.elts.iter().map(of)),
            Expr::Dict(each) => Value::of_several(each.items.iter().map(|item| of(&item.value))),
            Expr::ListComp(each) => of(&each.elt),
            Expr::DictComp(each) => of(&each.value),
            Expr::Call(call) => self.called_value(file, scope, call, left),
            _ => Value::Unknown,
        }
    }

    /// By what is assigned to a variable or an attribute.
    fn named_value(&self, file: FileId, scope: ScopeId, expr: &'p Expr, left: usize) -> Value {
        let mut values = Vec::new();
        for at in self.flow.places(file, scope, expr).into_iter().filter(|at| at.depth == 0) {
            if self.autograd.is_carrier(at.place) {
                return Value::Tensor;
            }
            for (file, assign) in self.flow.assigned(at.place).take(8) {
                let value = self.value_within(*file, assign.scope, assign.value, left / 2);
                values.push(match assign.how {
                    Bound::Whole | Bound::Augmented(_) => value,
                    // A part of tensors is one; a part of anything else may be anything.
                    Bound::Element if is_range(assign.value) => Value::Small,
                    Bound::Part | Bound::Element if value == Value::Tensor => value,
                    _ => Value::Unknown,
                });
            }
            // What a parameter is, its callers tell.
            let given = if self.autograd.is_taken_off(at.place) { Vec::new() } else { self.all_given_to(at) };
            for (file, scope, value) in given.into_iter().take(MAX_CALLERS) {
                values.push(self.value_within(file, scope, value, left / 2));
            }
        }
        Value::of_several(values.into_iter())
    }

    fn called_value(&self, file: FileId, scope: ScopeId, call: &'p ExprCall, left: usize) -> Value {
        let first = || call.arguments.args.first().map_or(Value::Unknown, |first| self.value_within(file, scope, first, left));
        let name = self.flow.models.of(file).full_name(scope, &call.func);
        match name.as_deref() {
            Some(
                "float" | "int" | "len" | "str" | "round" | "bool" | "repr" | "type" | "id" | "time.time" | "time.perf_counter",
            ) => {
                return Value::Small;
            }
            Some("list" | "tuple" | "sum" | "max" | "min" | "copy.copy" | "copy.deepcopy") => return first(),
            Some(name) if name.starts_with("torch.") => {
                let own = name
                    .trim_start_matches("torch.")
                    .trim_start_matches("nn.functional.")
                    .trim_start_matches("nn.utils.clip_grad.");
                if own.trim_start_matches("nn.utils.").starts_with("clip_grad_norm") {
                    return Value::Tensor;
                }
                return if !own.contains('.') && !NO_TENSORS.contains(&own) { Value::Tensor } else { Value::Unknown };
            }
            Some(name) if name.starts_with("numpy.") => {
                return if is_array(name.trim_start_matches("numpy."), call) { Value::Array } else { Value::Unknown };
            }
            _ => {}
        }
        if self.autograd.calls_model(file, scope, &call.func) {
            return Value::Tensor;
        }
        if let Expr::Attribute(method) = &*call.func
            && self.flow.callee(file, scope, &call.func).is_none()
        {
            return match method.attr.as_str() {
                "item" | "size" | "dim" | "numel" | "strip" | "format" | "join" | "lower" => Value::Small,
                "numpy" => Value::Array,
                "detach" | "detach_" | "unsqueeze" | "squeeze" | "permute" | "contiguous" | "requires_grad_" => Value::Tensor,
                "clone" | "cpu" | "cuda" if call.arguments.is_empty() && !self.is_model(file, scope, &method.value) => {
                    Value::Tensor
                }
                "tolist" | "keys" | "items" | "split" | "state_dict" | "parameters" | "get" | "pop" => Value::Unknown,
                name => match self.value_within(file, scope, &method.value, left) {
                    Value::Small => Value::Unknown,
                    // `loss.numpy().mean()` is a number of numpy's.
                    Value::Array if call.arguments.is_empty() && REDUCES.contains(&name) => Value::Small,
                    other => other,
                },
            };
        }
        self.returned_value(file, scope, call, left)
    }

    /// What a function of the program gives.
    fn returned_value(&self, file: FileId, scope: ScopeId, call: &'p ExprCall, left: usize) -> Value {
        let Some((of, function)) = self.flow.callee(file, scope, &call.func) else { return Value::Unknown };
        if self.flow.models.class(file, scope, &call.func).is_some() {
            return Value::Unknown;
        }
        let results = self.flow.models.of(of).returned(function).take(MAX_RESULTS);
        Value::of_several(results.map(|result| {
            let of = |part: &'p Expr| self.value_within(of, result.scope, part, left / 2);
            // A part of several things is only known where all are the same.
            let parts: Vec<Value> = match result.value {
                Expr::Tuple(each) => each.elts.iter().map(of).collect(),
                Expr::List(each) => each.elts.iter().map(of).collect(),
                Expr::Dict(each) => each.items.iter().map(|item| of(&item.value)).collect(),
                value => vec![of(value)],
            };
            if parts.iter().all(|part| part.is_data()) { Value::of_several(parts.into_iter()) } else { Value::Unknown }
        }))
    }

    fn is_model(&self, file: FileId, scope: ScopeId, expr: &'p Expr) -> bool {
        self.autograd.calls_model(file, scope, expr)
            || self.flow.places(file, scope, expr).iter().any(|at| self.autograd.is_model(at.place))
    }
}

fn is_range(value: &Expr) -> bool {
    matches!(value, Expr::Call(call) if matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "range"))
}

/// Functions of `torch` that give no tensor.
const NO_TENSORS: &[&str] = &[
    "Generator",
    "Size",
    "compile",
    "device",
    "dtype",
    "enable_grad",
    "equal",
    "get_default_dtype",
    "inference_mode",
    "is_grad_enabled",
    "is_tensor",
    "load",
    "manual_seed",
    "no_grad",
    "numel",
    "save",
    "set_grad_enabled",
];

/// Functions of numpy that give arrays.
const ARRAYS: &[&str] = &[
    "arange",
    "array",
    "asarray",
    "ascontiguousarray",
    "concatenate",
    "copy",
    "empty",
    "empty_like",
    "frombuffer",
    "full",
    "full_like",
    "hstack",
    "linspace",
    "ones",
    "ones_like",
    "repeat",
    "stack",
    "tile",
    "vstack",
    "zeros",
    "zeros_like",
];

/// Methods of an array that give one number where no axis is named.
const REDUCES: &[&str] = &["all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "var"];

/// Whether a call of a function of numpy gives an array. What draws random numbers gives one number where no size is asked for.
fn is_array(name: &str, call: &ExprCall) -> bool {
    match name.strip_prefix("random.") {
        Some("rand" | "randn" | "random" | "random_sample" | "standard_normal") => {
            !call.arguments.args.is_empty() || keyword(call, "size").is_some()
        }
        Some("permutation") => true,
        Some("normal" | "randint" | "uniform") => argument(call, 2, "size").is_some(),
        Some(_) => keyword(call, "size").is_some(),
        None => ARRAYS.contains(&name),
    }
}

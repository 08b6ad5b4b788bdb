//! What takes a graph off, or never has one, told by its name.

/// Whether the value of an attribute, method or function of this name carries no graph, whatever it is taken from.
#[must_use]
pub fn is_plain(name: &str) -> bool {
    matches!(
        name,
        "detach"
            | "detach_"
            | "item"
            | "numpy"
            | "tolist"
            | "data"
            | "grad"
            | "shape"
            | "size"
            | "dtype"
            | "device"
            | "ndim"
            | "dim"
            | "numel"
            | "requires_grad"
            | "argmax"
            | "argmin"
            | "argsort"
            | "long"
            | "int"
            | "bool"
            | "eq"
            | "ne"
            | "gt"
            | "lt"
            | "ge"
            | "le"
            | "isnan"
            | "isfinite"
            | "isinf"
            | "any"
            | "all"
            | "backward"
            | "step"
            | "zero_grad"
            | "no_grad"
            | "is_tensor"
            | "allclose"
            | "equal"
            | "len"
            | "float"
            | "str"
            | "round"
            | "tensor"
            | "zeros_like"
            | "ones_like"
            | "rand_like"
            | "randn_like"
            | "empty_like"
            | "save"
            | "manual_seed"
            | "__len__"
            | "element_size"
            | "nelement"
            | "stride"
            | "keys"
            | "format"
    )
}

/// Functions of torch that copy numbers into a tensor without a graph, draw them, or count.
pub(super) fn makes_anew(name: &str) -> bool {
    is_plain(name)
        || matches!(
            name,
            "DoubleTensor"
                | "FloatTensor"
                | "LongTensor"
                | "Tensor"
                | "bernoulli"
                | "bincount"
                | "from_numpy"
                | "logical_and"
                | "logical_not"
                | "logical_or"
                | "multinomial"
                | "nonzero"
                | "one_hot"
                | "sample"
                | "searchsorted"
        )
}

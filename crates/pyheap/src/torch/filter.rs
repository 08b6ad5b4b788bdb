//! Which tensors are to be listed: `device=cuda:0 dtype=float32 shape=64x* grad_fn=true min=1MiB`.

use super::groups::{Group, Kind};

/// What a tensor must be; everything that is given has to hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    device: Option<String>,
    dtype: Option<String>,
    shape: Option<Vec<Option<i64>>>,
    requires_grad: Option<bool>,
    grad_fn: Option<bool>,
    python: Option<bool>,
    min: u64,
}

/// Why a filter is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Not `name=value`, or a name that is none.
    #[error("`{0}`: a condition is one of device=, dtype=, shape=, requires_grad=, grad_fn=, python=, min=")]
    Name(String),
    /// The value makes no sense for the name.
    #[error("`{0}`: {1}")]
    Value(String, &'static str),
}

impl std::str::FromStr for Filter {
    type Err = Error;

    /// Conditions, with spaces or commas between them.
    fn from_str(text: &str) -> Result<Self, Error> {
        let mut filter = Filter::default();
        for condition in text.split([' ', ',']).filter(|part| !part.is_empty()) {
            let (name, value) = condition.split_once('=').ok_or_else(|| Error::Name(condition.into()))?;
            let bad = |why| Error::Value(condition.into(), why);
            let yes = || match value {
                "true" | "yes" | "1" => Ok(Some(true)),
                "false" | "no" | "0" => Ok(Some(false)),
                _ => Err(bad("true or false is expected")),
            };
            match name {
                "device" => filter.device = Some(value.to_string()),
                "dtype" => filter.dtype = Some(value.strip_prefix("torch.").unwrap_or(value).to_string()),
                "shape" => filter.shape = Some(shape(value).ok_or_else(|| bad("sizes are expected as 64x512 or 64x*"))?),
                "requires_grad" => filter.requires_grad = yes()?,
                "grad_fn" => filter.grad_fn = yes()?,
                "python" => filter.python = yes()?,
                "min" => filter.min = bytes(value).ok_or_else(|| bad("bytes are expected, such as 1MiB"))?,
                _ => return Err(Error::Name(condition.into())),
            }
        }
        Ok(filter)
    }
}

fn shape(text: &str) -> Option<Vec<Option<i64>>> {
    if text == "scalar" {
        return Some(Vec::new());
    }
    text.split('x').map(|size| if size == "*" { Some(None) } else { size.parse().ok().map(Some) }).collect()
}

fn bytes(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit: u64 = match &text[digits..] {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "kB" | "KB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return None,
    };
    text[..digits].parse::<u64>().ok()?.checked_mul(unit)
}

impl Filter {
    /// Whether the tensors of a group are asked for. `cuda` stands for all of its devices.
    pub fn takes(&self, group: &Group) -> bool {
        group.bytes >= self.min && self.fits(&group.kind)
    }

    fn fits(&self, kind: &Kind) -> bool {
        let device = self
            .device
            .as_ref()
            .is_none_or(|device| kind.device == *device || kind.device.split_once(':').is_some_and(|(of, _)| of == device));
        let shape = self.shape.as_ref().is_none_or(|shape| {
            shape.len() == kind.shape.len()
                && shape.iter().zip(&kind.shape).all(|(want, size)| want.is_none_or(|want| want == *size))
        });
        let same = |want: Option<bool>, is: bool| want.is_none_or(|want| want == is);
        device
            && shape
            && self.dtype.as_ref().is_none_or(|dtype| *dtype == kind.dtype)
            && same(self.requires_grad, kind.requires_grad)
            && same(self.grad_fn, kind.grad_fn)
            && same(self.python, kind.python)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn group() -> Group {
        let kind = Kind {
            dtype: "float32".into(),
            shape: vec![64, 512],
            device: "cuda:1".into(),
            requires_grad: true,
            grad_fn: false,
            python: true,
            fake: false,
        };
        Group { kind, count: 1, bytes: 131_072, example: 0 }
    }

    #[test]
    fn all_conditions_must_hold() {
        let takes = |text: &str| text.parse::<Filter>().unwrap().takes(&group());
        for yes in [
            "",
            "device=cuda:1",
            "device=cuda",
            "dtype=torch.float32 shape=64x*",
            "shape=64x512,requires_grad=true",
            "min=128KiB",
        ] {
            assert!(takes(yes), "{yes}");
        }
        for no in
            ["device=cuda:0", "device=cpu", "shape=64", "shape=scalar", "grad_fn=yes", "min=129KiB", "dtype=float32 python=no"]
        {
            assert!(!takes(no), "{no}");
        }
    }

    #[test]
    fn what_is_not_understood_is_said() {
        let error = |text: &str| text.parse::<Filter>().unwrap_err().to_string();
        assert!(error("cuda:0").contains("device="));
        assert!(error("colour=red").contains("`colour=red`"));
        assert!(error("shape=64xx").contains("64x512"));
        assert!(error("min=1TB").contains("1MiB"));
        assert!(error("grad_fn=maybe").contains("true or false"));
    }
}

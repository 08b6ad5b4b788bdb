//! Fake tensors: what they claim to lie on.
//!
//! A tensor that is made under `FakeTensorMode` is one on the device `meta` for C++, without data. The device that its program
//! sees is an attribute of its Python object (`_fake_device`, `fake_device` in torch 1): a `torch.device`.

use crate::census::Census;
use crate::types::Type;
use crate::visit::attribute;

/// Names of the attribute.
const NAMES: [&str; 2] = ["_fake_device", "fake_device"];
/// The class of devices.
const DEVICE: &str = "torch.device";
/// Where such an object keeps its `c10::Device`: behind the head that every object has. The type, then the index.
const VALUE: u64 = 16;

/// What the Python object of a tensor claims, as type and index of a device; `None` where it claims nothing.
#[must_use]
pub fn claimed(census: &Census, class: &Type, object: u64) -> Option<(i8, i8)> {
    let read = census.reader();
    let device = attribute(read, class, object, &NAMES)?;
    let is_device = census.class_at(device).is_some_and(|class| class.name == DEVICE);
    let [kind, index] = read.image.array::<2>(device.checked_add(VALUE)?).filter(|_| is_device)?;
    let kind = i8::try_from(kind).ok().filter(|kind| super::dtype::is_device(*kind))?;
    Some((kind, i8::from_le_bytes([index])))
}

//! XPU: PyTorch on Intel.

use super::{At, Family, Message, caching_allocator};

/// `XPU out of memory. ...`
pub(super) fn read(at: &At) -> Option<Message> {
    caching_allocator::read(at, Family::Xpu, "xpu")
}

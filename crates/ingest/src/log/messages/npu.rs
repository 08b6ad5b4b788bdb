//! NPU: PyTorch on Ascend, whose allocator says what that of CUDA says.

use super::{At, Family, Message, caching_allocator};

/// `NPU out of memory. ...`
pub(super) fn read(at: &At) -> Option<Message> {
    caching_allocator::read(at, Family::Npu, "npu")
}

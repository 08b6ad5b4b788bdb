//! `numpy.ndarray` (numpy/core/include/numpy/ndarraytypes.h): its base, its type, and what it has in it where that is objects.

use super::{Label, Sink, named};
use crate::read::Reader;

/// `NPY_ARRAY_OWNDATA`.
const OWNDATA: u32 = 4;
/// `NPY_MAXDIMS` of numpy 2.
const MAX_DIMENSIONS: u32 = 64;

/// An array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ndarray {
    /// Where its data is.
    pub data: u64,
    /// Its shape.
    pub shape: Vec<u64>,
    /// Bytes per item.
    pub item: u64,
    /// The letter of its type: `f`, `i`, `O`.
    pub kind: u8,
    /// Whether the data is its own, and not another's.
    pub owns: bool,
}

impl Ndarray {
    /// Reads an array; `None` where it does not fit its mapping.
    #[must_use]
    pub fn read(read: Reader<'_>, object: u64) -> Option<Self> {
        let image = read.image;
        let dimensions = image.u32(object + 24).filter(|count| *count <= MAX_DIMENSIONS)?;
        let shape_at = image.u64(object + 32)?;
        let shape = (0..u64::from(dimensions)).map(|n| image.u64(shape_at.checked_add(8 * n)?)).collect::<Option<Vec<_>>>()?;
        let descr = read.pointer(object + 56)?;
        let item = item_size(read, descr)?;
        let array = Self {
            data: image.u64(object + 16)?,
            shape,
            item,
            kind: image.u8(descr + 24)?,
            owns: image.u32(object + 64)? & OWNDATA != 0,
        };
        let bytes = array.bytes()?;
        (bytes == 0 || image.is_mapped(array.data, bytes)).then_some(array)
    }

    /// Bytes of its data.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        self.shape.iter().try_fold(self.item, |bytes, len| bytes.checked_mul(*len))
    }
}

/// `PyArray_Descr.elsize`: an int followed by the alignment before numpy 2, a word behind a word of flags from 2 on. The flags
/// fit one byte, so that the upper half tells: an alignment is never 0.
fn item_size(read: Reader<'_>, descr: u64) -> Option<u64> {
    let [first, second] = [read.image.u32(descr.checked_add(32)?)?, read.image.u32(descr + 36)?];
    let size = if second == 0 { read.image.u64(descr + 40)? } else { u64::from(first) };
    (size < 1 << 32).then_some(size)
}

pub fn visit(read: Reader<'_>, object: u64, sink: &mut impl Sink) {
    named(read, object, &[(48, "base"), (56, "dtype")], sink);
    let Some(array) = Ndarray::read(read, object).filter(|array| array.kind == b'O' && array.owns && array.item == 8) else {
        return;
    };
    if let Some(bytes) = array.bytes() {
        read.words(array.data, bytes / 8, |index, item| {
            if item != 0 {
                sink.edge(item, Label::Index(index));
            }
        });
    }
}

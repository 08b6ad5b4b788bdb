//! One tensor, read field by field.

use super::layout::{Layout, REACH};
use crate::native::window::Window;

/// Dimensions of a tensor, at most; torch itself allows 64.
pub const DIMENSIONS: usize = 64;
/// Sizes that lie in the tensor itself (`c10::impl::SizesAndStrides`, `C10_SIZES_AND_STRIDES_MAX_INLINE_SIZE`).
const INLINE: u64 = 5;

/// A tensor. Bytes are those of its storage, which it may share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// Address of its `TensorImpl`.
    pub address: u64,
    /// Its Python object, where it has one.
    pub python: Option<u64>,
    /// Whether Python refers to that object. Else C++ alone keeps both, as a graph keeps what it saved, and the object waits
    /// for somebody to ask for it again.
    pub held: bool,
    /// Its storage, where it has one.
    pub storage: Option<u64>,
    /// Sizes of the dimensions.
    pub shape: Vec<i64>,
    /// Elements from one to the next, by dimension.
    pub strides: Vec<i64>,
    /// First element in the storage.
    pub offset: i64,
    /// Number of elements.
    pub elements: u64,
    /// Number of the type of its elements (`c10::ScalarType`).
    pub dtype: u16,
    /// Type of its device (`c10::DeviceType`) and its index, -1 where the type has one device only.
    pub device: (i8, i8),
    /// The device that a fake tensor claims to lie on; nothing of it lies there.
    pub claims: Option<(i8, i8)>,
    /// Whether gradients are to be computed: asked for, or made by a node.
    pub requires_grad: bool,
    /// The node that made it.
    pub grad_fn: Option<u64>,
    /// The `TensorImpl` of its gradient.
    pub grad: Option<u64>,
    /// Whether its autograd record could be read.
    pub autograd: bool,
}

/// A storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Storage {
    /// Address of its `StorageImpl`.
    pub address: u64,
    /// Address of its data; 0 where it has none (a meta tensor, or a fake one).
    pub data: u64,
    /// Bytes of its data.
    pub bytes: u64,
}

/// The lowest bit of the pointer to the Python object says that C++ owns the object, which no one in Python refers to.
const OWNED: u64 = 1;

impl Tensor {
    /// Reads the tensor at `address`; `None` where what lies there is none.
    pub fn read(window: &mut Window<'_>, layout: &Layout, address: u64) -> Option<Tensor> {
        let bytes = window.bytes(address, (REACH) as usize);
        let word = |at: u64| long(&bytes, at);
        let dimensions = word(layout.ndim)?;
        if dimensions > DIMENSIONS as u64 {
            return None;
        }
        let (shape, strides) = if dimensions <= INLINE {
            (longs(&bytes, layout.sizes, dimensions)?, longs(&bytes, layout.strides, dimensions)?)
        } else {
            let far = window.bytes(word(layout.sizes)?, (16 * dimensions) as usize);
            (longs(&far, 0, dimensions)?, longs(&far, 8 * dimensions, dimensions)?)
        };
        let elements = word(layout.numel)?;
        // The check that rules out everything that is no tensor: the number of elements is the product of the sizes.
        let product = shape.iter().try_fold(1u64, |product, &size| product.checked_mul(u64::try_from(size).ok()?));
        if product != Some(elements) || elements > 1 << 48 {
            return None;
        }
        let dtype = u16::from_le_bytes(bytes.get(layout.dtype as usize..)?.get(..2)?.try_into().ok()?);
        let device = bytes.get(layout.device as usize..)?.get(..2)?;
        let meta = word(layout.autograd)?;
        let mut tensor = Tensor {
            address,
            python: pointer(word(layout.pyobj)?),
            held: false,
            storage: pointer(word(layout.storage)?),
            shape,
            strides,
            offset: word(layout.offset)? as i64,
            elements,
            dtype,
            device: (device[0] as i8, device[1] as i8),
            claims: None,
            requires_grad: false,
            grad_fn: None,
            grad: None,
            autograd: true,
        };
        if let Some(object) = tensor.python {
            tensor.held = if layout.counts_python() {
                // What C++ shares holds one reference to the object; all others are Python's.
                let counts = word(8)? as u32;
                let references = u32::from_le_bytes(window.peek(object)?);
                references > u32::from(counts > 1)
            } else {
                word(layout.pyobj)? & OWNED == 0
            };
        }
        if meta != 0 {
            tensor.autograd(&window.bytes(meta, REACH as usize), layout);
        }
        Some(tensor)
    }

    fn autograd(&mut self, meta: &[u8], layout: &Layout) {
        let asked = meta.get(layout.requires_grad as usize).copied();
        self.autograd = asked.is_some_and(|asked| asked <= 1);
        if self.autograd {
            self.grad = long(meta, layout.grad).and_then(pointer);
            self.grad_fn = long(meta, layout.grad_fn).and_then(pointer);
            self.requires_grad = asked == Some(1) || self.grad_fn.is_some();
        }
    }

    /// Bytes that its elements take if nothing else shares them.
    pub fn bytes(&self) -> u64 {
        self.elements.saturating_mul(super::dtype::size(self.dtype).unwrap_or(1))
    }
}

impl Storage {
    /// Reads the storage at `address`.
    pub fn read(window: &mut Window<'_>, layout: &Layout, address: u64) -> Option<Storage> {
        let bytes = window.bytes(address, 128);
        let size = long(&bytes, layout.nbytes)?;
        // A size that is no number but a symbol (torch.compile) has its highest bits set: there is no data behind it.
        (size < 1 << 48).then_some(Storage { address, data: long(&bytes, layout.data)?, bytes: size })
    }
}

fn pointer(word: u64) -> Option<u64> {
    // The lowest bit says who owns the Python object.
    let address = word & !7;
    (address != 0).then_some(address)
}

fn long(bytes: &[u8], at: u64) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

fn longs(bytes: &[u8], at: u64, count: u64) -> Option<Vec<i64>> {
    (0..count).map(|i| long(bytes, at + 8 * i).map(|word| word as i64)).collect()
}

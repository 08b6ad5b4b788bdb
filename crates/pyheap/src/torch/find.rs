//! All tensors, storages and graph nodes on malloc's heap.

use super::dtype;
use super::layout::{self, Layout};
use super::tensor::{Storage, Tensor};
use crate::native::area::Areas;
use crate::native::classes::{Classes, Id};
use crate::native::glibc::{State, Told};
use crate::native::owners::Owner;
use crate::native::window::Window;
use std::collections::HashMap;

const TENSOR: &str = "N3c1010TensorImplE";
const STORAGE: &str = "N3c1011StorageImplE";
const NODE: &str = "N5torch8autograd4NodeE";
/// What `std::make_shared` makes: the object lies behind two counts.
const SHARED: &str = "St23_Sp_counted_ptr_inplace";
const SHARED_HEAD: u64 = 16;
/// Objects of each sort, at most.
const MOST: usize = 8 << 20;
/// Tensors that decide about the layout.
const SAMPLE: usize = 512;

/// Why there are no tensors to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No object of torch's classes is on the heap.
    #[error("no tensor on the heap: torch is not in use, or memory does not come from glibc's malloc")]
    None,
    /// Objects are there, but no known layout fits them.
    #[error("{tensors} tensors are there, but their layout is not known: this build of torch needs a calibration")]
    Layout {
        /// Objects of the class.
        tensors: usize,
    },
}

/// Hears the walk of the heap and notes every C++ object.
#[derive(Debug)]
pub struct Finder<'a> {
    areas: Areas<'a>,
    /// All classes met, counted.
    pub classes: Classes,
    tensors: Vec<u64>,
    storages: Vec<u64>,
    nodes: Vec<Place>,
}

/// Where a node lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its address.
    pub address: u64,
    /// Bytes up to the end of its chunk.
    pub size: u64,
    /// Its class.
    pub class: Id,
}

impl<'a> Finder<'a> {
    /// Nothing heard yet.
    pub fn new(areas: Areas<'a>) -> Self {
        Finder { areas, classes: Classes::new(areas), tensors: Vec::new(), storages: Vec::new(), nodes: Vec::new() }
    }

    /// Hears of one chunk.
    pub fn told(&mut self, window: &mut Window<'_>, told: Told) {
        match told {
            Told::Chunk(chunk) if chunk.state == State::Used => self.object(window, chunk.start + 16, chunk.size),
            _ => {}
        }
    }

    fn object(&mut self, window: &mut Window<'_>, mut address: u64, chunk: u64) {
        let Some(mut class) = window.u64(address).and_then(|word| self.classes.of(window, self.areas, word)) else { return };
        // A chunk's last 8 bytes are the program's too.
        let mut size = chunk - 8;
        if size > SHARED_HEAD && self.classes.get(class).is_some_and(|class| class.mangled.starts_with(SHARED)) {
            let inside = window.u64(address + SHARED_HEAD).and_then(|word| self.classes.of(window, self.areas, word));
            if let Some(inside) = inside {
                class = inside;
                address += SHARED_HEAD;
                size -= SHARED_HEAD;
            }
        }
        self.classes.count(class, chunk);
        let Some(known) = self.classes.get(class) else { return };
        if known.is(TENSOR) && self.tensors.len() < MOST {
            self.tensors.push(address);
        } else if known.is(STORAGE) && self.storages.len() < MOST {
            self.storages.push(address);
        } else if known.is(NODE) && self.nodes.len() < MOST {
            self.nodes.push(Place { address, size, class });
        }
    }

    /// Reads what was found. `layouts` are tried in order; the first that fits nearly every tensor is taken.
    ///
    /// # Errors
    /// Where there is no tensor, or none of the layouts fits.
    pub fn read(&mut self, window: &mut Window<'_>, layouts: &[Layout]) -> Result<Torch, Error> {
        for list in [&mut self.tensors, &mut self.storages] {
            list.sort_unstable();
        }
        self.nodes.sort_unstable_by_key(|node| node.address);
        if self.tensors.is_empty() {
            return Err(Error::None);
        }
        let layout = self.layout(window, layouts).ok_or(Error::Layout { tensors: self.tensors.len() })?;
        let mut read: Vec<Tensor> = self.tensors.iter().filter_map(|&at| Tensor::read(window, &layout, at)).collect();
        // "No tensor" is a tensor of its own kind, which lies in the library: the gradient of all that have none.
        let undefined = read.iter().filter_map(|tensor| tensor.grad).find(|grad| self.tensors.binary_search(grad).is_err());
        for tensor in &mut read {
            tensor.grad = tensor.grad.filter(|grad| self.tensors.binary_search(grad).is_ok());
        }
        let storages =
            self.storages.iter().filter_map(|&at| Storage::read(window, &layout, at).map(|storage| (at, storage))).collect();
        let unread = self.tensors.len() - read.len();
        Ok(Torch { layout, tensors: read, storages, nodes: std::mem::take(&mut self.nodes), undefined, unread })
    }

    fn layout(&self, window: &mut Window<'_>, layouts: &[Layout]) -> Option<Layout> {
        let step = (self.tensors.len() / SAMPLE).max(1);
        let sample: Vec<u64> = self.tensors.iter().copied().step_by(step).collect();
        layouts.iter().find(|layout| self.fits(window, layout, &sample)).cloned()
    }

    /// Whether nine of ten tensors make sense: the rest may have sizes that are symbols.
    fn fits(&self, window: &mut Window<'_>, layout: &Layout, sample: &[u64]) -> bool {
        let mut good = 0;
        let mut python = (0, 0);
        for &at in sample {
            let Some(tensor) = Tensor::read(window, layout, at) else { continue };
            let storage = tensor.storage.is_none_or(|at| self.storages.binary_search(&at).is_ok());
            let known = dtype::is_device(tensor.device.0) && dtype::size(tensor.dtype).is_some() && tensor.autograd;
            good += usize::from(storage && known);
            if let Some(object) = tensor.python {
                python.0 += usize::from(window.u64(object + layout.python_impl) == Some(at));
                python.1 += 1;
            }
        }
        good * 10 >= sample.len() * 9 && python.0 * 10 >= python.1 * 9
    }
}

/// All layouts that lowtide ships with.
pub fn shipped() -> Vec<Layout> {
    layout::known()
}

/// torch's objects in a process.
#[derive(Debug)]
pub struct Torch {
    /// The layout that fits.
    pub layout: Layout,
    /// All tensors, in order of address.
    pub tensors: Vec<Tensor>,
    /// All storages, by address.
    pub storages: HashMap<u64, Storage>,
    /// All nodes of graphs, in order of address.
    pub nodes: Vec<Place>,
    /// Address of the tensor that stands for "none".
    pub undefined: Option<u64>,
    /// Tensors that could not be read: sizes that are symbols, mostly.
    pub unread: usize,
}

impl Torch {
    /// The tensor at an address.
    pub fn at(&self, address: u64) -> Option<&Tensor> {
        self.tensors.binary_search_by_key(&address, |tensor| tensor.address).ok().and_then(|i| self.tensors.get(i))
    }

    /// The storage of a tensor.
    pub fn storage(&self, tensor: &Tensor) -> Option<&Storage> {
        self.storages.get(&tensor.storage?)
    }

    /// Storage bytes, each once, whoever shares them.
    pub fn storage_bytes(&self) -> u64 {
        self.storages.values().map(|storage| storage.bytes).sum()
    }

    /// Memory of the CPU that storages own, for the account.
    pub fn stretches(&self) -> Vec<(u64, u64, Owner)> {
        let elsewhere = self.tensors.iter().filter(|tensor| tensor.device.0 != 0).filter_map(|tensor| tensor.storage);
        let elsewhere: std::collections::HashSet<u64> = elsewhere.collect();
        let on_cpu = self.storages.values().filter(|storage| storage.data != 0 && !elsewhere.contains(&storage.address));
        on_cpu.map(|storage| (storage.data, storage.data.saturating_add(storage.bytes), Owner::Tensor)).collect()
    }
}

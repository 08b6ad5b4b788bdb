//! All private memory of a process, and its tensors: what can be said without a list of Python's objects.

use crate::census::Census;
use crate::native::account::{Account, account};
use crate::native::ahead;
use crate::native::area::Areas;
use crate::native::classes::Classes;
use crate::native::owners::{Owner, Owners};
use crate::native::resident::Resident;
use crate::native::window::Window;
use crate::ownership::Beyond;
use crate::torch::dtype::{CPU, META};
use crate::torch::graph::{Attribution, Graph};
use crate::torch::{self, Finder, Layout, Tensor, Torch, fake};
use crate::walk::ObjectId;
use lowtide_remote::{Error, Image, Process};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

/// Resident bytes of a heap of malloc's of which Python's objects are the smaller part: it is not worth keeping.
const LARGE_HEAP: u64 = 48 << 20;

/// What one walk over the memory of a process tells.
#[derive(Debug)]
pub struct Memory {
    /// Whose every resident page is. Storage of tensors is taken out already; [`Memory::arrays`] does the same for arrays.
    pub account: Account,
    /// C++ objects by class.
    pub classes: Classes,
    /// Tensors, or why there are none to be told.
    pub torch: Result<Torch, torch::Error>,
    /// Who holds which graph; empty without torch.
    pub graphs: Attribution,
    graph: Graph,
    /// Bytes that were read.
    pub bytes_read: u64,
    resident: Resident,
    tensors: Vec<(u64, u64, Owner)>,
}

impl Memory {
    /// Walks the memory of a process, which should be held still: of one that runs, what changes meanwhile is told wrong or
    /// not at all, and nothing worse happens. `layouts` are those of torch to be tried, [`torch::find::shipped`] mostly.
    ///
    /// # Errors
    /// Where the process has ended, or may not be read.
    pub fn look(process: &Process, image: &Image, layouts: &[Layout]) -> Result<Memory, Error> {
        let resident = Resident::of(process, image.maps())?;
        Self::of(process, image, layouts, resident)
    }

    /// As [`Memory::look`], while somebody else counts the objects through the same image: reads ahead for them what they will come to.
    /// A small heap is kept with it, and so is read once for both. `None` where it is no longer `wanted` when that was read.
    ///
    /// # Errors
    /// As of [`Memory::look`].
    pub fn look_beside(
        process: &Process,
        image: &Image,
        layouts: &[Layout],
        wanted: &AtomicBool,
    ) -> Result<Option<Memory>, Error> {
        let ahead = read_ahead(process, image, wanted)?;
        if !wanted.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let rest = Resident::of_some(process, image.maps(), |map| !ahead::may_have_objects(map))?;
        Self::of(process, image, layouts, ahead.and(&rest)).map(Some)
    }

    fn of(process: &Process, image: &Image, layouts: &[Layout], resident: Resident) -> Result<Memory, Error> {
        let areas = Areas::new(image.maps());
        let threads = process.stack_pointers()?;
        let mut window = Window::new(image);
        let mut finder = Finder::new(areas);
        let mut account = account(&mut window, areas, &resident, &threads, &mut |window, told| finder.told(window, told));
        let torch = finder.read(&mut window, layouts);
        let mut graphs = Attribution::default();
        let mut graph = Graph::default();
        let mut tensors = Vec::new();
        if let Ok(torch) = &torch {
            graph = Graph::read(&mut window, torch);
            graphs = graph.attribute(torch);
            tensors = torch.stretches();
            account.own(&Owners::new(tensors.clone()), &resident);
        }
        Ok(Memory { account, classes: finder.classes, torch, graphs, graph, bytes_read: window.bytes_read(), resident, tensors })
    }

    /// Counts the data of tensors to the Python objects that hold them, each storage once, and with it what their graphs alone
    /// keep: what a list of losses costs is then what it holds. Wherever the data lies, on another device too: those bytes that
    /// are not in the process's own memory are given back by object.
    pub fn count_tensors(&self, census: &mut Census) -> HashMap<ObjectId, u64> {
        let mut elsewhere = HashMap::new();
        let Ok(torch) = &self.torch else { return elsewhere };
        let graphs: HashMap<u64, u64> = self.graphs.held.iter().map(|held| (held.python, held.bytes + held.node_bytes)).collect();
        let held = torch.tensors.iter().filter(|tensor| tensor.held);
        let tensors: HashMap<u64, &Tensor> = held.filter_map(|tensor| Some((tensor.python?, tensor))).collect();
        let mut counted = HashSet::new();
        let among: Vec<ObjectId> = census.may_be_at(tensors.keys().copied()).collect();
        for id in among {
            let address = census.objects().address(id);
            let Some(tensor) = tensors.get(&address) else { continue };
            let own = torch.storage(tensor).filter(|storage| counted.insert(storage.address)).map_or(0, |storage| storage.bytes);
            if tensor.device.0 != CPU && own > 0 {
                elsewhere.insert(id, own);
            }
            census.enlarge(id, own.saturating_add(graphs.get(&address).copied().unwrap_or(0)));
        }
        elsewhere
    }

    /// What Python's objects keep that is none of them: storages, and the nodes of graphs with what those save.
    /// `counted`: whether [`Memory::count_tensors`] has counted it to objects.
    #[must_use]
    pub fn beyond(&self, census: &Census, counted: bool) -> Beyond {
        let mut beyond = Beyond::default();
        let Ok(torch) = &self.torch else { return beyond };
        let nodes: HashMap<u64, usize> = torch.nodes.iter().zip(0..).map(|(node, number)| (node.address, number)).collect();
        let storage = |tensor: &Tensor| torch.storage(tensor).filter(|storage| storage.bytes > 0).copied();
        for tensor in torch.tensors.iter().filter(|tensor| tensor.held) {
            let Some(python) = tensor.python else { continue };
            if let Some(storage) = storage(tensor) {
                beyond.bytes.insert(storage.address, storage.bytes);
                beyond.edges.entry(python).or_default().push(storage.address);
                // A view keeps the tensor that it is one of, which its storage leads to.
                if torch.layout.counts_python() {
                    beyond.likely.entry(storage.address).or_default().push(python);
                }
            }
            if let Some(grad) = tensor.grad.and_then(|at| torch.at(at)).filter(|grad| grad.held) {
                let edges = beyond.edges.entry(python).or_default();
                edges.extend(storage(grad).map(|storage| storage.address));
                edges.extend(grad.python.filter(|_| torch.layout.counts_python()));
            }
            if let Some(node) = tensor.grad_fn.filter(|node| nodes.contains_key(node)) {
                beyond.edges.entry(python).or_default().push(node);
            }
        }
        for ((node, before), saved) in torch.nodes.iter().zip(&self.graph.before).zip(&self.graph.saved) {
            beyond.bytes.insert(node.address, node.size);
            let mut edges: Vec<u64> = before.iter().filter_map(|at| Some(torch.nodes.get(*at as usize)?.address)).collect();
            for tensor in saved.iter().filter_map(|at| torch.at(*at)) {
                if let Some(storage) = storage(tensor) {
                    beyond.bytes.insert(storage.address, storage.bytes);
                    edges.push(storage.address);
                }
                // Where what C++ shares has a reference to the object, a node that saves it keeps that.
                if torch.layout.counts_python() && tensor.held {
                    edges.extend(tensor.python);
                }
            }
            beyond.edges.insert(node.address, edges);
        }
        if counted {
            let mut graphs: HashMap<u64, u64> = HashMap::new();
            self.graphs.held.iter().for_each(|held| *graphs.entry(held.python).or_default() += held.bytes + held.node_bytes);
            let held = torch.tensors.iter().filter(|tensor| tensor.held);
            let tensors: HashMap<u64, &Tensor> = held.filter_map(|tensor| Some((tensor.python?, tensor))).collect();
            let mut first = HashSet::new();
            for id in census.may_be_at(tensors.keys().copied()) {
                let address = census.objects().address(id);
                let Some(tensor) = tensors.get(&address) else { continue };
                let own =
                    torch.storage(tensor).filter(|storage| first.insert(storage.address)).map_or(0, |storage| storage.bytes);
                beyond.counted.insert(address, own.saturating_add(graphs.get(&address).copied().unwrap_or(0)));
            }
        }
        beyond
    }

    /// Has fake tensors claim the devices that their Python objects name.
    pub fn find_fakes(&mut self, census: &Census) {
        let Ok(torch) = &mut self.torch else { return };
        let meta = torch.tensors.iter_mut().filter(|tensor| tensor.device.0 == META);
        let mut meta: HashMap<u64, &mut Tensor> = meta.filter_map(|tensor| Some((tensor.python?, tensor))).collect();
        if meta.is_empty() {
            return;
        }
        let among: Vec<ObjectId> = census.may_be_at(meta.keys().copied()).collect();
        for id in among {
            let address = census.objects().address(id);
            if let (Some(tensor), Some(class)) = (meta.get_mut(&address), census.kind(id)) {
                tensor.claims = fake::claimed(census, class, address);
            }
        }
    }

    /// Which pages are resident.
    pub fn resident(&self) -> &Resident {
        &self.resident
    }

    /// Takes the data of arrays out of the account: start and end of each. What is a tensor's stays one.
    pub fn arrays(&mut self, arrays: impl Iterator<Item = (u64, u64)>) {
        let arrays = arrays.map(|(start, end)| (start, end, Owner::Array));
        let owners = Owners::new(arrays.collect()).without(&Owners::new(self.tensors.clone()));
        self.account.own(&owners, &self.resident);
    }
}

/// Reads for somebody else who counts objects what they will come to, until it is no longer `wanted`. Gives what is resident
/// there: the pages of files are many, and nobody should wait for the kernel to go through them.
///
/// # Errors
/// As of [`Memory::look`].
pub fn read_ahead(process: &Process, image: &Image, wanted: &AtomicBool) -> Result<Resident, Error> {
    let areas = Areas::new(image.maps());
    let resident = Resident::of_some(process, image.maps(), ahead::may_have_objects)?;
    let heap = areas.heap().zip(areas.heap_end()).map_or(0, |(first, end)| resident.within(first.start, end));
    ahead::arenas(image, areas, &resident, wanted);
    if heap < LARGE_HEAP {
        ahead::heap(image, areas, &resident, wanted);
    }
    Ok(resident)
}

//! The memory budget of a training process: what each component holds, in RAM and on each device.
//!
//! RAM is counted as it is resident and private, so that the parts add up to what the kernel says the process has. Each
//! storage counts once, for the first part in the order below that has a tensor on it.

mod declared;
mod role;

pub(crate) use declared::Declared;
use declared::Known;
pub use role::{Role, bases, roles};

use crate::census::Census;
use crate::memory::Memory;
use crate::native::account::What;
use crate::torch::{Tensor, Torch, dtype};
use crate::types::Kind;
use crate::visit::Ndarray;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Parameters of models.
    Parameters,
    /// Their gradients.
    Gradients,
    /// What optimizers keep for each parameter.
    OptimizerState,
    /// Other tensors of models: buffers, caches.
    ModelOther,
    /// What Datasets hold: tensors, arrays, objects.
    Data,
    /// What DataLoaders have on its way.
    Loader,
    /// Tensors of local variables: batches, outputs.
    Locals,
    /// Tensors that Python has elsewhere.
    OtherTensors,
    /// Tensors that only autograd graphs keep.
    Graph,
    /// Tensors and storages that C++ keeps otherwise.
    NativeTensors,
    /// numpy arrays of nobody named above.
    Arrays,
    /// Python's objects of nobody named above.
    PythonObjects,
    /// What else the program has from malloc.
    Native,
    /// Free inside Python's arenas.
    PythonHoles,
    /// Free inside malloc's heaps.
    Holes,
    /// The interpreter's and the libraries' own data.
    Libraries,
    /// Stacks of threads.
    Stacks,
    /// What nobody claims.
    Rest,
}

impl Part {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Part::Parameters => "parameters",
            Part::Gradients => "gradients",
            Part::OptimizerState => "optimizer state",
            Part::ModelOther => "buffers and caches of models",
            Part::Data => "data of Datasets",
            Part::Loader => "batches in DataLoaders",
            Part::Locals => "tensors of local variables",
            Part::OtherTensors => "other tensors",
            Part::Graph => "tensors kept by autograd graphs",
            Part::NativeTensors => "tensors kept by C++",
            Part::Arrays => "numpy arrays",
            Part::PythonObjects => "Python objects",
            Part::Native => "native heap",
            Part::PythonHoles => "free in Python's arenas",
            Part::Holes => "free in malloc's heaps",
            Part::Libraries => "interpreter and libraries",
            Part::Stacks => "stacks",
            Part::Rest => "not explained",
        }
    }
}

/// The budget.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Budget {
    /// Resident private bytes by part; their sum is `total`.
    pub ram: BTreeMap<Part, u64>,
    /// Resident private bytes of the process.
    pub total: u64,
    /// Bytes of tensors on the CPU that are shared with other processes, of a file, or never touched.
    pub elsewhere: u64,
    /// Bytes of storages on other devices, by device; what fake tensors claim stands apart, as `cuda:0 (fake)`.
    pub devices: BTreeMap<String, BTreeMap<Part, u64>>,
}

/// The parts of a process's memory. Without a census, what needs Python's names counts as other tensors and as objects.
pub fn budget(memory: &mut Memory, census: Option<&Census>) -> Budget {
    let mut budget = Budget { total: memory.account.total, ..Budget::default() };
    let objects = census.map(|census| Objects::of(census, memory)).unwrap_or_default();
    if let Ok(torch) = &memory.torch {
        for (storage, part, device) in storages(torch, &memory.graphs.saved, &objects) {
            let Some(storage) = torch.storages.get(&storage) else { continue };
            if device == "cpu" {
                let resident = memory.resident().within(storage.data, storage.data.saturating_add(storage.bytes));
                *budget.ram.entry(part).or_default() += resident;
                budget.elsewhere += storage.bytes - resident.min(storage.bytes);
            } else if device != "meta" && (storage.data != 0 || device.ends_with(FAKE)) {
                // One without data on a device that has memory only wraps others.
                *budget.devices.entry(device).or_default().entry(part).or_default() += storage.bytes;
            }
        }
    }
    memory.arrays(objects.arrays.iter().map(|array| (array.0, array.1)));
    rest(&mut budget, memory, &objects);
    budget
}

/// What the account says of all that is not tensors, with Python's large objects taken out of the native heap.
fn rest(budget: &mut Budget, memory: &Memory, objects: &Objects) {
    let part = |what| memory.account.part(what);
    // Storages may overlap (one given to torch by its address): no more is counted than the account has.
    let mut over = budget.ram.values().sum::<u64>().saturating_sub(part(What::Tensors));
    for bytes in budget.ram.values_mut().rev() {
        let cut = over.min(*bytes);
        *bytes -= cut;
        over -= cut;
    }
    let short = part(What::Tensors) - budget.ram.values().sum::<u64>();
    let data_arrays = objects.arrays.iter().filter(|array| array.2 == Role::Data);
    let data_arrays: u64 = data_arrays.map(|&(start, end, _)| memory.resident().within(start, end)).sum();
    let data_arrays = data_arrays.min(part(What::Arrays));
    let small = objects.data_small.min(part(What::PythonObjects));
    let large = objects.large.min(part(What::Native));
    let data_large = objects.data_large.min(large);
    let mut put = |part, bytes: u64| *budget.ram.entry(part).or_default() += bytes;
    put(Part::NativeTensors, short);
    put(Part::Data, data_arrays + small + data_large);
    put(Part::Arrays, part(What::Arrays) - data_arrays);
    put(Part::PythonObjects, part(What::PythonObjects) - small + (large - data_large));
    put(Part::Native, part(What::Native) - large);
    put(Part::PythonHoles, part(What::PythonHoles));
    put(Part::Holes, part(What::Holes));
    put(Part::Libraries, part(What::Libraries));
    put(Part::Stacks, part(What::Stacks));
    put(Part::Rest, part(What::Anonymous));
    budget.ram.retain(|_, bytes| *bytes > 0);
}

/// What stands behind the device that a fake tensor claims.
const FAKE: &str = " (fake)";

/// Each storage once, with its part and its device.
fn storages(torch: &Torch, saved: &HashSet<u64>, objects: &Objects) -> Vec<(u64, Part, String)> {
    let gradients: HashSet<u64> = torch.tensors.iter().filter_map(|tensor| tensor.grad).collect();
    let mut parts: HashMap<u64, (Part, String)> = HashMap::new();
    for tensor in &torch.tensors {
        let Some(storage) = tensor.storage else { continue };
        let part = match objects.part(tensor, gradients.contains(&tensor.address)) {
            Part::NativeTensors if saved.contains(&tensor.address) => Part::Graph,
            part => part,
        };
        let device = || match tensor.claims {
            Some(claimed) => format!("{}{FAKE}", dtype::device(claimed)),
            None => dtype::device(tensor.device),
        };
        let entry = parts.entry(storage).or_insert_with(|| (part, device()));
        entry.0 = entry.0.min(part);
    }
    let unseen = torch.storages.keys().filter(|storage| !parts.contains_key(storage));
    let unseen: Vec<u64> = unseen.copied().collect();
    let all = parts.into_iter().map(|(storage, (part, device))| (storage, part, device));
    all.chain(unseen.into_iter().map(|storage| (storage, Part::NativeTensors, "cpu".to_string()))).collect()
}

/// What a census says of the objects that matter here.
#[derive(Debug, Default)]
struct Objects {
    /// By Python object of a tensor: whose it is, and whether it is a parameter.
    tensors: HashMap<u64, (Role, bool)>,
    /// The same as the program says it.
    declared: Declared,
    /// Data of arrays, and whose they are.
    arrays: Vec<(u64, u64, Role)>,
    /// Bytes of a Dataset's small objects.
    data_small: u64,
    /// Bytes of its large ones.
    data_large: u64,
    /// Bytes of all large objects.
    large: u64,
}

/// Objects up to this size lie in Python's arenas, larger ones in malloc's heap (`SMALL_REQUEST_THRESHOLD`).
const SMALL: u64 = 512;
/// The class of parameters; `Buffer` and others derive from it or do not matter.
const PARAMETER: &str = "torch.nn.parameter.Parameter";

/// What of tensors the program's own words are looked up for.
fn known(torch: &Torch) -> Known {
    let gradients: HashSet<u64> = torch.tensors.iter().filter_map(|tensor| tensor.grad).collect();
    let mut known = Known::default();
    for tensor in &torch.tensors {
        let Some(python) = tensor.python else { continue };
        known.all.insert(python);
        let storage = tensor.storage.and_then(|storage| torch.storages.get(&storage));
        if storage.is_none_or(|storage| storage.data == 0) {
            known.hollow.insert(python);
        }
        if gradients.contains(&tensor.address) {
            known.gradients.insert(python);
        }
    }
    known
}

impl Objects {
    fn of(census: &Census, memory: &Memory) -> Objects {
        let torch = memory.torch.as_ref().ok();
        let known = torch.map(known).unwrap_or_default();
        let mut parameter: HashMap<u64, bool> = HashMap::new();
        let roles = roles(census);
        let tensors = census.types_of(known.all.iter().copied());
        let mut out = Objects { declared: Declared::of(census, &known), ..Objects::default() };
        for (id, role) in census.objects().ids().zip(roles) {
            let (address, size) = (census.objects().address(id), census.objects().size(id));
            let Some(class) = census.kind(id) else { continue };
            let may_be_one = tensors.get(census.objects().kind(id).0 as usize) == Some(&true);
            if may_be_one && known.all.contains(&address) {
                let is_parameter = || bases(census, class).contains(&PARAMETER);
                let is_parameter = *parameter.entry(class.address).or_insert_with(is_parameter);
                let is_parameter = is_parameter || out.declared.parameters.contains(&address);
                out.tensors.insert(address, (role, is_parameter));
                continue;
            }
            let mut own = size;
            if class.kind == Kind::Ndarray
                && let Some(array) = Ndarray::read(census.reader(), address).filter(|array| array.owns)
                && let Some(bytes) = array.bytes()
            {
                out.arrays.push((array.data, array.data.saturating_add(bytes), role));
                own = own.saturating_sub(bytes);
            }
            let large = if own > SMALL { own } else { 0 };
            out.large += large;
            if role == Role::Data {
                out.data_large += large;
                out.data_small += own - large;
            }
        }
        out
    }

    fn part(&self, tensor: &Tensor, gradient: bool) -> Part {
        let held = tensor.python.and_then(|python| self.tensors.get(&python));
        let of = |set: &HashSet<u64>| tensor.python.is_some_and(|python| set.contains(&python));
        match held {
            Some((_, true)) => Part::Parameters,
            _ if gradient || of(&self.declared.gradients) => Part::Gradients,
            _ if of(&self.declared.state) => Part::OptimizerState,
            _ if !tensor.held => Part::NativeTensors,
            Some((Role::Optimizer, _)) => Part::OptimizerState,
            Some((Role::Model, _)) => Part::ModelOther,
            Some((Role::Data, _)) => Part::Data,
            Some((Role::Loader, _)) => Part::Loader,
            Some((Role::Local, _)) => Part::Locals,
            Some((Role::Other, _)) => Part::OtherTensors,
            // Python has it, though no census says where.
            None => Part::OtherTensors,
        }
    }
}

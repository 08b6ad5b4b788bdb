//! What part an object plays in training: by the classes of who holds it.

use crate::census::Census;
use crate::offsets::fixed;
use crate::types::{Kind, Type, TypeId, flags};
use crate::visit::Label;
use crate::walk::{Parent, Root};

/// Classes of a type that are looked at, itself included.
const BASES: u64 = 64;

/// Whose an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// An optimizer's.
    Optimizer,
    /// A Dataset's.
    Data,
    /// A DataLoader's, which is on its way from the data set to the program.
    Loader,
    /// A model's.
    Model,
    /// A local variable's, directly or in plain containers.
    Local,
    /// Anybody else's.
    Other,
}

impl Role {
    /// The role that objects of a class give to what they hold. PyTorch's own names for its classes, by module.
    fn of_class(name: &str) -> Option<Role> {
        Some(match name {
            "torch.optim.optimizer.Optimizer" => Role::Optimizer,
            "torch.utils.data.dataset.Dataset" | "torch.utils.data.datapipes.datapipe.IterDataPipe" => Role::Data,
            "torch.utils.data.dataloader._BaseDataLoaderIter" => Role::Loader,
            "torch.nn.modules.module.Module" => Role::Model,
            _ => return None,
        })
    }
}

/// A container of Python's own, no class made from one.
fn is_plain(class: &Type) -> bool {
    !class.has(flags::HEAPTYPE) && matches!(class.kind, Kind::List | Kind::Tuple | Kind::Dict | Kind::Set | Kind::Deque)
}

/// The names of a class and of all that it derives from.
pub fn bases<'a>(census: &'a Census, class: &'a Type) -> Vec<&'a str> {
    let reader = census.reader();
    let mut names = vec![class.name.as_str()];
    if let Some(order) = reader.pointer(class.address + fixed::TP_MRO) {
        reader.tuple(order, BASES, |_, base| {
            let base = census.types().look(reader, base).and_then(|id| census.types().get(id));
            names.extend(base.map(|base| base.name.as_str()));
        });
    }
    names
}

/// The role of every object, by number: of the nearest holder that gives one.
///
/// A parent's number is smaller than its children's, so that one pass suffices.
pub fn roles(census: &Census) -> Vec<Role> {
    let by_type: Vec<(Option<Role>, bool)> = (0..census.types().len() as u32)
        .map(|id| match census.types().get(TypeId(id)) {
            Some(class) => (bases(census, class).iter().find_map(|name| Role::of_class(name)), is_plain(class)),
            None => (None, false),
        })
        .collect();
    let objects = census.objects();
    let mut roles: Vec<Role> = Vec::with_capacity(objects.len());
    for id in objects.ids() {
        let (own, _) = by_type.get(objects.kind(id).0 as usize).copied().unwrap_or_default();
        let role = own.unwrap_or_else(|| match objects.parent(id) {
            Parent::Root(root) => match census.roots().get(root as usize) {
                Some(Root::Frame { label: Label::Local(_) | Label::Stack, .. }) => Role::Local,
                _ => Role::Other,
            },
            Parent::Object(parent) => {
                let held = roles.get(parent.0 as usize).copied().unwrap_or(Role::Other);
                let plain = by_type.get(objects.kind(parent).0 as usize).is_some_and(|(_, plain)| *plain);
                // A local that has attributes is a part of the program, not a batch.
                if held == Role::Local && !plain { Role::Other } else { held }
            }
        });
        roles.push(role);
    }
    roles
}

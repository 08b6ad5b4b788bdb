//! A census: one count of all live objects of a Python process, by type, size and holder.

use crate::error::Error;
use crate::python::Python;
use crate::read::Reader;
use crate::types::{Type, TypeId, Types};
use crate::walk::{self, ObjectId, Objects, Root};
use foldhash::fast::RandomState;
use lowtide_remote::{Image, Trouble};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// All live objects at one moment, and the memory that they were read from.
///
/// Everything that can be asked of it afterwards reads what the walk has read already, so that the target need not be held
/// any longer.
#[derive(Debug)]
pub struct Census {
    image: Arc<Image>,
    python: Python,
    types: Types,
    objects: Objects,
    roots: Vec<Root>,
    tracked: usize,
}

/// How many, and how large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Objects.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Total {
    /// One more.
    pub fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

impl Census {
    /// Counts all objects of a Python. The target must be still.
    ///
    /// # Errors
    /// [`Error::Cut`] where something could not be read, such as at the end of the announced time. [`Error::NoRoom`] where it
    /// does not fit into what the image may hold. [`Error::Collecting`] where its collector runs: let it go on for a moment, and try again. [`Error::Torn`] where it
    /// is not still.
    pub fn take(image: impl Into<Arc<Image>>, python: Python, threads: usize) -> Result<Self, Error> {
        let image = image.into();
        if python.is_collecting(&image) {
            return Err(Error::Collecting { attempts: 1 });
        }
        Self::walk(image, python, threads, true)
    }

    /// Counts objects of a Python that goes on meanwhile: those that names lead to, as each was when it came to it. What one of them
    /// is and how long is true of some moment; who holds what, and how much, need not be. Good for [`Census::lengths`] alone.
    ///
    /// # Errors
    /// As of [`Census::take`], but that nothing is too torn for it.
    pub fn in_passing(image: Image, python: Python) -> Result<Self, Error> {
        Self::walk(Arc::new(image), python, 1, false)
    }

    fn walk(image: Arc<Image>, python: Python, threads: usize, is_still: bool) -> Result<Self, Error> {
        // What could not be read looks like what is not there: the reason comes first.
        let cut = |image: &Image| match image.trouble()? {
            Trouble::Budget { budget } => Some(Error::NoRoom { budget }),
            trouble @ Trouble::Source { .. } => Some(Error::Cut(trouble.to_string())),
        };
        let walked = walk::walk(&image, &python, threads, is_still).map_err(|error| cut(&image).unwrap_or(error))?;
        if let Some(error) = cut(&image) {
            return Err(error);
        }
        let walk::Walked { types, objects, roots, tracked } = walked;
        Ok(Self { image, python, types, objects, roots, tracked })
    }

    /// The memory.
    #[must_use]
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// The interpreter.
    #[must_use]
    pub fn python(&self) -> &Python {
        &self.python
    }

    /// Reads single objects.
    #[must_use]
    pub fn reader(&self) -> Reader<'_> {
        Reader { image: &self.image, layout: &self.python.layout }
    }

    /// All types.
    #[must_use]
    pub fn types(&self) -> &Types {
        &self.types
    }

    /// All objects.
    #[must_use]
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// All roots that led to objects, by their number.
    #[must_use]
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// Counts more bytes to an object: what belongs to it and lies elsewhere.
    pub(crate) fn enlarge(&mut self, id: ObjectId, bytes: u64) {
        self.objects.enlarge(id, bytes);
    }

    /// Objects in the collector's lists.
    #[must_use]
    pub fn tracked(&self) -> usize {
        self.tracked
    }

    /// The type of an object.
    #[must_use]
    pub fn kind(&self, id: ObjectId) -> Option<&Type> {
        self.types.get(self.objects.kind(id))
    }

    /// The type of the object at an address, which need not have a number; `None` where its type is none that the walk has seen.
    pub(crate) fn class_at(&self, address: u64) -> Option<&Type> {
        self.types.get(self.types.find(self.reader().type_of(address)?)?)
    }

    /// The numbers of the objects at a few addresses.
    #[must_use]
    pub fn ids_of(&self, addresses: impl IntoIterator<Item = u64>) -> HashMap<u64, ObjectId> {
        let wanted: HashSet<u64, RandomState> = addresses.into_iter().collect();
        let places = self.may_be_at(wanted.iter().copied()).map(|id| (self.objects.address(id), id));
        places.filter(|(address, _)| wanted.contains(address)).collect()
    }

    /// The objects that may be at some of these addresses, by their types.
    pub(crate) fn may_be_at(&self, addresses: impl IntoIterator<Item = u64>) -> impl Iterator<Item = ObjectId> {
        let types = self.types_of(addresses);
        self.objects.ids().filter(move |id| types.get(self.objects.kind(*id).0 as usize) == Some(&true))
    }

    /// By the number of a type: whether any of these addresses is of an object of it. Asked before objects are looked up one by one in a
    /// set of addresses, of which there are millions, and most are of none of these types.
    pub(crate) fn types_of(&self, addresses: impl IntoIterator<Item = u64>) -> Vec<bool> {
        let mut found = vec![false; self.types.len()];
        for address in addresses {
            // What the walk has not come to is no object of the census, and the target may have gone on since.
            let known = Some(address).filter(|address| self.image.has_read(*address));
            let kind = known.and_then(|address| self.reader().type_of(address)).and_then(|at| self.types.find(at));
            if let Some(found) = kind.and_then(|kind| found.get_mut(kind.0 as usize)) {
                *found = true;
            }
        }
        found
    }

    /// Number and bytes of the objects of each type, those with the most bytes first.
    #[must_use]
    pub fn by_type(&self) -> Vec<(TypeId, Total)> {
        let mut totals = vec![Total::default(); self.types.len()];
        for id in self.objects.ids() {
            if let Some(total) = totals.get_mut(self.objects.kind(id).0 as usize) {
                total.add(self.objects.size(id));
            }
        }
        let mut totals: Vec<_> = (0..).map(TypeId).zip(totals).filter(|(_, total)| total.count > 0).collect();
        totals.sort_by_key(|(id, total)| (std::cmp::Reverse(total.bytes), *id));
        totals
    }
}

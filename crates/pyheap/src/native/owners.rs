//! Memory whose owner another part of the census knows: storage of tensors, data of arrays.

/// Who owns a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// The storage of tensors.
    Tensor,
    /// The data of a numpy array.
    Array,
}

/// Owned stretches, in order of address, apart from each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Owners(Vec<(u64, u64, Owner)>);

impl Owners {
    /// Takes stretches as they come: start, end, owner. Where two overlap, the first to begin keeps what both claim: an
    /// array that views a tensor's storage does not make it two.
    pub fn new(mut stretches: Vec<(u64, u64, Owner)>) -> Self {
        stretches.sort_unstable();
        let mut out: Vec<(u64, u64, Owner)> = Vec::with_capacity(stretches.len());
        for (start, end, owner) in stretches {
            let start = start.max(out.last().map_or(0, |last| last.1));
            if start < end {
                out.push((start, end, owner));
            }
        }
        Owners(out)
    }

    /// Tells the pieces of `start..end`, each with its owner where there is one.
    pub fn split(&self, start: u64, end: u64, tell: &mut dyn FnMut(u64, u64, Option<Owner>)) {
        let mut at = start;
        let first = self.0.partition_point(|(_, owned_end, _)| *owned_end <= start);
        for &(from, to, owner) in self.0.get(first..).unwrap_or_default() {
            if from >= end {
                break;
            }
            if from > at {
                tell(at, from, None);
            }
            tell(from.max(at), to.min(end), Some(owner));
            at = to.min(end);
        }
        if at < end {
            tell(at, end, None);
        }
    }

    /// Bytes of all stretches.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|(start, end, _)| end - start).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_what_was_asked_and_no_more() {
        let owners = Owners::new(vec![(30, 40, Owner::Array), (10, 20, Owner::Tensor), (15, 32, Owner::Array), (50, 50, Owner::Tensor)]);
        assert_eq!(owners.bytes(), 30);
        let mut pieces = Vec::new();
        owners.split(5, 35, &mut |start, end, owner| pieces.push((start, end, owner)));
        let (tensor, array) = (Some(Owner::Tensor), Some(Owner::Array));
        assert_eq!(pieces, [(5, 10, None), (10, 20, tensor), (20, 32, array), (32, 35, array)]);
        pieces.clear();
        owners.split(40, 60, &mut |start, end, owner| pieces.push((start, end, owner)));
        assert_eq!(pieces, [(40, 60, None)]);
    }
}

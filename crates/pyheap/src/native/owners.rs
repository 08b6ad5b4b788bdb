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

    /// The parts of these that none of `others` has.
    pub fn without(&self, others: &Owners) -> Owners {
        let mut out = Vec::with_capacity(self.0.len());
        for &(mut start, end, owner) in &self.0 {
            let first = others.0.partition_point(|other| other.1 <= start);
            for &(from, to, _) in others.0[first..].iter().take_while(|other| other.0 < end) {
                if from > start {
                    out.push((start, from, owner));
                }
                start = start.max(to);
            }
            if start < end {
                out.push((start, end, owner));
            }
        }
        Owners(out)
    }

    /// In order of address.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64, Owner)> {
        self.0.iter().copied()
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
    fn what_two_claim_belongs_to_the_first() {
        let (array, tensor) = (Owner::Array, Owner::Tensor);
        let owners = Owners::new(vec![
            (30, 40, array),
            (10, 20, tensor),
            (15, 32, array),
            (50, 50, tensor),
            (60, 70, tensor),
            (62, 65, array),
        ]);
        assert_eq!(owners.iter().collect::<Vec<_>>(), [(10, 20, tensor), (20, 32, array), (32, 40, array), (60, 70, tensor)]);
        assert_eq!(owners.bytes(), 40);
    }
    #[test]
    fn what_others_have_is_cut_out() {
        let of = |list: &[(u64, u64)]| Owners::new(list.iter().map(|&(start, end)| (start, end, Owner::Array)).collect());
        let cut = of(&[(10, 50), (60, 70), (80, 90)]).without(&of(&[(0, 12), (20, 30), (45, 65), (80, 90)]));
        assert_eq!(cut, of(&[(12, 20), (30, 45), (65, 70)]));
        assert_eq!(of(&[(1, 2)]).without(&of(&[])), of(&[(1, 2)]));
    }
}

//! How much memory the objects claim for their own. Each byte belongs to one object, so that all together cannot have more
//! than is mapped. Where they do, the heap is damaged, or lies: a million lists may all claim the same large array, and
//! visiting them would never end.

use crate::error::Error;
use lowtide_remote::Image;
use std::sync::atomic::{AtomicU64, Ordering};

/// Some memory is counted twice (keys that instances share), and what no root leads to is visited twice.
const TIMES: u64 = 3;

/// What is left to be claimed. Usable from several threads.
pub struct Claims {
    left: AtomicU64,
    /// The object that claimed too much; 0 as long as there is none.
    liar: AtomicU64,
}

impl Claims {
    pub fn new(image: &Image) -> Self {
        let mapped = image.maps().iter().filter(|map| map.is_readable()).fold(0, |sum: u64, map| sum.saturating_add(map.len()));
        Self { left: AtomicU64::new(mapped.saturating_mul(TIMES)), liar: AtomicU64::new(0) }
    }

    /// Claims bytes up to those of `object`; whether they were there to be claimed.
    pub fn claim(&self, bytes: u64, object: u64) -> bool {
        let claimed = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        if claimed.is_err() {
            let _ = self.liar.compare_exchange(0, object, Ordering::Relaxed, Ordering::Relaxed);
        }
        claimed.is_ok()
    }

    /// Whether all claims could be.
    pub fn check(&self) -> Result<(), Error> {
        match self.liar.load(Ordering::Relaxed) {
            0 => Ok(()),
            at => Err(Error::Torn { at, what: "the objects claim more memory than there is" }),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use lowtide_remote::Fake;

    #[test]
    fn no_more_can_be_claimed_than_is_there() {
        let image = Fake::new().segment(0x1000, vec![0; 4096]).image();
        let claims = Claims::new(&image);
        assert!(claims.claim(TIMES * 4096, 8));
        claims.check().unwrap();
        assert!(!claims.claim(1, 16) && !claims.claim(u64::MAX, 24));
        assert!(matches!(claims.check(), Err(Error::Torn { at: 16, .. })));
    }
}

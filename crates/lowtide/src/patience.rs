//! How long a look waits for the target's garbage collector: its lists are in pieces while it runs.

use std::time::Duration;

/// How often a look is tried that finds the collector at work.
pub const ATTEMPTS: u32 = 50;
/// Time between the first two attempts, and the most between two. It grows by a fifth each time: a collection of a large heap takes
/// seconds, on a busy machine longer, and all attempts together wait for eight.
const FIRST: Duration = Duration::from_millis(5);
const MOST: Duration = Duration::from_millis(250);
const LONGER: f64 = 1.2;

/// The waits between attempts.
pub struct Patience(Duration);

impl Patience {
    pub fn new() -> Self {
        Self(FIRST)
    }

    /// How long the next wait is.
    fn next(&mut self) -> Duration {
        let next = self.0;
        self.0 = next.mul_f64(LONGER).min(MOST);
        next
    }

    /// Waits, longer each time.
    pub fn wait(&mut self) {
        std::thread::sleep(self.next());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_collections_are_met_soon_and_long_ones_outlasted() {
        let mut patience = Patience::new();
        let waits: Vec<Duration> = (0..ATTEMPTS).map(|_| patience.next()).collect();
        assert_eq!(waits[0], FIRST);
        assert!(waits.is_sorted() && waits[ATTEMPTS as usize - 1] == MOST);
        let all: Duration = waits.iter().sum();
        assert!((5..15).contains(&all.as_secs()), "{all:?}");
    }
}

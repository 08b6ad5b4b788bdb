//! The file that stands for a GPU driver, in demonstrations and in tests: one thing a line, `key=value` after what it is about.
//!
//! ```text
//! driver 550.54.14
//! slow 30                                   every read takes so many milliseconds
//! opens 5000                                opening it takes so many
//! card 0 total=85899345920 name=NVIDIA_H100 uuid=GPU-0 reserved=0 used=123
//! mig 0 1 total=42949672960 uuid=MIG-1      an instance of card 0
//! process 0 pid=4711 used=123               used=none: the driver does not tell
//! process 0 pid=4712 used=5 mig=1
//! gone 0                                    the card is lost
//! ```
//!
//! A card without `used` has what its processes have. Underscores in names are blanks. What is not understood is skipped: the file
//! may be read while it is written. `used` and all other sizes are in bytes.

/// The most lines that are looked at.
const MOST_LINES: usize = 4096;

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// The driver's version.
    pub driver: String,
    /// Milliseconds that every read takes.
    pub slow_ms: u64,
    /// Milliseconds that it takes to open it.
    pub opens_ms: u64,
    /// The cards, by number.
    pub cards: Vec<ControlCard>,
}

/// A card, or an instance of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlCard {
    /// Its number.
    pub index: u32,
    /// Its instance, where it is one.
    pub mig: Option<u32>,
    /// Its model.
    pub name: String,
    /// Its unique name.
    pub uuid: String,
    /// Bytes of memory.
    pub total: u64,
    /// Bytes used; `None`: what its processes have.
    pub used: Option<u64>,
    /// Bytes that the driver keeps.
    pub reserved: u64,
    /// It does not answer any more.
    pub gone: bool,
    /// Who has memory on it: pid, and bytes where they are told.
    pub users: Vec<(u32, Option<u64>)>,
}

impl ControlCard {
    /// Bytes used.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used.unwrap_or_else(|| self.users.iter().filter_map(|(_, used)| *used).fold(0, u64::saturating_add))
    }

    /// Bytes that nobody has.
    #[must_use]
    pub fn free(&self) -> u64 {
        self.total.saturating_sub(self.used()).saturating_sub(self.reserved)
    }
}

impl Control {
    /// Reads the text of a file.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut control = Self::default();
        for line in text.lines().take(MOST_LINES) {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let value = |key: &str| words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
            let bytes = |key: &str| value(key).and_then(|value| value.parse::<u64>().ok());
            let at = |place: usize| words.get(place).and_then(|word| word.parse::<u32>().ok());
            match (words.first().copied(), at(1)) {
                (Some("driver"), _) => control.driver = words.get(1).copied().unwrap_or_default().to_owned(),
                (Some("slow"), Some(ms)) => control.slow_ms = ms.into(),
                (Some("opens"), Some(ms)) => control.opens_ms = ms.into(),
                (Some(what @ ("card" | "mig")), Some(index)) => {
                    let mig = if what == "mig" { at(2) } else { None };
                    let card = control.card(index, mig);
                    card.name = value("name").unwrap_or("Emulated_GPU").replace('_', " ");
                    card.uuid = value("uuid").unwrap_or_default().to_owned();
                    (card.total, card.used) = (bytes("total").unwrap_or(0), bytes("used"));
                    card.reserved = bytes("reserved").unwrap_or(0);
                }
                (Some("process"), Some(index)) => {
                    let mig = bytes("mig").and_then(|mig| u32::try_from(mig).ok());
                    if let Some(pid) = bytes("pid").and_then(|pid| u32::try_from(pid).ok()) {
                        control.card(index, mig).users.push((pid, bytes("used")));
                    }
                }
                (Some("gone"), Some(index)) => {
                    control.cards.iter_mut().filter(|card| card.index == index).for_each(|card| card.gone = true);
                }
                _ => {}
            }
        }
        control.cards.sort_by_key(|card| (card.index, card.mig));
        control
    }

    fn card(&mut self, index: u32, mig: Option<u32>) -> &mut ControlCard {
        let at = self.cards.iter().position(|card| (card.index, card.mig) == (index, mig)).unwrap_or_else(|| {
            self.cards.push(ControlCard { index, mig, ..ControlCard::default() });
            self.cards.len() - 1
        });
        &mut self.cards[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_cards_instances_and_processes() {
        let text = "driver 1.2\nslow 5\nopens 6\ncard 1 total=100 reserved=10 name=My_GPU\nprocess 1 pid=7 used=30\nprocess 1 pid=8 used=none\n\
                    mig 0 2 total=50 uuid=MIG\nprocess 0 pid=9 used=4 mig=2\ngone 0\nnonsense\ncard x\n";
        let control = Control::parse(text);
        assert_eq!((control.driver.as_str(), control.slow_ms, control.opens_ms, control.cards.len()), ("1.2", 5, 6, 2));
        let (mig, card) = (&control.cards[0], &control.cards[1]);
        assert_eq!((mig.mig, mig.gone, mig.used(), mig.free()), (Some(2), true, 4, 46));
        assert_eq!((card.name.as_str(), card.used(), card.free(), card.users.len()), ("My GPU", 30, 60, 2));
    }
}

//! A file that stands for a driver: it is read anew at each tick.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lowtide_model::GpuDriver;

use super::control::{Control, ControlCard};
use super::{Card, Driver, Memory, Reading};

/// The most bytes of the file that are read.
const MOST_BYTES: u64 = 256 << 10;

#[derive(Debug)]
pub(crate) struct Emulated {
    file: PathBuf,
    cards: Vec<Card>,
    /// Number and instance of each.
    places: Vec<(u32, Option<u32>)>,
}

impl Emulated {
    pub fn open(file: &Path) -> Result<Box<dyn Driver>, String> {
        let control = read(file)?;
        std::thread::sleep(Duration::from_millis(control.opens_ms));
        let places = control.cards.iter().map(|card| (card.index, card.mig)).collect();
        let cards = control.cards.iter().map(|card| Card { emulated: true, ..described(card) }).collect();
        Ok(Box::new(Self { file: file.to_owned(), cards, places }))
    }
}

fn read(file: &Path) -> Result<Control, String> {
    use std::io::Read as _;
    let failed = |error: std::io::Error| format!("the file that stands for one, {}: {error}", file.display());
    let mut bytes = Vec::new();
    std::fs::File::open(file).map_err(failed)?.take(MOST_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    Ok(Control::parse(&String::from_utf8_lossy(&bytes)))
}

/// A card as the control file has it.
fn described(card: &ControlCard) -> Card {
    let mig = card.mig.map_or(String::new(), |mig| format!(".mig{mig}"));
    Card { resource: format!("gpu{}{mig}", card.index), name: card.name.clone(), uuid: card.uuid.clone(), emulated: true }
}

impl Driver for Emulated {
    fn kind(&self) -> GpuDriver {
        GpuDriver::Emulated
    }

    fn describe(&self) -> String {
        format!("emulated by {}", self.file.display())
    }

    fn cards(&self) -> &[Card] {
        &self.cards
    }

    fn knows_our_pids(&self) -> bool {
        true
    }

    fn read(&mut self, _pids: &[u32], gone: &[bool], reading: &mut Reading) {
        let control = match read(&self.file) {
            Ok(control) => control,
            Err(why) => {
                reading.troubles.extend((0..self.cards.len()).map(|at| (at, why.clone(), false)));
                return;
            }
        };
        std::thread::sleep(Duration::from_millis(control.slow_ms));
        for (at, place) in self.places.iter().enumerate().filter(|(at, _)| !gone[*at]) {
            let Some(card) = control.cards.iter().find(|card| (card.index, card.mig) == *place) else { continue };
            if card.gone {
                reading.troubles.push((at, "it has fallen off the bus".to_owned(), true));
                continue;
            }
            let memory = Memory { total: card.total, used: card.used(), free: card.free(), reserved: card.reserved };
            reading.cards.push((at, memory));
            reading.users.extend(card.users.iter().map(|(pid, used)| (at, *pid, *used)));
        }
    }
}

//! The series of a run, for somebody who draws them.

use lowtide_model::{Kind, Role};

use crate::analyser::Analyser;
use crate::floor::{Point, envelope};
use crate::pyramid::{Pyramid, Window};
use crate::roles::lived;
use crate::series::Track;

/// One series with its low-water mark. Bytes.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// What it is of: `whole tree`, a role, a card.
    pub label: String,
    /// The values, in windows that lose no minimum and no maximum.
    pub windows: Vec<Window>,
    /// What was never given back; its last stretch is provisional.
    pub floor: Vec<Point>,
}

/// A sort of memory of all processes that live together. Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Which sort.
    pub kind: Kind,
    /// Now.
    pub bytes: u64,
    /// Of it swapped out.
    pub swapped: u64,
}

/// All series of a run that are drawn.
#[derive(Clone, Debug, Default)]
pub struct Curves {
    /// The whole tree.
    pub tree: Curve,
    /// Its roles, where there are several.
    pub roles: Vec<Curve>,
    /// Its memory by sort.
    pub shares: Vec<Share>,
    /// Cards, with what can be had of each; 0 where that is not known.
    pub cards: Vec<(Curve, u64)>,
}

impl Analyser {
    /// The series by what was seen so far.
    #[must_use]
    pub fn curves(&self) -> Curves {
        let store = self.store();
        let curve = |label: String, series: &Pyramid| {
            let windows = lived(series.windows(), self.over()).to_vec();
            Curve { label, floor: envelope(&windows), windows }
        };
        let shown = |role: Role| role != Role::Outside && store.tracks.values().any(|track| track.process.role == role);
        let roles: Vec<Curve> = store
            .roles
            .iter()
            .filter(|(role, _)| shown(**role))
            .map(|(role, group)| curve(role.label().to_owned(), group.memory()))
            .collect();
        let alive = || {
            let counts = |track: &&Track| track.process.role != Role::Outside && track.counts(self.last_s());
            store.tracks.values().filter(counts).map(|track| &track.last)
        };
        let sum = |of: fn(&lowtide_model::ProcSample) -> u64| alive().map(of).fold(0, u64::saturating_add);
        let share = |kind, bytes, swapped| Share { kind, bytes, swapped };
        let cards = self.gpus().cards.values();
        Curves {
            tree: curve("whole tree".to_owned(), store.tree.memory()),
            roles: if roles.len() > 1 { roles } else { Vec::new() },
            shares: vec![
                share(Kind::Anonymous, sum(|sample| sample.anon), sum(|sample| sample.swap)),
                share(Kind::Shmem, sum(|sample| sample.shmem), 0),
                share(Kind::File, sum(|sample| sample.file), 0),
            ],
            cards: cards
                .map(|card| {
                    (
                        curve(format!("{} {}", card.gpu.resource, card.gpu.name), &card.used),
                        card.last.map_or(0, |last| last.total),
                    )
                })
                .collect(),
        }
    }
}

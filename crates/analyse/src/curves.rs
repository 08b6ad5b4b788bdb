//! The series of a run, for somebody who draws them.

use lowtide_model::{Kind, Report, Role};

use crate::analyser::Analyser;
use crate::floor::{Point, envelope};
use crate::pyramid::{Pyramid, Window};
use crate::roles::lived;
use crate::series::Track;

/// A role whose most is this share of the tree's most is drawn as the tree. A choice: a tenth is seen on a screen of 24 lines.
const NEARLY_ALL: f64 = 0.9;

/// One series with its low-water mark. Bytes, unless it counts.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// What it is of: `whole tree`, a role, a card.
    pub label: String,
    /// It counts pieces: processes, open files, threads.
    pub counts: bool,
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
    /// What the verdict is about, where that is not the whole tree's memory, with what can be had of it; 0 where that is not
    /// known.
    pub blamed: Option<(Curve, u64)>,
}

impl Analyser {
    /// The series by what was seen so far; `report` tells which of them the verdict is about.
    #[must_use]
    pub fn curves(&self, report: &Report) -> Curves {
        let store = self.store();
        let curve = |label: String, series: &Pyramid| self.curve(label, series, false);
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
        let cards: Vec<(Curve, u64)> = self
            .gpus()
            .cards
            .values()
            .map(|card| {
                let label = format!("{} {}", card.gpu.resource, card.gpu.name);
                (curve(label, &card.used), card.last.map_or(0, |last| last.total))
            })
            .collect();
        Curves {
            blamed: self.blamed(report, &roles, &cards),
            tree: curve("whole tree".to_owned(), store.tree.memory()),
            roles: if roles.len() > 1 { roles } else { Vec::new() },
            shares: vec![
                share(Kind::Anonymous, sum(|sample| sample.anon), sum(|sample| sample.swap)),
                share(Kind::Shmem, sum(|sample| sample.shmem), 0),
                share(Kind::File, sum(|sample| sample.file), 0),
            ],
            cards,
        }
    }

    fn curve(&self, label: String, series: &Pyramid, counts: bool) -> Curve {
        let windows = lived(series.windows(), self.over()).to_vec();
        Curve { label, counts, floor: envelope(&windows), windows }
    }

    /// The series that the verdict rests on: a card's, a number of pieces, a role's where there are several.
    fn blamed(&self, report: &Report, roles: &[Curve], cards: &[(Curve, u64)]) -> Option<(Curve, u64)> {
        let leak = report.leak()?;
        if leak.resource.starts_with("gpu") {
            let of = |label: &str| label.split(' ').next() == Some(leak.resource.as_str());
            return cards.iter().find(|(card, _)| of(&card.label)).cloned();
        }
        let store = self.store();
        let process = leak.process.as_ref();
        let track = || store.tracks.values().find(|track| Some(track.process.pid) == process.map(|process| process.pid));
        let counted = |what: &str, series: &Pyramid| Some((self.curve(what.to_owned(), series, true), 0));
        match leak.kind {
            Some(Kind::Processes) => counted("live processes", &store.alive),
            Some(Kind::Fds) => track().and_then(|track| counted("open files", &track.fds)),
            Some(Kind::Threads) => track().and_then(|track| counted("threads", &track.threads)),
            _ => {
                let role = Role::ALL.into_iter().find(|role| process.is_some_and(|one| one.role == role.schema_name()))?;
                let one = roles.iter().find(|one| one.label == role.label())?;
                // A role that has nearly all is the tree, and the limits are the tree's.
                let most = |windows: &[Window]| windows.iter().fold(0.0_f64, |most, window| most.max(window.high));
                let part = most(&one.windows) < NEARLY_ALL * most(store.tree.memory().windows());
                part.then(|| (one.clone(), 0))
            }
        }
    }
}

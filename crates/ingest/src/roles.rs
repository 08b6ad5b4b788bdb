//! What each process is in the run, told by who is whose child, by memory, and only then by names: a verdict must
//! not change when names are blanked.
//!
//! A forked child has its parent's pages at birth: as much memory, and half of it or less by PSS. A child that was
//! started anew (exec) begins small and shares no anonymous page. So a root whose long-lived child was started
//! anew and becomes the bigger one is a launcher, and that child is the trainer; else the root is the trainer.
//! Measured on the zoo's traces: forked children have 0.98 to 1.08 of their parent's memory at first sight and 0.1 to
//! 0.56 of it by PSS, the one that was started anew 0.06 and 1.0.

use lowtide_model::Role;

use crate::lives::Life;
use crate::sheet::Identity;

/// First memory of a forked child over its parent's.
const LIKE_PARENT: std::ops::RangeInclusive<f64> = 0.6..=1.3;
/// The same where the birth was not seen, so that both had time to grow.
const LIKE_PARENT_LATER: std::ops::RangeInclusive<f64> = 0.3..=3.0;
/// Below this share by PSS, pages are shared with a parent.
const SHARES: f64 = 0.8;
/// A child that lives for less than this share of its parent's remaining life is a helper.
const LONG_LIFE: f64 = 0.5;
/// Of several leaves without children of their own, trainers have this much more than a launcher: workers that
/// were spawned have all that a trainer imported, and no more.
const MUCH_BIGGER: f64 = 1.5;
/// Beside the biggest trainer, another one has at least this share of its memory.
const TRAINER_SHARE: f64 = 0.25;

/// A role and the reason for it.
pub(crate) type Told = (Role, String);

/// Tell the role of each life.
pub(crate) fn tell(lives: &[Life], identities: &[Identity], has_parents: bool) -> Vec<Told> {
    let people = People { lives, identities, children: children(lives) };
    if lives.iter().any(|life| people.identity(life).role.is_some()) {
        return lives
            .iter()
            .map(|life| (people.identity(life).role.unwrap_or(Role::Other), "as the file says".to_owned()))
            .collect();
    }
    let mut told: Vec<Option<Told>> = vec![None; lives.len()];
    let roots: Vec<usize> = (0..lives.len()).filter(|life| lives[*life].parent.is_none()).collect();
    let mut trainers = Vec::new();
    for root in roots {
        match proven(people.command(root)) {
            Some((role, why)) => told[root] = Some((role, why.to_owned())),
            None => people.descend(root, &mut told, &mut trainers),
        }
    }
    let biggest = trainers.iter().map(|trainer| lives[*trainer].peak).max().unwrap_or(0);
    for trainer in trainers.iter().copied() {
        let big = lives[trainer].peak as f64 >= TRAINER_SHARE * biggest as f64;
        told[trainer] = Some(match (big, has_parents, trainers.len()) {
            (_, _, 1) if lives.len() == 1 => (Role::Trainer, "the only process in the file".to_owned()),
            (false, _, _) => (Role::Other, "much smaller than the trainer, and not its child".to_owned()),
            (true, false, 2..) => (Role::Trainer, "among the biggest; the file does not say who is whose child".to_owned()),
            _ => (Role::Trainer, people.why_trainer(trainer)),
        });
    }
    people.name_the_rest(&mut told);
    told.into_iter().map(|told| told.unwrap_or_else(|| (Role::Other, "no known part in the training".to_owned()))).collect()
}

struct People<'a> {
    lives: &'a [Life],
    identities: &'a [Identity],
    children: Vec<Vec<usize>>,
}

fn children(lives: &[Life]) -> Vec<Vec<usize>> {
    let mut children = vec![Vec::new(); lives.len()];
    for (child, life) in lives.iter().enumerate() {
        if let Some(parent) = life.parent {
            children[parent].push(child);
        }
    }
    children
}

impl People<'_> {
    fn identity(&self, life: &Life) -> &Identity {
        &self.identities[life.last_identity as usize]
    }

    fn command(&self, life: usize) -> &str {
        let identity = self.identity(&self.lives[life]);
        if identity.command.is_empty() { &identity.name } else { &identity.command }
    }

    /// Walk down from a root as long as the process is a launcher. Each life has one parent, so that no life is met twice.
    fn descend(&self, root: usize, told: &mut [Option<Told>], trainers: &mut Vec<usize>) {
        let mut todo = vec![root];
        while let Some(life) = todo.pop() {
            let started = self.started_by_launcher(life);
            if started.is_empty() {
                trainers.push(life);
            } else {
                told[life] = Some((Role::Launcher, "started a bigger process anew and waits for it".to_owned()));
                todo.extend(started);
            }
        }
    }

    /// The children for whose sake a process is a launcher; none where it is none.
    fn started_by_launcher(&self, parent: usize) -> Vec<usize> {
        let lives_long = |child: usize| {
            let (child, parent) = (&self.lives[child], &self.lives[parent]);
            child.last_s - child.born_s >= LONG_LIFE * (parent.last_s - child.born_s)
        };
        let anew = |child: &usize| lives_long(*child) && proven(self.command(*child)).is_none() && !self.forked(*child);
        let started: Vec<usize> = self.children[parent].iter().copied().filter(anew).collect();
        let own = self.lives[parent].peak as f64;
        let bigger = |child: &usize| {
            let factor = if started.len() == 1 || !self.children[*child].is_empty() { 1.0 } else { MUCH_BIGGER };
            let child = self.lives[*child].peak as f64;
            child > 0.0 && child >= own * factor
        };
        started.iter().copied().filter(bigger).collect()
    }

    /// Whether a process was forked from its parent and goes on with its memory.
    fn forked(&self, child: usize) -> bool {
        let life = &self.lives[child];
        let Some(parent) = life.parent else { return false };
        let seen_born = life.born > self.lives[parent].born;
        // With children of its own a process shares pages with them, too.
        if let Some(share) = life.first_share.filter(|_| seen_born || self.children[child].is_empty()) {
            return share < SHARES;
        }
        let like = if seen_born { LIKE_PARENT } else { LIKE_PARENT_LATER };
        if life.parent_bytes > 0 && !like.contains(&(life.first_bytes as f64 / life.parent_bytes as f64)) {
            return false;
        }
        let (own, its) = (self.command(child), self.command(parent));
        own.is_empty() || its.is_empty() || own == its
    }

    fn why_trainer(&self, trainer: usize) -> String {
        match self.lives[trainer].parent {
            Some(_) => "started anew by a launcher, and bigger than it".to_owned(),
            None if self.children[trainer].is_empty() => "the root of its tree".to_owned(),
            None => "the root of its tree, and no bigger process was started by it".to_owned(),
        }
    }

    /// Roles below the trainers, parents before children.
    fn name_the_rest(&self, told: &mut [Option<Told>]) {
        let mut todo: Vec<usize> = (0..told.len()).filter(|life| told[*life].is_some()).collect();
        while let Some(parent) = todo.pop() {
            let of_trainer = matches!(told[parent], Some((Role::Trainer | Role::ForkedChild | Role::DataloaderWorker, _)));
            for child in self.children[parent].iter().copied().filter(|child| told[*child].is_none()).collect::<Vec<_>>() {
                told[child] = Some(match proven(self.command(child)) {
                    Some((role, why)) => (role, why.to_owned()),
                    None if of_trainer && self.forked(child) => (Role::ForkedChild, "begins with its parent's memory".to_owned()),
                    None => (Role::Other, "started anew by its parent".to_owned()),
                });
                todo.push(child);
            }
        }
    }
}

/// Roles that a command proves by itself.
fn proven(command: &str) -> Option<(Role, &'static str)> {
    const COMPILERS: [&str; 12] =
        ["cc1", "cc1plus", "gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "nvcc", "cicc", "ptxas"];
    if command.contains("multiprocessing.resource_tracker") || command.contains("multiprocessing/resource_tracker") {
        return Some((Role::ResourceTracker, "its command runs multiprocessing.resource_tracker"));
    }
    if command.contains("torch/_inductor/compile_worker") || command.contains("torch._inductor.compile_worker") {
        return Some((Role::CompileWorker, "its command runs torch's compile worker"));
    }
    if command.starts_with("pt_data_worker") {
        return Some((Role::DataloaderWorker, "torch named it pt_data_worker"));
    }
    let program = command.split_whitespace().next().unwrap_or("").rsplit('/').next().unwrap_or("");
    COMPILERS.contains(&program).then_some((Role::CompileWorker, "its command is a compiler"))
}

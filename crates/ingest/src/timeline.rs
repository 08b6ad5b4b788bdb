//! From a sheet of readings to the events of a run.

use std::collections::HashMap;

use lowtide_model::{
    Cgroup, CgroupId, CgroupSample, CgroupVersion, Event, Exit, Mode, ProcId, ProcSample, Process, Role, RunInfo, Signal, Tick,
};

use crate::lives::{self, Life, Lives, NOBODY};
use crate::order::{self, Moment};
use crate::roles::{self, Told};
use crate::sheet::{Of, Sheet};
use crate::{Imported, Problem, when};

/// The longest process name of Linux (comm), in bytes.
const NAME_BYTES: usize = 15;

/// The events of a file.
pub(crate) fn build(mut sheet: Sheet) -> Result<Imported, Problem> {
    order::sort(&mut sheet)?;
    let rhythm = order::rhythm(&sheet.readings, sheet.all_series().len());
    let moments = order::moments(&sheet.readings, &rhythm)?;
    let first_s = moments.first().ok_or(Problem::NoRows)?.t_s;
    let lives = lives::tell(&sheet, &moments, &rhythm);
    let roles = if sheet.signal == Signal::SystemOnly {
        lives.lives.iter().map(|_| (Role::Other, "the whole machine: the file names no process".to_owned())).collect()
    } else {
        roles::tell(&lives.lives, sheet.all_identities(), sheet.has_parents)
    };
    let root = root(&lives, &roles);
    let command = match root {
        Some(root) if sheet.command.is_empty() => {
            sheet.all_identities()[root.last_identity as usize].command.split_whitespace().map(str::to_owned).collect()
        }
        _ => sheet.command.clone(),
    };
    let started = sheet.unix_s.map_or(0.0, |unix_s| unix_s + first_s);
    let mut events = vec![Event::Start(RunInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        mode: Mode::Import,
        command,
        host: String::new(),
        started_unix_s: if when::is_epoch(started) { started } else { 0.0 },
        interval_s: rhythm.interval_s,
        root_pid: root.map_or(0, |root| root.pid),
        rank: None,
        signal: sheet.signal,
    })];
    let by_end = lives.by_end();
    let mut writer = Writer {
        sheet: &sheet,
        lives: &lives,
        roles: &roles,
        first_s,
        cgroups: HashMap::new(),
        ending: &by_end,
        identity: Vec::new(),
    };
    for (at, moment) in moments.iter().enumerate() {
        writer.moment(at, *moment, &mut events);
    }
    Ok(Imported { events, what: sheet.what, said: sheet.said })
}

/// The process that all others come from, else the only trainer.
fn root<'a>(lives: &'a Lives, roles: &[Told]) -> Option<&'a Life> {
    let only = |mut candidates: Vec<&'a Life>| if candidates.len() == 1 { candidates.pop() } else { None };
    let roots = only(lives.lives.iter().filter(|life| life.parent.is_none()).take(2).collect());
    let trainers = lives.lives.iter().zip(roles).filter(|(_, (role, _))| *role == Role::Trainer).map(|(life, _)| life);
    roots.or_else(|| only(trainers.take(2).collect()))
}

struct Writer<'a> {
    sheet: &'a Sheet,
    lives: &'a Lives,
    roles: &'a [Told],
    first_s: f64,
    /// The ids of the cgroups announced, by series.
    cgroups: HashMap<u32, CgroupId>,
    /// Lives in the order of their ends, from the next one that ends.
    ending: &'a [u32],
    /// The last identity sent of each life.
    identity: Vec<u32>,
}

impl Writer<'_> {
    fn moment(&mut self, at: usize, moment: Moment, events: &mut Vec<Event>) {
        let t_s = moment.t_s - self.first_s;
        let mut tick = Tick { t_s, ..Tick::default() };
        // Who was there at the moment before, and never again, is gone by now.
        while let Some((life, rest)) = self.ending.split_first().filter(|(life, _)| self.lives.lives[**life as usize].last < at) {
            events.push(Event::Exit(Exit { id: ProcId(*life), t_s }));
            self.ending = rest;
        }
        for index in moment.from..moment.to {
            let reading = &self.sheet.readings[index];
            match &reading.of {
                Of::Process(identity, sample) => {
                    let life = self.lives.of_reading[index];
                    if life == NOBODY {
                        continue;
                    }
                    self.announce(life as usize, *identity, events);
                    tick.procs.push(ProcSample { id: ProcId(life), ..*sample });
                }
                Of::Machine(sample) => tick.system = Some(*sample),
                Of::Cgroup(sample) => {
                    let id = self.cgroup(reading.series, events);
                    tick.cgroups.push(CgroupSample { id, ..*sample });
                }
            }
        }
        events.push(Event::Tick(tick));
    }

    /// Send a process when it is new, or when it is another program now.
    fn announce(&mut self, life: usize, identity: u32, events: &mut Vec<Event>) {
        let is_new = life >= self.identity.len();
        let told = |identity: u32| {
            let identity = &self.sheet.all_identities()[identity as usize];
            (&identity.command, &identity.name, identity.rank)
        };
        if !is_new && (self.identity[life] == identity || told(self.identity[life]) == told(identity)) {
            return;
        }
        // Lives are numbered in order of first sight, so a new one is the next.
        if is_new {
            self.identity.push(identity);
        } else {
            self.identity[life] = identity;
        }
        let of = &self.lives.lives[life];
        let (command, name, rank) = told(identity);
        let (role, role_reason) = self.roles[life].clone();
        events.push(Event::Process(Process {
            id: ProcId(life as u32),
            pid: of.pid,
            ppid: self.sheet.all_identities()[of.identity as usize].ppid,
            parent: of.parent.map(|parent| ProcId(parent as u32)),
            start_s: of.born_s - self.first_s,
            name: short_name(name, command),
            command: if command.is_empty() { name.clone() } else { command.clone() },
            role,
            role_reason,
            rank,
        }));
    }

    fn cgroup(&mut self, series: u32, events: &mut Vec<Event>) -> CgroupId {
        if let Some(id) = self.cgroups.get(&series) {
            return *id;
        }
        let id = CgroupId(self.cgroups.len() as u32);
        self.cgroups.insert(series, id);
        let path = self.sheet.all_series()[series as usize].path.clone();
        events.push(Event::Cgroup(Cgroup { id, path, version: CgroupVersion::V2 }));
        id
    }
}

/// The name, else the program of the command.
fn short_name(name: &str, command: &str) -> String {
    let name =
        if name.is_empty() { command.split_whitespace().next().unwrap_or("").rsplit('/').next().unwrap_or("") } else { name };
    let mut end = name.len().min(NAME_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].to_owned()
}

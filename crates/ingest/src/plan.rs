//! How the rows of one table are read: fixed once, from the header and the first rows.

use std::borrow::Cow;

use lowtide_model::{CgroupId, CgroupSample, ProcId, ProcSample, Rollup, Signal, SystemSample};

use crate::Problem;
use crate::header::{Field, Measure, Unit, Whose};
use crate::hints::seconds_of;
use crate::number::{self, Cell};
use crate::rows::is_measure;
use crate::sheet::Sheet;
use crate::table::{Table, Writer};
use crate::units::{self, Guess};
use crate::when::{self, Sort};
use crate::words::words;

/// Rows that are looked at before units are settled.
const LOOKED_AT: usize = 2000;
/// The most that one process or machine can have, in bytes; more is a wrong unit or a broken file.
const MOST_BYTES: f64 = (1_u64 << 56) as f64;
/// Measures there are.
const MEASURES: usize = Measure::CgroupLimit as usize + 1;

/// How the rows are read.
pub(crate) struct Plan {
    pub time: usize,
    /// The column of the time of day where the date has a column of its own.
    pub day_time: Option<usize>,
    pub sort: Sort,
    /// Seconds in one.
    pub time_scale: f64,
    /// The column that tells lives apart by itself.
    pub process: Option<usize>,
    pub pid: Option<usize>,
    pub ppid: Option<usize>,
    pub command: Option<usize>,
    pub name: Option<usize>,
    pub role: Option<usize>,
    pub rank: Option<usize>,
    pub signal: Signal,
    pub groups: Vec<Group>,
    guessed: Vec<String>,
}

/// The columns of one process in a row, or those of the machine or a cgroup.
pub(crate) struct Group {
    pub name: String,
    pub whose: Whose,
    columns: Vec<Amount>,
}

struct Amount {
    at: usize,
    measure: Measure,
    factor: f64,
}

/// What one row says of one group.
pub(crate) struct Values([Option<u64>; MEASURES]);

impl Plan {
    /// Settle how to read a table.
    pub(crate) fn make(table: &Table, text: &str) -> Result<Self, Problem> {
        let column = |wanted: Field| table.columns.iter().position(|column| column.field == wanted);
        let sample = Sample::take(table, text)?;
        let time = column(Field::Time).ok_or_else(|| Problem::NoTime { columns: table.names.clone() })?;
        let mut plan = Self {
            time,
            day_time: None,
            sort: Sort::Number,
            time_scale: 1.0,
            process: column(Field::Process),
            pid: column(Field::Pid),
            ppid: column(Field::Ppid),
            command: column(Field::Command),
            name: column(Field::Name),
            role: column(Field::Role),
            rank: column(Field::Rank),
            signal: Signal::AnonShmem,
            groups: Vec::new(),
            guessed: Vec::new(),
        };
        plan.settle_time(table, &sample);
        plan.settle_groups(table, &sample);
        plan.settle_signal(table);
        if plan.groups.is_empty() {
            return Err(Problem::NoMemory { columns: table.names.clone() });
        }
        Ok(plan)
    }

    fn settle_time(&mut self, table: &Table, sample: &Sample) {
        let times = &sample.times[self.time];
        let Some((first, sort)) = times.first().copied() else { return };
        self.sort = sort;
        if sort == Sort::DayOnly {
            // Of all columns, one that holds times of day.
            self.day_time = sample.times.iter().position(|times| matches!(times.first(), Some((_, Sort::Clock))));
        }
        if sort == Sort::Number {
            let named = words(&table.names[self.time]).iter().rev().find_map(|word| seconds_of(word));
            self.time_scale = match table.columns[self.time].unit {
                Unit::Named(factor) if table.writer == Writer::Anyone => factor,
                _ => match (when::scale_of(first), named) {
                    // A count since 1970 tells its own unit; a name like `time_s` beside milliseconds is wrong.
                    (1.0, Some(named)) => named,
                    (scale, _) => scale,
                },
            };
        }
    }

    fn settle_groups(&mut self, table: &Table, sample: &Sample) {
        let exact = table.columns.iter().any(|column| !column.vague && is_measure(&column.field).is_some_and(Measure::is_memory));
        let machine =
            table.columns.iter().any(|column| matches!(column.field, Field::Measure(Measure::Total | Measure::Available)));
        let one_per_row = self.process.is_some() || self.pid.is_some() || self.name.is_some() || self.rank.is_some();
        for (at, column) in table.columns.iter().enumerate() {
            let Some(mut measure) = is_measure(&column.field) else { continue };
            if column.vague {
                if machine && words(&table.names[at]).iter().any(|word| word == "used") {
                    measure = Measure::Used;
                } else if exact {
                    continue;
                }
            }
            let whose = measure.whose();
            let name = if one_per_row || whose != Whose::Process { String::new() } else { column.group.clone() };
            let factor = if measure.is_count() { 1.0 } else { self.factor(table, at, &sample.numbers[at]) };
            let group = match self.groups.iter_mut().find(|group| group.whose == whose && group.name == name) {
                Some(group) => group,
                None => {
                    self.groups.push(Group { name, whose, columns: Vec::new() });
                    let last = self.groups.len() - 1;
                    &mut self.groups[last]
                }
            };
            // The first column of a measure counts.
            if group.columns.iter().all(|amount| amount.measure != measure) {
                group.columns.push(Amount { at, measure, factor });
            }
        }
        // Counts without memory beside them are of no process.
        self.groups.retain(|group| group.whose != Whose::Process || group.has(Measure::is_memory));
    }

    fn factor(&mut self, table: &Table, at: usize, numbers: &[f64]) -> f64 {
        let name = crate::text::cut(&table.names[at]);
        let mut say = |guess: Guess| {
            let Guess { factor, name: unit, because } = guess;
            self.guessed.push(format!(
                "`{name}` is taken to be in {unit} ({because}); if that is wrong, give its unit: --column memory={name}:UNIT."
            ));
            factor
        };
        match table.columns[at].unit {
            Unit::Named(factor) => factor,
            Unit::Megabytes(decimal) => say(units::of_megabytes(decimal, numbers)),
            Unit::Unsaid => say(units::of_unlabelled(numbers)),
        }
    }

    fn settle_signal(&mut self, table: &Table) {
        let processes = || self.groups.iter().filter(|group| group.whose == Whose::Process);
        self.signal = if processes().next().is_none() {
            Signal::SystemOnly
        } else if processes().all(|group| group.has(|m| m == Measure::Anon) || group.knows_parts()) {
            Signal::AnonShmem
        } else {
            Signal::RssOnly
        };
        if self.signal == Signal::SystemOnly {
            let used = self.groups.iter().any(|group| group.has(|m| m == Measure::Used));
            let both =
                self.groups.iter().any(|group| group.has(|m| m == Measure::Total) && group.has(|m| m == Measure::Available));
            if !used && !both {
                self.groups.clear();
            }
        } else if let Some(at) = table.columns.iter().position(|column| column.vague)
            && self
                .groups
                .iter()
                .any(|group| group.columns.iter().any(|amount| amount.at == at && amount.measure == Measure::Rss))
        {
            self.guessed
                .push(format!("`{}` is taken to be the resident memory of the process.", crate::text::cut(&table.names[at])));
        }
    }

    /// Say what was guessed, and set what the rows need.
    pub(crate) fn describe(&self, table: &Table, sheet: &mut Sheet) {
        sheet.signal = self.signal;
        sheet.of_the_day = self.sort == Sort::Clock;
        sheet.unix_s = matches!(self.sort, Sort::Number | Sort::Zoned).then_some(0.0);
        sheet.has_parents = self.ppid.is_some();
        sheet.series_are_lives = self.process.is_some();
        if table.writer == Writer::Anyone {
            let read: Vec<String> = self.groups.iter().flat_map(|group| &group.columns).map(|amount| amount.say(table)).collect();
            const MOST: usize = 12;
            let more = if read.len() > MOST { format!(" and {} more", read.len() - MOST) } else { String::new() };
            let list = read[..read.len().min(MOST)].join(", ");
            sheet.said.push(format!("Time is `{}`; read: {list}{more}.", crate::text::cut(&table.names[self.time])));
        }
        sheet.said.extend(self.guessed.iter().take(8).cloned());
        for (name, column) in table.names.iter().zip(&table.columns).filter(|_| table.writer == Writer::Anyone).take(64) {
            if let Field::Unused(why) = column.field
                && !why.is_empty()
            {
                sheet.said.push(format!("Not used: `{}` ({why}).", crate::text::cut(name)));
            }
        }
        if self.signal == Signal::RssOnly {
            let taken = self
                .groups
                .iter()
                .filter(|group| group.whose == Whose::Process)
                .find_map(Group::in_place_of_rss)
                .unwrap_or("RSS");
            sheet.said.push(format!(
                "There is {taken} only: growth of file pages cannot be told from growth of the program's own memory."
            ));
        }
        if self.signal == Signal::SystemOnly {
            sheet.said.push("There is the machine's used memory only: whose memory grows cannot be told.".to_owned());
        }
        if table.writer == Writer::Psrecord {
            sheet.said.push(
                "With --include-children psrecord adds the RSS of all processes up, shared pages several times.".to_owned(),
            );
        }
    }
}

impl Amount {
    fn say(&self, table: &Table) -> String {
        let name = crate::text::cut(&table.names[self.at]);
        if self.measure.is_count() { format!("`{name}`") } else { format!("`{name}` ({})", units::name_of(self.factor)) }
    }
}

impl Group {
    fn has(&self, wanted: impl Fn(Measure) -> bool) -> bool {
        self.columns.iter().any(|amount| wanted(amount.measure))
    }

    /// RSS is anonymous + file + shared memory; with three of them, the fourth is known.
    fn knows_parts(&self) -> bool {
        [Measure::Rss, Measure::File, Measure::Shmem].into_iter().all(|part| self.has(|measure| measure == part))
    }

    fn in_place_of_rss(&self) -> Option<&'static str> {
        if self.has(|measure| measure == Measure::Rss) {
            return None;
        }
        Some(if self.has(|measure| measure == Measure::Uss) { "USS" } else { "PSS" })
    }

    /// The values of a row.
    pub(crate) fn read(&self, cells: &[Cow<'_, str>], comma_decimal: bool) -> Result<Values, (usize, &'static str)> {
        let mut values = Values([None; MEASURES]);
        for amount in &self.columns {
            let bad = (amount.at, "an amount of memory");
            match number::cell(cells.get(amount.at).map_or("", |cell| cell), comma_decimal) {
                Cell::Missing => {}
                Cell::Number(value, unit) => {
                    let bytes = value * unit.unwrap_or(amount.factor);
                    if !(0.0..=MOST_BYTES).contains(&bytes) {
                        return Err(bad);
                    }
                    values.0[amount.measure as usize] = Some(bytes.round() as u64);
                }
                Cell::Bad => return Err(bad),
            }
        }
        Ok(values)
    }
}

impl Values {
    /// The value of a measure.
    pub(crate) fn get(&self, measure: Measure) -> Option<u64> {
        self.0[measure as usize]
    }

    /// A process; `None` where the row has none (empty cells, or the zero of one that is gone and not reaped).
    pub(crate) fn process(&self, signal: Signal) -> Option<ProcSample> {
        use Measure as M;
        let get = |measure| self.get(measure);
        let or_zero = |measure| get(measure).unwrap_or(0);
        let (file, shmem) = (or_zero(M::File), or_zero(M::Shmem));
        let anon = match signal {
            Signal::AnonShmem => get(M::Anon).or_else(|| get(M::Rss).map(|rss| rss.saturating_sub(file + shmem))),
            _ => get(M::Rss).or_else(|| get(M::Uss)).or_else(|| get(M::Pss)).or_else(|| get(M::Anon)).or_else(|| get(M::PssAnon)),
        }?;
        let (file, shmem) = if signal == Signal::AnonShmem { (file, shmem) } else { (0, 0) };
        if anon == 0 && get(M::Rss).unwrap_or(0) == 0 && file + shmem + or_zero(M::Swap) == 0 {
            return None;
        }
        let count = |measure| get(measure).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        let has_rollup = [M::Pss, M::Uss, M::PssAnon].into_iter().any(|measure| get(measure).is_some());
        Some(ProcSample {
            id: ProcId(0),
            anon,
            file,
            shmem,
            swap: or_zero(M::Swap),
            threads: count(M::Threads).unwrap_or(0),
            fds: count(M::Fds),
            maps: count(M::Maps),
            rollup: has_rollup.then(|| Rollup {
                pss: or_zero(M::Pss),
                uss: or_zero(M::Uss),
                private_dirty: or_zero(M::PrivateDirty),
                pss_anon: or_zero(M::PssAnon),
                pss_file: or_zero(M::PssFile),
                pss_shmem: or_zero(M::PssShmem),
            }),
            private_anon: None,
            data: None,
            size: None,
        })
    }

    /// The machine, and what it uses where that can be told.
    pub(crate) fn machine(&self) -> Option<SystemSample> {
        use Measure as M;
        self.0.iter().any(Option::is_some).then(|| SystemSample {
            total: self.get(M::Total).unwrap_or(0),
            available: self.get(M::Available).unwrap_or(0),
            swap_total: self.get(M::SwapTotal).unwrap_or(0),
            swap_used: self.get(M::SwapUsed).unwrap_or(0),
            shmem: self.get(M::SystemShmem).unwrap_or(0),
            cached: self.get(M::Cached).unwrap_or(0),
            dev_shm_used: self.get(M::DevShm).unwrap_or(0),
            dev_shm_size: self.get(M::DevShmSize).unwrap_or(0),
            oom_kills: self.get(M::OomKills).unwrap_or(0),
            psi_full_us: self.get(M::PsiFull).unwrap_or(0),
        })
    }

    /// A cgroup, where its usage is known.
    pub(crate) fn cgroup(&self) -> Option<CgroupSample> {
        let usage = self.get(Measure::CgroupUsage)?;
        // What the kernel writes for no limit (version 1) is larger than any memory.
        let limit = self.get(Measure::CgroupLimit).filter(|limit| (1..1 << 50).contains(limit));
        let inactive_file = self.get(Measure::CgroupInactive).unwrap_or(0);
        Some(CgroupSample { usage, limit, inactive_file, ..CgroupSample::empty(CgroupId(0)) })
    }

    /// The machine's used memory: without what can be had at once, where that is known.
    pub(crate) fn machine_used(&self) -> Option<u64> {
        let free = self.get(Measure::Total).zip(self.get(Measure::Available));
        free.map(|(total, available)| total.saturating_sub(available)).or_else(|| self.get(Measure::Used))
    }
}

/// The first rows, column by column.
struct Sample {
    numbers: Vec<Vec<f64>>,
    /// Of each column the first time.
    times: Vec<Vec<(f64, Sort)>>,
}

impl Sample {
    fn take(table: &Table, text: &str) -> Result<Self, Problem> {
        let width = table.names.len();
        let mut sample = Self { numbers: vec![Vec::new(); width], times: vec![Vec::new(); width] };
        let mut cells = Vec::new();
        // Wide tables are looked at less deep: the whole sample is bounded.
        let depth = (LOOKED_AT * 64 / width.max(64)).max(32);
        for record in
            table.records(text).filter(|record| record.as_ref().is_ok_and(|(line, _)| *line > table.header_line)).take(depth)
        {
            let (_, record) = record?;
            if record.trim_start().starts_with('#') {
                continue;
            }
            table.split(record, &mut cells);
            for (at, cell) in cells.iter().take(width).enumerate() {
                if let Cell::Number(value, None) = number::cell(cell, table.comma_decimal()) {
                    sample.numbers[at].push(value);
                }
                if sample.times[at].is_empty() {
                    sample.times[at].extend(when::parse(cell, table.comma_decimal()));
                }
            }
        }
        Ok(sample)
    }
}

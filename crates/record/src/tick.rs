//! Ticks as bytes: each against the one before it, every so often one that is complete in itself.

use std::collections::HashMap;

use lowtide_model::{CgroupSample, GpuSample, GpuUserSample, ProcSample, SystemSample, Tick};

use crate::format::{self, MAX_ROWS};
use crate::rows::Row;
use crate::table;
use crate::varint::{self, Malformed};

const SAME_PROCS: u8 = 1;
const HAS_SYSTEM: u8 = 2;
const SAME_CGROUPS: u8 = 4;
const SAME_GPUS: u8 = 8;
const SAME_GPU_USERS: u8 = 16;

/// The rows of the last tick, by which the next one is told.
#[derive(Debug)]
struct Rows<const N: usize> {
    ids: Vec<u32>,
    rows: Vec<[u64; N]>,
}

impl<const N: usize> Default for Rows<N> {
    fn default() -> Self {
        Self { ids: Vec::new(), rows: Vec::new() }
    }
}

impl<const N: usize> Rows<N> {
    /// The last rows of these ids; zeros for those that had none.
    fn of(&self, ids: &[u32]) -> Vec<[u64; N]> {
        if ids == self.ids {
            return self.rows.clone();
        }
        let by_id: HashMap<u32, [u64; N]> = self.ids.iter().copied().zip(self.rows.iter().copied()).collect();
        ids.iter().map(|id| by_id.get(id).copied().unwrap_or([0; N])).collect()
    }

    /// Appends `samples` and remembers them.
    fn put<T: Row<N>>(&mut self, out: &mut Vec<u8>, samples: &[T], key: bool, ids_known: bool) {
        let ids: Vec<u32> = samples.iter().map(Row::id).collect();
        if !ids_known {
            varint::put(out, ids.len() as u64);
            let mut before = 0;
            for id in &ids {
                varint::put(out, varint::zigzag(i64::from(*id) - before));
                before = i64::from(*id);
            }
        }
        let last = self.of(&ids);
        let mut rows = last.clone();
        for (sample, row) in samples.iter().zip(&mut rows) {
            sample.fill(row);
        }
        let base = if key { vec![[0; N]; rows.len()] } else { last };
        table::put(out, &base, &rows, &T::UNITS);
        *self = Self { ids, rows };
    }

    /// Reads what [`Rows::put`] wrote.
    fn take<T: Row<N>>(&mut self, input: &mut &[u8], key: bool, same_ids: bool) -> Result<Vec<T>, Malformed> {
        let ids = if same_ids { self.ids.clone() } else { take_ids(input)? };
        let mut rows = if key { vec![[0; N]; ids.len()] } else { self.of(&ids) };
        table::take(input, &mut rows, &T::UNITS)?;
        let samples = ids.iter().zip(&rows).map(|(id, row)| T::from_row(*id, row)).collect();
        *self = Self { ids, rows };
        samples
    }

    fn is_of<T: Row<N>>(&self, samples: &[T]) -> bool {
        samples.len() == self.ids.len() && samples.iter().zip(&self.ids).all(|(sample, id)| sample.id() == *id)
    }
}

fn take_ids(input: &mut &[u8]) -> Result<Vec<u32>, Malformed> {
    let count = varint::take_at_most(input, MAX_ROWS as u64)?;
    let mut before = 0i64;
    let mut ids = Vec::new();
    for _ in 0..count {
        let id = before.checked_add(varint::unzigzag(varint::take(input)?)).ok_or(Malformed)?;
        ids.push(u32::try_from(id).map_err(|_| Malformed)?);
        before = id;
    }
    Ok(ids)
}

/// What both ends remember of the last tick.
#[derive(Debug, Default)]
pub(crate) struct TickCodec {
    time_us: i64,
    step_us: i64,
    procs: Rows<17>,
    system: Rows<10>,
    cgroups: Rows<12>,
    gpus: Rows<4>,
    gpu_users: Rows<2>,
}

impl TickCodec {
    /// Appends a tick that is complete in itself, `ordinal` events into the run. Rows beyond [`MAX_ROWS`] are left out.
    pub(crate) fn put_key(&mut self, out: &mut Vec<u8>, ordinal: u64, tick: &Tick) {
        varint::put(out, ordinal);
        self.time_us = format::to_us(tick.t_s);
        self.step_us = 0;
        varint::put(out, varint::zigzag(self.time_us));
        self.put_tables(out, tick, true);
    }

    /// Appends a tick as the changes since the last one.
    pub(crate) fn put_delta(&mut self, out: &mut Vec<u8>, tick: &Tick) {
        let step_us = format::to_us(tick.t_s) - self.time_us;
        varint::put(out, varint::zigzag(step_us - self.step_us));
        self.time_us += step_us;
        self.step_us = step_us;
        self.put_tables(out, tick, false);
    }

    fn put_tables(&mut self, out: &mut Vec<u8>, tick: &Tick, key: bool) {
        let procs = &tick.procs[..tick.procs.len().min(MAX_ROWS)];
        let cgroups = &tick.cgroups[..tick.cgroups.len().min(MAX_ROWS)];
        let same_procs = !key && self.procs.is_of(procs);
        let same_cgroups = !key && self.cgroups.is_of(cgroups);
        let gpus = &tick.gpus[..tick.gpus.len().min(MAX_ROWS)];
        let gpu_users = &tick.gpu_users[..tick.gpu_users.len().min(MAX_ROWS)];
        // Where there are none, nothing of them is written; ticks that did not read them leave what is remembered as it is.
        let has_gpus = !gpus.is_empty() || !gpu_users.is_empty();
        if key {
            (self.gpus, self.gpu_users) = Default::default();
        }
        let same_gpus = has_gpus && self.gpus.is_of(gpus);
        let same_users = has_gpus && self.gpu_users.is_of(gpu_users);
        let flags = [
            (same_procs, SAME_PROCS),
            (tick.system.is_some(), HAS_SYSTEM),
            (same_cgroups, SAME_CGROUPS),
            (same_gpus, SAME_GPUS),
            (same_users, SAME_GPU_USERS),
        ];
        out.push(flags.iter().filter(|(set, _)| *set).fold(0, |all, (_, flag)| all | flag));
        if key {
            self.system = Rows::default();
        }
        self.procs.put(out, procs, key, same_procs);
        if let Some(system) = tick.system {
            self.system.put(out, &[system], key, true);
        }
        self.cgroups.put(out, cgroups, key, same_cgroups);
        if has_gpus {
            self.gpus.put(out, gpus, key, same_gpus);
            self.gpu_users.put(out, gpu_users, key, same_users);
        }
    }

    /// Reads a tick that is complete in itself; with it, how many events of the run came before it.
    pub(crate) fn take_key(&mut self, mut input: &[u8]) -> Result<(u64, Tick), Malformed> {
        let ordinal = varint::take(&mut input)?;
        self.time_us = format::check_us(varint::unzigzag(varint::take(&mut input)?))?;
        self.step_us = 0;
        Ok((ordinal, self.take_tables(input, true)?))
    }

    /// Reads a tick that tells the changes since the last one.
    pub(crate) fn take_delta(&mut self, mut input: &[u8]) -> Result<Tick, Malformed> {
        let change = varint::unzigzag(varint::take(&mut input)?);
        let step_us = self.step_us.checked_add(change).ok_or(Malformed)?;
        self.time_us = format::check_us(self.time_us.checked_add(step_us).ok_or(Malformed)?)?;
        self.step_us = step_us;
        self.take_tables(input, false)
    }

    fn take_tables(&mut self, mut input: &[u8], key: bool) -> Result<Tick, Malformed> {
        let input = &mut input;
        let (&flags, rest) = input.split_first().ok_or(Malformed)?;
        *input = rest;
        let has = |flag: u8| flags & flag != 0;
        if key {
            self.system = Rows::default();
            (self.gpus, self.gpu_users) = Default::default();
        }
        let procs: Vec<ProcSample> = self.procs.take(input, key, !key && has(SAME_PROCS))?;
        let system = if has(HAS_SYSTEM) { Some(self.take_system(input, key)?) } else { None };
        let cgroups: Vec<CgroupSample> = self.cgroups.take(input, key, !key && has(SAME_CGROUPS))?;
        let (mut gpus, mut gpu_users) = (Vec::new(), Vec::new());
        // Recordings of a version that knew no GPUs end here.
        if !input.is_empty() {
            gpus = self.gpus.take::<GpuSample>(input, key, has(SAME_GPUS))?;
            gpu_users = self.gpu_users.take::<GpuUserSample>(input, key, has(SAME_GPU_USERS))?;
        }
        Ok(Tick { t_s: format::from_us(self.time_us), procs, system, cgroups, gpus, gpu_users })
    }

    fn take_system(&mut self, input: &mut &[u8], key: bool) -> Result<SystemSample, Malformed> {
        // There is one machine, so its row has no id in the file.
        if self.system.ids.is_empty() {
            self.system = Rows { ids: vec![0], rows: vec![[0; 10]] };
        }
        let rows: Vec<SystemSample> = self.system.take(input, key, true)?;
        rows.into_iter().next().ok_or(Malformed)
    }
}

//! Samples as rows of numbers, in the order of columns that [`crate::format`] lays down.

use lowtide_model::{
    CgroupId, CgroupSample, GpuId, GpuSample, GpuUserId, GpuUserSample, ProcId, ProcSample, Rollup, SystemSample,
};

use crate::table::Units;
use crate::varint::Malformed;

/// Kernel pages. Machines with larger ones have multiples of it all the same.
const PAGE: u64 = 4096;
/// What /proc gives sizes in.
const KIB: u64 = 1024;
/// What is rounded to it.
const MIB: u64 = 1 << 20;

/// Something measured that a row can hold.
pub(crate) trait Row<const N: usize>: Sized {
    const UNITS: Units<N>;
    fn id(&self) -> u32;
    /// Sets the columns that this has a value for; the others keep theirs.
    fn fill(&self, row: &mut [u64; N]);
    /// Fails where a value cannot have come from [`Row::fill`].
    fn from_row(id: u32, row: &[u64; N]) -> Result<Self, Malformed>;
}

fn small(value: u64) -> Result<u32, Malformed> {
    u32::try_from(value).map_err(|_| Malformed)
}

/// A count that may be missing: zero is missing, else one more than the count.
fn counted(value: u64) -> Result<Option<u32>, Malformed> {
    value.checked_sub(1).map(small).transpose()
}

fn count(value: Option<u32>) -> u64 {
    value.map_or(0, |count| u64::from(count) + 1)
}

impl Row<17> for ProcSample {
    const UNITS: Units<17> = [PAGE, PAGE, PAGE, PAGE, 1, 1, 1, 1, KIB, KIB, KIB, KIB, KIB, KIB, KIB, MIB, MIB];

    fn id(&self) -> u32 {
        self.id.0
    }

    fn fill(&self, row: &mut [u64; 17]) {
        row[..4].copy_from_slice(&[self.anon, self.file, self.shmem, self.swap]);
        row[4..7].copy_from_slice(&[self.threads.into(), count(self.fds), count(self.maps)]);
        let has = [self.rollup.is_some(), self.private_anon.is_some(), self.data.is_some(), self.size.is_some()];
        row[7] = has.into_iter().enumerate().map(|(bit, has)| u64::from(has) << bit).sum();
        if let Some(r) = &self.rollup {
            row[8..14].copy_from_slice(&[r.pss, r.uss, r.private_dirty, r.pss_anon, r.pss_file, r.pss_shmem]);
        }
        if let Some(private) = self.private_anon {
            row[14] = private;
        }
        row[15] = self.data.unwrap_or(row[15]);
        row[16] = self.size.unwrap_or(row[16]);
    }

    fn from_row(id: u32, row: &[u64; 17]) -> Result<Self, Malformed> {
        let [anon, file, shmem, swap, threads, fds, maps, has, rollup @ .., private, data, size] = *row;
        if has > 15 {
            return Err(Malformed);
        }
        let [pss, uss, private_dirty, pss_anon, pss_file, pss_shmem] = rollup;
        let rollup = (has & 1 != 0).then_some(Rollup { pss, uss, private_dirty, pss_anon, pss_file, pss_shmem });
        let private_anon = (has & 2 != 0).then_some(private);
        let data = (has & 4 != 0).then_some(data);
        let size = (has & 8 != 0).then_some(size);
        let (threads, fds, maps) = (small(threads)?, counted(fds)?, counted(maps)?);
        Ok(Self { id: ProcId(id), anon, file, shmem, swap, data, size, threads, fds, maps, rollup, private_anon })
    }
}

impl Row<10> for SystemSample {
    const UNITS: Units<10> = [KIB, KIB, KIB, KIB, KIB, KIB, KIB, KIB, 1, 1];

    fn id(&self) -> u32 {
        0
    }

    fn fill(&self, row: &mut [u64; 10]) {
        *row = [
            self.total,
            self.available,
            self.swap_total,
            self.swap_used,
            self.shmem,
            self.cached,
            self.dev_shm_used,
            self.dev_shm_size,
            self.oom_kills,
            self.psi_full_us,
        ];
    }

    fn from_row(_id: u32, row: &[u64; 10]) -> Result<Self, Malformed> {
        let [total, available, swap_total, swap_used, shmem, cached, dev_shm_used, dev_shm_size, oom_kills, psi_full_us] = *row;
        Ok(Self { total, available, swap_total, swap_used, shmem, cached, dev_shm_used, dev_shm_size, oom_kills, psi_full_us })
    }
}

impl Row<12> for CgroupSample {
    const UNITS: Units<12> = [PAGE, PAGE, PAGE, PAGE, PAGE, PAGE, 1, 1, 1, 1, PAGE, PAGE];

    fn id(&self) -> u32 {
        self.id.0
    }

    fn fill(&self, row: &mut [u64; 12]) {
        row[..6].copy_from_slice(&[self.usage, self.anon, self.file, self.inactive_file, self.shmem, self.peak]);
        row[6..9].copy_from_slice(&[self.psi_full_us, self.oom_kills, self.limit_hits]);
        row[9] = u64::from(self.limit.is_some()) | u64::from(self.high.is_some()) << 1;
        row[10] = self.limit.unwrap_or(row[10]);
        row[11] = self.high.unwrap_or(row[11]);
    }

    fn from_row(id: u32, row: &[u64; 12]) -> Result<Self, Malformed> {
        let [usage, anon, file, inactive_file, shmem, peak, psi_full_us, oom_kills, limit_hits, has, limit, high] = *row;
        if has > 3 {
            return Err(Malformed);
        }
        let limit = (has & 1 != 0).then_some(limit);
        let high = (has & 2 != 0).then_some(high);
        let id = CgroupId(id);
        Ok(Self { id, usage, limit, high, peak, anon, shmem, file, inactive_file, oom_kills, limit_hits, psi_full_us })
    }
}

impl Row<4> for GpuSample {
    const UNITS: Units<4> = [PAGE; 4];

    fn id(&self) -> u32 {
        self.id.0
    }

    fn fill(&self, row: &mut [u64; 4]) {
        *row = [self.total, self.used, self.free, self.reserved];
    }

    fn from_row(id: u32, row: &[u64; 4]) -> Result<Self, Malformed> {
        let [total, used, free, reserved] = *row;
        Ok(Self { id: GpuId(id), total, used, free, reserved })
    }
}

impl Row<2> for GpuUserSample {
    const UNITS: Units<2> = [1, PAGE];

    fn id(&self) -> u32 {
        self.id.0
    }

    fn fill(&self, row: &mut [u64; 2]) {
        row[0] = self.used.is_some().into();
        row[1] = self.used.unwrap_or(row[1]);
    }

    fn from_row(id: u32, row: &[u64; 2]) -> Result<Self, Malformed> {
        let used = match row[0] {
            0 => None,
            1 => Some(row[1]),
            _ => return Err(Malformed),
        };
        Ok(Self { id: GpuUserId(id), used })
    }
}

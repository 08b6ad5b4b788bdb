//! A made-up run that keeps a recorder and an analysis as busy as a real one can.

use lowtide_model::{CgroupId, CgroupSample, ProcId, ProcSample, Rollup, SystemSample, Tick};

/// Numbers without a pattern (xorshift64).
struct Noise(u64);

impl Noise {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// A training run with a trainer and its workers, a tick a second: every process's anonymous memory changes at every tick,
/// by up to some MiB, the trainer's by validation spikes of 4 GiB too, over a leak of 8 KiB/s; file pages now and then,
/// rollups every ten ticks, jitter in the clock.
pub struct BusyRun {
    noise: Noise,
    procs: Vec<ProcSample>,
    t: u64,
}

impl BusyRun {
    /// A run of so many processes; the first one is the trainer.
    #[must_use]
    pub fn new(procs: u32) -> Self {
        let sample = |id| ProcSample {
            anon: 500 << 20,
            file: 200 << 20,
            threads: 20,
            fds: Some(64),
            maps: Some(900),
            ..ProcSample::empty(ProcId(id))
        };
        Self { noise: Noise(88_172_645_463_325_252), procs: (0..procs).map(sample).collect(), t: 0 }
    }

    /// The next second.
    pub fn tick(&mut self) -> Tick {
        let (noise, t) = (&mut self.noise, self.t);
        self.t += 1;
        let spike = if t % 1800 > 1700 { 4 << 30 } else { 0 };
        for (at, sample) in self.procs.iter_mut().enumerate() {
            let leak = if at == 0 { t * 8192 } else { 0 };
            sample.anon = (500 << 20) + leak + noise.below(2000) * 4096 + if at == 0 { spike } else { 0 };
            if noise.below(20) == 0 {
                sample.file = (200 << 20) + noise.below(100) * 4096;
                sample.fds = Some(64 + noise.below(4) as u32);
            }
            let pss = sample.anon + noise.below(1000) * 1024;
            let rollup = Rollup { pss, uss: pss - 4096, private_dirty: pss - 8192, pss_anon: sample.anon, ..Rollup::default() };
            sample.rollup = (t % 10 == 0).then_some(rollup);
        }
        let used: u64 = self.procs.iter().map(|sample| sample.anon).sum();
        let system = SystemSample {
            total: 256 << 30,
            available: (200 << 30) - used / 4096 * 4096 - noise.below(5000) * 4096,
            cached: (30 << 30) + t * 4096,
            dev_shm_size: 64 << 30,
            shmem: 1 << 30,
            ..SystemSample::default()
        };
        let cgroup = CgroupSample {
            usage: used + (5 << 30) + noise.below(1000) * 4096,
            limit: Some(128 << 30),
            peak: 30 << 30,
            anon: used,
            file: 5 << 30,
            inactive_file: (3 << 30) + noise.below(1000) * 4096,
            ..CgroupSample::empty(CgroupId(0))
        };
        let t_s = (t * 1_000_000 + noise.below(300)) as f64 / 1e6;
        Tick { t_s, procs: self.procs.clone(), system: Some(system), cgroups: vec![cgroup], ..Tick::default() }
    }
}

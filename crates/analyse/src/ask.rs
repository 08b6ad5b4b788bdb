//! What a series is asked: in which units, and how much growth is worth a verdict.

/// What to ask of a series.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// Resolution of the values: changes below it mean nothing.
    pub quantum: f64,
    /// The least growth worth a verdict.
    pub least: f64,
    /// The least growth grows with the time watched, as the drift of an allocator does.
    pub drifts: bool,
    /// The series is over: look for a tear-down.
    pub ended: bool,
    /// It began from nothing: its first steep rise is start-up. (A forked child, or a process that was attached to,
    /// has none.)
    pub fresh: bool,
}

impl Ask {
    /// For bytes of memory. A healthy torch run drifts by single allocator chunks of 1 MiB (2 in 290 s were
    /// measured): one such step is no growth, and a verdict needs half as much again in several rises, so that 5 MiB
    /// per minute show in twenty seconds.
    #[must_use]
    pub fn bytes(ended: bool, fresh: bool) -> Self {
        Self { quantum: 256.0 * 1024.0, least: 1.5 * 1024.0 * 1024.0, drifts: true, ended, fresh }
    }

    /// For shares of pages (PSS): they move with every fork and exit around, so a verdict needs more.
    #[must_use]
    pub fn shares(ended: bool) -> Self {
        Self { quantum: 1024.0 * 1024.0, least: 8.0 * 1024.0 * 1024.0, drifts: true, ended, fresh: false }
    }

    /// For counts of processes, threads and file descriptors.
    #[must_use]
    pub fn count(ended: bool) -> Self {
        Self { quantum: 0.9, least: 5.0, drifts: false, ended, fresh: false }
    }
}

/// Seconds for which the least growth is enough as it stands.
const DRIFT_S: f64 = 30.0;

impl Ask {
    /// The same with the least growth for so many seconds. Single chunks come and stay at random moments, so what a
    /// healthy run drifts by grows with the root of time: 1.5 MiB in half a minute, 16 MiB in an hour, 80 MiB in a day.
    #[must_use]
    pub fn over(self, seconds: f64) -> Self {
        let factor = if self.drifts { (seconds / DRIFT_S).sqrt().max(1.0) } else { 1.0 };
        Self { least: self.least * factor, ..self }
    }
}

//! Readings put in order of time and grouped into the moments at which a recorder looked.

use crate::Problem;
use crate::sheet::{Reading, Sheet};

/// Rows out of order that are left out whatever their share.
const FEW: u64 = 3;
/// Above one row out of order in so many the file is not one run in order of time.
const SHARE: u64 = 100;
/// Readings that are nearer than this share of the interval are of one look.
const TOGETHER: f64 = 0.3;
/// The most moments of one file.
const MOST_MOMENTS: usize = 5_000_000;
/// Half a day: a time of day that falls by more has passed midnight.
const HALF_DAY_S: f64 = 43_200.0;

/// Readings of one look: `from..to` in the ordered readings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub t_s: f64,
    pub from: usize,
    pub to: usize,
}

/// The rhythm of a file.
pub(crate) struct Rhythm {
    /// Median seconds between readings of one series, over all.
    pub interval_s: f64,
    /// The same of each series; zero where it was read once.
    pub of_series: Vec<f64>,
}

/// Sort the readings by time; what cannot be in order is left out and said.
pub(crate) fn sort(sheet: &mut Sheet) -> Result<(), Problem> {
    let series = sheet.all_series().len();
    if sheet.of_the_day {
        pass_midnights(&mut sheet.readings, series);
    }
    if falls_throughout(&sheet.readings, series) {
        sheet.readings.reverse();
        sheet.said.push("The newest row stands first; read from the end.".to_owned());
    }
    let mut last = vec![f64::NEG_INFINITY; series];
    let (mut back, mut repeated, mut first_line) = (0_u64, 0_u64, 0);
    let total = sheet.readings.len() as u64;
    sheet.readings.retain(|reading| {
        let last = &mut last[reading.series as usize];
        if reading.t_s < *last {
            back += 1;
            if first_line == 0 {
                first_line = reading.line;
            }
            return false;
        }
        let same = reading.t_s == *last;
        repeated += u64::from(same);
        *last = reading.t_s;
        !same
    });
    if back > FEW.max(total / SHARE) {
        return Err(Problem::TimeBackwards { line: first_line, count: back });
    }
    if back > 0 {
        sheet.said.push(format!("Left out {back} rows whose time goes backwards, the first in line {first_line}."));
    }
    if repeated > 0 {
        sheet.said.push(format!("Left out {repeated} rows that repeat the time of the row before."));
    }
    sheet.readings.sort_by(|a, b| a.t_s.total_cmp(&b.t_s));
    Ok(())
}

/// Add a day to all times of a series that follow a fall by more than half a day.
fn pass_midnights(readings: &mut [Reading], series: usize) {
    let mut days = vec![(f64::NEG_INFINITY, 0.0); series];
    for reading in readings {
        let (last, day_s) = &mut days[reading.series as usize];
        if reading.t_s + HALF_DAY_S < *last {
            *day_s += 2.0 * HALF_DAY_S;
        }
        *last = reading.t_s;
        reading.t_s += *day_s;
    }
}

/// Whether time only ever falls: files that start with the newest row.
fn falls_throughout(readings: &[Reading], series: usize) -> bool {
    let mut last: Vec<Option<f64>> = vec![None; series];
    let mut falls = 0_u64;
    for reading in readings {
        match last[reading.series as usize].replace(reading.t_s) {
            Some(before) if before < reading.t_s => return false,
            Some(before) if before > reading.t_s => falls += 1,
            _ => {}
        }
    }
    falls > 1
}

/// The rhythm of ordered readings.
pub(crate) fn rhythm(readings: &[Reading], series: usize) -> Rhythm {
    let mut last: Vec<Option<f64>> = vec![None; series];
    let mut steps: Vec<(u32, f64)> = Vec::with_capacity(readings.len());
    for reading in readings {
        if let Some(before) = last[reading.series as usize].replace(reading.t_s) {
            steps.push((reading.series, reading.t_s - before));
        }
    }
    let mut of_series = vec![0.0; series];
    steps.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    for steps in steps.chunk_by(|a, b| a.0 == b.0) {
        of_series[steps[0].0 as usize] = steps[steps.len() / 2].1;
    }
    let middle = steps.len() / 2;
    let interval_s = if steps.is_empty() { 0.0 } else { steps.select_nth_unstable_by(middle, |a, b| a.1.total_cmp(&b.1)).1.1 };
    Rhythm { interval_s, of_series }
}

/// Group ordered readings into moments.
pub(crate) fn moments(readings: &[Reading], rhythm: &Rhythm) -> Result<Vec<Moment>, Problem> {
    let together_s = rhythm.interval_s * TOGETHER;
    let mut seen_in = vec![usize::MAX; rhythm.of_series.len()];
    let mut moments: Vec<Moment> = Vec::new();
    for (at, reading) in readings.iter().enumerate() {
        let seen = &mut seen_in[reading.series as usize];
        match moments.last_mut() {
            Some(moment) if reading.t_s - moment.t_s <= together_s && *seen != moment.from => {
                moment.to = at + 1;
                *seen = moment.from;
            }
            _ => {
                if moments.len() == MOST_MOMENTS {
                    return Err(Problem::TooManyTicks);
                }
                moments.push(Moment { t_s: reading.t_s, from: at, to: at + 1 });
                *seen = at;
            }
        }
    }
    Ok(moments)
}

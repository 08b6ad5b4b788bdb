//! The JSON of a Prometheus range query (`/api/v1/query_range`, result type `matrix`): one answer, or several one
//! after the other in a file. The names of metrics say what they measure; labels say of whom.

mod json;
mod metrics;

use std::collections::{BTreeMap, HashMap};

use lowtide_model::{CgroupId, CgroupSample, ProcId, ProcSample, Signal, SystemSample};

use self::json::Series;
use self::metrics::{MEANINGS, Meaning, guess, known};
use crate::Problem;
use crate::sheet::{Identity, Of, Reading, Sheet};
use crate::text::cut;

/// Whether a text is JSON, by its first two characters: lines of logs begin with `[2026-...]`, and Python prints dictionaries
/// with single quotes.
pub(crate) fn looks_like(text: &str) -> bool {
    let mut marks = text.chars().filter(|c| !c.is_whitespace());
    match (marks.next(), marks.next()) {
        (Some('{'), second) => matches!(second, Some('"' | '}') | None),
        // A line of a log begins with a date in brackets, too.
        (Some('['), Some('0'..='9' | '-' | '"')) => text.trim_end().ends_with(']'),
        (Some('['), second) => matches!(second, Some('{' | '[' | ']') | None),
        _ => false,
    }
}

/// Read one or more answers.
pub(crate) fn read(text: &str) -> Result<Sheet, Problem> {
    let series = json::answers(text)?;
    let mut sheet = Sheet::new("Prometheus range query");
    sheet.unix_s = Some(0.0);
    let owners = Owners::gather(&series, &mut sheet)?;
    owners.fill(&mut sheet);
    if sheet.readings.is_empty() {
        let mut names: Vec<String> = series.iter().map(|series| name_of(series).to_owned()).collect();
        names.sort_unstable();
        names.dedup();
        return Err(Problem::NoMemory { columns: names });
    }
    Ok(sheet)
}

fn name_of(series: &Series) -> &str {
    series.metric.get("__name__").map_or("", String::as_str)
}

/// Readings of one owner: by time in milliseconds, what was measured.
type Owner = BTreeMap<i64, [Option<f64>; MEANINGS]>;

/// All owners of readings, by their labels.
struct Owners {
    processes: BTreeMap<String, Owner>,
    machine: Owner,
    /// Whether there are containers among them.
    containers: bool,
}

impl Owners {
    fn gather(all: &[Series], sheet: &mut Sheet) -> Result<Self, Problem> {
        let mut owners = Self { processes: BTreeMap::new(), machine: Owner::new(), containers: false };
        let mut machine_of: Option<String> = None;
        let mut unknown: HashMap<String, u64> = HashMap::new();
        let any_known = all.iter().any(|series| known(series).is_some());
        let inside = |series: &Series| series.metric.get("container").is_some_and(|name| !name.is_empty());
        let any_inside = all.iter().any(inside);
        let mut sums = 0_u64;
        for series in all {
            let Some((meaning, factor)) = known(series).or_else(|| guess(series, any_known, sheet)) else {
                *unknown.entry(name_of(series).to_owned()).or_default() += 1;
                continue;
            };
            let container = name_of(series).starts_with("container_");
            // cAdvisor has the pod's sum beside its containers, and the pause container.
            if container && any_inside && (!inside(series) || series.metric.get("container").is_some_and(|name| name == "POD")) {
                sums += 1;
                continue;
            }
            owners.containers |= container;
            let key = key_of(series);
            let owner = if meaning as usize >= Meaning::Total as usize {
                if machine_of.get_or_insert_with(|| key.clone()) != &key {
                    continue;
                }
                &mut owners.machine
            } else {
                owners.processes.entry(key).or_default()
            };
            for point in series.values.iter().filter(|point| point.value.is_finite() && point.value >= 0.0) {
                if !(0.0..1e12).contains(&point.t_s) {
                    let what = format!("it has a time that is none: {}", point.t_s);
                    return Err(Problem::NotARange { what });
                }
                let at = (point.t_s * 1000.0).round() as i64;
                owner.entry(at).or_insert([None; MEANINGS])[meaning as usize] = Some(point.value * factor);
            }
        }
        if sums > 0 {
            sheet.said.push(format!("Left out {sums} series that are sums over a pod or its pause container."));
        }
        let mut unknown: Vec<_> = unknown.into_iter().filter(|(name, _)| !name.is_empty()).collect();
        unknown.sort();
        for (name, count) in unknown.into_iter().take(8) {
            sheet.said.push(format!("Not used: `{}` ({count} series).", cut(&name)));
        }
        Ok(owners)
    }

    fn fill(self, sheet: &mut Sheet) {
        let has =
            |meaning: Meaning| self.processes.values().flat_map(BTreeMap::values).any(|row| row[meaning as usize].is_some());
        let memory = [Meaning::Anon, Meaning::Rss, Meaning::WorkingSet, Meaning::Usage, Meaning::Pss];
        let main = memory.into_iter().find(|meaning| has(*meaning));
        sheet.signal = match main {
            Some(Meaning::Anon) => Signal::AnonShmem,
            Some(_) => Signal::RssOnly,
            None => Signal::SystemOnly,
        };
        let why = match main {
            Some(Meaning::Anon) => "Shared memory is a part of container_memory_cache there: growth of it counts as file pages.",
            Some(Meaning::WorkingSet) => "There is the working set only: growth of active file pages cannot be told from a leak.",
            Some(Meaning::Usage) => {
                "There is the usage only: the page cache cannot be told from a leak; container_memory_rss can."
            }
            Some(_) => "There is RSS only: growth of file pages cannot be told from growth of the program's own memory.",
            None => "There is the machine's used memory only: whose memory grows cannot be told.",
        };
        sheet.said.push(why.to_owned());
        // Several cgroups of a run are ancestors of each other; those of several containers are not.
        let cgroup = self.containers && self.processes.len() == 1;
        for (key, owner) in &self.processes {
            let series = sheet.series(key, 0, "");
            let group = sheet.series(&format!("cgroup {key}"), 0, key);
            let identity = sheet.identity(&Identity { name: key.clone(), ..Identity::default() });
            for (at, row) in owner {
                let t_s = *at as f64 / 1000.0;
                let Some(main) = main.and_then(|main| row[main as usize]) else { continue };
                sheet.readings.push(Reading {
                    t_s,
                    line: 0,
                    series,
                    of: Of::Process(identity, process(row, main, sheet.signal)),
                });
                if let Some(usage) = row[Meaning::Usage as usize].or(row[Meaning::WorkingSet as usize]).filter(|_| cgroup) {
                    sheet.readings.push(Reading { t_s, line: 0, series: group, of: Of::Cgroup(cgroup_of(row, usage)) });
                }
            }
        }
        self.fill_machine(sheet);
    }

    fn fill_machine(&self, sheet: &mut Sheet) {
        let machine = sheet.series("machine", 0, "");
        let used = sheet.series("used", 0, "");
        let identity = sheet.identity(&Identity { name: "machine".to_owned(), ..Identity::default() });
        for (at, row) in &self.machine {
            let t_s = *at as f64 / 1000.0;
            let get = |meaning: Meaning| row[meaning as usize].map_or(0, bytes);
            let sample = SystemSample {
                total: get(Meaning::Total),
                available: get(Meaning::Available),
                swap_total: get(Meaning::SwapTotal),
                swap_used: row[Meaning::SwapFree as usize].map_or(0, |free| get(Meaning::SwapTotal).saturating_sub(bytes(free))),
                shmem: get(Meaning::Shmem),
                cached: get(Meaning::Cached),
                ..SystemSample::default()
            };
            sheet.readings.push(Reading { t_s, line: 0, series: machine, of: Of::Machine(sample) });
            if sheet.signal == Signal::SystemOnly && sample.total > 0 && row[Meaning::Available as usize].is_some() {
                let anon = sample.total.saturating_sub(sample.available);
                let of = Of::Process(identity, ProcSample { anon, ..ProcSample::empty(ProcId(0)) });
                sheet.readings.push(Reading { t_s, line: 0, series: used, of });
            }
        }
        // Totals without what is available say nothing.
        if !sheet.readings.iter().any(|reading| matches!(reading.of, Of::Process(..))) {
            sheet.readings.clear();
        }
    }
}

fn bytes(value: f64) -> u64 {
    // Saturates; negative values and NaN were left out.
    value.min((1_u64 << 56) as f64).round() as u64
}

fn process(row: &[Option<f64>; MEANINGS], main: f64, signal: Signal) -> ProcSample {
    let get = |meaning: Meaning| row[meaning as usize].map(bytes);
    let count = |meaning| get(meaning).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    ProcSample {
        anon: bytes(main),
        file: if signal == Signal::AnonShmem { get(Meaning::Cache).unwrap_or(0) } else { 0 },
        swap: get(Meaning::Swap).unwrap_or(0),
        threads: count(Meaning::Threads).unwrap_or(0),
        fds: count(Meaning::Fds),
        ..ProcSample::empty(ProcId(0))
    }
}

fn cgroup_of(row: &[Option<f64>; MEANINGS], usage: f64) -> CgroupSample {
    let get = |meaning: Meaning| row[meaning as usize].map_or(0, bytes);
    let usage = bytes(usage);
    // cAdvisor writes zero, or what the kernel has for none, where there is no limit.
    let limit = row[Meaning::Limit as usize].filter(|limit| (1.0..(1_u64 << 50) as f64).contains(limit)).map(bytes);
    CgroupSample {
        usage,
        limit,
        anon: get(Meaning::Anon),
        file: get(Meaning::Cache),
        inactive_file: row[Meaning::WorkingSet as usize].map_or(0, |set| usage.saturating_sub(bytes(set))),
        ..CgroupSample::empty(CgroupId(0))
    }
}

/// Whose series it is: of a container its namespace, pod and name, else all labels.
fn key_of(series: &Series) -> String {
    let label = |name: &str| series.metric.get(name).filter(|value| !value.is_empty()).cloned();
    let container: Vec<String> = ["namespace", "pod", "container"].into_iter().filter_map(label).collect();
    if label("pod").is_some() || label("container").is_some() {
        return container.join("/");
    }
    const NOT: [&str; 3] = ["__name__", "memtype", "job"];
    let labels: Vec<String> = series
        .metric
        .iter()
        .filter(|(name, _)| !NOT.contains(&name.as_str()))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if labels.is_empty() { label("job").unwrap_or_else(|| "process".to_owned()) } else { labels.join(",") }
}

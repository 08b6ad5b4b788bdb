//! What metrics measure, by their names.

use super::json::Series;
use super::name_of;
use crate::header::{Field, Measure, Unit, tell};
use crate::sheet::Sheet;
use crate::text::cut;
use crate::units;

/// What a metric measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Meaning {
    Rss,
    Pss,
    Swap,
    Fds,
    Threads,
    /// Of a container: usage without the inactive page cache.
    WorkingSet,
    Usage,
    /// container_memory_rss: the anonymous memory of the cgroup.
    Anon,
    Cache,
    Limit,
    Total,
    Available,
    Shmem,
    Cached,
    SwapTotal,
    SwapFree,
}

pub(super) const MEANINGS: usize = Meaning::SwapFree as usize + 1;

/// The metrics of the Prometheus client libraries, cAdvisor, kube-state-metrics and node_exporter, by their
/// documentation.
const KNOWN: [(&str, Meaning); 18] = [
    ("process_resident_memory_bytes", Meaning::Rss),
    ("process_open_fds", Meaning::Fds),
    ("process_threads", Meaning::Threads),
    ("process_num_threads", Meaning::Threads),
    ("namedprocess_namegroup_num_threads", Meaning::Threads),
    ("namedprocess_namegroup_open_filedesc", Meaning::Fds),
    ("container_memory_working_set_bytes", Meaning::WorkingSet),
    ("container_memory_usage_bytes", Meaning::Usage),
    ("container_memory_rss", Meaning::Anon),
    ("container_memory_cache", Meaning::Cache),
    ("container_memory_swap", Meaning::Swap),
    ("container_spec_memory_limit_bytes", Meaning::Limit),
    ("node_memory_MemTotal_bytes", Meaning::Total),
    ("node_memory_MemAvailable_bytes", Meaning::Available),
    ("node_memory_Shmem_bytes", Meaning::Shmem),
    ("node_memory_Cached_bytes", Meaning::Cached),
    ("node_memory_SwapTotal_bytes", Meaning::SwapTotal),
    ("node_memory_SwapFree_bytes", Meaning::SwapFree),
];

/// What a metric of a known name measures, and bytes in one.
pub(super) fn known(series: &Series) -> Option<(Meaning, f64)> {
    let name = name_of(series);
    if name == "namedprocess_namegroup_memory_bytes" {
        return match series.metric.get("memtype").map(String::as_str) {
            Some("resident") => Some((Meaning::Rss, 1.0)),
            Some("proportionalResident") => Some((Meaning::Pss, 1.0)),
            Some("swapped") => Some((Meaning::Swap, 1.0)),
            _ => None,
        };
    }
    if name == "kube_pod_container_resource_limits" {
        return (series.metric.get("resource").is_some_and(|resource| resource == "memory")).then_some((Meaning::Limit, 1.0));
    }
    KNOWN.iter().find(|(known, _)| *known == name).map(|(_, meaning)| (*meaning, 1.0))
}

/// A metric of another name, by the words of the name; without a name (the answer of an expression) it is memory in
/// bytes where nothing else in the file is known.
pub(super) fn guess(series: &Series, any_known: bool, sheet: &mut Sheet) -> Option<(Meaning, f64)> {
    if any_known {
        return None;
    }
    let name = name_of(series);
    let told = tell(name);
    let factor = match (name, told.field, told.unit) {
        ("", _, _) => 1.0,
        (
            _,
            Field::Measure(Measure::Rss | Measure::Anon | Measure::Uss | Measure::Pss | Measure::Used),
            Unit::Named(factor) | Unit::Megabytes(factor),
        ) => factor,
        (_, Field::Measure(Measure::Rss | Measure::Anon | Measure::Uss | Measure::Pss), Unit::Unsaid) => 1.0,
        _ => return None,
    };
    let said = format!("`{}` is taken to be the resident memory of a process, in {}.", cut(name), units::name_of(factor));
    if !sheet.said.contains(&said) {
        sheet.said.push(said);
    }
    Some((Meaning::Rss, factor))
}

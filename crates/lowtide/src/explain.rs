//! What the catalogue knows of what was found: the cause where the sort of memory alone tells it, and the fix.

use lowtide_causes::{Live, Memory, by_id, matching};
use lowtide_model::{Class, Finding, Kind, Report};

/// Fills in cause and fix of all growth.
pub fn explain(report: &mut Report) {
    for finding in report.findings.iter_mut().filter(|finding| finding.grows()) {
        // What shared memory is for says no holder of maps.
        if finding.cause.is_none() && (finding.holder.is_none() || finding.kind == Some(Kind::Shmem)) {
            finding.cause = by_memory(finding);
        }
        let cause = finding.cause.as_deref().and_then(by_id);
        // What the sort of GPU memory advises is closer than what is said of all like it, until a holder is known.
        let own = finding.fix.take().filter(|_| finding.resource.starts_with("gpu") && finding.holder.is_none());
        finding.fix = own.or_else(|| cause.map(|cause| cause.fix.text.to_owned()));
    }
}

/// The cause of memory that nobody in Python holds.
fn by_memory(finding: &Finding) -> Option<String> {
    let kind = match finding.kind? {
        Kind::AllocatorHoles => Memory::Holes,
        Kind::NativeHeap => Memory::Native,
        Kind::Shmem => Memory::Shared,
        Kind::GpuReserved if finding.class == Class::GpuReservedGrowth => Memory::GpuReserved,
        _ => return None,
    };
    matching(&Live { kind, ..Live::default() }).first().map(|found| found.cause.id.to_owned())
}

#[cfg(test)]
mod tests {
    use lowtide_model::Verdict;

    use super::*;

    fn explained(class: Class, kind: Kind, cause: Option<&str>) -> (Option<String>, bool) {
        let mut report = Report::empty(Verdict::Leak);
        let mut finding = Finding::new(class, "ram", "");
        (finding.kind, finding.cause) = (Some(kind), cause.map(str::to_owned));
        report.findings = vec![finding];
        explain(&mut report);
        let finding = report.findings.remove(0);
        (finding.cause, finding.fix.is_some())
    }

    #[test]
    fn only_what_is_known_gets_a_cause() {
        assert_eq!(explained(Class::Leak, Kind::Anonymous, Some("LT103")), (Some("LT103".to_owned()), true));
        assert_eq!(explained(Class::BoundedGrowth, Kind::AllocatorHoles, None), (None, false), "it does not grow for ever");
        assert_eq!(explained(Class::Leak, Kind::AllocatorHoles, None), (Some("LT603".to_owned()), true));
        assert_eq!(explained(Class::Leak, Kind::Shmem, None), (Some("LT405".to_owned()), true));
        assert_eq!(explained(Class::Leak, Kind::Anonymous, None), (None, false));
        assert_eq!(
            explained(Class::Leak, Kind::Anonymous, Some("LT999")),
            (Some("LT999".to_owned()), false),
            "a later version's"
        );
    }
}

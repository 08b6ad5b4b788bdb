//! The last table of `torch.cuda.memory_summary()` of each card, as a finding: where its memory was, no growth.

use lowtide_ingest::log::numbers::Summary;
use lowtide_model::{Bytes, Class, Finding, Kind};

/// A finding for each card.
pub fn findings(summaries: &[Summary]) -> Vec<Finding> {
    summaries.iter().map(finding).collect()
}

fn finding(summary: &Summary) -> Finding {
    let mut parts = Vec::new();
    for (usage, what) in [
        (summary.allocated, "in tensors"),
        (summary.reserved, "reserved by PyTorch"),
        (summary.stuck, "free between blocks in use, which empty_cache() cannot give back"),
    ] {
        if let Some(usage) = usage {
            let peak = if usage.peak > usage.now { format!(" ({} at most)", Bytes(usage.peak)) } else { String::new() };
            parts.push(format!("{} {what}{peak}", Bytes(usage.now)));
        }
    }
    if summary.ooms > 0 {
        parts.push(format!("{} had failed by then", lowtide_report::pieces(summary.ooms, "request", "requests")));
    }
    if summary.retries > 0 {
        let requests = lowtide_report::pieces(summary.retries, "request", "requests");
        parts.push(format!(
            "{requests} got memory only after PyTorch had given its cache back (cudaMalloc retries): the card was full"
        ));
    }
    let resource = format!("gpu{}", summary.device);
    let text = format!("GPU {} by torch.cuda.memory_summary(): {}", summary.device, parts.join(", "));
    let mut found = Finding::new(Class::Overhead, &resource, text);
    found.kind = Some(Kind::GpuAllocated);
    found.bytes = summary.allocated.map(|usage| usage.now);
    let tables = lowtide_report::pieces(summary.tables, "table", "tables");
    found.evidence.push(format!("line {}: the last of {tables} of this card; one alone shows no growth", summary.line));
    if let Some((requested, allocated)) = summary.requested.zip(summary.allocated).filter(|(asked, had)| asked.now < had.now) {
        found.evidence.push(format!("{} of what tensors have is rounding", Bytes(allocated.now - requested.now)));
    }
    found
}

#[cfg(test)]
mod tests {
    use lowtide_ingest::log::numbers::Usage;

    use super::*;

    #[test]
    fn one_table_says_where_memory_was() {
        let usage = |now: u64, peak: u64| Some(Usage { now: now << 20, peak: peak << 20 });
        let summary = Summary {
            device: 3,
            line: 7,
            tables: 1,
            ooms: 1,
            retries: 2,
            allocated: usage(100, 300),
            requested: usage(90, 290),
            reserved: usage(400, 400),
            stuck: usage(50, 60),
            ..Summary::default()
        };
        let found = &findings(&[summary])[0];
        assert_eq!((found.resource.as_str(), found.bytes), ("gpu3", Some(100 << 20)));
        assert!(found.text.contains("100 MiB in tensors (300 MiB at most), 400 MiB reserved"), "{}", found.text);
        let all = format!("{} {}", found.text, found.evidence.join(" "));
        for said in
            ["line 7", "1 request had failed", "2 requests got memory only after", "10 MiB of what tensors have is rounding"]
        {
            assert!(all.contains(said), "{said}: {all}");
        }
    }
}

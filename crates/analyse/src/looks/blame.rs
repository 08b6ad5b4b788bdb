//! What a finding says of the holder that is named.

use lowtide_model::{Beside, Bytes, Finding, Grown, Holder, HolderGrown};

pub fn blame(holder: &HolderGrown, grown: &Grown, explains: f64, finding: &mut Finding) {
    finding.objects.clone_from(&holder.objects);
    finding.site.clone_from(&holder.site);
    finding.sites.clone_from(&holder.sites);
    finding.cause = cause(holder);
    finding.why = Some(holder.why.clone()).filter(|why| !why.is_empty());
    finding.holder = Some(held(holder, grown, explains));
    match holder.also.as_slice() {
        [] => {}
        [other] => finding.evidence.push(format!("{other} holds most of it as well: both must let go before it goes")),
        others => {
            finding.evidence.push(format!("{} hold most of it as well: all must let go before it goes", others.join(" and ")));
        }
    }
    if holder.unaccounted.saturating_mul(2) >= own(holder).unsigned_abs() && holder.unaccounted > 0 {
        finding.evidence.push(format!(
            "to {} of it there are references that no Python object accounts for: C or C++ code has them, or they were never given back",
            Bytes(holder.unaccounted)
        ));
    }
}

fn held(holder: &HolderGrown, grown: &Grown, explains: f64) -> Holder {
    Holder {
        path: holder.path.clone(),
        name: holder.name.clone(),
        file: holder.file.clone(),
        line: holder.line,
        kind: holder.kind.clone(),
        length: holder.len,
        bytes_delta: own(holder),
        seconds: grown.seconds,
        explains,
        also: holder.also.clone(),
    }
}

fn cause(holder: &HolderGrown) -> Option<String> {
    Some(holder.cause.clone()).filter(|cause| !cause.is_empty())
}

pub fn beside_it(holder: &HolderGrown, grown: &Grown, explains: f64) -> Beside {
    Beside { holder: held(holder, grown, explains), site: holder.site.clone(), cause: cause(holder) }
}

/// What it has more of in the process's own memory, bytes: what lies on a GPU is no part of the growth of RAM.
pub fn own(holder: &HolderGrown) -> i64 {
    holder.bytes.saturating_sub(holder.elsewhere)
}

/// Without those that another one holds: their bytes are in its own.
pub fn apart_from_one_another(holders: &[HolderGrown]) -> Vec<&HolderGrown> {
    let mut apart: Vec<&HolderGrown> = Vec::new();
    for holder in holders.iter().filter(|holder| own(holder) > 0) {
        let within = |outer: &&&HolderGrown| holder.path.starts_with(&outer.path) || outer.path.starts_with(&holder.path);
        if !apart.iter().any(|outer| within(&outer)) {
            apart.push(holder);
        }
    }
    apart
}

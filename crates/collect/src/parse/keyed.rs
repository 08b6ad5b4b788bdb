//! Files of the form "name value": meminfo, vmstat, memory.stat, memory.events, pressure, smaps_rollup.

use lowtide_model::Rollup;

use super::{kibibytes, lines, number};

/// Calls `each` with the name and the text of the value, for `name value` and `name: value`.
pub fn pairs<'a>(bytes: &'a [u8], mut each: impl FnMut(&'a [u8], &'a [u8])) {
    for line in lines(bytes) {
        let Some(gap) = line.iter().position(|byte| matches!(byte, b' ' | b'\t' | b':')) else { continue };
        each(&line[..gap], value_part(&line[gap..]));
    }
}

fn value_part(rest: &[u8]) -> &[u8] {
    rest.strip_prefix(b":").unwrap_or(rest).trim_ascii_start()
}

/// The number of one name; `None` where it is not there.
#[must_use]
pub fn value_of(bytes: &[u8], name: &[u8]) -> Option<u64> {
    let mut found = None;
    pairs(bytes, |key, value| {
        if key == name && found.is_none() {
            found = number(value);
        }
    });
    found
}

/// `total=` of the `full` line of a pressure file (kernel: accounting/psi), in microseconds.
#[must_use]
pub fn psi_full_us(bytes: &[u8]) -> Option<u64> {
    let full = lines(bytes).find(|line| line.starts_with(b"full "))?;
    let total = full.split(u8::is_ascii_whitespace).find_map(|word| word.strip_prefix(b"total="))?;
    number(total)
}

/// `smaps_rollup` (kernel: Documentation/ABI/testing/procfs-smaps_rollup). `None` where it has no Pss, as for a
/// process without memory.
#[must_use]
pub fn rollup(bytes: &[u8]) -> Option<Rollup> {
    let mut rollup = Rollup::default();
    let mut seen = false;
    pairs(bytes, |key, value| {
        let bytes = kibibytes(value).unwrap_or(0);
        match key {
            b"Pss" => {
                rollup.pss = bytes;
                seen = true;
            }
            b"Pss_Anon" => rollup.pss_anon = bytes,
            b"Pss_File" => rollup.pss_file = bytes,
            b"Pss_Shmem" => rollup.pss_shmem = bytes,
            b"Private_Clean" => rollup.uss = rollup.uss.saturating_add(bytes),
            b"Private_Dirty" => {
                rollup.uss = rollup.uss.saturating_add(bytes);
                rollup.private_dirty = bytes;
            }
            _ => {}
        }
    });
    seen.then_some(rollup)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_with_and_without_a_colon() {
        assert_eq!(value_of(b"MemTotal:       49368172 kB\nMemFree: 1 kB\n", b"MemTotal"), Some(49_368_172));
        assert_eq!(value_of(b"low 0\noom_kill 3\n", b"oom_kill"), Some(3));
        assert_eq!(value_of(b"oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", b"oom_kill"), Some(2));
        assert_eq!(value_of(b"a b\n", b"a"), None);
    }

    #[test]
    fn reads_pressure() {
        let text = b"some avg10=0.00 avg60=0.00 avg300=0.00 total=42\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=17\n";
        assert_eq!(psi_full_us(text), Some(17));
        assert_eq!(psi_full_us(b"some total=4\n"), None);
    }

    #[test]
    fn reads_a_rollup() {
        let text = b"55678d4bd000-7ffddfa3c000 ---p 00000000 00:00 0                          [rollup]\nRss:                1664 kB\nPss:                 329 kB\nPss_Dirty:           112 kB\nPss_Anon:            112 kB\nPss_File:            217 kB\nPss_Shmem:             0 kB\nPrivate_Clean:        60 kB\nPrivate_Dirty:       112 kB\n";
        let rollup = rollup(text).expect("a rollup");
        assert_eq!((rollup.pss, rollup.uss, rollup.private_dirty), (329 << 10, 172 << 10, 112 << 10));
        assert_eq!((rollup.pss_anon, rollup.pss_file, rollup.pss_shmem), (112 << 10, 217 << 10, 0));
        assert!(super::rollup(b"").is_none());
    }
}

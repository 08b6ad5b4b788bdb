//! Parsers of the kernel's text files. They take bytes, keep nothing that is not asked for, and never panic:
//! a process may give itself any name, and a container may put any file in the place of a kernel's.

pub mod keyed;
pub mod mounts;
pub mod stat;
pub mod status;
pub mod tcp;
pub mod unix_diag;

#[cfg(test)]
mod hostile;

/// The lines of a kernel file, without their ends.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

/// The decimal number at the start, after blanks; `None` without digits or where it overflows.
pub fn number(bytes: &[u8]) -> Option<u64> {
    let bytes = bytes.trim_ascii_start();
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return None;
    }
    bytes[..digits].iter().try_fold(0_u64, |value, byte| value.checked_mul(10)?.checked_add(u64::from(byte - b'0')))
}

/// `  123 kB` in bytes.
pub fn kibibytes(bytes: &[u8]) -> Option<u64> {
    number(bytes)?.checked_mul(1024)
}

/// The hexadecimal number at the start, after blanks.
pub fn hex(bytes: &[u8]) -> Option<u64> {
    let bytes = bytes.trim_ascii();
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    if digits == 0 || digits > 16 {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(&bytes[..digits]).ok()?, 16).ok()
}

/// NUL-separated strings (`cmdline`, `environ`), at most `most` of them, made readable where they are not UTF-8.
pub fn nul_separated(bytes: &[u8], most: usize) -> Vec<String> {
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    // A process that rewrites its title pads it with NULs; no real command line ends in many empty arguments.
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes[..end].split(|byte| *byte == 0).take(most).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stop_at_the_first_foreign_byte_and_do_not_overflow() {
        assert_eq!(number(b"  42 kB"), Some(42));
        assert_eq!(number(b"max"), None);
        assert_eq!(number(b"99999999999999999999999"), None);
        assert_eq!(kibibytes(b"18446744073709551615 kB"), None);
        assert_eq!(hex(b"\t00000001000044c0"), Some(0x1_0000_44c0));
        assert_eq!(hex(b"11111111111111111"), None);
    }

    #[test]
    fn splits_command_lines() {
        assert_eq!(nul_separated(b"python\0train.py\0\0x\0", 9), ["python", "train.py", "", "x"]);
        assert_eq!(nul_separated(b"title\0\0\0\0\0", 9), ["title"]);
        assert_eq!(nul_separated(b"a\0b\0c\0", 2), ["a", "b"]);
        assert!(nul_separated(b"", 9).is_empty());
        assert!(nul_separated(b"\0\0", 9).is_empty() || nul_separated(b"\0\0", 9) == [""]);
    }
}

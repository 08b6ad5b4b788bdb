//! Whole numbers in as few bytes as they need: LEB128, and zigzag for signed ones.

/// The input ended or makes no sense here. The frame that holds it is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Appends `value`, seven bits a byte, least significant first.
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a number off the front of `input`.
pub(crate) fn take(input: &mut &[u8]) -> Result<u64, Malformed> {
    let mut value = 0u64;
    for (at, &byte) in input.iter().enumerate().take(10) {
        let bits = u64::from(byte & 0x7f);
        // The tenth byte has room for one bit only.
        if at == 9 && bits > 1 {
            return Err(Malformed);
        }
        value |= bits << (7 * at);
        if byte < 0x80 {
            *input = &input[at + 1..];
            return Ok(value);
        }
    }
    Err(Malformed)
}

/// Takes a number that must be at most `limit`.
pub(crate) fn take_at_most(input: &mut &[u8], limit: u64) -> Result<u64, Malformed> {
    let value = take(input)?;
    if value > limit { Err(Malformed) } else { Ok(value) }
}

/// Small numbers of either sign become small numbers without one.
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The reverse of [`zigzag`].
pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn comes_back(value: u64, signed: i64) {
            let mut out = Vec::new();
            put(&mut out, value);
            put(&mut out, zigzag(signed));
            let mut input = out.as_slice();
            prop_assert_eq!(take(&mut input), Ok(value));
            prop_assert_eq!(take(&mut input).map(unzigzag), Ok(signed));
            prop_assert!(input.is_empty());
        }

        #[test]
        fn never_panics(bytes: Vec<u8>) {
            let mut input = bytes.as_slice();
            while take(&mut input).is_ok() {}
        }
    }

    #[test]
    fn refuses_what_does_not_fit() {
        assert_eq!(take(&mut [0xff; 10].as_slice()), Err(Malformed));
        assert_eq!(take(&mut [0x80].as_slice()), Err(Malformed));
        assert_eq!(take_at_most(&mut [9].as_slice(), 8), Err(Malformed));
    }
}

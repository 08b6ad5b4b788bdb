//! The wire format of protobuf (protobuf.dev/programming-guides/encoding), without a schema: fields of a message one by one.

/// A field's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

/// The fields of a message, up to the first that breaks.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, count: u64) -> Option<&'a [u8]> {
        let count = usize::try_from(count).ok().filter(|count| *count <= self.rest.len())?;
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        Some(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(u64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Fixed32(u32::from_le_bytes(self.take(4)?.try_into().ok()?)),
            // Groups are of a time before both formats.
            _ => return None,
        };
        Some((key >> 3, value))
    }
}

/// Text of a field; what is no UTF-8 is replaced, and it is cut at 256 bytes.
pub(super) fn text(bytes: &[u8]) -> String {
    const MOST: usize = 256;
    String::from_utf8_lossy(&bytes[..bytes.len().min(MOST)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_one_by_one() {
        let message = [0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i', 0x1D, 0, 0, 0x80, 0x3F];
        let fields: Vec<_> = Fields::of(&message).collect();
        assert_eq!(fields, [(1, Value::Varint(150)), (2, Value::Bytes(b"hi")), (3, Value::Fixed32(0x3F80_0000))]);
    }

    #[test]
    fn what_breaks_ends_it() {
        for broken in [&[0x12, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 1][..], &[0x08], &[0x0B], &[0xFF; 20]] {
            assert_eq!(Fields::of(broken).count(), 0);
        }
    }
}

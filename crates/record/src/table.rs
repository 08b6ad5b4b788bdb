//! Tables of numbers, written as the changes since the table before, column by column.
//!
//! Column by column since what changes from tick to tick is mostly one or two columns in all rows: one bit a row then
//! says what a mask a row would take a byte for.

use crate::varint::{self, Malformed};

/// What a column's values are mostly multiples of. One: no such thing.
pub(crate) type Units<const N: usize> = [u64; N];

/// Appends the changes from `base` to `rows`, which have the same length.
pub(crate) fn put<const N: usize>(out: &mut Vec<u8>, base: &[[u64; N]], rows: &[[u64; N]], units: &Units<N>) {
    let changed = |row: usize, column: usize| base[row][column] != rows[row][column];
    let columns = (0..N).filter(|&column| (0..rows.len()).any(|row| changed(row, column)));
    varint::put(out, columns.clone().fold(0, |mask, column| mask | 1 << column));
    for column in columns {
        if rows.len() > 1 {
            let bitmap = out.len();
            out.resize(bitmap + rows.len().div_ceil(8), 0);
            for row in (0..rows.len()).filter(|&row| changed(row, column)) {
                out[bitmap + row / 8] |= 1 << (row % 8);
            }
        }
        for row in (0..rows.len()).filter(|&row| changed(row, column)) {
            put_change(out, rows[row][column].wrapping_sub(base[row][column]) as i64, units[column]);
        }
    }
}

fn put_change(out: &mut Vec<u8>, change: i64, unit: u64) {
    if unit == 1 {
        varint::put(out, varint::zigzag(change));
    } else if change % unit as i64 == 0 {
        varint::put(out, varint::zigzag(change / unit as i64) << 1);
    } else {
        out.push(1);
        varint::put(out, varint::zigzag(change));
    }
}

/// Turns `rows`, given as the base, into the rows that were written.
pub(crate) fn take<const N: usize>(input: &mut &[u8], rows: &mut [[u64; N]], units: &Units<N>) -> Result<(), Malformed> {
    let mask = varint::take_at_most(input, (1 << N) - 1)?;
    for column in (0..N).filter(|column| mask >> column & 1 == 1) {
        let mut bitmap: &[u8] = &[1];
        if rows.len() > 1 {
            (bitmap, *input) = input.split_at_checked(rows.len().div_ceil(8)).ok_or(Malformed)?;
        }
        for (at, row) in rows.iter_mut().enumerate() {
            if bitmap[at / 8] >> (at % 8) & 1 == 1 {
                row[column] = row[column].wrapping_add(take_change(input, units[column])? as u64);
            }
        }
    }
    Ok(())
}

fn take_change(input: &mut &[u8], unit: u64) -> Result<i64, Malformed> {
    let value = varint::take(input)?;
    if unit == 1 {
        return Ok(varint::unzigzag(value));
    }
    match value {
        1 => varint::take(input).map(varint::unzigzag),
        scaled if scaled & 1 == 0 => varint::unzigzag(scaled >> 1).checked_mul(unit as i64).ok_or(Malformed),
        _ => Err(Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UNITS: Units<3> = [4096, 1024, 1];

    fn value() -> impl Strategy<Value = u64> {
        prop_oneof![any::<u64>(), (0u64..1 << 40).prop_map(|pages| pages * 4096), 0u64..50]
    }

    proptest! {
        #[test]
        fn comes_back(pairs in prop::collection::vec((prop::array::uniform3(value()), prop::array::uniform3(value())), 0..40)) {
            let (base, rows): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            let mut out = Vec::new();
            put(&mut out, &base, &rows, &UNITS);
            let mut read = base;
            let mut input = out.as_slice();
            prop_assert_eq!(take(&mut input, &mut read, &UNITS), Ok(()));
            prop_assert!(input.is_empty());
            prop_assert_eq!(read, rows);
        }

        #[test]
        fn never_panics(bytes: Vec<u8>, count in 0usize..20) {
            let mut rows = vec![[u64::MAX, 0, 5]; count];
            let _ = take(&mut bytes.as_slice(), &mut rows, &UNITS);
        }
    }

    #[test]
    fn a_row_without_change_costs_nothing_but_its_bit() {
        let base = vec![[4096, 0, 3]; 16];
        let mut rows = base.clone();
        let mut out = Vec::new();
        put(&mut out, &base, &rows, &UNITS);
        assert_eq!(out, [0]);
        rows[9][0] += 8192;
        out.clear();
        put(&mut out, &base, &rows, &UNITS);
        assert_eq!(out, [1, 0, 2, 8]);
    }
}

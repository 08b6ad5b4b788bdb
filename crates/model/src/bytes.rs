//! Amounts of memory, written and read with their units.

use std::fmt;
use std::str::FromStr;

/// A number of bytes. Displays in binary units with three significant digits (`446 KiB`, `14.2 GiB`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// A signed change in bytes, or a rate in bytes per something. Displays with a sign (`+446 KiB`).
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Rate(pub f64);

const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

fn write_binary(f: &mut fmt::Formatter<'_>, value: f64) -> fmt::Result {
    let mut scaled = value;
    let mut unit = 0;
    // 999.5 and not 1024: "1000 MiB" has a digit too many to be read at a glance.
    while scaled >= 999.5 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    let digits = if unit == 0 || scaled >= 99.95 {
        0
    } else if scaled >= 9.995 {
        1
    } else {
        2
    };
    let number = format!("{scaled:.digits$}");
    let number = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { &number };
    write!(f, "{number} {}", UNITS[unit])
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_binary(f, self.0 as f64)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 < 0.0 { "-" } else { "+" })?;
        write_binary(f, self.0.abs())
    }
}

/// Why a text is not an amount of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseBytesError(String);

impl fmt::Display for ParseBytesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not an amount of memory; write a number and a unit, as in `20 GiB` or `500 MB`", self.0)
    }
}

impl std::error::Error for ParseBytesError {}

impl FromStr for Bytes {
    type Err = ParseBytesError;

    /// `512`, `100 MiB`, `20GB`, `1.5 GiB`: MB is 10^6, MiB is 2^20; K, M, G and T alone are binary, as in
    /// systemd and Docker.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseBytesError(text.to_owned());
        let trimmed = text.trim();
        let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
        let number: f64 = trimmed[..split].parse().map_err(|_| error())?;
        let factor = unit_factor(trimmed[split..].trim()).ok_or_else(error)?;
        let value = number * factor;
        if !(0.0..=9e18).contains(&value) {
            return Err(error());
        }
        Ok(Self(value.round() as u64))
    }
}

/// Bytes in one of a unit, by its name in any case (`b`, `kb`, `KiB`, `M`, ...).
fn unit_factor(unit: &str) -> Option<f64> {
    let lower = unit.to_ascii_lowercase();
    Some(match lower.as_str() {
        "" | "b" | "byte" | "bytes" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "k" | "kib" => 1024.0,
        "m" | "mib" => 1_048_576.0,
        "g" | "gib" => 1_073_741_824.0,
        "t" | "tib" => 1_099_511_627_776.0,
        _ => return None,
    })
}

impl Bytes {
    /// Bytes in one of the named unit, or `None` if lowtide does not know the unit.
    #[must_use]
    pub fn unit(name: &str) -> Option<f64> {
        unit_factor(name.trim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_three_digits_and_the_unit() {
        for (value, text) in [
            (0, "0 B"),
            (1023, "1 KiB"),
            (446 * 1024, "446 KiB"),
            (1 << 20, "1 MiB"),
            (1000 << 20, "0.98 GiB"),
            (15_247_340_000, "14.2 GiB"),
        ] {
            assert_eq!(Bytes(value).to_string(), text);
        }
        assert_eq!(Rate(-2048.0).to_string(), "-2 KiB");
    }

    #[test]
    fn reads_decimal_and_binary_units() {
        assert_eq!("20 GB".parse(), Ok(Bytes(20_000_000_000)));
        assert_eq!("1.5GiB".parse(), Ok(Bytes(1_610_612_736)));
        assert_eq!("512".parse(), Ok(Bytes(512)));
        for bad in ["", "GiB", "5 parsecs", "-3 MiB", "1e99 GB", "nan"] {
            assert!(bad.parse::<Bytes>().is_err(), "{bad}");
        }
    }
}

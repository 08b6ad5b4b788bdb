//! Spans of time for people.

use std::fmt;

/// A span in seconds. Displays with at most two units (`34 s`, `9 min 30 s`, `2 h 10 min`, `3 d 4 h`).
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Seconds(pub f64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.is_finite() {
            return f.write_str("ever");
        }
        let value = self.0.max(0.0);
        if value < 9.95 {
            let text = format!("{value:.1}");
            return write!(f, "{} s", text.trim_end_matches(".0"));
        }
        let whole = value.round() as u64;
        let (big, small, big_unit, small_unit) = match whole {
            0..60 => return write!(f, "{whole} s"),
            60..3600 => (whole / 60, whole % 60, "min", "s"),
            3600..172_800 => (whole / 3600, whole % 3600 / 60, "h", "min"),
            _ => (whole / 86_400, whole % 86_400 / 3600, "d", "h"),
        };
        if small == 0 { write!(f, "{big} {big_unit}") } else { write!(f, "{big} {big_unit} {small:02} {small_unit}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_at_most_two_units() {
        for (seconds, text) in [
            (0.25, "0.2 s"),
            (34.2, "34 s"),
            (570.0, "9 min 30 s"),
            (7800.0, "2 h 10 min"),
            (273_600.0, "3 d 04 h"),
            (60.0, "1 min"),
        ] {
            assert_eq!(Seconds(seconds).to_string(), text);
        }
    }
}

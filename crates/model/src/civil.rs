//! Dates.

/// The Gregorian date of a day since 1970, for days from then on. Years are counted from March, so that the leap day is the last
/// one (H. Hinnant, "chrono-compatible low-level date algorithms"). Year, month from 1, day from 1.
#[must_use]
pub fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right() {
        for (days, date) in [(0, (1970, 1, 1)), (11_016, (2000, 2, 29)), (20_512, (2026, 2, 28)), (20_513, (2026, 3, 1))] {
            assert_eq!(civil(days), date);
        }
    }
}

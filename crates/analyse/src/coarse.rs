//! "No leak" that would not have shown a fast one either.
//!
//! What was watched for a short time, or under high spikes, may be level by all that was seen and still hide growth that
//! kills the run in hours. Then nothing is ruled out that matters, and it is said how long it takes until it is.

use crate::judge::CLAIM_S;

/// Growth per second that "no leak" must rule out: 40 MiB a minute, which has to be found under spikes of hundreds of MB.
const MUST_SHOW: f64 = 40.0 * 1024.0 * 1024.0 / 60.0;
/// The same as a share of the memory that there is, per second: 0.1 % a minute. What is large wiggles by more.
const MUST_SHOW_SHARE: f64 = 0.001 / 60.0;

/// Seconds still to watch until growth that matters would have shown; `None` where it would have. `detectable`: the
/// smallest growth that would have been found, bytes per second; `peak`: bytes; `span_s`: seconds watched.
pub fn more_s(detectable: f64, peak: f64, span_s: f64) -> Option<f64> {
    let must_show = MUST_SHOW.max(MUST_SHOW_SHARE * peak);
    // The error of a slope falls with the time to the power of 1.5.
    (detectable > must_show).then(|| (span_s.max(CLAIM_S) * ((detectable / must_show).powf(2.0 / 3.0) - 1.0)).clamp(1.0, 3600.0))
}

/// The same where too few low tides were seen to know what would have shown: memory came back to where it was, once or
/// twice. `longest_s`: the longest excursion from the low-water line; `None` where there were none, so that all of it is known.
pub fn more_to_know_s(longest_s: f64, span_s: f64) -> Option<f64> {
    let needed_s = crate::judge::few_tides_s(longest_s).max(CLAIM_S);
    (longest_s > 0.0 && needed_s > span_s).then(|| (needed_s - span_s).clamp(1.0, 3600.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB_A_MINUTE: f64 = 1024.0 * 1024.0 / 60.0;

    #[test]
    fn what_would_have_shown_a_leak_that_matters_is_fine() {
        assert_eq!(more_s(39.0 * MIB_A_MINUTE, 500e6, 45.0), None);
        assert_eq!(more_s(0.0, 0.0, 0.0), None);
        // 100 GiB of a large model, and 0.1 % of it a minute.
        assert_eq!(more_s(100.0 * MIB_A_MINUTE, 100.0 * 1024.0 * 1024.0 * 1024.0, 600.0), None);
    }

    #[test]
    fn what_would_not_wants_more_time() {
        let more = more_s(123.0 * MIB_A_MINUTE, 400e6, 45.0).expect("too coarse");
        assert!((45.0..60.0).contains(&more), "{more}");
        assert_eq!(more_s(f64::INFINITY, 400e6, 45.0), Some(3600.0));
    }

    #[test]
    fn two_low_tides_do_not_tell_what_would_have_shown() {
        let more = more_to_know_s(32.0, 44.0).expect("too few");
        assert!(more > 2.0 * 44.0, "{more}");
        assert_eq!(more_to_know_s(2.0, 3600.0), None);
        assert_eq!(more_to_know_s(0.0, 10.0), None);
    }
}

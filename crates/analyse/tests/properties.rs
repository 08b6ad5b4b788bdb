//! What must hold for every series.

use lowtide_analyse::judge::{Ask, Judged, judge};
use lowtide_analyse::pyramid::Pyramid;
use proptest::prelude::*;

const MIB: f64 = 1024.0 * 1024.0;

fn verdict(series: &[(f64, f64)], ask: Ask) -> Judged {
    let mut pyramid = Pyramid::default();
    for (t, value) in series {
        pyramid.push(*t, *value);
    }
    judge(pyramid.windows(), ask)
}

fn ask() -> Ask {
    Ask::bytes(false, false)
}

/// A leak of `rate` MiB/s over `seconds`, with independent jitter of up to `jitter` MiB.
fn leak(rate: f64, seconds: u32, jitter: f64) -> Vec<(f64, f64)> {
    // A multiplicative hash (Knuth 6.4): uniform, and the same every time.
    let wiggle = |i: u32| {
        jitter * f64::from((i + 1).wrapping_mul(2_654_435_761).rotate_left(13).wrapping_mul(2_246_822_519)) / f64::from(u32::MAX)
    };
    (0..seconds).map(|i| (f64::from(i), (1000.0 + rate * f64::from(i) + wiggle(i)) * MIB)).collect()
}

fn arbitrary() -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec(0.0..4e9_f64, 0..400).prop_map(|v| v.into_iter().enumerate().map(|(i, x)| (i as f64, x)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn nothing_panics_and_numbers_are_sane(series in arbitrary(), ended: bool, fresh: bool) {
        let judged = verdict(&series, Ask::bytes(ended, fresh));
        prop_assert!(judged.rate.is_finite() && judged.ci95[0] <= judged.ci95[1]);
        prop_assert!(judged.more_s >= 0.0 && judged.detectable > 0.0);
    }

    #[test]
    fn extreme_values_do_not_panic(values in prop::collection::vec(any::<f64>(), 0..64), times in prop::collection::vec(any::<f64>(), 0..64)) {
        let mut pyramid = Pyramid::default();
        for (t, value) in times.iter().zip(&values) {
            pyramid.push(*t, *value);
        }
        let _ = judge(pyramid.windows(), ask());
    }

    #[test]
    fn a_shift_does_not_change_a_verdict(rate in 0.0..2.0_f64, seconds in 20..600_u32, jitter in 0.0..4.0_f64, shift in 0.0..1e5_f64) {
        let series = leak(rate, seconds, jitter);
        let shifted: Vec<_> = series.iter().map(|(t, x)| (t + shift.floor(), x + (shift * MIB).round())).collect();
        let (a, b) = (verdict(&series, ask()), verdict(&shifted, ask()));
        prop_assert_eq!(a.grows(), b.grows());
        // A value on the border of two blocks may fall to the other side in floating point.
        prop_assert!((a.rate - b.rate).abs() <= 0.01 * a.rate.abs() + 1e-6 * MIB);
    }

    #[test]
    fn a_scale_does_not_change_a_verdict(rate in 0.0..2.0_f64, seconds in 20..600_u32, jitter in 0.0..4.0_f64, power in 0..12_i32) {
        // By powers of two, which floating point keeps exactly; the resolution scales along.
        let factor = 2.0_f64.powi(power);
        let series = leak(rate, seconds, jitter);
        let scaled: Vec<_> = series.iter().map(|(t, x)| (*t, x * factor)).collect();
        let larger = Ask { quantum: ask().quantum * factor, least: ask().least * factor, ..ask() };
        let (a, b) = (verdict(&series, ask()), verdict(&scaled, larger));
        prop_assert_eq!(a.outcome, b.outcome);
        prop_assert!((a.rate * factor - b.rate).abs() <= 1e-9 * b.rate.abs());
    }

    #[test]
    fn a_leak_reversed_in_time_is_none(rate in 0.5..5.0_f64, seconds in 60..600_u32, jitter in 0.0..2.0_f64) {
        let series = leak(rate, seconds, jitter);
        prop_assert!(verdict(&series, ask()).grows());
        let reversed: Vec<_> = series.iter().zip(series.iter().rev()).map(|((t, _), (_, x))| (*t, *x)).collect();
        prop_assert!(!verdict(&reversed, ask()).grows());
    }

    #[test]
    fn spikes_do_not_hide_a_leak(
        rate in 0.5..5.0_f64, seconds in 120..600_u32, height in 10.0..5000.0_f64, period in 5..12_u32, phase in 0..12_u32,
    ) {
        let spike = |i: usize| if (i as u32 + phase) % period < 2 { height * MIB } else { 0.0 };
        let mut series: Vec<_> = leak(rate, seconds, 0.5).into_iter().enumerate().map(|(i, (t, x))| (t, x + spike(i))).collect();
        // A spike that has not come back yet is another question.
        while spike(series.len() - 1) > 0.0 {
            series.pop();
        }
        let judged = verdict(&series, ask());
        prop_assert!(judged.grows(), "{judged:?}");
        prop_assert!((judged.rate / (rate * MIB) - 1.0).abs() < 0.1, "{} of {rate}", judged.rate / MIB);
    }

    #[test]
    fn spikes_make_no_leak(seconds in 60..600_u32, height in 10.0..5000.0_f64, period in 5..12_u32, phase in 0..12_u32) {
        let spike = |i: u32| if (i + phase) % period < 2 { height * MIB } else { 0.0 };
        let series: Vec<_> = leak(0.0, seconds, 0.5).into_iter().zip(0..).map(|((t, x), i)| (t, x + spike(i))).collect();
        prop_assert!(!verdict(&series, ask()).grows());
    }

    #[test]
    fn loading_a_model_is_no_leak(gib_per_minute in 2.0..60.0_f64, seconds in 20..110_u32) {
        let rate = gib_per_minute * 1024.0 * MIB / 60.0;
        let series: Vec<_> = (0..seconds * 5).map(|i| f64::from(i) / 5.0).map(|t| (t, 20.0 * MIB + rate * t)).collect();
        prop_assert!(!verdict(&series, Ask::bytes(false, true)).grows());
    }

    #[test]
    fn more_data_narrows_the_interval(rate in 0.2..2.0_f64, seconds in 60..150_u32, jitter in 0.5..4.0_f64) {
        let width = |judged: &Judged| judged.ci95[1] - judged.ci95[0];
        let (short, long) = (verdict(&leak(rate, seconds, jitter), ask()), verdict(&leak(rate, 10 * seconds, jitter), ask()));
        prop_assert!(width(&long) < width(&short), "{} {}", width(&long), width(&short));
        prop_assert!(long.detectable < short.detectable);
    }
}

//! The false-alarm study: thousands of leak-free series, and the same series with a leak of the stated size.
//!
//! `cargo test -p lowtide-analyse --test study -- --nocapture` prints the table.
#![allow(clippy::print_stdout, reason = "the table is what the study is for")]

use lowtide_analyse::judge::{Ask, Judged, Outcome, judge};
use lowtide_analyse::pyramid::Pyramid;
use lowtide_analyse::trial::detectable;

const MIB: f64 = 1024.0 * 1024.0;
/// Series per sort.
const EACH: u64 = 600;

/// SplitMix64 (Steele, Lea, Flood 2014): small, seedable, the same on every machine. With a second state, noise is taken
/// from there: the same series in other noise.
struct Random(u64, Option<u64>);

fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

impl Random {
    fn next(&mut self) -> u64 {
        next(&mut self.0)
    }
    fn uniform(&mut self) -> f64 {
        unit(self.next())
    }
    /// Noise, uniform and never zero. The first state moves on in any case, so that all else stays the same.
    fn jitter(&mut self) -> f64 {
        let bits = self.next();
        unit(self.1.as_mut().map_or(bits, next)).max(1e-300)
    }
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }
    fn log_between(&mut self, low: f64, high: f64) -> f64 {
        (self.between(low.ln(), high.ln())).exp()
    }
    /// Noise, normal (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        (-2.0 * self.jitter().ln()).sqrt() * (std::f64::consts::TAU * self.jitter()).cos()
    }
}

/// Ticks of one series: (seconds, bytes).
type Series = Vec<(f64, f64)>;

fn times(random: &mut Random) -> Vec<f64> {
    let count = random.log_between(100.0, 2000.0) as u32;
    let interval = if random.uniform() < 0.3 { 0.2 } else { 1.0 };
    (0..count).map(|i| f64::from(i) * interval).collect()
}

/// First-order autoregressive noise with standard deviation one.
fn correlated(random: &mut Random, n: usize, rho: f64) -> Vec<f64> {
    let mut value = random.normal();
    (0..n)
        .map(|_| {
            value = rho * value + (1.0 - rho * rho).sqrt() * random.normal();
            value
        })
        .collect()
}

fn noise(random: &mut Random, n: usize) -> Vec<f64> {
    let rho = [0.0, 0.5, 0.9, 0.97, 0.99][(random.next() % 5) as usize];
    let size = random.log_between(0.05, 20.0) * MIB;
    correlated(random, n, rho).into_iter().map(|x| x * size).collect()
}

fn serial_correlation(random: &mut Random) -> Series {
    let t = times(random);
    let noise = noise(random, t.len());
    t.into_iter().zip(noise).map(|(t, x)| (t, 2048.0 * MIB + x)).collect()
}

fn ceiling(random: &mut Random) -> Series {
    let t = times(random);
    let noise = noise(random, t.len());
    let end = t[t.len() - 1];
    let reached = end * random.between(0.3, 0.9);
    let rise = random.log_between(4.0, 4096.0) * MIB;
    let exponential = random.uniform() < 0.3;
    let shape = |t: f64| if exponential { 1.0 - (-4.0 * t / reached).exp() } else { (t / reached).min(1.0) };
    t.into_iter().zip(noise).map(|(t, x)| (t, 2048.0 * MIB + rise * shape(t) + x)).collect()
}

fn sawtooth(random: &mut Random) -> Series {
    let t = times(random);
    let noise = noise(random, t.len());
    let end = t[t.len() - 1];
    // At least four ticks: what cycles faster than it is sampled beats with the sampling.
    let period = (end * random.log_between(0.01, 0.6)).max(4.0 * (t[1] - t[0]));
    let offset = random.between(0.0, period);
    let height = random.log_between(4.0, 1024.0) * MIB;
    t.into_iter().zip(noise).map(|(t, x)| (t, 2048.0 * MIB + height * ((t + offset) / period).fract() + 0.1 * x)).collect()
}

fn single_step(random: &mut Random) -> Series {
    let t = times(random);
    let noise = noise(random, t.len());
    let at = t[t.len() - 1] * random.uniform();
    let height = random.log_between(1.0, 1024.0) * MIB;
    t.into_iter().zip(noise).map(|(t, x)| (t, 2048.0 * MIB + if t > at { height } else { 0.0 } + 0.1 * x)).collect()
}

/// Student's t with two degrees of freedom, upwards: single ticks of every height. (Downwards a process cannot
/// jitter: what is allocated is resident.)
fn heavy_tails(random: &mut Random) -> Series {
    let t = times(random);
    let size = random.log_between(0.05, 20.0) * MIB;
    t.into_iter()
        .map(|t| {
            let chi = (-random.jitter().ln()).sqrt();
            (t, 2048.0 * MIB + size * random.normal().abs() / chi)
        })
        .collect()
}

/// Validation spikes over a level floor.
fn spikes(random: &mut Random) -> Series {
    let t = times(random);
    let noise = noise(random, t.len());
    let period = t[t.len() - 1] * random.log_between(0.02, 0.3);
    let share = random.between(0.05, 0.6);
    let height = random.log_between(8.0, 8192.0) * MIB;
    let spike = |t: f64| if (t / period).fract() > 1.0 - share { height } else { 0.0 };
    t.into_iter().zip(noise).map(|(t, x)| (t, 2048.0 * MIB + spike(t) + 0.1 * x)).collect()
}

fn pyramid(series: &Series, leak: f64) -> Pyramid {
    let mut pyramid = Pyramid::default();
    for (t, value) in series {
        pyramid.push(*t, value + leak * t);
    }
    pyramid
}

fn verdict(series: &Series, leak: f64) -> Judged {
    judge(pyramid(series, leak).windows(), Ask::bytes(false, false))
}

/// The verdict without a leak, and the rate that is stated beside it.
fn stated(series: &Series) -> (Judged, f64) {
    let (pyramid, ask) = (pyramid(series, 0.0), Ask::bytes(false, false));
    let judged = judge(pyramid.windows(), ask);
    let rate = detectable(pyramid.windows(), ask, &judged);
    (judged, rate)
}

#[test]
fn false_alarms_are_rare_and_leaks_of_the_stated_size_are_found() {
    type Maker = fn(&mut Random) -> Series;
    let sorts: [(&str, Maker); 6] = [
        ("serial correlation", serial_correlation),
        ("ceiling", ceiling),
        ("sawtooth", sawtooth),
        ("single step", single_step),
        ("heavy tails", heavy_tails),
        ("spikes", spikes),
    ];
    let (mut all, mut alarms, mut tried, mut found, mut found_anew) = (0_u32, 0_u32, 0_u32, 0_u32, 0_u32);
    println!(
        "{:20} {:>6} {:>7} {:>9} {:>8} {:>9} {:>15}",
        "leak-free series", "count", "alarms", "undecided", "matched", "found", "in other noise"
    );
    for (name, make) in sorts {
        let (mut wrong, mut undecided, mut matched, mut hit, mut hit_anew) = (0_u32, 0_u32, 0_u32, 0_u32, 0_u32);
        for seed in 0..EACH {
            let seed = seed * 7919 + name.len() as u64 * 104_729;
            let series = make(&mut Random(seed, None));
            let (judged, stated) = stated(&series);
            wrong += u32::from(judged.grows());
            undecided += u32::from(matches!(judged.outcome, Outcome::Unclear | Outcome::TooShort));
            // A leak at the stated rate, on the same series where it was seen to be level.
            if matches!(judged.outcome, Outcome::Flat) && stated.is_finite() {
                matched += 1;
                hit += u32::from(verdict(&series, stated).grows());
                // What is stated must hold for the next run too, as nearly as one run can tell.
                let twin = make(&mut Random(seed, Some(!seed)));
                hit_anew += u32::from(verdict(&twin, stated).grows());
            }
        }
        println!("{name:20} {EACH:6} {wrong:7} {undecided:9} {matched:8} {hit:9} {hit_anew:15}");
        assert!(f64::from(wrong) < 0.01 * EACH as f64, "{name}: {wrong} false alarms of {EACH}");
        (all, alarms, tried) = (all + EACH as u32, alarms + wrong, tried + matched);
        (found, found_anew) = (found + hit, found_anew + hit_anew);
    }
    println!("{:20} {all:6} {alarms:7} {:>9} {tried:8} {found:9} {found_anew:15}", "all", "");
    assert!(tried > 500, "too few matched series to say anything: {tried}");
    assert!(f64::from(found) >= 0.9 * f64::from(tried), "{found} of {tried} leaks at the stated rate found");
    assert!(f64::from(found_anew) >= 0.85 * f64::from(tried), "{found_anew} of {tried} found in other noise");
}

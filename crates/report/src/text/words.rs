//! Numbers in the units that people think in.

use super::page::cut;
use lowtide_model::{Bytes, Growth, Kind, ObjectGrown, Rate, Seconds, Site};

/// The span of time that rates are told in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    pub seconds: f64,
    pub name: &'static str,
    pub short: &'static str,
}

const MINUTE: Span = Span { seconds: 60.0, name: "minute", short: "min" };
const HOUR: Span = Span { seconds: 3600.0, name: "hour", short: "h" };

/// A minute for what can be watched growing, an hour for what is slower: 100 KiB a minute is 6 MiB an hour.
pub fn span_for_bytes(bytes_per_second: f64) -> Span {
    if bytes_per_second.abs() * MINUTE.seconds >= 100.0 * 1024.0 { MINUTE } else { HOUR }
}

fn span_for_counts(per_second: f64) -> Span {
    if per_second.abs() * MINUTE.seconds >= 1.0 { MINUTE } else { HOUR }
}

/// `+26.8 MiB`, or `?` for what no machine can have and no column can hold.
pub fn signed(bytes: f64) -> String {
    if bytes.abs() < 1e18 { Rate(bytes).to_string() } else { "?".to_owned() }
}

/// `1.2 MiB per hour`: a rate of bytes without a sign.
pub fn plain_rate(bytes_per_second: f64) -> String {
    let span = span_for_bytes(bytes_per_second);
    format!("{} per {}", signed(bytes_per_second.abs() * span.seconds).trim_start_matches('+'), span.name)
}

/// `+446 KiB per step (95 %: 441 to 452), +26.8 MiB per minute`.
pub fn growth(growth: &Growth, kind: Option<Kind>) -> String {
    let counts = growth.unit == "count";
    let unit = if counts { span_for_counts(growth.bytes_per_second) } else { span_for_bytes(growth.bytes_per_second) };
    let per_span = growth.bytes_per_second * unit.seconds;
    let amount = |value: f64| if counts { count(value, kind) } else { signed(value) };
    match growth.bytes_per_step {
        Some(step) => {
            let interval = interval(growth, step, counts);
            let per =
                |bytes: Option<f64>, what: &str| bytes.map_or(String::new(), |bytes| format!(", {} per {what}", amount(bytes)));
            let (epoch, round) = (per(growth.bytes_per_epoch, "epoch"), per(growth.bytes_per_round, "round"));
            format!("{} per step{interval}{epoch}{round}, {} per {}", amount(step), amount(per_span), unit.name)
        }
        None => {
            let interval = interval(growth, per_span, counts);
            let cycle = growth.bytes_per_cycle.map_or(String::new(), |cycle| {
                let length = cycle / growth.bytes_per_second;
                let length = if length.is_finite() { format!(" of {}", span(length)) } else { String::new() };
                format!(", {} per cycle{length}", amount(cycle))
            });
            format!("{} per {}{interval}{cycle}", amount(per_span), unit.name)
        }
    }
}

/// The 95 % interval in the unit of `shown`, or nothing where it has no finite ends.
fn interval(growth: &Growth, shown: f64, counts: bool) -> String {
    let Some(factor) = growth.per_unit().map(|base| shown / base).filter(|factor| factor.is_finite()) else {
        return String::new();
    };
    let [low, high] = growth.ci95.map(|end| end * factor);
    if !(low.is_finite() && high.is_finite()) {
        return String::new();
    }
    if counts {
        return format!(" (95 %: {} to {})", three_digits(low), three_digits(high));
    }
    let text = signed(shown);
    match text.rsplit(' ').next().and_then(Bytes::unit) {
        Some(unit) => format!(" (95 %: {} to {})", three_digits(low / unit), three_digits(high / unit)),
        None => format!(" (95 %: {} to {})", signed(low), signed(high)),
    }
}

/// `+1.5 processes`.
fn count(value: f64, kind: Option<Kind>) -> String {
    let (one, many) = match kind {
        Some(Kind::Processes) => (" process", " processes"),
        Some(Kind::Fds) => (" open file", " open files"),
        Some(Kind::Threads) => (" thread", " threads"),
        Some(Kind::Maps) => (" memory map", " memory maps"),
        _ => ("", ""),
    };
    let sign = if value < 0.0 { "" } else { "+" };
    let number = three_digits(value);
    let noun = if number == "1" { one } else { many };
    format!("{sign}{number}{noun}")
}

/// `1 stop`, `2 stops`.
pub fn pieces(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// `train.py:88`, without the folders.
fn place(site: &Site) -> String {
    format!("{}:{}", site.file.rsplit('/').next().unwrap_or(&site.file), site.line)
}

/// `train.py:88   self.outputs.append(out)   LT103`.
pub fn line(site: &Site, cause: Option<&String>) -> String {
    let cause = cause.map_or(String::new(), |cause| format!("   {cause}"));
    format!("{}   {}{cause}", place(site), cut(site.text.trim(), 120))
}

/// `and 1 more line: train.py:88`, `and 2 more lines: train.py:88, eval.py:12`.
pub fn other_lines(sites: &[Site]) -> Option<String> {
    let places: Vec<String> = sites.iter().map(place).collect();
    let count = pieces(sites.len() as u64, "more line", "more lines");
    (!sites.is_empty()).then(|| format!("and {count}: {}", places.join(", ")))
}

/// `once`, `twice`, `3 times`.
pub fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        more => format!("{more} times"),
    }
}

/// `+250 torch.Tensor float32 [64, 512] cpu with their graphs, 31.2 MiB`; of one that took the place of a smaller one
/// `larger torch.Tensor float32 [64768, 512] cpu, by 41 MiB`.
pub fn object(object: &ObjectGrown) -> String {
    let (many, by) = match object.count_delta {
        0 => ("larger".to_owned(), "by "),
        count => (format!("{count:+}"), ""),
    };
    let mut text = format!("{many} {}", object.kind);
    if !object.device.is_empty() {
        // Where they have different ones, none is told: `[]` would be a number.
        let shape = if object.shape.is_empty() { String::new() } else { format!(" {:?}", object.shape) };
        text.push_str(&format!(" {}{shape} {}", object.dtype, object.device));
    }
    if object.grad_fn {
        text.push_str(" with their graphs");
    }
    text.push_str(&format!(", {by}{}", Bytes(object.bytes_delta.unsigned_abs())));
    text
}

/// Three significant digits, no exponent, no zeros at the end.
pub fn three_digits(value: f64) -> String {
    let size = value.abs();
    if size >= 1e15 {
        return format!("{value:.1e}");
    }
    let digits = match size {
        _ if size >= 99.95 => 0,
        _ if size >= 9.995 => 1,
        _ if size >= 0.995 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// A span of time for people; beyond ten years its digits mean nothing.
pub fn span(seconds: f64) -> String {
    if seconds > 3652.0 * 86_400.0 { "more than 10 years".to_owned() } else { Seconds(seconds).to_string() }
}

/// A loss: four digits behind the point, or as a power of ten where they would not tell.
pub fn loss(loss: f64) -> String {
    if loss == 0.0 || (1e-2..1e4).contains(&loss.abs()) { format!("{loss:.4}") } else { format!("{loss:.2e}") }
}

/// `50.2 ms`, of the seconds that a step takes.
pub fn step(seconds: f64) -> String {
    if seconds < 1.0 { format!("{} ms", three_digits(1000.0 * seconds)) } else { span(seconds) }
}

/// `0.3 %`, of a share between 0 and 1.
pub fn percent(share: f64) -> String {
    format!("{} %", three_digits(share * 100.0))
}

/// What a person calls the resource.
pub fn resource(name: &str) -> String {
    match name {
        "ram" => "host RAM".to_owned(),
        "shm" => "shared memory".to_owned(),
        "processes" => "number of processes".to_owned(),
        "fds" => "open files".to_owned(),
        "threads" => "threads".to_owned(),
        "maps" => "memory maps".to_owned(),
        _ => name.strip_prefix("gpu").map_or_else(|| name.to_owned(), |index| format!("memory of GPU {index}")),
    }
}

/// What a person calls the kind.
pub fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::PythonObjects => "Python objects",
        Kind::Tensor => "tensor storage",
        Kind::AutogradGraph => "autograd graph",
        Kind::NativeHeap => "native heap",
        Kind::AllocatorHoles => "holes in the allocator (free, not given back)",
        Kind::Anonymous => "anonymous memory (heap and anonymous maps)",
        Kind::Shmem => "shared memory",
        Kind::File => "file pages",
        Kind::Processes => "live processes",
        Kind::Fds => "open files",
        Kind::Threads => "threads",
        Kind::Maps => "memory maps",
        Kind::GpuAllocated => "GPU memory, allocated",
        Kind::GpuReserved => "GPU memory, reserved by the allocator",
        Kind::GpuOutside => "GPU memory outside the allocator",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_took_the_place_of_a_smaller_one_is_larger_and_not_more() {
        let tensor = |count_delta| ObjectGrown {
            kind: "torch.Tensor".into(),
            count_delta,
            bytes_delta: 41 << 20,
            dtype: "float32".into(),
            shape: vec![64768, 512],
            device: "cpu".into(),
            ..ObjectGrown::default()
        };
        assert_eq!(object(&tensor(0)), "larger torch.Tensor float32 [64768, 512] cpu, by 41 MiB");
        assert_eq!(object(&tensor(3)), "+3 torch.Tensor float32 [64768, 512] cpu, 41 MiB");
    }

    #[test]
    fn the_interval_is_told_in_the_unit_of_the_rate() {
        let mib = 1_048_576.0;
        let rate = Growth::per_second(5.0 * mib / 60.0, [4.8 * mib / 60.0, 5.25 * mib / 60.0]);
        assert_eq!(growth(&rate, None), "+5 MiB per minute (95 %: 4.8 to 5.25)");
        let slow = Growth::per_second(1024.0, [512.0, 2048.0]);
        assert_eq!(growth(&slow, None), "+3.52 MiB per hour (95 %: 1.76 to 7.03)");
        let step = Growth {
            bytes_per_step: Some(446.0 * 1024.0),
            ..Growth::per_second(446.0 * 10240.0, [441.0 * 10240.0, 452.0 * 10240.0])
        };
        assert_eq!(growth(&step, None), "+446 KiB per step (95 %: 441 to 452), +261 MiB per minute");
    }

    #[test]
    fn an_interval_without_ends_is_left_out() {
        assert_eq!(growth(&Growth::per_second(1e6, [f64::NEG_INFINITY, f64::INFINITY]), None), "+57.2 MiB per minute");
    }

    #[test]
    fn counts_are_pieces() {
        let rate = Growth { unit: "count", bytes_per_cycle: Some(2.0), ..Growth::per_second(0.05, [0.04, 0.06]) };
        assert_eq!(
            growth(&rate, Some(Kind::Processes)),
            "+3 processes per minute (95 %: 2.4 to 3.6), +2 processes per cycle of 40 s"
        );
    }
}

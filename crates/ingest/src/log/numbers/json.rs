//! Lines that are JSON objects: names are keys, with those of the objects around them.

use serde_json::Value;

use super::amounts::{Amount, Named, Passed, by_name};
use super::clock::Moment;
use super::token;
use crate::when;

/// Objects inside objects that are looked into.
const DEEPEST: usize = 4;
/// Keys of one line.
const MOST: usize = 512;
/// Keys that hold a time.
const TIMES: [&str; 9] = ["timestamp", "_timestamp", "ts", "time", "@timestamp", "created", "asctime", "datetime", "date"];
/// Keys that hold seconds since the run's start.
const SINCE: [&str; 4] = ["_runtime", "runtime", "elapsed", "elapsed_s"];
const STEPS: [&str; 6] = ["step", "_step", "global_step", "iter", "iteration", "current_steps"];
const EPOCHS: [&str; 2] = ["epoch", "round"];

/// The amounts of a line, if it is a JSON object; what it says of when goes into the moment.
pub(super) fn read(
    text: &str,
    named: &[Named],
    moment: &mut Moment,
    amounts: &mut Vec<Amount>,
    passed: &mut Vec<Passed>,
) -> bool {
    if !(text.starts_with('{') && text.trim_end().ends_with('}')) {
        return false;
    }
    let Ok(Value::Object(object)) = serde_json::from_str::<Value>(text) else { return false };
    let mut keys = Vec::new();
    flatten(&object, &mut String::new(), 0, &mut keys);
    for (at, (path, value)) in keys.iter().enumerate() {
        let key = path.rsplit(' ').next().unwrap_or(path);
        let lower = key.to_ascii_lowercase();
        let number = value.as_f64();
        if TIMES.contains(&lower.as_str()) {
            let seconds = match value {
                Value::String(text) => when::parse(text, false).map(|(seconds, _)| seconds),
                _ => number.map(|number| number * when::scale_of(number)),
            };
            moment.time_s = seconds.or(moment.time_s);
        } else if SINCE.contains(&lower.as_str()) {
            moment.time_s = moment.time_s.or(number);
        } else if STEPS.contains(&lower.as_str()) {
            moment.step = number.or(moment.step);
        } else if EPOCHS.contains(&lower.as_str()) {
            moment.epoch = number.or(moment.epoch);
        } else if let Some(number) = number {
            let digits = value.to_string();
            by_name(path, number, last_digit(&digits), at, named, amounts, passed);
        } else if let Value::String(text) = value {
            // `"ram": "12.3 GB"`, or a message with numbers in it.
            let line = format!("{path}: {text}");
            let from = amounts.len();
            super::amounts::find(&line, &token::cut(&line), named, amounts, passed);
            amounts[from..].iter_mut().for_each(|amount| amount.at = at);
        }
    }
    true
}

/// The value of the last digit of a number as JSON writes it.
fn last_digit(digits: &str) -> f64 {
    match (digits.split_once('.'), digits.contains(['e', 'E'])) {
        (Some((_, part)), false) if part != "0" => 10.0_f64.powi(-(part.len().min(12) as i32)),
        (_, false) => 1.0,
        _ => digits.parse::<f64>().map_or(1.0, |value| value.abs() * 1e-6),
    }
}

/// Keys of all objects: `mem rss_mb`.
fn flatten<'a>(object: &'a serde_json::Map<String, Value>, path: &mut String, depth: usize, keys: &mut Vec<(String, &'a Value)>) {
    for (key, value) in object {
        if keys.len() >= MOST {
            return;
        }
        let length = path.len();
        if !path.is_empty() {
            path.push(' ');
        }
        path.push_str(key.get(..key.len().min(200)).unwrap_or(""));
        match value {
            Value::Object(inner) if depth < DEEPEST => flatten(inner, path, depth + 1, keys),
            _ => keys.push((path.clone(), value)),
        }
        path.truncate(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> (Vec<(String, f64)>, Moment) {
        let (mut moment, mut amounts, mut passed) = (Moment::default(), Vec::new(), Vec::new());
        read(text, &[], &mut moment, &mut amounts, &mut passed);
        (amounts.into_iter().map(|amount| (amount.name, amount.value * amount.unit.factor())).collect(), moment)
    }

    #[test]
    fn names_units_and_times() {
        let (amounts, moment) =
            told(r#"{"ts": 1795910180.5, "step": 5, "loss": 0.7, "mem": {"rss_mb": 19.5}, "note": "RAM: 3 GiB"}"#);
        assert_eq!(amounts, [("mem rss_mb".to_owned(), 19.5e6), ("RAM".to_owned(), 3.0 * 1_073_741_824.0)]);
        assert_eq!((moment.time_s, moment.step), (Some(1_795_910_180.5), Some(5.0)));
        let (amounts, _) = told(r#"{"cuda_memory_allocated_bytes": 1048576, "memory": 12}"#);
        assert_eq!(amounts, [("cuda_memory_allocated_bytes".to_owned(), 1_048_576.0)]);
        assert_eq!(told("{'rss_mb': 3}").0, [], "Python's own way is read as a line");
    }
}

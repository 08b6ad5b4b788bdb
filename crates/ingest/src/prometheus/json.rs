//! The shape of the JSON, read point by point: no tree of values is built.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::Problem;
use crate::sheet::MOST_READINGS;
use crate::text::cut;

/// The answer, or only its `data`.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    data: Option<Data>,
    #[serde(default)]
    result: Option<Vec<Series>>,
}

#[derive(Deserialize)]
struct Data {
    #[serde(default)]
    result: Vec<Series>,
}

#[derive(Deserialize)]
pub(super) struct Series {
    #[serde(default)]
    pub metric: BTreeMap<String, String>,
    #[serde(default)]
    pub values: Vec<Point>,
}

/// `[1700000000.5, "123"]`: seconds since 1970, and a number in quotes.
pub(super) struct Point {
    pub t_s: f64,
    pub value: f64,
}

impl<'de> Deserialize<'de> for Point {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(PointVisitor)
    }
}

struct PointVisitor;

impl<'de> Visitor<'de> for PointVisitor {
    type Value = Point;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[seconds, \"number\"]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Point, A::Error> {
        let missing = || de::Error::invalid_length(1, &self);
        let t_s = seq.next_element::<f64>()?.ok_or_else(missing)?;
        let Number(value) = seq.next_element()?.ok_or_else(missing)?;
        while seq.next_element::<de::IgnoredAny>()?.is_some() {}
        Ok(Point { t_s, value })
    }
}

/// A number, in quotes or not; NaN for anything else in quotes.
struct Number(f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberVisitor;
        impl Visitor<'_> for NumberVisitor {
            type Value = Number;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }
            fn visit_str<E>(self, text: &str) -> Result<Number, E> {
                Ok(Number(text.parse().unwrap_or(f64::NAN)))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Number, E> {
                Ok(Number(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }
        }
        deserializer.deserialize_any(NumberVisitor)
    }
}

/// All series of all answers in a text.
pub(super) fn answers(text: &str) -> Result<Vec<Series>, Problem> {
    let mut all = Vec::new();
    let mut points = 0;
    let not_a_range = |what: &str| Problem::NotARange { what: what.to_owned() };
    if text.trim_start().starts_with('[') {
        return Err(not_a_range("it is a list"));
    }
    for answer in serde_json::Deserializer::from_str(text).into_iter::<Answer>() {
        let answer = answer.map_err(|error| Problem::Json {
            line: error.line(),
            column: error.column(),
            // The position is said beside it.
            message: cut(error.to_string().split(" at line ").next().unwrap_or("")),
        })?;
        if let Some(error) = answer.error {
            return Err(Problem::NotARange { what: format!("the server answered with an error: `{}`", cut(&error)) });
        }
        let result = answer.data.map(|data| data.result).or(answer.result).ok_or_else(|| not_a_range("it has no data.result"))?;
        points += result.iter().map(|series| series.values.len()).sum::<usize>();
        if points > MOST_READINGS {
            return Err(Problem::TooManyReadings);
        }
        all.extend(result);
    }
    if all.is_empty() {
        return Err(not_a_range("its result is empty: no series matched the query in that time"));
    }
    if all.iter().all(|series| series.values.is_empty()) {
        return Err(not_a_range("it has no values: it is the answer of an instant query, which knows one moment"));
    }
    Ok(all)
}

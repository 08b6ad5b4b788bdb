//! The numbers that the page's script draws, as one block of JSON.
//!
//! Sizes are KiB: no page of memory is smaller. All text is cleaned here, and nothing in the block can end it.

use lowtide_model::{Growth, Kind, Report, Role, Signal};
use serde_json::{Value, json};

use super::clean;
use crate::curve::{Card, CardRow, Curve, LoggedCurve, Row, SORTS};
use crate::text::words;

/// The block's content, safe to stand in a script element.
pub fn block(report: &Report, curve: &Curve) -> String {
    let json = data(report, curve).to_string();
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // None of them can stand outside of a string, and in one they may be written so.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            _ => out.push(c),
        }
    }
    out
}

fn data(report: &Report, curve: &Curve) -> Value {
    let times: Vec<Value> = curve.rows.iter().map(|row| seconds(row.t_s)).collect();
    let floor = |role: &str, label: &str| {
        let row = report.roles.iter().find(|row| row.role == role && (role.is_empty() || row.label == label));
        row.map_or(0, |row| row.floor_bytes >> 10)
    };
    let roles: Vec<Value> = roles(curve)
        .into_iter()
        .map(|(at, role)| {
            let (name, label) = (role.schema_name(), role.label());
            let mut one = json!({"role": name, "label": label, "color": at, "floor": floor(name, label)});
            for (sort, name) in SORTS.iter().enumerate() {
                let sizes: Vec<u64> = curve.rows.iter().map(|row| row.sorts[at][sort] >> 10).collect();
                if sizes.iter().any(|size| *size > 0) {
                    one[*name] = sizes.into();
                }
            }
            one
        })
        .collect();
    let anon = match curve.signal {
        Signal::AnonShmem => "anonymous memory",
        Signal::RssOnly => "resident memory",
        Signal::SystemOnly => "used memory of the machine",
    };
    let phases =
        curve.phases.iter().map(|band| json!({"n": clean(&band.name), "a": seconds(band.start_s), "b": band.end_s.map(seconds)}));
    let lives = curve.lives.iter().map(|life| json!({"p": life.pid, "a": seconds(life.start_s), "b": life.end_s.map(seconds)}));
    let stops = curve
        .stops
        .iter()
        .map(|stop| json!({"t": seconds(stop.t_s), "p": stop.pid, "pid": stop.pid, "w": stop.what, "ms": stop.ms}));
    let limits = report.limits.iter().filter(|limit| limit.bytes > 0 && limit.name != "shm");
    let limits = limits.map(|limit| json!({"name": clean(&limit.name), "kib": limit.bytes >> 10, "of": place(&limit.name)}));
    json!({
        "t": times,
        "roles": roles,
        "floor": floor("", ""),
        "words": {"anon": anon},
        "phases": phases.collect::<Vec<_>>(),
        "lives": lives.collect::<Vec<_>>(),
        "stops": stops.collect::<Vec<_>>(),
        "cards": curve.cards.iter().filter(|card| card.rows.len() > 1).map(card).collect::<Vec<_>>(),
        "logged": curve.logged.iter().filter(|one| one.points.len() > 1).map(logged).collect::<Vec<_>>(),
        "limits": limits.collect::<Vec<_>>(),
        "trend": trend(report),
        "oom": oom(report),
    })
}

/// A part of what is had of a card, bytes.
type Size = fn(&CardRow) -> u64;

/// A GPU's numbers. They have times of their own: drivers are asked more seldom, marks come more often.
fn card(card: &Card) -> Value {
    let column = |of: Size| card.rows.iter().map(|row| of(row) >> 10).collect::<Vec<u64>>();
    let mut about: Vec<&str> = vec![&card.name];
    if card.emulated {
        about.push("EMULATED");
    }
    about.retain(|part| !part.is_empty());
    let label = if about.is_empty() { card.resource.clone() } else { format!("{} ({})", card.resource, about.join(", ")) };
    let mut one = json!({
        "name": clean(&card.resource),
        "label": clean(&label),
        "t": card.rows.iter().map(|row| seconds(row.t_s)).collect::<Vec<_>>(),
    });
    let columns: [(&str, Size); 4] = [
        ("tensors", |row| row.tensors),
        ("cached", |row| row.cached),
        ("outside", |row| row.outside),
        ("others", |row| row.others),
    ];
    for (name, of) in columns {
        let sizes = column(of);
        if sizes.iter().any(|size| *size > 0) {
            one[name] = sizes.into();
        }
    }
    one
}

/// Numbers that a file says. Sizes are KiB like all others, shares percent.
fn logged(one: &LoggedCurve) -> Value {
    let timed = one.per == "second";
    let times = one.points.iter().map(|(t, _)| if timed { seconds(*t) } else { json!(t) });
    let value = |v: f64| if one.percent { json!((100.0 * v).round() / 100.0) } else { json!((v.max(0.0) / 1024.0).round()) };
    json!({
        "label": clean(&one.name),
        "t": times.collect::<Vec<_>>(),
        "v": one.points.iter().map(|(_, v)| value(*v)).collect::<Vec<_>>(),
        "percent": one.percent,
        "axis": if timed { "" } else { one.per },
        "of": if one.blamed && timed && !one.percent { place(&one.resource) } else { String::new() },
    })
}

/// What a limit or a growth is of: a card's name, or host memory.
fn place(resource: &str) -> String {
    if resource.starts_with("gpu") { clean(resource) } else { "ram".to_owned() }
}

/// The roles that have memory at any time, with where each stands in a row.
pub fn roles(curve: &Curve) -> Vec<(usize, Role)> {
    let has = |at: usize| curve.rows.iter().any(|row: &Row| row.sorts[at].iter().any(|size| *size > 0));
    Role::ALL.into_iter().enumerate().filter(|(at, _)| has(*at)).collect()
}

/// Tenths are enough for a curve.
fn seconds(s: f64) -> Value {
    let tenths = (10.0 * s).round();
    if tenths % 10.0 == 0.0 && tenths.abs() < 1e15 { json!((tenths / 10.0) as i64) } else { json!(tenths / 10.0) }
}

/// The growth that the verdict rests on, KiB per second.
fn trend(report: &Report) -> Option<Value> {
    let leak = report.leak()?;
    let growth = leak.growth.as_ref().filter(|growth| growth.unit == "bytes" && growth.bytes_per_second.is_finite())?;
    if !matches!(leak.resource.as_str(), "ram" | "shm") && !leak.resource.starts_with("gpu") {
        return None;
    }
    // On a card the line lies on the layers that grow.
    let layers: &[&str] = match leak.kind {
        Some(Kind::GpuAllocated) => &["tensors"],
        Some(Kind::GpuReserved) => &["tensors", "cached"],
        Some(Kind::GpuOutside) => &["outside"],
        _ => &[],
    };
    let [low, high] = per_second(growth)?;
    let role = leak.process.as_ref().map_or("", |process| process.role);
    let [rate, low, high] = [growth.bytes_per_second, low, high].map(|rate| rate / 1024.0);
    Some(json!({"rate": rate, "low": low, "high": high, "role": role, "of": place(&leak.resource), "layers": layers}))
}

/// The interval, bytes per second.
fn per_second(growth: &Growth) -> Option<[f64; 2]> {
    let base = growth.per_unit()?;
    let ends = growth.ci95.map(|end| end * growth.bytes_per_second / base);
    ends.iter().all(|end| end.is_finite()).then_some(ends)
}

/// When it ends: seconds from the end of watching, and how high the low-water line is then.
fn oom(report: &Report) -> Option<Value> {
    let oom = report.forecast()?;
    let seconds = oom.seconds.filter(|all| all.iter().all(|s| s.is_finite() && *s > 0.0))?;
    // Years ahead are no picture.
    if seconds[1] > 100.0 * report.duration_s.max(1.0) {
        return None;
    }
    let spike = oom.numbers.get("spike").copied().filter(|spike| spike.is_finite() && *spike > 0.0).unwrap_or(0.0);
    let text = format!("out of memory in {}", words::span(seconds[1]));
    let top = (oom.limit_bytes as f64 - spike).max(0.0) / 1024.0;
    Some(
        json!({"of": place(&oom.limit), "limit": clean(&oom.limit), "kib": oom.limit_bytes >> 10, "seconds": seconds, "top": top, "words": text}),
    )
}

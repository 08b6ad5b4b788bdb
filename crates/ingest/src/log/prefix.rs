//! What stands in front of a line: times, ranks, hosts, containers. It is taken off, and told.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::bytes::{Captures, Regex};

use crate::when;

/// Who wrote a line, and when, by its own prefix.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Source {
    /// The rank in a distributed run.
    pub rank: Option<u32>,
    /// The pid.
    pub pid: Option<u32>,
    /// Seconds, from any start.
    pub time_s: Option<f64>,
    /// The host, pod or container.
    pub host: String,
}

/// A line without its prefix.
pub(super) struct Bare<'a> {
    pub source: Source,
    /// There was a prefix, so that a record begins here.
    pub record: bool,
    /// Tells the writers of lines apart: 0 where the line does not say.
    pub lane: u64,
    pub rest: Cow<'a, [u8]>,
}

struct Forms {
    rank: Regex,
    task: Regex,
    uptime: Regex,
    bracket_date: Regex,
    date: Regex,
    syslog: Regex,
    kernel: Regex,
    node: Regex,
    dmesg_date: Regex,
    level: Regex,
    facility: Regex,
    worker: Regex,
    compose: Regex,
    stream: Regex,
    pod: Regex,
}

static FORMS: LazyLock<Forms> = LazyLock::new(|| {
    let form = |text: &str| Regex::new(&format!("(?-u)^{text}")).expect("a correct pattern");
    Forms {
        // torchrun, torch's own, launchers of one's own.
        rank: form(r"[\[(]?(?:[Rr][Aa][Nn][Kk]|default)[ :=_-]{0,2}(\d{1,6})(?:[\])]:?|:) ?"),
        // srun -l
        task: form(r" {0,5}(\d{1,6}): "),
        uptime: form(r"\[ *(\d{1,9}\.\d{3,9})(?:\] |\]$)"),
        bracket_date: form(
            r"\[(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?|\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?)[^\]\n]{0,40}\]:? ?",
        ),
        date: form(
            r"(\d{4}[-/]\d\d[-/]\d\d[T_ ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?|\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?)(?: +(?:- )?|$)",
        ),
        syslog: form(
            r"[A-Z][a-z]{2} [ \d]\d (\d\d:\d\d:\d\d(?:\.\d{1,9})?) ([A-Za-z0-9._-]{1,64}) ([A-Za-z0-9_.@/-]{1,64})(?:\[(\d{1,9})\])?: ",
        ),
        // journalctl -o short-iso has another date in front.
        kernel: form(r"([A-Za-z0-9._-]{1,64}) kernel: "),
        // pdsh and DeepSpeed, where a rank follows.
        node: form(r"([A-Za-z0-9._-]{1,64}): \[rank\d"),
        dmesg_date: form(r"\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d (\d\d:\d\d:\d\d) \d{4}\] "),
        level: form(r"<\d{1,3}>"),
        facility: form(r"[a-z]{3,8} *:[a-z]{3,6} *: "),
        worker: form(r"\((?:[A-Za-z_][A-Za-z0-9_.:]{0,63} )?pid=(\d{1,9})(?:, ip=([0-9a-f.:]{3,45}))?\) ?"),
        compose: form(r"([A-Za-z0-9][A-Za-z0-9_.-]{0,63}) +\| "),
        stream: form(r"(?:stdout|stderr) [FP] "),
        pod: form(r"\[pod/([A-Za-z0-9./_-]{1,200})\] "),
    }
});

/// Takes what stands in front off. At most so many parts, so that a line of prefixes costs no more.
pub(super) fn strip(line: &[u8]) -> Bare<'_> {
    const PARTS: usize = 6;
    if let Some(unpacked) = in_json(line) {
        let inner = strip(&unpacked);
        let (source, lane) = (inner.source, inner.lane);
        return Bare { source, record: true, lane, rest: Cow::Owned(inner.rest.into_owned()) };
    }
    let mut bare = Bare { source: Source::default(), record: false, lane: 0, rest: Cow::Borrowed(line) };
    let mut rest = line;
    for _ in 0..PARTS {
        let Some(used) = part(rest, &mut bare) else { break };
        rest = &rest[used..];
        bare.record = true;
    }
    bare.rest = Cow::Borrowed(rest);
    bare
}

/// One part of the prefix: how long it is.
fn part(rest: &[u8], bare: &mut Bare) -> Option<usize> {
    let forms = &*FORMS;
    let end = |caps: &Captures| caps.get(0).map_or(0, |all| all.end());
    let source = &mut bare.source;
    match *rest.first()? {
        b'[' => {
            if let Some(caps) = forms.uptime.captures(rest) {
                source.time_s = number(&caps, 1).or(source.time_s);
                return Some(end(&caps));
            }
            if let Some(caps) = forms.bracket_date.captures(rest).or_else(|| forms.dmesg_date.captures(rest)) {
                source.time_s = time(&caps[1]).or(source.time_s);
                return Some(end(&caps));
            }
            if let Some(caps) = forms.pod.captures(rest) {
                source.host = String::from_utf8_lossy(&caps[1]).into_owned();
                bare.lane = lane_of(rest, end(&caps));
                return Some(end(&caps));
            }
            rank(rest, bare)
        }
        b'(' => {
            if let Some(caps) = forms.worker.captures(rest) {
                source.pid = number(&caps, 1);
                if let Some(host) = caps.get(2) {
                    source.host = String::from_utf8_lossy(host.as_bytes()).into_owned();
                }
                bare.lane = lane_of(rest, end(&caps));
                return Some(end(&caps));
            }
            let raylet = b"(raylet) ";
            if rest.starts_with(raylet) { Some(raylet.len()) } else { rank(rest, bare) }
        }
        b'<' => forms.level.captures(rest).map(|caps| end(&caps)),
        b'0'..=b'9' | b' ' => {
            if let Some(caps) = forms.date.captures(rest) {
                source.time_s = time(&caps[1]).or(source.time_s);
                return Some(end(&caps));
            }
            let caps = forms.task.captures(rest)?;
            source.rank = number(&caps, 1);
            bare.lane = lane_of(rest, end(&caps));
            Some(end(&caps))
        }
        b'>' if rest.starts_with(b"> ") => Some(2),
        first if first.is_ascii_alphabetic() => {
            let head = &rest[..rest.len().min(80)];
            if let Some(caps) = forms.syslog.captures(rest) {
                source.time_s = time(&caps[1]).or(source.time_s);
                source.host = String::from_utf8_lossy(&caps[2]).into_owned();
                if &caps[3] != b"kernel" {
                    // The name and pid of a daemon are a part of what it says.
                    return caps.get(3).map(|name| name.start());
                }
                return Some(end(&caps));
            }
            if head.contains(&b'|')
                && let Some(caps) = forms.compose.captures(rest)
            {
                source.host = String::from_utf8_lossy(&caps[1]).into_owned();
                bare.lane = lane_of(rest, end(&caps));
                return Some(end(&caps));
            }
            if source.time_s.is_some()
                && let Some(caps) = forms.kernel.captures(rest)
            {
                source.host = String::from_utf8_lossy(&caps[1]).into_owned();
                return Some(end(&caps));
            }
            if head.windows(6).any(|window| window == b": [ran")
                && let Some(caps) = forms.node.captures(rest)
            {
                source.host = String::from_utf8_lossy(&caps[1]).into_owned();
                return Some(caps[1].len() + 2);
            }
            if let Some(caps) = forms.stream.captures(rest).or_else(|| forms.facility.captures(rest)) {
                return Some(end(&caps));
            }
            if matches!(first, b'r' | b'R' | b'd') { rank(rest, bare) } else { None }
        }
        _ => None,
    }
}

fn rank(rest: &[u8], bare: &mut Bare) -> Option<usize> {
    let caps = FORMS.rank.captures(rest)?;
    bare.source.rank = number(&caps, 1);
    let end = caps.get(0).map_or(0, |all| all.end());
    bare.lane = lane_of(rest, end);
    Some(end)
}

fn number<T: std::str::FromStr>(caps: &Captures, at: usize) -> Option<T> {
    std::str::from_utf8(caps.get(at)?.as_bytes()).ok()?.parse().ok()
}

fn time(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?.replace(',', ".");
    when::parse(&text, false).map(|(seconds, _)| seconds)
}

/// FNV-1a over the part that names the writer; 0 is for lines that name none.
fn lane_of(rest: &[u8], end: usize) -> u64 {
    let hash = rest[..end]
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    hash.max(1)
}

/// The line inside a line of Docker's json-file driver, or of `journalctl -o json`.
fn in_json(line: &[u8]) -> Option<Vec<u8>> {
    #[derive(serde::Deserialize)]
    struct Line {
        #[serde(alias = "MESSAGE")]
        log: String,
        #[serde(rename = "_TRANSPORT")]
        transport: Option<String>,
    }
    let of_docker = line.starts_with(b"{\"log\":");
    let of_journal = || line.starts_with(b"{") && line.windows(11).any(|window| window == b"\"_TRANSPORT");
    if !of_docker && !of_journal() {
        return None;
    }
    let inner: Line = serde_json::from_slice(line).ok()?;
    // The journal has other programs' lines, too, whose own form is told by what they are.
    if !of_docker && inner.transport.is_none() {
        return None;
    }
    let text: String = inner.log.chars().filter(|c| *c == '\t' || !c.is_control()).collect();
    // One layer only.
    (!text.starts_with("{\"log\":")).then(|| text.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(line: &str) -> (String, Option<u32>, String) {
        let bare = strip(line.as_bytes());
        (String::from_utf8_lossy(&bare.rest).into_owned(), bare.source.rank, bare.source.host)
    }

    #[test]
    fn prefixes_of_every_sort() {
        for (line, bare, rank, host) in [
            ("[rank3]: RuntimeError: x", "RuntimeError: x", Some(3), ""),
            ("[default12]:x", "x", Some(12), ""),
            ("Rank 2: x", "x", Some(2), ""),
            (" 7: x", "x", Some(7), ""),
            ("[ 7063.247407] Memory cgroup", "Memory cgroup", None, ""),
            ("[Mon Dec  8 17:51:31 2025] x", "x", None, ""),
            ("Aug 16 20:29:54 host kernel: x", "x", None, "host"),
            ("Nov 29 03:00:01.123456 host kernel: [ 156]", "[ 156]", None, "host"),
            ("2024-04-29T14:55:41+0200 host kernel: [ 156]", "[ 156]", None, "host"),
            ("worker-1: [rank3]: x", "x", Some(3), "worker-1"),
            ("{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":\"[ 156] x\"}", "[ 156] x", None, ""),
            ("May 15 23:09:30 n-1 kernel: [  518.050606] x", "x", None, "n-1"),
            ("2024-04-29T14:55:41,678628+02:00 [  pid  ]", "[  pid  ]", None, ""),
            ("[2023-07-23 15:21:29,851 E 9751 9751] (raylet) node", "(raylet) node", None, ""),
            ("kern  :info  : [ 1.000] x", "x", None, ""),
            ("<4>[ 1.000] x", "x", None, ""),
            ("(TrainTrainable pid=12, ip=10.0.0.1) x", "x", None, "10.0.0.1"),
            ("trainer-1  | x", "x", None, "trainer-1"),
            ("2016-10-06T00:17:09.669794202Z stdout F x", "x", None, ""),
            ("[pod/train-0/main] x", "x", None, "train-0/main"),
            ("{\"log\":\"[rank1]: x\\n\",\"stream\":\"stderr\"}", "x", Some(1), ""),
            ("> quoted", "quoted", None, ""),
            ("[ 561762]     0 561762", "[ 561762]     0 561762", None, ""),
            ("no prefix: 12", "no prefix: 12", None, ""),
        ] {
            let expected = if line.contains("(raylet)") {
                ("node".to_owned(), rank, host.to_owned())
            } else {
                (bare.to_owned(), rank, host.to_owned())
            };
            assert_eq!(rest(line), expected, "{line}");
        }
    }

    #[test]
    fn times_are_told() {
        assert_eq!(strip(b"[  518.050606] x").source.time_s, Some(518.050606));
        assert_eq!(strip(b"12:00:01 x").source.time_s, Some(43_201.0));
    }
}

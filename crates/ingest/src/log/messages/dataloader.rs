//! A DataLoader's worker ended.

use super::{At, Family, Message, patterns};

patterns! {
    WORKER = r"dataloaderworker\(pid(?:\(s\))?(?P<pid>\d{1,9})(?P<more>(?:,\d{1,9}){0,64})\)(?:iskilledbysignal:(?P<signal>buserror|killed|terminated|segmentationfault|aborted|[a-z]{3,20})|(?P<gone>exitedunexpectedly)(?:withexitcode(?P<code>-?\d{1,4}))?)";
}

/// `DataLoader worker (pid 19597) is killed by signal: Killed.`
pub(super) fn read(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = at.here(&WORKER)?;
    let mut message = Message::new(Family::DataLoader, text, caps.get(0)?.range());
    message.count(text, &caps, "pid", "pid");
    if let Some(more) = caps.name("more").filter(|more| !more.is_empty()) {
        let more = text.original(more.range());
        for (at, pid) in more.split(',').filter_map(|pid| pid.trim().parse::<u32>().ok()).enumerate() {
            message.set(&format!("pid_{}", at + 2), f64::from(pid));
        }
    }
    message.last_count(text, &caps, "code", "exit_code");
    match caps.name("signal") {
        Some(signal) => {
            let signal = text.original(signal.range());
            let number = match signal.to_ascii_lowercase().replace([' ', '\n'], "").as_str() {
                "killed" => Some(9.0),
                "buserror" => Some(7.0),
                "terminated" => Some(15.0),
                "segmentationfault" => Some(11.0),
                "aborted" => Some(6.0),
                _ => None,
            };
            if let Some(number) = number {
                message.set("signal", number);
            }
            message.word("signal", signal);
        }
        None => message.word("signal", "exited unexpectedly"),
    }
    Some(message)
}

/// `ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).`
pub(super) fn bus_error(at: &At) -> Option<Message> {
    let mut message = Message::new(Family::SharedMemory, &at.text, at.start..at.end + "inworker".len());
    message.word("said", "a worker had a bus error");
    Some(message)
}

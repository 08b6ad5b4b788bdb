//! LSF. Its MB are powers of 1024.

use super::{At, Family, Message, patterns};

patterns! {
    REASON = r"term_memlimit:jobkilledafterreachinglsfmemoryusagelimit\.?";
    CODE = r"exitedwithexitcode(?P<code>\d{1,3})\.";
    MOST = r"maxmemory:(?P<most>AMOUNT)";
    AVERAGE = r"averagememory:(?P<average>AMOUNT)";
    REQUESTED = r"totalrequestedmemory:(?P<requested>AMOUNT)";
    DELTA = r"deltamemory:(?P<delta>-?AMOUNT)";
    SWAP = r"maxswap:(?P<swap>AMOUNT)";
}

/// `TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.` and the resource usage summary below it.
pub(super) fn read(at: &At) -> Option<Message> {
    const REACH: usize = 900;
    let text = &at.text;
    let end = at.here(&REASON).and_then(|caps| caps.get(0).map(|all| all.end())).unwrap_or(at.end);
    let mut message = Message::new(Family::Lsf, text, at.start..end);
    if let Some(caps) = at.near(&CODE, 120) {
        message.count(text, &caps, "code", "exit_code");
    }
    for (pattern, group, name) in [
        (&*MOST, "most", "max_memory"),
        (&AVERAGE, "average", "average_memory"),
        (&REQUESTED, "requested", "requested_memory"),
        (&SWAP, "swap", "max_swap"),
    ] {
        if let Some(caps) = at.near(pattern, REACH) {
            message.amount(text, &caps, group, name);
        }
    }
    if let Some(caps) = at.near(&DELTA, REACH)
        && let Some(found) = caps.name("delta")
    {
        let negative = found.as_bytes().starts_with(b"-");
        let range = found.start() + usize::from(negative)..found.end();
        if let Ok(value) = crate::log::amount::bytes(text, range) {
            message.set("delta_memory", if negative { -value } else { value });
        }
    }
    Some(message)
}

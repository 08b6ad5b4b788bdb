//! A fault of lowtide's own must not reach the run: panics of a watcher are caught and told in one line.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::terminal::say;

/// Does a piece of watching. A panic becomes a text; what it was working on must not be used again.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(ToString::to_string);
        text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no reason given".to_owned())
    })
}

/// Panics say where in one line, instead of Rust's several, in between the target's output.
pub fn be_brief_about_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map_or_else(String::new, |at| format!(" at {}:{}", at.file(), at.line()));
        say(&format!("internal error{place}; please report this"));
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_text() {
        assert_eq!(guarded(|| 5), Ok(5));
        assert_eq!(guarded(|| panic!("no {}", "more")), Err::<(), _>("no more".to_owned()));
    }
}

//! Showing a page to whoever sits before the machine.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// Opens the page in the user's browser, without waiting for it; whether there was one to ask.
///
/// `$BROWSER` comes first. What the desktop has is asked only where there is a desktop: elsewhere it may take over the terminal.
pub fn open(page: &Path) -> bool {
    let page = page.canonicalize().unwrap_or_else(|_| page.to_owned());
    let desktop = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    let command = match std::env::var("BROWSER").ok().and_then(|browser| of_variable(&browser)) {
        Some(words) => words,
        None if cfg!(target_os = "macos") => vec!["open".into()],
        None if desktop => vec!["xdg-open".into()],
        None => return false,
    };
    let spawned = Command::new(&command[0])
        .args(&command[1..])
        .arg(page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    spawned.is_ok()
}

/// The first of a list with colons between, as words; `%s` stands where the page goes, which is at the end here.
fn of_variable(browser: &str) -> Option<Vec<OsString>> {
    let first = browser.split(':').find(|one| !one.trim().is_empty())?;
    let words: Vec<OsString> = first.split_whitespace().filter(|word| *word != "%s").map(OsString::from).collect();
    (!words.is_empty()).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_browser_of_the_list_is_taken() {
        let of = |text| of_variable(text).map(|words| words.join(std::ffi::OsStr::new("|")).into_string().unwrap_or_default());
        assert_eq!(of("firefox --new-window %s:w3m").as_deref(), Some("firefox|--new-window"));
        assert_eq!(of(":w3m").as_deref(), Some("w3m"));
        assert_eq!(of(" "), None);
    }
}

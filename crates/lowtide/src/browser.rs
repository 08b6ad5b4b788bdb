//! Showing a page to whoever sits before the machine.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// Opens the page in the user's browser, without waiting for it; else why not.
///
/// `$BROWSER` comes first. What the desktop has is asked only where there is a desktop: elsewhere it may take over the terminal.
pub fn open(page: &Path) -> Result<(), String> {
    let page = page.canonicalize().unwrap_or_else(|_| page.to_owned());
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let desktop = set("DISPLAY") || set("WAYLAND_DISPLAY");
    let browser = std::env::var("BROWSER").unwrap_or_default();
    let mut first = None;
    for words in candidates(&browser, desktop, set("WSL_DISTRO_NAME")) {
        match start(&words, &page) {
            Ok(()) => return Ok(()),
            Err(error) => _ = first.get_or_insert_with(|| format!("{} cannot be started: {error}", words[0].to_string_lossy())),
        }
    }
    Err(first.unwrap_or_else(|| "no browser is known here, and BROWSER names none".to_owned()))
}

/// What to try, the best first.
fn candidates(browser: &str, desktop: bool, wsl: bool) -> Vec<Vec<OsString>> {
    let mut all: Vec<Vec<OsString>> = browser.split(':').map(words).filter(|words| !words.is_empty()).collect();
    if cfg!(target_os = "macos") {
        all.push(vec!["open".into()]);
    }
    // On Windows the browser is outside; wslu's command finds it, and is often there.
    if wsl {
        all.push(vec!["wslview".into()]);
    }
    if desktop {
        all.push(vec!["xdg-open".into()]);
    }
    all
}

fn start(words: &[OsString], page: &Path) -> std::io::Result<()> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop)
}

/// One of the list in `$BROWSER`, as words; `%s` stands where the page goes, which is at the end here.
fn words(browser: &str) -> Vec<OsString> {
    browser.split_whitespace().filter(|word| *word != "%s").map(OsString::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(browser: &str, desktop: bool, wsl: bool) -> Vec<String> {
        let joined = |words: &Vec<OsString>| words.join(std::ffi::OsStr::new(" ")).into_string().unwrap_or_default();
        candidates(browser, desktop, wsl).iter().map(joined).collect()
    }

    #[test]
    fn browsers_of_the_list_come_in_its_order_and_before_the_desktops() {
        assert_eq!(of("firefox --new-window %s:w3m", true, false)[..2], ["firefox --new-window", "w3m"]);
        assert_eq!(of(":w3m", false, false)[0], "w3m");
        assert_eq!(of("w3m", true, false).last().map(String::as_str), Some("xdg-open"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn without_a_desktop_nothing_of_it_is_asked() {
        assert!(of(" ", false, false).is_empty());
        assert_eq!(of("", true, true), ["wslview", "xdg-open"]);
        assert_eq!(of("", false, true), ["wslview"]);
    }

    #[test]
    fn what_cannot_be_started_is_an_error() {
        assert!(start(&["/nowhere/browser".into()], Path::new("page.html")).is_err());
    }
}

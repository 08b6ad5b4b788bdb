//! Masks what looks like a secret in a command line, before it reaches a recording or a report.
//!
//! An option is judged by the last word of its name, so that `--hf-token` and `api_key=` are masked while
//! `--max-tokens 512`, `--tokenizer` and `--token-file` stay readable.

/// What stands in the place of a secret.
const MASK: &str = "***";

/// Last words of option names whose value is a secret.
const SECRET_WORDS: [&str; 16] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "key",
    "apikey",
    "credential",
    "credentials",
    "auth",
    "bearer",
    "cookie",
    "authorization",
    "pat",
];

/// Endings that make a name secret even without a separator (`--hftoken`).
const SECRET_ENDINGS: [&str; 5] = ["token", "secret", "password", "passwd", "apikey"];

/// How well-known services begin their tokens, and the least length of one.
const TOKEN_PREFIXES: [&str; 9] = ["hf_", "ghp_", "gho_", "github_pat_", "glpat-", "sk-", "xoxb-", "AKIA", "wandb_v1_"];
const TOKEN_LEAST: usize = 16;

/// The arguments with values masked that look like keys, tokens and passwords: `--token X`, `--token=X`, `API_KEY=X`,
/// `scheme://user:X@host`, `?token=X`, `Authorization: Bearer X`, and words that begin as well-known tokens do.
#[must_use]
pub fn mask_secrets(args: &[String]) -> Vec<String> {
    let mut value_is_secret = false;
    args.iter()
        .map(|arg| {
            let secret = std::mem::take(&mut value_is_secret) && !arg.starts_with("--");
            if secret && !arg.is_empty() {
                return MASK.to_owned();
            }
            value_is_secret = is_secret_option(arg);
            // A shell's -c, or a process that rewrote its title: a command line in one argument.
            if arg.contains(char::is_whitespace) { mask_line(arg) } else { mask_word(arg) }
        })
        .collect()
}

fn is_secret_option(arg: &str) -> bool {
    arg.starts_with('-') && !arg.contains('=') && is_secret_name(arg.trim_start_matches('-'))
}

fn mask_line(line: &str) -> String {
    let mut masked = String::with_capacity(line.len());
    let mut value_is_secret = false;
    for piece in line.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end_matches(char::is_whitespace);
        let blank = &piece[word.len()..];
        if word.is_empty() {
            masked.push_str(blank);
            continue;
        }
        // `Authorization: Bearer X`: the scheme is no secret, what follows it is.
        let scheme = word.eq_ignore_ascii_case("bearer") || word.eq_ignore_ascii_case("basic");
        let header = word.strip_suffix(':').is_some_and(is_secret_name);
        if std::mem::take(&mut value_is_secret) && !word.starts_with("--") && !scheme {
            masked.push_str(MASK);
        } else {
            masked.push_str(&mask_word(word));
            value_is_secret = is_secret_option(word) || scheme || header;
        }
        masked.push_str(blank);
    }
    masked
}

fn mask_word(word: &str) -> String {
    if let Some((scheme, rest)) = word.split_once("://") {
        return format!("{}://{}", mask_start(scheme), mask_url(rest));
    }
    mask_start(word)
}

/// `name=value` with a secret name, or a word that begins as a known token.
fn mask_start(word: &str) -> String {
    if let Some((name, value)) = word.split_once('=') {
        if !value.is_empty() && is_secret_name(name.trim_start_matches('-')) {
            return format!("{name}={MASK}");
        }
        return format!("{name}={}", mask_token(value));
    }
    mask_token(word)
}

fn mask_token(word: &str) -> String {
    let bare = word.trim_start_matches(['"', '\'']);
    match TOKEN_PREFIXES.iter().find(|prefix| bare.starts_with(**prefix)) {
        Some(prefix) if bare.len() >= TOKEN_LEAST => format!("{}{prefix}{MASK}", &word[..word.len() - bare.len()]),
        _ => word.to_owned(),
    }
}

/// What follows `scheme://`: `user:password@host/path?token=X&y=1`.
fn mask_url(rest: &str) -> String {
    let (place, query) = rest.split_once('?').map_or((rest, None), |(place, query)| (place, Some(query)));
    let end_of_host = place.find('/').unwrap_or(place.len());
    let (authority, path) = place.split_at(end_of_host);
    let mut masked = match authority.rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((name, _)) => format!("{name}:{MASK}@{host}"),
            // A token in the place of the user; a short name as in `git@` is none.
            None if user.len() >= TOKEN_LEAST => format!("{MASK}@{host}"),
            None => authority.to_owned(),
        },
        None => authority.to_owned(),
    };
    masked.push_str(path);
    if let Some(query) = query {
        masked.push('?');
        masked.push_str(&query.split('&').map(mask_start).collect::<Vec<_>>().join("&"));
    }
    masked
}

/// Judges by the last word of a name in kebab, snake, dotted or camel case.
fn is_secret_name(name: &str) -> bool {
    if name.is_empty() || name.len() > 64 || !name.chars().all(|c| c.is_alphanumeric() || "-_.+".contains(c)) {
        return false;
    }
    let last = name.rsplit(['-', '_', '.', '+']).next().unwrap_or(name);
    // camelCase: the last part that begins with a capital, where the word is not all capitals.
    let camel = match last.rfind(char::is_uppercase) {
        Some(at) if last.chars().any(char::is_lowercase) => &last[at..],
        _ => last,
    };
    let lower = last.to_lowercase();
    SECRET_WORDS.contains(&camel.to_lowercase().as_str())
        || SECRET_WORDS.contains(&lower.as_str())
        || SECRET_ENDINGS.iter().any(|ending| lower.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn masked(args: &[&str]) -> Vec<String> {
        mask_secrets(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn hides_values_of_secret_options() {
        for (given, shown) in [
            (vec!["t.py", "--token", "abc", "--lr", "1"], vec!["t.py", "--token", "***", "--lr", "1"]),
            (vec!["--hf-token=abc"], vec!["--hf-token=***"]),
            (vec!["--wandbApiKey", "abc"], vec!["--wandbApiKey", "***"]),
            (vec!["WANDB_API_KEY=abc"], vec!["WANDB_API_KEY=***"]),
            (vec!["logger.wandb.api_key=abc"], vec!["logger.wandb.api_key=***"]),
            (vec!["postgres://me:pw@db/x"], vec!["postgres://me:***@db/x"]),
            (vec!["--url=https://h/x?token=abc&n=1"], vec!["--url=https://h/x?token=***&n=1"]),
            (vec!["-H", "Authorization: Bearer abc"], vec!["-H", "Authorization: Bearer ***"]),
            (vec!["sh", "-c", "python t.py --password abc  -v"], vec!["sh", "-c", "python t.py --password ***  -v"]),
            (vec!["hf_abcdefghijklmnopq"], vec!["hf_***"]),
            (vec!["--password", "--verbose"], vec!["--password", "--verbose"]),
        ] {
            assert_eq!(masked(&given), shown, "{given:?}");
        }
    }

    #[test]
    fn leaves_what_training_needs_to_be_read() {
        let args = [
            "python",
            "train.py",
            "--max-tokens",
            "512",
            "--tokenizer=gpt2",
            "--token-file",
            "/x",
            "--num_keys=4",
            "lr=0.1",
            "https://host/data?split=train",
            "git@host:x/y.git",
            "--keyframes",
            "3",
            "sk-learn",
        ];
        assert_eq!(masked(&args), args);
    }

    proptest! {
        #[test]
        fn never_panics_and_keeps_the_count(args in proptest::collection::vec(".{0,40}", 0..8)) {
            prop_assert_eq!(mask_secrets(&args).len(), args.len());
        }

        #[test]
        fn the_secret_is_gone(secret in "[A-Z0-9]{12,30}", option in "--(token|api-key|x_secret|db\\.password)") {
            for args in [vec![option.clone(), secret.clone()], vec![format!("{option}={secret}")], vec![format!("a {option} {secret} b")]] {
                prop_assert!(mask_secrets(&args).iter().all(|arg| !arg.contains(&secret)), "{:?}", args);
            }
        }
    }
}

//! `lowtide causes`: the catalogue's pages.

use std::io::Write;

use crate::exit::{self, Failure};
use crate::output::TextOrJson;
use crate::terminal;

/// Say why training runs leak, how it shows, and how to fix it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The cause whose page to show, as LT103 or output-kept-with-graph; without it, all in a line each
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Form of the page
    #[arg(long, value_enum, default_value = "text")]
    format: TextOrJson,
}

/// Prints the page, or the list of pages.
pub fn causes(args: &Args) -> Result<u8, Failure> {
    let stdout = std::io::stdout();
    let page = page(args, terminal::width(&stdout))?;
    let _ = stdout.lock().write_all(page.as_bytes());
    Ok(exit::DONE)
}

fn page(args: &Args, width: usize) -> Result<String, Failure> {
    let Some(id) = &args.id else {
        return Ok(match args.format {
            TextOrJson::Text => lowtide_causes::list(),
            TextOrJson::Json => lowtide_causes::json_list(),
        });
    };
    let cause = lowtide_causes::by_id(id)
        .ok_or_else(|| Failure::usage(format!("no cause `{id}`; `lowtide causes` lists them (LT101 to {})", last())))?;
    Ok(match args.format {
        TextOrJson::Text => lowtide_causes::text(cause, width),
        TextOrJson::Json => lowtide_causes::json(cause),
    })
}

fn last() -> &'static str {
    lowtide_causes::all().last().map_or("LT999", |cause| cause.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(id: Option<&str>, format: TextOrJson) -> Args {
        Args { id: id.map(str::to_owned), format }
    }

    #[test]
    fn a_page_a_list_or_what_to_do() {
        let shown = page(&args(Some("lt103"), TextOrJson::Text), 80).expect("a page");
        assert!(shown.starts_with("LT103  ") && shown.contains(".detach()"), "{shown}");
        let list = page(&args(None, TextOrJson::Text), 80).expect("a list");
        assert_eq!(list.lines().count(), lowtide_causes::all().count());
        let error = page(&args(Some("LT999"), TextOrJson::Text), 80).expect_err("no such cause");
        assert_eq!(error.code, exit::USAGE);
        assert!(error.text.contains("lowtide causes"), "{}", error.text);
    }

    #[test]
    fn json_has_the_parts_of_the_page() {
        let shown = page(&args(Some("LT103"), TextOrJson::Json), 80).expect("a page");
        let value: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
        assert_eq!(value["id"], "LT103");
        assert_eq!(value["severity"], "leak");
        assert!(value["fix"]["after"].as_str().is_some_and(|code| code.contains("detach")));
        let all: serde_json::Value =
            serde_json::from_str(&page(&args(None, TextOrJson::Json), 80).expect("a list")).expect("JSON");
        assert_eq!(all.as_array().map(Vec::len), Some(lowtide_causes::all().count()));
    }
}

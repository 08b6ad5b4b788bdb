//! Writes the pages of the documentation.
//!
//!     cargo run -p lowtide-causes --example pages -- docs/causes

use std::path::Path;

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "docs/causes".to_owned());
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("README.md"), lowtide_causes::index())?;
    for cause in lowtide_causes::all() {
        std::fs::write(folder.join(format!("{}.md", cause.id)), lowtide_causes::markdown(cause))?;
    }
    Ok(())
}

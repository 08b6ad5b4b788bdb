//! Layouts of torch beyond those that are shipped: learned of a build once, and kept in the user's cache folder.

use std::path::{Path, PathBuf};

use lowtide_pyheap::torch::{Layout, calibrate};
use lowtide_remote::{Image, Process};

/// Learns the layout of a process's torch, outside of the process.
pub fn learn(process: &Process, image: &Image) -> Result<Layout, String> {
    if !process.shares_our_files().map_err(|error| error.to_string())? {
        return Err("its torch can be calibrated inside its container only: run lowtide there".to_owned());
    }
    let room = lowtide_collect::room(Path::new("/"), std::process::id()).unwrap_or(0);
    calibrate::layout(&site(process, image)?, cache().as_deref(), room).map_err(|error| error.to_string())
}

/// The layout of a process's torch, where it was learned before. Starts nothing.
pub fn known(process: &Process, image: &Image) -> Option<Layout> {
    calibrate::layout(&site(process, image).ok()?, cache().as_deref(), 0).ok()
}

fn site(process: &Process, image: &Image) -> Result<calibrate::Site, String> {
    let python = process.exe().ok_or("its program is not known")?;
    let files = image.maps().iter().filter_map(|map| map.path.as_deref());
    let packages = calibrate::packages(files).ok_or("the folder of its torch is not known")?;
    let library = image.maps().iter().find(|map| map.path.as_deref().is_some_and(|path| path.ends_with(b"/libtorch_cpu.so")));
    let library = library.and_then(|map| process.module(image.maps(), map).ok());
    let build = library.and_then(|module| module.build_id_text()).ok_or("its torch has no build id")?;
    Ok(calibrate::Site { python, packages, build })
}

/// Where what was learned is kept.
fn cache() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache"))).map(|folder| folder.join("lowtide"))
}

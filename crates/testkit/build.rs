//! Builds the fake NVML library as the dynamic linker looks for it: `libnvidia-ml.so.1` in the output folder.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let source = here.join("fake-nvml/src/lib.rs");
    println!("cargo::rerun-if-changed={}", source.display());
    println!("cargo::rerun-if-changed={}", here.join("../collect/src/gpu/control.rs").display());
    let built = Command::new(env::var_os("RUSTC").expect("cargo sets it"))
        .args(["--crate-name", "fake_nvml", "--crate-type", "cdylib", "--edition", "2024", "-C", "opt-level=1", "--target"])
        .arg(env::var_os("TARGET").expect("cargo sets it"))
        .arg(&source)
        .arg("-o")
        .arg(out.join("libnvidia-ml.so.1"))
        .status()
        .expect("rustc runs");
    assert!(built.success(), "the fake NVML library does not compile");
}

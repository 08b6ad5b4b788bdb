//! Stub.
/// Stub.
#[derive(Debug, clap::Args)]
pub struct Args {}
/// Stub.
pub fn demo(_: &Args) -> Result<u8, crate::exit::Failure> { Ok(0) }

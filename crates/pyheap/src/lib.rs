//! Looks into a running Python from outside.

pub mod native;
pub mod torch;

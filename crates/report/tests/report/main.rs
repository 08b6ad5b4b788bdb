//! The report from the outside: what a person reads, what a program reads, and that hostile names do no harm.
#![allow(clippy::unwrap_used)]

mod compare;
mod forms;
mod hostile;
mod html;
mod redacted;
mod samples;
mod schema;
mod shown;
mod text;

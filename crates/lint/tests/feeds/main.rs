//! The line that adds to a holder: programs whose truth is known.

mod bounded;
mod corpus;
mod spec;
mod zoo;

#![no_main]
//! See [`lowtide_fuzz::ingest`].

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lowtide_fuzz::ingest(bytes));

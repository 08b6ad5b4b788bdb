#![no_main]
//! See [`lowtide_fuzz::snapshot`].

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lowtide_fuzz::snapshot(bytes));

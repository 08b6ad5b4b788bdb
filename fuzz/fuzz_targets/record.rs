#![no_main]
//! See [`lowtide_fuzz::record`].

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lowtide_fuzz::record(bytes));

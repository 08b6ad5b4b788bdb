#![no_main]
//! See [`lowtide_fuzz::verdict`].

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lowtide_fuzz::verdict(bytes));

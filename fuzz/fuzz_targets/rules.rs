#![no_main]
//! See [`lowtide_fuzz::rules`].

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lowtide_fuzz::rules(bytes));

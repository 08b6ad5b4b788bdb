#![no_main]
//! See [`lowtide_fuzz::config`].

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lowtide_fuzz::config(bytes));

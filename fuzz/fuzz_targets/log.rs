#![no_main]
//! See [`lowtide_fuzz::log`].

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lowtide_fuzz::log(bytes));

#![no_main]
//! See [`lowtide_fuzz::scalars`].

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lowtide_fuzz::scalars(bytes));

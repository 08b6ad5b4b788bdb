#![no_main]
//! See [`lowtide_fuzz::kernel`].

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lowtide_fuzz::kernel(bytes));

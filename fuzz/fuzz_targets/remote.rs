#![no_main]
//! See [`lowtide_fuzz::remote`].

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lowtide_fuzz::remote(bytes));

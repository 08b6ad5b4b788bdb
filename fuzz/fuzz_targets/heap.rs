#![no_main]
//! See [`lowtide_fuzz::heap`].

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lowtide_fuzz::heap(bytes));

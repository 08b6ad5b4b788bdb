#![no_main]
//! See [`lowtide_fuzz::marks`].

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lowtide_fuzz::marks(bytes));

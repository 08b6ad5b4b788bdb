#![no_main]
//! See [`lowtide_fuzz::python`].

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lowtide_fuzz::python(bytes));

//! The C library's allocator: it keeps of what looks at millions of objects give back, and looks should leave no trace.

/// Gives the kernel back what a look needed. Tens of MiB of small things, made by several threads, would stay in the C
/// library's heaps else, and the recorder would seem to grow by looking.
pub fn give_back() {
    // SAFETY: it takes nothing away that is in use.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Has all large pieces go back to the kernel as soon as they are free; to be called before any other thread is started. By itself
/// glibc takes pieces of up to 32 MiB from its heaps once one of that size was freed: columns that grow leave all their earlier sizes
/// there then (measured at a million objects: 4 of 140 MiB).
pub fn keep_little() {
    // SAFETY: no other thread runs yet, and it changes only where later allocations come from.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 128 << 10);
    }
}

//! A library that answers as NVIDIA's NVML does, from the control file that `LOWTIDE_FAKE_NVML` names. The file is read anew at each
//! call. Built by the build script of `lowtide-testkit` as `libnvidia-ml.so.1`, so that a test puts its folder on
//! `LD_LIBRARY_PATH`; a member of the workspace, so that it is linted with the rest. std only.
//!
//! A device's handle is no pointer but its number and instance, plus one each.

#![allow(non_snake_case, reason = "NVML's names")]
#![allow(clippy::missing_safety_doc, missing_docs, reason = "NVML's functions, called as NVML says")]

#[path = "../../../collect/src/gpu/control.rs"]
pub mod control;

use std::ffi::{c_char, c_int, c_uint, c_ulonglong};

use control::{Control, ControlCard};

type Return = c_uint;
const SUCCESS: Return = 0;
const INVALID_ARGUMENT: Return = 2;
const NOT_SUPPORTED: Return = 3;
const NOT_FOUND: Return = 6;
const INSUFFICIENT_SIZE: Return = 7;
const DRIVER_NOT_LOADED: Return = 9;
const GPU_IS_LOST: Return = 15;

/// What the driver says where it does not know.
const UNKNOWN: c_ulonglong = c_ulonglong::MAX;
const NONE: c_uint = c_uint::MAX;

/// nvmlMemory_v2_t
#[repr(C)]
pub struct Memory {
    version: c_uint,
    total: c_ulonglong,
    reserved: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}

/// nvmlProcessInfo_v2_t
#[repr(C)]
pub struct Process {
    pid: c_uint,
    used: c_ulonglong,
    instance: c_uint,
    compute: c_uint,
}

fn control() -> Option<Control> {
    let text = std::fs::read_to_string(std::env::var_os("LOWTIDE_FAKE_NVML")?).ok()?;
    Some(Control::parse(&text))
}

fn handle(index: u32, mig: Option<u32>) -> usize {
    (index as usize + 1) | mig.map_or(0, |mig| (mig as usize + 1) << 16)
}

/// Number and instance of a handle.
fn place(handle: usize) -> (u32, Option<u32>) {
    let low = |number: usize| u32::try_from(number & 0xffff).unwrap_or(0);
    (low(handle).wrapping_sub(1), low(handle >> 16).checked_sub(1))
}

/// Calls `tell` with the card of a handle, unless it is lost.
fn with_card(handle: usize, tell: impl FnOnce(&ControlCard, &Control) -> Return) -> Return {
    let Some(control) = control() else { return DRIVER_NOT_LOADED };
    let of_handle = |card: &&ControlCard| (card.index, card.mig) == place(handle);
    match control.cards.iter().find(of_handle) {
        Some(card) if card.gone => GPU_IS_LOST,
        Some(card) => tell(card, &control),
        // A card that is divided has no line of its own.
        None if place(handle).1.is_none() => NOT_SUPPORTED,
        None => NOT_FOUND,
    }
}

/// Copies a text with its end into a buffer of `length` bytes.
unsafe fn put_text(text: &str, out: *mut c_char, length: c_uint) -> Return {
    let (bytes, length) = (text.as_bytes(), length as usize);
    if bytes.len() + 1 > length {
        return INSUFFICIENT_SIZE;
    }
    // SAFETY: NVML's caller gives a buffer of `length` bytes, and the text is shorter.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), out, bytes.len());
        out.add(bytes.len()).write(0);
    }
    SUCCESS
}

/// Writes a value where NVML's caller wants it.
unsafe fn put<T>(out: *mut T, value: T) -> Return {
    if out.is_null() {
        return INVALID_ARGUMENT;
    }
    // SAFETY: not null, and NVML's caller gives a place for a value of this type.
    unsafe { out.write(value) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> Return {
    let Some(control) = control() else { return DRIVER_NOT_LOADED };
    std::thread::sleep(std::time::Duration::from_millis(control.opens_ms));
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> Return {
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(_result: Return) -> *const c_char {
    c"an error of the fake driver".as_ptr()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetDriverVersion(out: *mut c_char, length: c_uint) -> Return {
    let version = control().map_or(String::new(), |control| control.driver);
    // SAFETY: as the caller promises.
    unsafe { put_text(&format!("{version} (emulated)"), out, length) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount_v2(out: *mut c_uint) -> Return {
    let cards = control().map_or(Vec::new(), |control| control.cards);
    let count = cards.iter().map(|card| card.index + 1).max().unwrap_or(0);
    // SAFETY: as the caller promises.
    unsafe { put(out, count) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, out: *mut usize) -> Return {
    let Some(control) = control() else { return DRIVER_NOT_LOADED };
    let mut of_index = control.cards.iter().filter(|card| card.index == index).peekable();
    if of_index.peek().is_none() {
        return NOT_FOUND;
    }
    if of_index.any(|card| card.gone) {
        return GPU_IS_LOST;
    }
    // SAFETY: as the caller promises.
    unsafe { put(out, handle(index, None)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigMode(device: usize, current: *mut c_uint, pending: *mut c_uint) -> Return {
    let Some(control) = control() else { return DRIVER_NOT_LOADED };
    let divided = control.cards.iter().any(|card| card.index == place(device).0 && card.mig.is_some());
    if !divided {
        return NOT_SUPPORTED;
    }
    // SAFETY: as the caller promises.
    unsafe { put(current, 1) | put(pending, 1) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMaxMigDeviceCount(_device: usize, out: *mut c_uint) -> Return {
    // SAFETY: as the caller promises.
    unsafe { put(out, 7) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(device: usize, index: c_uint, out: *mut usize) -> Return {
    let instance = handle(place(device).0, Some(index));
    // SAFETY: as the caller promises.
    with_card(instance, |_, _| unsafe { put(out, instance) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetName(device: usize, out: *mut c_char, length: c_uint) -> Return {
    // SAFETY: as the caller promises.
    with_card(device, |card, _| unsafe { put_text(&card.name, out, length) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUUID(device: usize, out: *mut c_char, length: c_uint) -> Return {
    // SAFETY: as the caller promises.
    with_card(device, |card, _| unsafe { put_text(&card.uuid, out, length) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMemoryInfo_v2(device: usize, out: *mut Memory) -> Return {
    with_card(device, |card, control| {
        std::thread::sleep(std::time::Duration::from_millis(control.slow_ms));
        // SAFETY: as the caller promises; the version is the first field, which it has set.
        let version = if out.is_null() { 0 } else { unsafe { (*out).version } };
        let memory = Memory { version, total: card.total, reserved: card.reserved, free: card.free(), used: card.used() };
        // SAFETY: as the caller promises.
        unsafe { put(out, memory) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(device: usize, count: *mut c_uint, out: *mut Process) -> Return {
    with_card(device, |card, _| {
        let there = c_uint::try_from(card.users.len()).unwrap_or(c_uint::MAX);
        // SAFETY: as the caller promises: `count` is how many fit behind `out`.
        let room = if count.is_null() { 0 } else { unsafe { *count } };
        // SAFETY: as above.
        if unsafe { put(count, there) } != SUCCESS {
            return INVALID_ARGUMENT;
        }
        if room < there || (out.is_null() && there > 0) {
            return INSUFFICIENT_SIZE;
        }
        for (at, (pid, used)) in card.users.iter().enumerate() {
            let instance = card.mig.unwrap_or(NONE);
            let process = Process { pid: *pid, used: used.unwrap_or(UNKNOWN), instance, compute: card.mig.map_or(NONE, |_| 0) };
            // SAFETY: there is room for all of them.
            unsafe { out.add(at).write(process) };
        }
        SUCCESS
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetGraphicsRunningProcesses_v3(
    _device: usize,
    count: *mut c_uint,
    _out: *mut Process,
) -> Return {
    // SAFETY: as the caller promises.
    unsafe { put(count, 0) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetCudaDriverVersion(out: *mut c_int) -> Return {
    // SAFETY: as the caller promises.
    unsafe { put(out, 12_040) }
}

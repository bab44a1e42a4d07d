//! Counts calls to functions of the system. Each module has a table of addresses through which it calls other modules (PE format, "Import Address
//! Table"). This puts functions that count into that table.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};
use std::mem::transmute;
use std::sync::atomic::{AtomicUsize, Ordering};

#[link(name = "kernel32")]
unsafe extern "system" {
    fn GetModuleHandleW(name: *const u16) -> usize;
    fn VirtualProtect(address: *mut c_void, bytes: usize, protection: u32, old: *mut u32) -> i32;
}

const READWRITE: u32 = 0x04;

/// Functions of kernel32 that the library calls, in a flip or elsewhere. None of them has more than four arguments.
const NAMES: [&CStr; 13] = [
    c"VirtualProtect",
    c"VirtualQuery",
    c"FlushInstructionCache",
    c"FlushProcessWriteBuffers",
    c"QueryPerformanceCounter",
    c"GetCurrentThreadId",
    c"GetCurrentProcess",
    c"QueryPerformanceFrequency",
    c"GetSystemInfo",
    c"VirtualAlloc",
    c"VirtualFree",
    c"GetEnvironmentVariableA",
    c"GetModuleHandleExW",
];
const COUNTED: usize = NAMES.len();

type Function = extern "system" fn(usize, usize, usize, usize) -> usize;

static REAL: [AtomicUsize; COUNTED] = [const { AtomicUsize::new(0) }; COUNTED];

std::thread_local! { static COUNTS: Cell<[u32; COUNTED]> = const { Cell::new([0; COUNTED]) }; }

/// Counts the call, and calls the function. On x86-64 the first four arguments are in registers, so a function with fewer takes no notice of the rest.
extern "system" fn counts<const NUMBER: usize>(a: usize, b: usize, c: usize, d: usize) -> usize {
    let mut counts = COUNTS.get();
    counts[NUMBER] += 1;
    COUNTS.set(counts);
    // SAFETY: `install` has taken the address from the table of imports.
    unsafe { transmute::<usize, Function>(REAL[NUMBER].load(Ordering::Relaxed))(a, b, c, d) }
}

macro_rules! functions {
    ($($number:literal)*) => { [$(counts::<$number>),*] };
}
const FUNCTIONS: [Function; COUNTED] = functions! { 0 1 2 3 4 5 6 7 8 9 10 11 12 };

/// The slots of the table that belong to functions of [`NAMES`], each with the number of its function.
fn slots() -> Vec<(*mut usize, usize)> {
    // SAFETY: the program's own module, as the loader has read it.
    unsafe {
        let base = GetModuleHandleW(std::ptr::null());
        let word = |at: usize| (at as *const u32).read_unaligned() as usize;
        let text = |at: usize| CStr::from_ptr(at as *const c_char);
        let optional = base + word(base + 60) + 24;
        let mut module = base + word(optional + 120);
        let mut found = Vec::new();
        while word(module + 12) != 0 {
            if text(base + word(module + 12)).to_bytes().eq_ignore_ascii_case(b"kernel32.dll") {
                let (names, slots) = (base + word(module), base + word(module + 16));
                for at in (0..).step_by(8) {
                    let name = ((names + at) as *const usize).read();
                    if name == 0 {
                        break;
                    }
                    let is_ordinal = name >> 63 != 0;
                    let number = NAMES.iter().position(|one| !is_ordinal && text(base + name + 2) == *one);
                    found.extend(number.map(|number| ((slots + at) as *mut usize, number)));
                }
            }
            module += 20;
        }
        found
    }
}

/// Replaces the functions of [`NAMES`] for the whole program. Call it once.
pub fn install() {
    for (slot, number) in slots() {
        let mut old = 0;
        // SAFETY: a slot of the table. Its new function does what the old one did.
        unsafe {
            REAL[number].store(slot.read(), Ordering::Relaxed);
            assert_ne!(VirtualProtect(slot.cast(), 8, READWRITE, &raw mut old), 0);
            slot.write_volatile(FUNCTIONS[number] as usize);
            VirtualProtect(slot.cast(), 8, old, &raw mut old);
        }
    }
}

/// The calls that this thread makes to functions of [`NAMES`] in `body`: the names of functions, each with the number of calls.
pub fn of<T>(body: impl FnOnce() -> T) -> Vec<(&'static str, u32)> {
    COUNTS.set([0; COUNTED]);
    let _ = body();
    let counts = COUNTS.get();
    let all = NAMES.iter().zip(counts).filter(|(_, count)| *count != 0);
    all.map(|(name, count)| (name.to_str().unwrap(), count)).collect()
}

//! The system unwinds the stack from the instruction of a site itself: through a function with a site, and through the function of a naked key.
//! (calls.rs tests panics through trampolines, crates/jumplabel-capi/tests/c/discarded.cc exceptions of C++ through sites.)

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use jumplabel::{RawKey, for_each_site, naked_key, static_branch_unlikely, static_key};
use jumplabel_testing::scenario::passes;

/// The system's structure `CONTEXT`, of which this test uses the stack pointer and the instruction pointer.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Context {
    flags: [u64; 19],
    stack: u64,
    registers: [u64; 11],
    instruction: u64,
    others: [u64; 122],
}

#[repr(C)]
struct Pointers {
    record: *const c_void,
    context: *mut Context,
}

type Handler = extern "system" fn(*const Pointers) -> i32;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn AddVectoredExceptionHandler(first: u32, handler: Handler) -> *const c_void;
    fn RtlLookupFunctionEntry(instruction: u64, base: *mut u64, table: *mut c_void) -> *const [u32; 3];
    fn RtlVirtualUnwind(
        kind: u32,
        base: u64,
        instruction: u64,
        function: *const [u32; 3],
        context: *mut Context,
        data: *mut *mut c_void,
        frame: *mut u64,
        pointers: *mut c_void,
    ) -> *const c_void;
    fn VirtualProtect(address: *mut c_void, bytes: usize, protection: u32, old: *mut u32) -> i32;
}

static_key! { static KEY: false; }
naked_key! { static NAKED: false; }

/// This function has a frame, because it calls a function and goes on after that.
#[inline(never)]
fn checks(at: &mut [u8; 64]) -> [bool; 2] {
    std::hint::black_box(&mut *at);
    let result = [static_branch_unlikely!(KEY), NAKED.get()];
    std::hint::black_box(at);
    result
}

#[inline(never)]
fn outer() -> [bool; 2] {
    let mut at = [0; 64];
    let result = checks(&mut at);
    std::hint::black_box(&at);
    result
}

/// The entry for the function at `instruction` in the module's table of functions. `None` for a function that does not change the stack.
fn function(instruction: u64) -> Option<(u64, *const [u32; 3])> {
    let mut base = 0;
    // SAFETY: `RtlLookupFunctionEntry` fills a local variable.
    let found = unsafe { RtlLookupFunctionEntry(instruction, &raw mut base, std::ptr::null_mut()) };
    (!found.is_null()).then_some((base, found))
}

/// The address of the breakpoint, and the byte that was there before.
static AT: AtomicUsize = AtomicUsize::new(0);
static BYTE: AtomicUsize = AtomicUsize::new(0);
/// The number of the frame in which `outer` was found; the breakpoint's caller is number 1.
static FOUND: AtomicUsize = AtomicUsize::new(0);

fn write(address: usize, byte: u8) -> u8 {
    let mut old = 0;
    // SAFETY: the address is in code of this test, which no other thread runs.
    unsafe {
        assert_ne!(VirtualProtect(address as *mut c_void, 1, 0x40, &raw mut old), 0);
        let was = (address as *const u8).read_volatile();
        (address as *mut u8).write_volatile(byte);
        assert_ne!(VirtualProtect(address as *mut c_void, 1, old, &raw mut old), 0);
        was
    }
}

extern "system" fn breakpoint(pointers: *const Pointers) -> i32 {
    const GO_ON: i32 = -1;
    const SEARCH: i32 = 0;
    // SAFETY: the system passes pointers that are valid during the call.
    let mut context = unsafe { *(*pointers).context };
    let at = AT.load(Ordering::Relaxed);
    if context.instruction as usize != at {
        return SEARCH;
    }
    let goal = function(outer as *const () as u64).map(|(_, function)| function);
    for frame in 1..8 {
        let (mut data, mut established) = (std::ptr::null_mut(), 0);
        match function(context.instruction) {
            // SAFETY: the context is a copy, and `function` is the entry for its instruction.
            Some((base, function)) => unsafe {
                let (context, instruction) = (&raw mut context, context.instruction);
                let null = std::ptr::null_mut();
                RtlVirtualUnwind(0, base, instruction, function, context, &raw mut data, &raw mut established, null);
            },
            None => {
                // SAFETY: a function without an entry has left the stack as it was, so its caller's address is on top.
                context.instruction = unsafe { *(context.stack as *const u64) };
                context.stack += 8;
            }
        }
        // The return address may be the first one after a function's end, so the address before it is looked up.
        if function(context.instruction - 1).map(|(_, function)| function) == goal {
            FOUND.store(frame, Ordering::Relaxed);
            break;
        }
    }
    write(at, BYTE.load(Ordering::Relaxed) as u8);
    GO_ON
}

#[test]
fn from_the_instruction_of_a_site() {
    passes(|| {
        // SAFETY: the handler is a function of the right type.
        assert!(!unsafe { AddVectoredExceptionHandler(1, breakpoint) }.is_null());
        for (key, frames, has_entry) in [(&KEY as &RawKey, 1, true), (NAKED.raw(), 2, false)] {
            for _ in 0..2 {
                let mut at = 0;
                for_each_site(key, |site| at = site.address).unwrap();
                assert_eq!(function(at as u64).is_some(), has_entry);
                AT.store(at, Ordering::Relaxed);
                FOUND.store(0, Ordering::Relaxed);
                BYTE.store(write(at, 0xcc).into(), Ordering::Relaxed);
                assert_eq!(outer(), [KEY.is_enabled(), NAKED.is_enabled()]);
                assert_eq!(FOUND.load(Ordering::Relaxed), frames);
                key.enable().unwrap();
            }
        }
    });
}

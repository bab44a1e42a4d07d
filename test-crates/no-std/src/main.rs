//! A program without std: keys that are flipped while another thread checks them, with each writer.
//!
//! It needs the C library, which starts it and which the platform calls, and a panic handler. It has no allocator.
#![no_std]
#![no_main]

#[cfg_attr(unix, path = "linux.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod system;

use core::ffi::{c_char, c_int};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use jumplabel::{
    Batch, Error, RawKey, Visibility, WriterKind, find_key, for_each_key, naked_key, prepare, set_all, set_writer,
    static_branch_likely, static_branch_unlikely, static_key,
};

static_key! {
    static TRACE: false;
    static VERIFY: true;
    static MANY: [false; 100];
}
naked_key! { static ROUTE: false; }

unsafe extern "C" {
    fn puts(text: *const c_char) -> c_int;
    fn abort() -> !;
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let mut line = [0u8; 8];
    let mut number = info.location().map_or(0, |location| location.line());
    for digit in line[..6].iter_mut().rev() {
        (*digit, number) = (b'0' + (number % 10) as u8, number / 10);
    }
    // SAFETY: text that ends with a zero.
    unsafe {
        puts(c"panicked in line".as_ptr());
        puts(line.as_ptr().cast());
        abort()
    }
}

/// What the compiled `core` names and nobody calls: panics abort.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

/// Tells the thread to end.
static DONE: AtomicBool = AtomicBool::new(false);
/// How often the thread has found the key as it was not the last time.
static CHANGES: AtomicU32 = AtomicU32::new(0);

#[inline(never)]
fn check() -> bool {
    static_branch_unlikely!(TRACE)
}

fn reader() {
    let mut last = check();
    while !DONE.load(Relaxed) {
        let now = check();
        if now != last {
            CHANGES.fetch_add(1, Relaxed);
            last = now;
        }
    }
}

/// Flips with one writer until the thread has seen it 20 times.
fn flips(writer: WriterKind) {
    set_writer(Some(writer));
    let seen = CHANGES.load(Relaxed);
    while CHANGES.load(Relaxed) < seen + 20 {
        let on = !TRACE.is_enabled();
        let outcome = if on { TRACE.enable() } else { TRACE.disable() };
        let outcome = outcome.unwrap();
        assert!(check() == on && outcome.sites == 1 && outcome.writer == Some(writer));
        assert!(outcome.visibility == Visibility::Immediate);
        system::yield_now();
    }
    set_writer(None);
}

#[unsafe(no_mangle)]
extern "C" fn main(_: c_int, _: *const *const c_char) -> c_int {
    prepare().unwrap();
    let thread = system::start();
    system::WRITERS.iter().copied().for_each(flips);
    DONE.store(true, Relaxed);
    system::join(thread);

    Batch::new().disable(&VERIFY).enable(&ROUTE).commit().unwrap();
    assert!(!static_branch_likely!(VERIFY) && ROUTE.get());
    set_all(MANY.iter().map(|key| (key.raw(), true))).unwrap();
    assert!(static_branch_unlikely!(MANY[99]) && MANY.iter().all(|key| key.is_enabled()));
    ROUTE.seal().unwrap();
    assert!(ROUTE.disable() == Err(Error::Sealed));

    let found = find_key("no_std::MANY[7]").unwrap();
    assert!(core::ptr::eq::<RawKey>(found.key, MANY[7].raw()));
    let mut keys = 0;
    for_each_key(|_| keys += 1).unwrap();
    assert!(keys == 103);

    VERIFY.enable().unwrap();
    system::child();
    assert!(static_branch_likely!(VERIFY));
    // SAFETY: text that ends with a zero.
    unsafe { puts(c"ok".as_ptr()) };
    0
}

//! A program without std: keys that are flipped while another thread checks them, with each writer.
//!
//! It needs the C library, which starts it and which the platform calls, and a panic handler. It has no allocator.
#![no_std]
#![no_main]

use core::ffi::{c_char, c_int, c_void};
use core::ptr::{null, null_mut};
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

#[link(name = "c")]
unsafe extern "C" {
    fn puts(text: *const c_char) -> c_int;
    fn abort() -> !;
    fn fork() -> c_int;
    fn _exit(status: c_int) -> !;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn sched_yield() -> c_int;
    fn pthread_create(
        thread: *mut usize,
        attributes: *const c_void,
        body: extern "C" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
    ) -> c_int;
    fn pthread_join(thread: usize, result: *mut *mut c_void) -> c_int;
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

extern "C" fn reader(_: *mut c_void) -> *mut c_void {
    let mut last = check();
    while !DONE.load(Relaxed) {
        let now = check();
        if now != last {
            CHANGES.fetch_add(1, Relaxed);
            last = now;
        }
    }
    null_mut()
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
        // SAFETY: no conditions.
        unsafe { sched_yield() };
    }
    set_writer(None);
}

#[unsafe(no_mangle)]
extern "C" fn main(_: c_int, _: *const *const c_char) -> c_int {
    prepare().unwrap();
    let mut thread = 0;
    // SAFETY: a place for the thread's name, and a function of the right type.
    unsafe { assert!(pthread_create(&raw mut thread, null(), reader, null_mut()) == 0) };
    [WriterKind::Procmem, WriterKind::Mprotect, WriterKind::Remap].into_iter().for_each(flips);
    DONE.store(true, Relaxed);
    // SAFETY: the thread from above.
    unsafe { assert!(pthread_join(thread, null_mut()) == 0) };

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

    // A child is no part of what the parent does, and flips on its own.
    VERIFY.enable().unwrap();
    let mut status = 0;
    // SAFETY: the only thread.
    unsafe {
        let child = fork();
        if child == 0 {
            VERIFY.disable().unwrap();
            _exit(if static_branch_likely!(VERIFY) { 1 } else { 42 });
        }
        assert!(waitpid(child, &raw mut status, 0) == child && status == 42 << 8);
        assert!(static_branch_likely!(VERIFY));
        puts(c"ok".as_ptr());
    }
    0
}

//! A kernel in miniature: no std, no libc, its own start, its own [`Machine`](jumplabel_kernel::Machine). It runs as a Linux
//! process, so that it can be tested; its system calls stand for page tables.
//!
//! ```text
//!   _start ─► constructors (.init_array: jumplabel registers the object)
//!          ─► a flip: NoPlatform, nothing changed
//!          ─► Kernel::start ─► flips, batches, listings ─► Kernel::end ─► a flip: NoWriter, nothing changed ─► "ok"
//! ```
#![no_std]
#![no_main]

mod machine;
mod system;

use jumplabel::{
    Batch, Error, WriterKind, for_each_key, for_each_site, naked_key, restore_pristine, static_branch_likely,
    static_branch_unlikely, static_key, text_reserved,
};

static_key! {
    static TRACE: false;
    static VERIFY: true;
    static HOOKS: [false; 3];
}

naked_key! { static ROUTE: false; }

#[inline(never)]
fn check() -> [bool; 4] {
    [
        static_branch_unlikely!(TRACE),
        static_branch_likely!(TRACE),
        static_branch_unlikely!(VERIFY),
        static_branch_likely!(HOOKS[2]),
    ]
}

/// What a kernel's start-up code must do for the library: run the constructors.
fn constructors() {
    unsafe extern "C" {
        static __init_array_start: [extern "C" fn(); 0];
        static __init_array_end: [extern "C" fn(); 0];
    }
    let (start, end) = ((&raw const __init_array_start) as usize, (&raw const __init_array_end) as usize);
    for at in (start..end).step_by(size_of::<usize>()) {
        // SAFETY: the linker's list of constructors.
        unsafe { (*(at as *const extern "C" fn()))() };
    }
}

fn run() -> Result<(), Error> {
    // Nothing to write code with: refused, and nothing has changed.
    assert!(TRACE.enable() == Err(Error::NoPlatform));
    assert!(ROUTE.enable() == Err(Error::NoPlatform) && !ROUTE.get());
    assert!(Batch::new().disable(&VERIFY).enable(&HOOKS[2]).commit() == Err(Error::NoPlatform));
    assert!(check() == [false, false, true, false] && TRACE.count() == 0 && VERIFY.count() == 1);

    machine::start();
    for _ in 0..3 {
        let outcome = TRACE.enable()?;
        assert!(outcome.sites == 2 && outcome.writer == Some(WriterKind::Custom));
        assert!(check() == [true, true, true, false]);
        Batch::new().disable(&TRACE).disable(&VERIFY).enable(&HOOKS[2]).commit()?;
        assert!(check() == [false, false, false, true]);
        Batch::new().enable(&VERIFY).disable(&HOOKS[2]).commit()?;
        assert!(check() == [false, false, true, false]);
    }
    for on in [true, false, true] {
        let outcome = Batch::new().set(&ROUTE, on).commit()?;
        assert!(outcome.sites == 1 && outcome.primed == 0 && ROUTE.get() == on);
    }
    restore_pristine(&TRACE)?;
    assert!(check() == [false, false, true, false]);

    let mut keys = 0;
    for_each_key(|key| keys += usize::from(key.name.starts_with("kernel::")))?;
    assert!(keys == 6);
    let mut first = 0;
    let count = for_each_site(&VERIFY, |site| {
        first = site.address;
        assert!(VERIFY.disable().is_ok() && VERIFY.enable().is_ok());
    })?;
    assert!(count == 1 && text_reserved(first..first + 1)? && !text_reserved(0..4096)?);
    assert!(machine::pages_left_writable() == 0);

    // One that lets nothing be written: refused, and nothing has changed.
    machine::refuse(true);
    assert!(matches!(TRACE.enable(), Err(Error::Denied { .. })));
    assert!(check() == [false, false, true, false] && !TRACE.is_enabled());
    machine::refuse(false);
    TRACE.enable()?;
    assert!(check() == [true, true, true, false]);

    machine::end();
    assert!(TRACE.disable() == Err(Error::NoWriter) && TRACE.is_enabled());
    assert!(check() == [true, true, true, false]);
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    // SAFETY: the kernel enters with an aligned stack, a call needs it 8 bytes off.
    unsafe { core::arch::asm!("and rsp, -16", "call {main}", main = sym main, options(noreturn)) }
}

extern "C" fn main() -> ! {
    constructors();
    match run() {
        Ok(()) => system::print("ok\n"),
        Err(_) => panic!(),
    }
    system::exit(0)
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    use core::fmt::Write as _;
    let _ = writeln!(system::Console, "{info}");
    system::exit(101)
}

//! Functions that differ in one check: work, the check, work. What it guards is never inline.
#![no_std]
#![no_main]

use core::arch::asm;
use core::sync::atomic::{AtomicBool, Ordering};

use jumplabel::{naked_key, static_branch_unlikely, static_key};

static_key! { static SITE: false; }
naked_key! { static NAKED: false; }
static FLAG: AtomicBool = AtomicBool::new(false);

macro_rules! work {
    ($($name:ident)*) => { $(
        #[inline(never)]
        #[unsafe(no_mangle)]
        extern "C" fn $name() {
            // SAFETY: no instruction; the call stays.
            unsafe { asm!("", options(nostack)) };
        }
    )* };
}

work! { before after }

#[cold]
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn guarded() {
    // SAFETY: as above.
    unsafe { asm!("", options(nostack)) };
}

macro_rules! checks {
    ($($name:ident $check:expr;)*) => {
        $(
            #[inline(never)]
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> u64 {
                before();
                if $check {
                    guarded();
                }
                after();
                1
            }
        )*

        #[unsafe(no_mangle)]
        extern "C" fn _start() -> u64 {
            FLAG.store(true, Ordering::Relaxed);
            0 $(+ $name())*
        }
    };
}

checks! {
    constant false;
    naked NAKED.get();
    site static_branch_unlikely!(SITE);
    // SAFETY: one thread.
    plain unsafe { FLAG.as_ptr().read_volatile() };
    relaxed FLAG.load(Ordering::Relaxed);
    acquire FLAG.load(Ordering::Acquire);
    seq_cst FLAG.load(Ordering::SeqCst);
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

//! A kernel without firmware, of 64 or 32 bits, on four harts that all run from reset, with stacks of 4 KiB. The timer and other harts share one
//! interrupt. Text is not writable anywhere: each write maps its page a second time. An existing kernel gives its functions to the library, and
//! answers, in the same way: see docs/kernels.md.
//!
//! ```text
//!   hart      the number of harts, and of the hart that runs
//!   boot      reset, machine mode: forwards the timer and requests of other harts as one interrupt
//!   trap      the handler of that interrupt, and which parts of it may have sites
//!   lock      spinlocks; harts wait for them with interrupts off
//!   stacks    stacks of 4 KiB
//!   window    tables of pages; the second mapping, through which text is written
//!   machine   the functions that the library needs
//!   flips     four harts flip, and run through sites
//!   portable  32 bits: tests that others run elsewhere, and the stack that flips take
//! ```
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

mod boot;
mod flips;
mod hart;
mod lock;
mod machine;
#[cfg(target_arch = "riscv32")]
mod portable;
mod stacks;
mod trap;
mod window;

struct Console;

impl core::fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        // SAFETY: this is the UART's data register, which is mapped.
        text.bytes().for_each(|byte| unsafe { (0x1000_0000 as *mut u8).write_volatile(byte) });
        Ok(())
    }
}

/// Prints a line.
macro_rules! say {
    ($($text:tt)*) => {{
        let _ = core::fmt::Write::write_fmt(&mut $crate::Console, format_args!("{}\n", format_args!($($text)*)));
    }};
}
use say;

/// Runs in supervisor mode, on each hart. It runs no site before `online`.
extern "C" fn supervisor_mode() -> ! {
    window::map();
    trap::on();
    if hart::number() == 0 {
        match flips::run() {
            Ok(()) => say!("ok"),
            Err(error) => panic!("{error:?}: {error}"),
        }
        exit(0x5555);
    }
    flips::on_other_hart();
    loop {
        core::hint::spin_loop();
    }
}

/// Ends QEMU, through the test device.
fn exit(word: u32) -> ! {
    loop {
        // SAFETY: this is the test device's register, which is mapped.
        unsafe { (0x10_0000 as *mut u32).write_volatile(word) };
    }
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    static PANICS: AtomicBool = AtomicBool::new(false);
    while PANICS.swap(true, Relaxed) {} // The first hart that panics prints why; all others stop here.
    say!("{info}");
    exit(0x1_3333)
}

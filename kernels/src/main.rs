//! A kernel that flips keys. All machines share this source, except for `arch`.
//!
//! ```text
//!   start ─► first ─► bad::before_start ─► start ─► early flips ─► text is read-only ─► flips ─► the other CPU, in mid-flip
//!         └► other ─► online, with a flip from its notifier ─► runs through sites while the first one flips
//!                     ─► bad states ─► exit with 0, or with 1 by a panic
//! ```
#![no_std]
#![no_main]

#[cfg_attr(target_arch = "aarch64", path = "arch/aarch64/mod.rs")]
#[cfg_attr(target_arch = "arm", path = "arch/arm/mod.rs")]
#[cfg_attr(target_arch = "riscv64", path = "arch/riscv64/mod.rs")]
#[cfg_attr(any(target_arch = "x86", target_arch = "x86_64"), path = "arch/pc/mod.rs")]
mod arch;
mod bad;
mod cache;
mod checks;
mod conformance;
mod machine;
mod memory;
mod modules;
mod operations;
mod stack;
mod two;
mod unit;

use jumplabel::Error;

struct Console;

impl core::fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        text.bytes().for_each(arch::put);
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

fn run() -> Result<(), Error> {
    bad::before_start();
    if bad::start()? {
        return Ok(()); // This kernel was built with a table without bounds.
    }
    checks::run()?;
    operations::run()?;
    say!("early: flips, operations");

    stack::run("on one CPU");
    arch::map();
    bad::store_to_text();
    checks::run()?;
    checks::calls()?;
    operations::run()?;
    say!("text is read-only: flips, static calls, operations");

    checks::free_init()?;
    say!("init text is freed: its sites are skipped");

    unit::run()?;
    cache::alone()?;
    two::run()?;
    cache::together();
    say!("cache loops on both CPUs");
    bad::run()?;
    Ok(())
}

/// The first CPU runs this. `arch` uses only this function and those below.
fn first() -> ! {
    match run() {
        Ok(()) => say!("ok"),
        Err(error) => panic!("{error}"),
    }
    arch::exit(0)
}

/// The other CPU runs this.
fn other() -> ! {
    two::on_other_cpu();
    loop {
        arch::wait();
    }
}

/// Handles an interrupt from the other CPU.
fn interrupted() {
    machine::answer();
}

/// Handles a fault.
fn faulted() {
    bad::in_handler();
}

/// True if the fault is a store to text that the test has made on purpose.
fn stored_to_text() -> bool {
    bad::takes_fault()
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    say!("{info}");
    arch::exit(1)
}

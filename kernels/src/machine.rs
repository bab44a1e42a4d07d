//! The functions that this kernel gives to the library.

use core::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{Relaxed, SeqCst},
};
use core::time::Duration;

use jumplabel::Refusal;
use jumplabel::platform::Platform;
use jumplabel_kernel::{Bounds, Kernel, Machine};

use crate::arch;

pub struct Here;

/// The number of times that each CPU has serialised. A test can only count this: no emulator goes on running an instruction that has been changed.
static SERIALISED: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

pub fn serialised(cpu: usize) -> u32 {
    SERIALISED[cpu].load(Relaxed)
}

/// The first count is how often a CPU has relaxed while it waited for the other one. The second is how often a CPU has asked for the time, which a
/// CPU that flips does in each turn of its wait.
static RELAXED: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

/// The counts of `RELAXED`.
pub fn relaxed() -> [u32; 2] {
    RELAXED.each_ref().map(|count| count.load(Relaxed))
}

/// True while a CPU is in its handler and answers. The CPU runs no site then.
static STANDS: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];

/// Answers the other CPU, which has interrupted this one.
pub fn answer() {
    let stands = &STANDS[arch::cpu()];
    stands.store(true, SeqCst);
    KERNEL.answer();
    stands.store(false, SeqCst);
}

/// Waits until `done` is true, with interrupts on.
pub fn until(done: impl Fn() -> bool) {
    while !done() {
        core::hint::spin_loop();
    }
}

/// The number of writes to code while the other CPU stood still, and while it did not.
static WRITTEN: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

pub fn written() -> [u32; 2] {
    WRITTEN.each_ref().map(|count| count.load(Relaxed))
}

/// True while a rendezvous is given up after 100 ms.
static IMPATIENT: AtomicBool = AtomicBool::new(false);

/// Does `work`. Meanwhile, a rendezvous is given up after 100 ms.
pub fn impatiently<T>(work: impl FnOnce() -> T) -> T {
    IMPATIENT.store(true, Relaxed);
    let done = work();
    IMPATIENT.store(false, Relaxed);
    done
}

// SAFETY: each function of `arch` keeps the conditions of `Machine`. The CPUs have the numbers 0 and 1.
unsafe impl Machine for Here {
    fn cpu(&self) -> usize {
        arch::cpu()
    }

    fn interrupts_off(&self) -> u64 {
        arch::interrupts_off()
    }

    fn restore(&self, interrupts: u64) {
        arch::restore(interrupts);
    }

    fn interrupt(&self, cpu: usize) {
        arch::interrupt(cpu);
    }

    fn wait(&self) {
        arch::wait();
    }

    fn relax(&self) {
        RELAXED[0].fetch_add(1, Relaxed);
        core::hint::spin_loop();
    }

    fn serialise(&self) {
        arch::serialise();
        SERIALISED[arch::cpu()].fetch_add(1, Relaxed);
    }

    fn map(&self, address: usize) -> Result<usize, Refusal> {
        Ok(arch::alias(address))
    }

    fn clean(&self, address: usize, alias: usize, bytes: usize) {
        arch::clean(address, alias, bytes);
        let [still, moving] = &WRITTEN;
        let stands = STANDS[1 - arch::cpu()].load(SeqCst);
        if stands { still } else { moving }.fetch_add(1, Relaxed);
    }

    fn now(&self) -> Duration {
        RELAXED[1].fetch_add(1, Relaxed);
        Duration::from_nanos(arch::nanoseconds())
    }

    fn patience(&self) -> Duration {
        // A busy host may give an emulated CPU no time for seconds. Only a CPU that does not answer on purpose may be given up.
        Duration::from_millis(if IMPATIENT.load(Relaxed) { 100 } else { 100_000 })
    }
}

/// The platform, for two CPUs, with 32 pages of memory.
pub static KERNEL: Kernel<Here, 2, 32> = Kernel::new(Here);
pub static PLATFORM: &dyn Platform = &KERNEL;

/// The kernel's bounds, from the linker's script.
pub fn bounds() -> Bounds {
    unsafe extern "C" {
        static __text: u8;
        static __text_end: u8;
        static __end: u8;
    }
    let [text, text_end, end] = [&raw const __text, &raw const __text_end, &raw const __end].map(|at| at as usize);
    Bounds { code: text..text_end, all: text..end }
}

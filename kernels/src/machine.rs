//! What this kernel gives to the library.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use core::time::Duration;

use jumplabel::Errno;
use jumplabel::text::Text;
use jumplabel_kernel::{Bounds, Kernel, Machine};

use crate::arch;

pub struct Here;

/// How often each CPU has serialised: no emulator shows an instruction that a CPU had fetched before.
static SERIALISED: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

pub fn serialised(cpu: usize) -> u32 {
    SERIALISED[cpu].load(Relaxed)
}

// SAFETY: `arch` does what is said there; CPUs have the numbers 0 and 1.
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

    fn serialise(&self) {
        arch::serialise();
        SERIALISED[arch::cpu()].fetch_add(1, Relaxed);
    }

    fn map(&self, address: usize) -> Result<usize, Errno> {
        Ok(arch::alias(address))
    }

    fn clean(&self, address: usize, alias: usize, bytes: usize) {
        arch::clean(address, alias, bytes);
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(arch::nanoseconds())
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(1)
    }
}

/// The platform: two CPUs, eight pages.
pub static KERNEL: Kernel<Here, 2, 8> = Kernel::new(Here);
pub static TEXT: &dyn Text = &KERNEL;

/// Where the kernel lies, by the linker's script.
pub fn bounds() -> Bounds {
    unsafe extern "C" {
        static __text: u8;
        static __text_end: u8;
        static __end: u8;
    }
    let [text, text_end, end] = [&raw const __text, &raw const __text_end, &raw const __end].map(|at| at as usize);
    Bounds { code: text..text_end, all: text..end }
}

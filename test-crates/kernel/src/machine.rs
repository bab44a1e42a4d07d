//! What this kernel gives: the [`Machine`]. It has one processor and no interrupts, and `mprotect` in place of page tables: a page of text
//! is writable while something is written there.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;

use jumplabel::Refusal;
use jumplabel::platform::Platform;
use jumplabel_kernel::{Kernel, Machine};

use crate::system;

const PAGE: usize = 4096;

struct Own {
    refuses: AtomicBool,
    open_pages: AtomicUsize,
}

static KERNEL: Kernel<Own, 1, 8> =
    Kernel::new(Own { refuses: AtomicBool::new(false), open_pages: AtomicUsize::new(0) });
static PLATFORM: &dyn Platform = &KERNEL;

/// What a kernel does before its first flip.
pub fn start() {
    // SAFETY: nobody flips; the bounds are the linker's.
    unsafe { KERNEL.start(&PLATFORM, &system::bounds()) }.unwrap();
}

/// What it does before it ends: nothing can be written any more.
pub fn end() {
    KERNEL.end();
}

pub fn refuse(yes: bool) {
    KERNEL.machine().refuses.store(yes, Ordering::Relaxed);
}

pub fn pages_left_writable() -> usize {
    KERNEL.machine().open_pages.load(Ordering::Relaxed)
}

// SAFETY: one processor, without interrupts. A page is writable from `map` to `unmap`.
unsafe impl Machine for Own {
    fn cpu(&self) -> usize {
        0
    }

    fn interrupts_off(&self) -> u64 {
        0
    }

    fn restore(&self, _: u64) {}

    fn interrupt(&self, cpu: usize) {
        panic!("there is no processor {cpu}");
    }

    fn serialise(&self) {
        core::arch::x86_64::__cpuid(0); // Serialises.
    }

    fn map(&self, address: usize) -> Result<usize, Refusal> {
        const REFUSED: Refusal = Refusal::errno(1);
        let page = address & !(PAGE - 1);
        // SAFETY: a page with a site.
        let opened =
            !self.refuses.load(Ordering::Relaxed) && unsafe { system::protect(page, PAGE, system::READ_WRITE_EXECUTE) };
        if !opened {
            return Err(REFUSED);
        }
        self.open_pages.fetch_add(1, Ordering::Relaxed);
        Ok(address)
    }

    fn unmap(&self, alias: usize) {
        // SAFETY: a page that `map` has opened.
        assert!(unsafe { system::protect(alias & !(PAGE - 1), PAGE, system::READ_EXECUTE) });
        self.open_pages.fetch_sub(1, Ordering::Relaxed);
    }

    fn now(&self) -> Duration {
        // SAFETY: every x86-64 has it.
        Duration::from_nanos(unsafe { core::arch::x86_64::_rdtsc() })
    }
}

//! The functions that this kernel gives to the library.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use core::time::Duration;

use jumplabel::platform::Platform;
use jumplabel::{Error, Refusal};
use jumplabel_kernel::riscv::{self, Window};
use jumplabel_kernel::{Bounds, Kernel, Machine};

use crate::hart::{self, HARTS};
use crate::window;

pub struct Here;

/// Both numbers are 0, because this kernel runs at its physical addresses.
const WINDOW: Window = Window::new(0, 0);

// SAFETY: each function does what its description in `Machine` says. Each hart has a number of its own, below `HARTS`.
unsafe impl Machine for Here {
    fn cpu(&self) -> usize {
        hart::number()
    }

    fn interrupts_off(&self) -> u64 {
        riscv::interrupts_off()
    }

    fn restore(&self, interrupts: u64) {
        riscv::restore(interrupts);
    }

    fn interrupt(&self, hart: usize) {
        riscv::clint(hart);
    }

    fn wait(&self) {
        riscv::wait();
    }

    fn serialise(&self) {
        riscv::serialise();
    }

    /// Hart 0 uses this kernel's own window, and the other harts use the library's, so that both are tested.
    fn map(&self, address: usize) -> Result<usize, Refusal> {
        if REFUSES.load(SeqCst) {
            return Err(Refusal::errno(13)); // EACCES
        }
        if hart::number() == 0 { Ok(window::open(address)) } else { WINDOW.open(address) }
    }

    fn unmap(&self, alias: usize) {
        if hart::number() == 0 { window::close(alias) } else { WINDOW.close(alias) }
    }

    fn clean(&self, _address: usize, _alias: usize, _bytes: usize) {
        if ONE_FLIPS.load(SeqCst) {
            let moving = ONLINE.load(SeqCst) - 1 - STANDING.load(SeqCst);
            assert!(moving == 0, "a write while {moving} harts ran");
        }
    }

    fn now(&self) -> Duration {
        riscv::now()
    }

    fn patience(&self) -> Duration {
        // A busy host may give an emulated hart no time for seconds. The broken twin, which is impatient, gives up too early.
        Duration::from_secs(if option_env!("KERNEL_IMPATIENT").is_some() { 1 } else { 100 })
    }
}

/// True while this kernel refuses to write text.
pub static REFUSES: AtomicBool = AtomicBool::new(false);

/// The platform, for four harts, with eight pages of memory.
pub static KERNEL: Kernel<Here, HARTS, 8> = Kernel::new(Here);
static PLATFORM: &dyn Platform = &KERNEL;

/// Starts the platform, on the boot hart, before another hart may run.
pub fn start() -> Result<(), Error> {
    // SAFETY: the bounds are the kernel's. Other harts run no site before they call `come`.
    unsafe { KERNEL.start(&PLATFORM, &bounds()) }?;
    IS_ONLINE[hart::number()].store(true, SeqCst);
    Ok(())
}

/// Goes online, on each other hart, before its first site.
pub fn come() -> Result<(), Error> {
    KERNEL.online(|_| {
        ONLINE.fetch_add(1, SeqCst);
    })?;
    IS_ONLINE[hart::number()].store(true, SeqCst);
    Ok(())
}

/// The number of harts that are online. `IS_ONLINE` is true for each of them.
pub static ONLINE: AtomicU32 = AtomicU32::new(1);
static IS_ONLINE: [AtomicBool; HARTS] = [const { AtomicBool::new(false) }; HARTS];

/// True if this hart is online. The first ticks of its timer come earlier.
pub fn is_online() -> bool {
    IS_ONLINE[hart::number()].load(SeqCst)
}

/// The number of harts in [`answer`], where they run no site. (A hart that waits for the library's own lock is not counted.)
static STANDING: AtomicU32 = AtomicU32::new(0);

/// True while only hart 0 flips. Later, harts wait for the library's own lock, and `STANDING` does not count them.
pub static ONE_FLIPS: AtomicBool = AtomicBool::new(true);

pub fn answer() {
    STANDING.fetch_add(1, SeqCst);
    KERNEL.answer();
    STANDING.fetch_sub(1, SeqCst);
}

/// The kernel's bounds, from the linker's script.
fn bounds() -> Bounds {
    unsafe extern "C" {
        static __text: u8;
        static __text_end: u8;
        static __end: u8;
    }
    let [text, text_end, end] = [&raw const __text, &raw const __text_end, &raw const __end].map(|at| at as usize);
    Bounds { code: text..text_end, all: text..end }
}

//! The functions that this kernel gives to the library: the glue.

use core::arch::asm;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use core::time::Duration;

use jumplabel::platform::Platform;
use jumplabel::{Error, Refusal};
use jumplabel_kernel::{Bounds, Kernel, Machine};

use crate::hart::{self, HARTS};
use crate::{boot, window};

pub struct Here;

// SAFETY: each function does what its name says.
unsafe impl Machine for Here {
    fn cpu(&self) -> usize {
        hart::number()
    }

    fn interrupts_off(&self) -> u64 {
        let status: u64;
        // SAFETY: it turns interrupts off, and the caller turns them on again.
        unsafe { asm!("csrrci {}, sstatus, 2", out(reg) status, options(nostack)) };
        status & 2
    }

    fn restore(&self, interrupts: u64) {
        // SAFETY: it turns interrupts on if they were on before.
        unsafe { asm!("csrs sstatus, {}", in(reg) interrupts, options(nostack)) };
    }

    fn interrupt(&self, hart: usize) {
        boot::request(hart);
    }

    /// A tick also ends the wait. The tick's flag stays, so the next interrupt counts it.
    fn wait(&self) {
        // SAFETY: it waits for an interrupt and then clears it. The caller looks for an order afterwards.
        unsafe { asm!("wfi", "csrci sip, 2", options(nostack)) };
    }

    fn serialise(&self) {
        // SAFETY: fences change no memory.
        unsafe { asm!("fence rw, rw", "fence.i", options(nostack)) };
    }

    fn map(&self, address: usize) -> Result<usize, Refusal> {
        Ok(window::open(address))
    }

    fn unmap(&self, alias: usize) {
        window::close(alias);
    }

    fn clean(&self, _address: usize, _alias: usize, _bytes: usize) {
        if ONE_FLIPS.load(SeqCst) {
            let moving = ONLINE.load(SeqCst) - 1 - STANDING.load(SeqCst);
            assert!(moving == 0, "a write while {moving} harts ran");
        }
    }

    fn now(&self) -> Duration {
        let ticks: u64;
        // SAFETY: it reads a counter of 10 MHz, which machine mode has opened to supervisor mode.
        unsafe { asm!("rdtime {}", out(reg) ticks, options(nomem, nostack)) };
        Duration::from_nanos(ticks * 100)
    }

    fn patience(&self) -> Duration {
        // A busy host may give an emulated hart no time for seconds. The twin, which is impatient, waits in vain.
        Duration::from_secs(if option_env!("KERNEL_IMPATIENT").is_some() { 1 } else { 100 })
    }
}

/// The platform: four harts, eight pages.
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

/// How many harts are online. `IS_ONLINE` says it of each hart.
pub static ONLINE: AtomicU32 = AtomicU32::new(1);
static IS_ONLINE: [AtomicBool; HARTS] = [const { AtomicBool::new(false) }; HARTS];

/// True if this hart is online. Its timer may come before that.
pub fn is_online() -> bool {
    IS_ONLINE[hart::number()].load(SeqCst)
}

/// How many harts are in [`answer`], where they run no site.
static STANDING: AtomicU32 = AtomicU32::new(0);

/// True while only one hart flips. When several flip, harts that wait for the library's own lock answer there, and `STANDING` does not count them.
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

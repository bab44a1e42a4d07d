//! A writer that refuses in the middle of a transaction: it carries out a number of writes, at any number of sites and steps, and refuses the next
//! one. The engine and the real writer below take back what was written.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use jumplabel::platform::{Platform, Write, Writer, builtin};
use jumplabel::{Refusal, set_platform};

use jumplabel_testing::twin::{Twin, platform};

/// The number of writes that are still carried out.
static LEFT: AtomicI64 = AtomicI64::new(i64::MAX);

/// Whether a write was refused, so that all later writes are the way back.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// The broken twin: writes are not taken back, although the engine asks for it.
pub static DROPS_UNDO: AtomicBool = AtomicBool::new(false);

static REFUSING: LazyLock<&'static &'static dyn Platform> = LazyLock::new(|| platform(Refusing));
static BUILTIN: LazyLock<&dyn Platform> = LazyLock::new(builtin);

/// Refuses after this many further writes.
pub fn after(writes: i64) {
    LEFT.store(writes, Ordering::Relaxed);
}

/// Calls `flip` with this writer in place. Nobody else may flip meanwhile.
pub fn during(flip: impl FnOnce()) {
    // SAFETY: nobody else flips. The platform keeps the contract, unless it is asked to break it.
    unsafe { set_platform(*REFUSING) };
    flip();
    // SAFETY: as above.
    unsafe { set_platform(&BUILTIN) };
}

struct Refusing;

impl Twin for Refusing {
    fn begin(&self) {
        REFUSED.store(false, Ordering::Relaxed);
    }

    fn write(&self, writer: &mut dyn Writer, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        if REFUSED.load(Ordering::Relaxed) {
            if DROPS_UNDO.load(Ordering::Relaxed) {
                return Ok(());
            }
            // SAFETY: passed on.
            return unsafe { writer.write(writes) };
        }
        let refused = writes.iter().position(|_| LEFT.fetch_sub(1, Ordering::Relaxed) <= 0);
        // SAFETY: a part of what was asked for.
        unsafe { writer.write(&writes[..refused.unwrap_or(writes.len())]) }?;
        REFUSED.store(refused.is_some(), Ordering::Relaxed);
        refused.map_or(Ok(()), |at| Err((at, Refusal::errno(libc::EPERM))))
    }
}

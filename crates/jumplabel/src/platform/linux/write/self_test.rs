//! The self-test of a writer, before it may touch anything else: it must make the one site of a function of our own jump and fall through
//! again, and the processor must notice.
//!
//! An emulator that caches translated code (qemu-user) lets `pwrite` to /proc/self/mem change the bytes and goes on running the old
//! ones. Such a writer is off for good. A writer that was merely refused is tried again at the next flip.
//!
//! If the emulator's addresses are not the system's, even the `pwrite` of the self-test would change other code. So the file must show the
//! bytes of that function first.

use core::sync::atomic::{AtomicU8, Ordering};

use super::{WriterKind, open, procmem, readable};
use crate::arch::asm::self_test;
use crate::arch::{Arch, Native, State};
use crate::error::Refusal;
use crate::platform::{Extent, Failure, Held, Write, Writer};

/// The writers that passed, a bit for each kind.
static PASSED: AtomicU8 = AtomicU8::new(0);
/// Those whose writes had no effect.
static FAILED: AtomicU8 = AtomicU8::new(0);

/// Has a writer pass the self-test, once.
#[inline(never)]
pub(crate) fn pass(kind: WriterKind, held: &mut Held) -> Result<(), Refusal> {
    let bit = 1 << kind as u8;
    if PASSED.load(Ordering::Relaxed) & bit != 0 {
        return Ok(());
    }
    if FAILED.load(Ordering::Relaxed) & bit != 0 {
        return Err(Refusal::NO_EFFECT);
    }
    let result = run(kind, held);
    let found = match result {
        Ok(()) => &PASSED,
        Err(Refusal::NO_EFFECT) => &FAILED,
        Err(_) => return result,
    };
    found.fetch_or(bit, Ordering::Relaxed);
    result
}

fn run(kind: WriterKind, held: &mut Held) -> Result<(), Refusal> {
    if !readable::can_read(self_test::site()) {
        return Err(rustix::io::Errno::FAULT.into());
    }
    if kind == WriterKind::Procmem {
        procmem::shows(self_test::site())?;
    }
    let mut result = Ok(());
    for (state, jumps) in [(State::JUMP, true), (State::NOP, false)] {
        // Back in any case, unless the way there is refused.
        if matches!(result, Ok(()) | Err(Refusal::NO_EFFECT)) {
            let obeys = || if self_test::jumps() == jumps { Ok(()) } else { Err(Refusal::NO_EFFECT) };
            result = result.and(write(kind, state, held).and_then(|()| obeys()));
        }
    }
    result
}

/// A writer that passed, and whose write had no effect nevertheless, has to pass again.
pub(super) fn doubt(kind: WriterKind, failure: Failure) {
    if let Failure::Refused(Refusal::NO_EFFECT) | Failure::Stuck { refusal: Refusal::NO_EFFECT, .. } = failure {
        PASSED.fetch_and(!(1 << kind as u8), Ordering::Relaxed);
    }
}

/// Brings the site to `state`, from whatever it holds: all of it at once, because no other thread runs it. For the same
/// reason a refused core sync does no harm here.
fn write(kind: WriterKind, state: State, held: &mut Held) -> Result<(), Refusal> {
    let first = self_test::site();
    let target = self_test::target() as u64;
    let displacement = Native::displacement(first as u64, target).ok_or(rustix::io::Errno::FAULT)?;
    let code = state.encode::<Native>(displacement);
    let extents = [Extent { first, end: first + code.len() }];
    let write = Write::short(first, code.eight(), code.len() as u8, Native::SINGLE_STORE);
    let mut body = |writer: &mut dyn Writer| put(&write, writer);
    // SAFETY: one site of ours, always mapped, run by nobody but this thread, under the lock.
    match unsafe { open(kind, &extents, held, &mut body) } {
        Ok(_) => Ok(()),
        Err(Failure::Refused(refusal) | Failure::Unsynced(refusal) | Failure::Stuck { refusal, .. }) => Err(refusal),
    }
}

/// What the closure above does. A closure that is called through a pointer may be in the program several times, with all that is inline
/// in it.
#[inline(never)]
fn put(write: &Write, writer: &mut dyn Writer) -> Result<(), Failure> {
    // SAFETY: a site of ours, in the extent.
    unsafe { writer.write(&[*write]) }.map_err(|(_, refusal)| Failure::Refused(refusal))?;
    let _ = writer.sync();
    Ok(())
}

//! The self-test that each writer must pass before it may write anything else. The library has a function with one site for this. The writer must
//! make that site jump, and then make it fall through again. The processor must notice both changes.
//!
//! An emulator that caches translated code (qemu-user) lets `pwrite` to /proc/self/mem change the bytes, but continues to run the old ones. A
//! writer without effect is never tried again. A writer that the system refused is tried again at the next flip.
//!
//! If the emulator's addresses differ from the system's, even the `pwrite` of the self-test would change other code. So before that `pwrite`,
//! the self-test checks that /proc/self/mem shows the bytes of the function.

use core::sync::atomic::{AtomicU8, Ordering};

use super::{WriterKind, open, procmem, readable};
use crate::arch::asm::self_test;
use crate::arch::{Arch, Native, State};
use crate::error::Refusal;
use crate::platform::{Extent, Failure, Held, Write, Writer};

/// The writers that have passed: one bit for each kind.
static PASSED: AtomicU8 = AtomicU8::new(0);
/// The writers that wrote without effect: one bit for each kind.
static FAILED: AtomicU8 = AtomicU8::new(0);

/// Tests a writer, unless it has been tested before. An error if the writer has not passed.
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
        // The second change restores the site. It is left out only if the system refused the first one.
        if matches!(result, Ok(()) | Err(Refusal::NO_EFFECT)) {
            let obeys = || if self_test::jumps() == jumps { Ok(()) } else { Err(Refusal::NO_EFFECT) };
            result = result.and(write(kind, state, held).and_then(|()| obeys()));
        }
    }
    result
}

/// Called after a failed flip. If a write had no effect although this writer has passed the self-test, the writer must pass again.
pub(super) fn doubt(kind: WriterKind, failure: Failure) {
    if let Failure::Refused(Refusal::NO_EFFECT) | Failure::Stuck { refusal: Refusal::NO_EFFECT, .. } = failure {
        PASSED.fetch_and(!(1 << kind as u8), Ordering::Relaxed);
    }
}

/// Sets the site of the self-test to `state`, whatever the site holds. Writes all its bytes at once, which is safe because no other thread runs the
/// site. For the same reason, a refused core sync does no harm here.
#[inline(never)] // Inlined, the program would contain it once for each of the two states.
fn write(kind: WriterKind, state: State, held: &mut Held) -> Result<(), Refusal> {
    let first = self_test::site();
    let target = self_test::target() as u64;
    let displacement = Native::displacement(first as u64, target).ok_or(rustix::io::Errno::FAULT)?;
    let code = state.encode::<Native>(displacement);
    let extents = [Extent { first, end: first + code.len() }];
    let write = Write::short(first, code.eight(), code.len() as u8, Native::SINGLE_STORE);
    let mut body = |writer: &mut dyn Writer| put(&write, writer);
    // SAFETY: the site belongs to the library, and is always mapped. Only this thread runs it, because the lock is held.
    match unsafe { open(kind, &extents, held, &mut body) } {
        Ok(_) => Ok(()),
        Err(Failure::Refused(refusal) | Failure::Unsynced(refusal) | Failure::Stuck { refusal, .. }) => Err(refusal),
    }
}

/// The body of the closure above. It is a function of its own, because the closure is called through a pointer, and the compiler can emit such a
/// closure several times, each time with all the code that is inlined into it.
#[inline(never)]
fn put(write: &Write, writer: &mut dyn Writer) -> Result<(), Failure> {
    // SAFETY: the site belongs to the library, and lies in the extent.
    unsafe { writer.write(&[*write]) }.map_err(|(_, refusal)| Failure::Refused(refusal))?;
    let _ = writer.sync();
    Ok(())
}

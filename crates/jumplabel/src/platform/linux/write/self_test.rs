//! The self-test that each writer must pass before it may write other sites. The library contains a function with one site for this test. The writer
//! makes that site jump, and then makes it fall through again. After each change, the function must behave accordingly.
//!
//! An emulator that caches translated code (qemu-user) lets `pwrite` to /proc/self/mem change the bytes, but continues to run the translation of the
//! old bytes. A writer whose writes have no effect is not used again in this process. A writer that the system refused is tried again at the next
//! flip.
//!
//! Under an emulator, the program's addresses can differ from the addresses in the system's /proc/self/mem. Even the `pwrite` of the self-test would
//! then write to wrong places. So the self-test first checks that /proc/self/mem shows the bytes of the function.

use core::sync::atomic::{AtomicU8, Ordering};

use super::{WriterKind, open, procmem, readable};
use crate::arch::asm::self_test;
use crate::arch::{Arch, Native, State};
use crate::error::Refusal;
use crate::platform::{Extent, Failure, Held, Write, Writer};

/// The writers that have passed the self-test: bit N stands for the kind with the number N.
static PASSED: AtomicU8 = AtomicU8::new(0);
/// The writers whose writes had no effect in the self-test: one bit for each kind, as in [`PASSED`].
static FAILED: AtomicU8 = AtomicU8::new(0);

/// Returns an error if the writer does not pass the self-test. Runs the self-test, unless the writer has already passed it or failed it.
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
        // The second change restores the site, so it is made even if the first one had no effect. It is left out if the system refused the first one.
        if matches!(result, Ok(()) | Err(Refusal::NO_EFFECT)) {
            let obeys = || if self_test::jumps() == jumps { Ok(()) } else { Err(Refusal::NO_EFFECT) };
            result = result.and(write(kind, state, held).and_then(|()| obeys()));
        }
    }
    result
}

/// Makes a writer pass the self-test again before its next use, if a write of it had no effect. Called after each failed flip.
pub(super) fn doubt(kind: WriterKind, failure: Failure) {
    if let Failure::Refused(Refusal::NO_EFFECT) | Failure::Stuck { refusal: Refusal::NO_EFFECT, .. } = failure {
        PASSED.fetch_and(!(1 << kind as u8), Ordering::Relaxed);
    }
}

/// Sets the site of the self-test to `state`, whatever bytes the site has now. Writes all bytes of the site in one step, which is safe because no
/// other thread runs the site. For the same reason, a refused core sync does no harm here.
#[inline(never)] // If this were inlined, the program would contain it twice, once for each state.
fn write(kind: WriterKind, state: State, held: &mut Held) -> Result<(), Refusal> {
    let first = self_test::site();
    let target = self_test::target() as u64;
    let displacement = Native::displacement(first as u64, target).ok_or(rustix::io::Errno::FAULT)?;
    let code = state.encode::<Native>(displacement);
    let extents = [Extent { first, end: first + code.len() }];
    let write = Write::short(first, code.eight(), code.len() as u8, Native::SINGLE_STORE);
    let mut body = |writer: &mut dyn Writer| put(&write, writer);
    // SAFETY: the extent is the site of the self-test, which is code of the library, so it is loaded. No other thread runs the site, because only the
    // holder of the lock runs the self-test.
    match unsafe { open(kind, &extents, held, &mut body) } {
        Ok(_) => Ok(()),
        Err(Failure::Refused(refusal) | Failure::Unsynced(refusal) | Failure::Stuck { refusal, .. }) => Err(refusal),
    }
}

/// The body of the closure in [`write()`]. This is a separate function because the compiler can emit a closure that is called through a pointer
/// several times, each time with all the code that is inlined into it.
#[inline(never)]
fn put(write: &Write, writer: &mut dyn Writer) -> Result<(), Failure> {
    // SAFETY: the write is to the site of the self-test, which is the extent that the writer was opened for.
    unsafe { writer.write(&[*write]) }.map_err(|(_, refusal)| Failure::Refused(refusal))?;
    let _ = writer.sync();
    Ok(())
}

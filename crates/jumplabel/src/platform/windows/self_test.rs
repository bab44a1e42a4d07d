//! The self-test that the writer must pass before it may write other sites. The library contains a function with one site for this test. The writer
//! makes that site jump, and then makes it fall through again. After each change, the function must behave accordingly. If the writes have no effect,
//! the writer is not used again in this process. If the system refuses the writer, the test is tried again at the next flip.

use core::sync::atomic::{AtomicU8, Ordering};

use super::kernel32::ERROR_INVALID_ADDRESS;
use super::{pages, write};
use crate::arch::asm::self_test;
use crate::arch::{Arch, Native, State};
use crate::error::Refusal;
use crate::platform::{Extent, Failure, Held, Write, Writer};

const UNTRIED: u8 = 0;
const PASSED: u8 = 1;
const FAILED: u8 = 2;
static RESULT: AtomicU8 = AtomicU8::new(UNTRIED);

/// Returns an error if the writer does not pass the self-test. Runs the self-test, unless the writer has already passed it or failed it.
#[inline(never)]
pub(super) fn pass(held: &mut Held) -> Result<(), Refusal> {
    match RESULT.load(Ordering::Relaxed) {
        PASSED => return Ok(()),
        FAILED => return Err(Refusal::NO_EFFECT),
        _ => {}
    }
    let result = run(held);
    match result {
        Ok(()) => RESULT.store(PASSED, Ordering::Relaxed),
        Err(Refusal::NO_EFFECT) => RESULT.store(FAILED, Ordering::Relaxed),
        Err(_) => {}
    }
    result
}

fn run(held: &mut Held) -> Result<(), Refusal> {
    pages::forget(); // `pages` may still have noted a region in an earlier transaction.
    let mut result = Ok(());
    for (state, jumps) in [(State::JUMP, true), (State::NOP, false)] {
        // The second change restores the site, so it is made even if the first one had no effect. It is left out if the system refused the first one.
        if matches!(result, Ok(()) | Err(Refusal::NO_EFFECT)) {
            let obeys = || if self_test::jumps() == jumps { Ok(()) } else { Err(Refusal::NO_EFFECT) };
            result = result.and(change(state, held).and_then(|()| obeys()));
        }
    }
    result
}

/// Forgets the result, so that the next flip tests the writer. Called with the lock held.
#[cfg(all(test, jumplabel_sites))]
pub(super) fn forget() {
    RESULT.store(UNTRIED, Ordering::Relaxed);
}

/// Sets the site of the self-test to `state`, whatever bytes the site has now. Writes all bytes of the site in one step, which is safe because no
/// other thread runs the site.
fn change(state: State, held: &mut Held) -> Result<(), Refusal> {
    let first = self_test::site();
    let displacement = Native::displacement(first as u64, self_test::target() as u64);
    let code = state.encode::<Native>(displacement.ok_or(pages::refusal(ERROR_INVALID_ADDRESS))?);
    let extents = [Extent { first, end: first + code.len() }];
    let write = Write::short(first, code.eight(), code.len() as u8, Native::SINGLE_STORE);
    let mut body = |writer: &mut dyn Writer| {
        // SAFETY: the write is to the site of the self-test, which is the extent that the writer was opened for.
        unsafe { writer.write(&[write]) }.map_err(|(_, refusal)| Failure::Refused(refusal))?;
        let _ = writer.sync();
        Ok(())
    };
    // SAFETY: the extent is the site of the self-test, which is code of the library, so it is loaded. No other thread runs the site, because only the
    // holder of the lock runs the self-test.
    match unsafe { write::open(&extents, held, &mut body) } {
        Ok(()) => Ok(()),
        Err(Failure::Refused(refusal) | Failure::Unsynced(refusal) | Failure::Stuck { refusal, .. }) => Err(refusal),
    }
}

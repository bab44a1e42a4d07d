//! The self-test, which the writer must pass before it may write anything else. The library has a function with one site for this test. The writer
//! must make that site jump, and then make it fall through again, and the processor must notice both changes. A writer without effect is never
//! tried again. A writer that the system refused is tried again at the next flip.

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

/// Tests the writer, unless it was tested before. An error if the writer has not passed.
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
    pages::forget(); // The noted region can be from an earlier transaction that wrote nothing.
    let mut result = Ok(());
    for (state, jumps) in [(State::JUMP, true), (State::NOP, false)] {
        // The second change restores the site. It is left out only if the system refused the first one.
        if matches!(result, Ok(()) | Err(Refusal::NO_EFFECT)) {
            let obeys = || if self_test::jumps() == jumps { Ok(()) } else { Err(Refusal::NO_EFFECT) };
            result = result.and(change(state, held).and_then(|()| obeys()));
        }
    }
    result
}

/// Called after a failed flip. If a write had no effect although the writer has passed the self-test, the writer must pass again.
pub(super) fn doubt(failure: Failure) {
    if let Failure::Refused(Refusal::NO_EFFECT) | Failure::Stuck { refusal: Refusal::NO_EFFECT, .. } = failure {
        RESULT.store(UNTRIED, Ordering::Relaxed);
    }
}

/// Sets the site of the self-test to `state`, whatever the site holds. Writes all bytes at once, which is safe because no other thread runs the
/// site.
fn change(state: State, held: &mut Held) -> Result<(), Refusal> {
    let first = self_test::site();
    let displacement = Native::displacement(first as u64, self_test::target() as u64);
    let code = state.encode::<Native>(displacement.ok_or(pages::refusal(ERROR_INVALID_ADDRESS))?);
    let extents = [Extent { first, end: first + code.len() }];
    let write = Write::short(first, code.eight(), code.len() as u8, Native::SINGLE_STORE);
    let mut body = |writer: &mut dyn Writer| {
        // SAFETY: the site belongs to the library, and lies in the open extent.
        unsafe { writer.write(&[write]) }.map_err(|(_, refusal)| Failure::Refused(refusal))?;
        let _ = writer.sync();
        Ok(())
    };
    // SAFETY: the site belongs to the library, and is always mapped. No other thread runs it, because this thread holds the lock.
    match unsafe { write::open(&extents, held, &mut body) } {
        Ok(()) => Ok(()),
        Err(Failure::Refused(refusal) | Failure::Unsynced(refusal) | Failure::Stuck { refusal, .. }) => Err(refusal),
    }
}

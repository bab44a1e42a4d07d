//! The canary: a function of our own with one site. A writer must make it jump and fall through again, and the processor
//! must notice, before the writer may touch anything else.
//!
//! An emulator that caches translated code lets `pwrite` to /proc/self/mem change the bytes and goes on running the old
//! ones (qemu-user does): such a writer is off for good. One that was merely refused is asked again at the next flip.

use core::sync::atomic::{AtomicU8, Ordering};

use super::{WriterKind, open};
use crate::arch::{self, State};
use crate::error::Errno;
use crate::patch::{EditList, Failure, Step, plan::Edit, run_steps};
use crate::text::Writer;

/// A bit for each kind of writer.
static PROVEN: AtomicU8 = AtomicU8::new(0);
static LIES: AtomicU8 = AtomicU8::new(0);

/// Proves a writer, once.
pub(super) fn prove(kind: WriterKind) -> Result<(), Errno> {
    let bit = 1 << kind as u8;
    if PROVEN.load(Ordering::Relaxed) & bit != 0 {
        return Ok(());
    }
    if LIES.load(Ordering::Relaxed) & bit != 0 {
        return Err(Errno::LIED);
    }
    let sing = |to, jumps| {
        write(kind, to)?;
        if arch::canary() == jumps { Ok(()) } else { Err(Errno::LIED) }
    };
    let proof = match sing(State::Jump, true) {
        // Back in any case, if only it is not refused.
        there @ (Ok(()) | Err(Errno::LIED)) => there.and(sing(State::Pristine, false)),
        refused => refused,
    };
    match proof {
        Ok(()) => PROVEN.fetch_or(bit, Ordering::Relaxed),
        Err(Errno::LIED) => LIES.fetch_or(bit, Ordering::Relaxed),
        Err(_) => 0,
    };
    proof
}

/// A writer that was proven, and lied nevertheless, has to prove itself again.
pub(super) fn doubt(kind: WriterKind, failure: Failure) {
    if let Failure::Refused(Errno::LIED) | Failure::Stuck { errno: Errno::LIED, .. } = failure {
        PROVEN.fetch_and(!(1 << kind as u8), Ordering::Relaxed);
    }
}

/// No other thread runs the canary, so its steps may go on where core sync is refused.
struct Alone<'a>(&'a mut dyn Writer);

impl Writer for Alone<'_> {
    unsafe fn write(&mut self, edits: &EditList, step: Step) -> Result<(), (usize, Errno)> {
        // SAFETY: by the contract.
        unsafe { self.0.write(edits, step) }
    }

    fn sync(&mut self) -> Result<(), Errno> {
        let _ = self.0.sync();
        Ok(())
    }
}

/// Brings the canary's site to `to`, from whatever it holds.
fn write(kind: WriterKind, to: State) -> Result<(), Errno> {
    let address = arch::canary_code();
    // SAFETY: a site of ours, always mapped.
    let bytes = unsafe { crate::site::read_site(address) };
    let displacement = arch::displacement(address, arch::canary_target()).ok_or(rustix::io::Errno::FAULT)?;
    let from = arch::decode(bytes, displacement).ok_or(rustix::io::Errno::FAULT)?;
    if from == to {
        return Ok(());
    }
    let edits = [Edit { address, displacement, from, to }];
    let mut body = |writer: &mut dyn Writer| run_steps(&edits, u8::MAX, &mut Alone(writer));
    // SAFETY: one verified site, run by nobody but this thread, under the lock.
    match unsafe { open(kind, &edits, &mut body) } {
        Ok(_) => Ok(()),
        Err(Failure::Refused(errno) | Failure::Unsynced(errno) | Failure::Stuck { errno, .. }) => Err(errno),
    }
}

//! The canary: a function of our own with one site. A writer must make it jump and fall through again, and the processor
//! must notice, before the writer may touch anything else.
//!
//! An emulator that caches translated code (qemu-user) lets `pwrite` to /proc/self/mem change the bytes and goes on running the old
//! ones. Such a writer is off for good. A writer that was merely refused is tried again at the next flip.
//!
//! If the emulator's addresses are not the system's, even the canary's `pwrite` would change other code. So the file must show the
//! canary's bytes first.

use core::sync::atomic::{AtomicU8, Ordering};

use super::{WriterKind, open, procmem};
use crate::arch::asm::canary;
use crate::arch::{Arch, Native, State};
use crate::error::Errno;
use crate::text::{Extent, Failure, Held, Write, Writer};

/// A bit for each kind of writer.
static PROVEN: AtomicU8 = AtomicU8::new(0);
static LIES: AtomicU8 = AtomicU8::new(0);

/// Proves a writer, once.
#[inline(never)] // Once in a program is enough.
pub(super) fn prove(kind: WriterKind, held: &mut Held) -> Result<(), Errno> {
    let bit = 1 << kind as u8;
    if PROVEN.load(Ordering::Relaxed) & bit != 0 {
        return Ok(());
    }
    if LIES.load(Ordering::Relaxed) & bit != 0 {
        return Err(Errno::LIED);
    }
    let proof = proof(kind, held);
    let found = match proof {
        Ok(()) => &PROVEN,
        Err(Errno::LIED) => &LIES,
        Err(_) => return proof,
    };
    found.fetch_or(bit, Ordering::Relaxed);
    proof
}

fn proof(kind: WriterKind, held: &mut Held) -> Result<(), Errno> {
    if kind == WriterKind::Procmem {
        procmem::shows(canary::site())?;
    }
    let mut proof = Ok(());
    for (state, jumps) in [(State::JUMP, true), (State::NOP, false)] {
        // Back in any case, unless the way there is refused.
        if matches!(proof, Ok(()) | Err(Errno::LIED)) {
            let sings = || if canary::sing() == jumps { Ok(()) } else { Err(Errno::LIED) };
            proof = proof.and(write(kind, state, held).and_then(|()| sings()));
        }
    }
    proof
}

/// A writer that was proven, and lied nevertheless, has to prove itself again.
pub(super) fn doubt(kind: WriterKind, failure: Failure) {
    if let Failure::Refused(Errno::LIED) | Failure::Stuck { errno: Errno::LIED, .. } = failure {
        PROVEN.fetch_and(!(1 << kind as u8), Ordering::Relaxed);
    }
}

/// Brings the canary's site to `state`, from whatever it holds: all of it at once, because no other thread runs it. For the same
/// reason a refused core sync does no harm here.
fn write(kind: WriterKind, state: State, held: &mut Held) -> Result<(), Errno> {
    let first = canary::site();
    let target = canary::target() as u64;
    let displacement = Native::displacement(first as u64, target).ok_or(rustix::io::Errno::FAULT)?;
    let code = state.encode::<Native>(displacement);
    let extents = [Extent { first, end: first + code.len() }];
    let write = Write::short(first, code.eight(), code.len() as u8, Native::WHOLE);
    let mut body = |writer: &mut dyn Writer| put(&write, writer);
    // SAFETY: one site of ours, always mapped, run by nobody but this thread, under the lock.
    match unsafe { open(kind, &extents, held, &mut body) } {
        Ok(_) => Ok(()),
        Err(Failure::Refused(errno) | Failure::Unsynced(errno) | Failure::Stuck { errno, .. }) => Err(errno),
    }
}

/// What the closure above does. A closure that is called through a pointer may be in the program several times, with all that is inline
/// in it.
#[inline(never)]
fn put(write: &Write, writer: &mut dyn Writer) -> Result<(), Failure> {
    // SAFETY: a site of ours, in the extent.
    unsafe { writer.write(&[*write]) }.map_err(|(_, errno)| Failure::Refused(errno))?;
    let _ = writer.sync();
    Ok(())
}

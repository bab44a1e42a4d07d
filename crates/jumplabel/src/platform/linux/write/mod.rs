//! The three writers of Linux, the self-test that each of them must pass, and the choice between them.
//!
//! | writer | cost in interrupts of other processors | refused under |
//! |---|---|---|
//! | [`procmem`] | 1 (core sync), and a system call for each write | kernels that restrict it, no /proc, dumpable 0 without root |
//! | [`mprotect`] | 3 (open, core sync, close) | MDWE, seccomp as systemd sets it, SELinux execmod, mseal |
//! | [`remap`] | 2 and more, and a copy of the pages | MDWE, SELinux, mseal, a file that is gone |
//!
//! If a writer is refused, the library tries the next one. Only if all are refused does it report an error.

mod bti;
mod caches;
mod contract;
mod events;
pub(super) mod forced;
pub(super) mod maps;
pub(super) mod mprotect;
mod present;
mod procmem;
pub(super) mod readable;
mod remap;
pub(super) mod self_test;
pub(super) mod sync;

use crate::arch::{Arch, Native};
use crate::error::Refusal;
use crate::platform::{Body, Extent, Failure, Held, Summary, Warnings, WriteReport, WriterKind, WriterList};
use contract::Open;

/// The number of sites in a span up to which `procmem` is tried first. One `pwrite` for each of so few sites costs less than opening and closing the
/// span by `mprotect`, which interrupts the other processors twice. The best number depends on the cost of an interrupt: it was 13 on one machine and
/// 90 on another. `cargo run --release -p jumplabel-bench -- flips` shows the best number.
const PROCMEM_SITES: usize = 32;

impl From<rustix::io::Errno> for Refusal {
    fn from(errno: rustix::io::Errno) -> Refusal {
        Refusal::errno(errno.raw_os_error())
    }
}

/// The writers to try for a transaction with this summary, the best first.
pub(super) fn writers(summary: &Summary) -> WriterList {
    use WriterKind::{Mprotect, Procmem, Remap};
    if forced::is_unknown() {
        return WriterList::unknown();
    }
    match forced::writer() {
        // Only `remap` never writes to running code.
        None | Some(Remap) if summary.unsynced => WriterList::of(&[Remap]),
        Some(_) if summary.unsynced => WriterList::default(),
        // `procmem` cannot promise a single store. The kernel's memcpy copies an aligned word with one store today, but nothing promises that, and it
        // may copy a word that is not aligned with several stores.
        Some(Procmem) if summary.single_store && !Native::SINGLE_STORE => WriterList::default(),
        None if summary.single_store && !Native::SINGLE_STORE => WriterList::of(&[Mprotect, Remap]),
        Some(kind) => WriterList::of(&[kind]),
        None if Native::SINGLE_STORE => WriterList::of(&[Mprotect, Remap, Procmem]),
        None if summary.sites <= PROCMEM_SITES * summary.spans => WriterList::of(&[Procmem, Mprotect, Remap]),
        None => WriterList::of(&[Mprotect, Procmem, Remap]),
    }
}

/// Runs [`Platform::open`](crate::platform::Platform::open) for one of the three writers. If the writer has not passed its self-test yet, tests it
/// first.
///
/// # Safety
/// The contract of [`Platform::open`](crate::platform::Platform::open).
pub(super) unsafe fn open_proven(
    kind: WriterKind,
    extents: &[Extent],
    held: &mut Held,
    body: &mut Body<'_>,
) -> Result<WriteReport, Failure> {
    mprotect::close_remaining(held);
    sync::reset();
    self_test::pass(kind, held).map_err(Failure::Refused)?;
    // SAFETY: the caller guarantees that the extents lie in loaded code, are sorted by address, and do not overlap.
    unsafe { open(kind, extents, held, body) }.inspect_err(|failure| self_test::doubt(kind, *failure))?;
    let warnings = Warnings { left_writable: !mprotect::close_remaining(held) };
    Ok(WriteReport { visibility: sync::visibility(), warnings })
}

/// Calls the writer `kind`.
///
/// # Safety
/// The contract of [`Platform::open`](crate::platform::Platform::open).
#[inline(never)]
unsafe fn open(kind: WriterKind, extents: &[Extent], held: &mut Held, body: &mut Body<'_>) -> Result<(), Failure> {
    // SAFETY: the caller guarantees that the extents lie in loaded code, are sorted by address, and do not overlap.
    unsafe {
        match kind {
            WriterKind::Procmem => procmem::Procmem::open(extents, held, body),
            WriterKind::Mprotect => mprotect::Mprotect::open(extents, held, body),
            WriterKind::Remap => remap::Remap::open(extents, held, body),
            WriterKind::Custom => Err(Failure::Refused(Refusal::NOT_TRIED)),
        }
    }
}

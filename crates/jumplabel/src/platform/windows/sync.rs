//! Two calls that follow stores to code. Microsoft demands `FlushInstructionCache` after a change of code. `FlushProcessWriteBuffers` is the core
//! sync: it interrupts each processor that runs a thread of this process. On x86 the return from an interrupt serialises (Intel SDM volume 3, 9.3),
//! as a processor must after code was modified (9.1.3). But Microsoft documents `FlushProcessWriteBuffers` only for data. That the call suffices for
//! code is believed, not shown: see docs/safety.md.

use super::kernel32;
use crate::platform::Write;

/// Flushes the instruction cache for the range of addresses from the first of `writes` to the last.
pub(super) fn flush(writes: &[Write]) {
    let (Some(first), Some(last)) = (writes.first(), writes.last()) else { return };
    // The writes are in the order of their addresses, so one call for the whole range is enough. The duration of the call does not depend on the
    // length of the range, because on x86-64 the instruction caches see stores by themselves.
    let (start, end) = (first.address, last.address + last.bytes().len());
    // SAFETY: the call changes only caches.
    unsafe {
        kernel32::FlushInstructionCache(kernel32::GetCurrentProcess(), start as *const _, end.saturating_sub(start))
    };
}

/// Does a core sync: makes all other threads of this process serialise.
pub(super) fn core_sync() {
    kernel32::FlushProcessWriteBuffers();
}

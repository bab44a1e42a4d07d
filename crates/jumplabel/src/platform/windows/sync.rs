//! The calls that follow a store to code. The vendor asks a program that changes code to call `FlushInstructionCache`. `FlushProcessWriteBuffers`
//! interrupts each processor that runs a thread of this process. The return from an interrupt serialises on x86, and a processor must serialise
//! after code was modified (Intel SDM volume 3, 9.3 and 9.1.3). docs/safety.md says how much of this the vendor promises.

use super::kernel32;
use crate::platform::Write;

/// Flushes the instruction cache for the range of `writes`.
pub(super) fn flush(writes: &[Write]) {
    let (Some(first), Some(last)) = (writes.first(), writes.last()) else { return };
    // Writes come in the order of their addresses, so one call over their whole range is enough. On this instruction set, the processor sees stores
    // to code by itself, and the duration of the call does not depend on the length.
    let (start, end) = (first.address, last.address + last.bytes().len());
    // SAFETY: the call changes nothing but caches.
    unsafe {
        kernel32::FlushInstructionCache(kernel32::GetCurrentProcess(), start as *const _, end.saturating_sub(start))
    };
}

/// Makes all other threads serialise.
pub(super) fn core_sync() {
    kernel32::FlushProcessWriteBuffers();
}

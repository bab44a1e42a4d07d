//! What follows a store to code. `FlushInstructionCache` is what the vendor asks of a program that changes code. `FlushProcessWriteBuffers`
//! interrupts each processor that runs a thread of this process. On x86, the return from an interrupt serialises (Intel SDM volume 3, 9.3;
//! 9.1.3 asks for that after code was modified). docs/safety.md says which of that the vendor promises.

use super::kernel32;
use crate::platform::Write;

/// Does what caches need after `writes`.
pub(super) fn flush(writes: &[Write]) {
    let (Some(first), Some(last)) = (writes.first(), writes.last()) else { return };
    // Writes come in the order of their addresses, so one call is enough for those that lie close together. On this instruction set, the
    // processor sees stores to code by itself, and the call does not depend on the length.
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

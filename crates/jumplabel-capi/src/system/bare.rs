//! The services of the system in a kernel, which has no system below it.

/// The number of the calling CPU, plus 1 because 0 means nobody. The caller cannot move to another CPU while it holds the lock, because interrupts
/// are off.
pub(crate) fn me() -> usize {
    crate::machine::cpu() + 1
}

/// True for all addresses except NULL, because a kernel cannot be asked what is mapped.
pub(crate) fn is_mapped<T>(at: *const T) -> bool {
    !at.is_null()
}

/// Does nothing, because a kernel has no standard error.
pub(crate) fn print(_: &[u8]) {}

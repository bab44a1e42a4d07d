//! Tells whether the process is ending, on Windows. A build without sites needs this, too, so it is not part of `windows`.

#[link(name = "ntdll")]
unsafe extern "system" {
    safe fn RtlDllShutdownInProgress() -> u8;
}

/// Whether the process is ending. In that case the calling thread is the last one, because the system ends all other threads before it calls the
/// modules' functions for the end of the process. No object is unloaded any more.
pub(crate) fn is_ending() -> bool {
    RtlDllShutdownInProgress() != 0
}

//! Whether a process of Windows ends. A build without sites asks this, too.

#[link(name = "ntdll")]
unsafe extern "system" {
    safe fn RtlDllShutdownInProgress() -> u8;
}

/// Whether the process ends. Then the calling thread is its last one: the system ends all others before it calls the functions of modules. And no
/// object is unloaded any more.
pub(crate) fn is_ending() -> bool {
    RtlDllShutdownInProgress() != 0
}

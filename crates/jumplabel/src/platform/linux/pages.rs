//! Pages and threads of this process: size, anonymous memory, how many threads there are.

use core::ffi::{CStr, c_void};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

use rustix::mm::{
    Advice, MapFlags, MprotectFlags, MsyncFlags, ProtFlags, madvise, mmap_anonymous, mprotect, msync, munmap,
};

use super::libc;
use super::procfs::is_procfs;
use crate::error::Refusal;

/// Bytes of a page, from the system.
#[inline(never)]
pub(super) fn size() -> usize {
    static SIZE: AtomicUsize = AtomicUsize::new(0);
    let known = SIZE.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let size = libc::page_size();
    SIZE.store(size, Ordering::Relaxed);
    size
}

/// `address` rounded down to a page.
pub(super) fn floor(address: usize) -> usize {
    address & !(size() - 1)
}

/// `address` rounded up to a page.
#[inline(never)]
pub(super) fn ceil(address: usize) -> usize {
    let within = size() - 1;
    (address + within) & !within
}

/// `mprotect`.
///
/// # Safety
/// As `mprotect`.
#[inline(never)]
pub(super) unsafe fn protect(start: usize, bytes: usize, protection: MprotectFlags) -> Result<(), Refusal> {
    // SAFETY: the caller may change the protection of these pages.
    Ok(unsafe { mprotect(start as *mut c_void, bytes, protection) }?)
}

/// Fails with `ENOMEM` if nothing is mapped at one of these pages: `msync` looks for holes, and has nothing else to do for private pages.
#[inline(never)]
pub(super) fn look_for_holes(start: usize, bytes: usize) -> Result<(), Refusal> {
    // SAFETY: changes nothing.
    Ok(unsafe { msync(start as *mut c_void, bytes, MsyncFlags::ASYNC) }?)
}

/// Zeroed pages that the program's allocator knows nothing of.
#[inline(never)]
pub(super) fn allocate(bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: a new mapping, wherever the kernel likes.
    let memory = unsafe {
        mmap_anonymous(core::ptr::null_mut(), ceil(bytes.max(1)), ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
    };
    NonNull::new(memory.ok()?.cast())
}

/// # Safety
/// From [`allocate`] with the same size, and not in use.
#[inline(never)]
pub(super) unsafe fn release(memory: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller gives back memory from `allocate`, with the same size, that nobody uses.
    // It can only fail if the limit on mappings forbids to split one; then the memory stays.
    let _ = unsafe { munmap(memory.as_ptr().cast(), ceil(bytes.max(1))) };
}

/// Has the system wipe these pages in processes that are forked from this one. An old kernel refuses.
#[inline(never)]
pub(super) fn wipe(memory: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's pages, from `allocate`.
    let _ = unsafe { madvise(memory.as_ptr().cast(), ceil(bytes), Advice::LinuxWipeOnFork) };
}

/// Whether this is the only thread. If /proc does not tell, false: there may be more.
#[inline(never)]
pub(super) fn single_threaded() -> bool {
    const TASKS: &CStr = c"/proc/thread-self/../";
    // A directory has two links and one for each directory in it.
    rustix::fs::stat(TASKS).is_ok_and(|task| task.st_nlink == 3) && is_procfs(rustix::fs::statfs(TASKS))
}

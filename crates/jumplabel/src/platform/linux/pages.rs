//! Pages and threads of this process: the size of a page, anonymous memory, the number of threads.

use core::ffi::{CStr, c_void};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

use rustix::io::Errno;
use rustix::mm::{
    Advice, MapFlags, MprotectFlags, MremapFlags, MsyncFlags, ProtFlags, madvise, mmap_anonymous, mprotect, mremap,
    msync, munmap,
};

use super::libc;
use super::procfs::is_procfs;
use crate::error::Refusal;

/// The number of bytes of a page. Asks the system only once.
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
#[inline(never)]
pub(super) fn floor(address: usize) -> usize {
    address & !(size() - 1)
}

/// `address` rounded up to a page.
#[inline(never)]
pub(super) fn ceil(address: usize) -> usize {
    let within = size() - 1;
    (address + within) & !within
}

/// Calls `mprotect`.
///
/// # Safety
/// The contract of `mprotect`.
#[inline(never)]
pub(super) unsafe fn protect(start: usize, bytes: usize, protection: MprotectFlags) -> Result<(), Refusal> {
    // SAFETY: the caller says that the protection of these pages can be changed.
    Ok(unsafe { mprotect(start as *mut c_void, bytes, protection) }?)
}

/// Returns the error `ENOMEM` if nothing is mapped at one of these pages. Uses `msync`, which only looks for holes if the pages are private.
#[inline(never)]
pub(super) fn look_for_holes(start: usize, bytes: usize) -> Result<(), Refusal> {
    // SAFETY: the call changes nothing.
    Ok(unsafe { msync(start as *mut c_void, bytes, MsyncFlags::ASYNC) }?)
}

/// Makes pages present, as a load (`LinuxPopulateRead`) or a store (`LinuxPopulateWrite`) would. If a load or a store would raise a signal (a
/// protection key, a guard, the end of the file), returns an error. Returns false if the kernel is older than 5.14 and does not know such advice.
#[inline(never)]
pub(super) fn populate(start: usize, bytes: usize, advice: Advice) -> Result<bool, Refusal> {
    // SAFETY: the call changes no byte.
    match unsafe { madvise(start as *mut c_void, bytes, advice) } {
        // The kernel also gives this answer if the protection of the pages, or a protection key, forbids the access.
        Err(Errno::INVAL) if knows(advice) => Err(Errno::FAULT.into()),
        Err(Errno::INVAL) => Ok(false),
        Err(errno) => Err(errno.into()),
        Ok(()) => Ok(true),
    }
}

/// Whether the kernel knows this advice. The kernel looks at the advice before it finds that there is no page.
#[inline(never)]
fn knows(advice: Advice) -> bool {
    // SAFETY: the call affects no page.
    unsafe { madvise(core::ptr::null_mut(), 0, advice) }.is_ok()
}

/// Whether the page at `address` is mapped `MAP_SHARED`. Finds that out without /proc: only a shared mapping can be mapped a second time by
/// `mremap`. False if the system does not say: it refuses `mremap`, or the kernel is older than 4.14, which maps private pages a second time, too.
#[cold]
#[inline(never)]
pub(super) fn is_shared(address: usize) -> bool {
    // SAFETY: the call leaves the page where it is, and maps it at a place that the kernel chooses.
    let Ok(second) = (unsafe { mremap(floor(address) as *mut c_void, 0, size(), MremapFlags::MAYMOVE) }) else {
        return false;
    };
    // SAFETY: this is the mapping that was just made.
    let _ = unsafe { munmap(second, size()) };
    knows(Advice::LinuxWipeOnFork) // since 4.14
}

/// Allocates zeroed pages, without the program's allocator.
#[inline(never)]
pub(super) fn allocate(bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: the kernel chooses the place of this new mapping.
    let memory = unsafe {
        mmap_anonymous(core::ptr::null_mut(), ceil(bytes.max(1)), ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
    };
    NonNull::new(memory.ok()?.cast())
}

/// # Safety
/// `memory` came from [`allocate`], with the same size, and is not in use.
#[inline(never)]
pub(super) unsafe fn release(memory: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller frees unused memory from `allocate`, with the same size. `munmap` can fail only if a mapping would have to be split,
    // and the limit on mappings forbids that. Then the memory stays.
    let _ = unsafe { munmap(memory.as_ptr().cast(), ceil(bytes.max(1))) };
}

/// Asks the system to wipe these pages in forked children. An old kernel refuses.
#[inline(never)]
pub(super) fn wipe(memory: NonNull<u8>, bytes: usize) {
    // SAFETY: these are the caller's pages, from `allocate`.
    let _ = unsafe { madvise(memory.as_ptr().cast(), ceil(bytes), Advice::LinuxWipeOnFork) };
}

/// Whether this process has only one thread. False if /proc does not say, because then there can be more threads.
#[inline(never)]
pub(super) fn single_threaded() -> bool {
    const TASKS: &CStr = c"/proc/thread-self/../";
    // A directory has two links, and one more for each directory in it.
    rustix::fs::stat(TASKS).is_ok_and(|task| task.st_nlink == 3) && is_procfs(rustix::fs::statfs(TASKS))
}

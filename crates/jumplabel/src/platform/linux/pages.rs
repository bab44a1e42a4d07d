//! Pages of this process: their size, protection and presence, and anonymous memory. Also tells whether the process has only one thread.

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

/// Sets the protection of pages with `mprotect`.
///
/// # Safety
/// The caller may change the protection of these pages to `protection`.
#[inline(never)]
pub(super) unsafe fn protect(start: usize, bytes: usize, protection: MprotectFlags) -> Result<(), Refusal> {
    // SAFETY: the caller guarantees that the protection of these pages may be changed.
    Ok(unsafe { mprotect(start as *mut c_void, bytes, protection) }?)
}

/// Returns the error `ENOMEM` if at least one of these pages is not mapped. Uses `msync(MS_ASYNC)`, which does nothing except look for such holes.
#[inline(never)]
pub(super) fn look_for_holes(start: usize, bytes: usize) -> Result<(), Refusal> {
    // SAFETY: `msync` changes no byte of the pages.
    Ok(unsafe { msync(start as *mut c_void, bytes, MsyncFlags::ASYNC) }?)
}

/// Makes pages present, as a load (`LinuxPopulateRead`) or a store (`LinuxPopulateWrite`) would do. Returns an error if such a load or store would
/// raise a signal (because of a protection key, a guard, or the end of the file). Returns false if the kernel does not know the advice (before Linux
/// 5.14).
#[inline(never)]
pub(super) fn populate(start: usize, bytes: usize, advice: Advice) -> Result<bool, Refusal> {
    // SAFETY: `madvise` with these two kinds of advice changes no byte of the pages.
    match unsafe { madvise(start as *mut c_void, bytes, advice) } {
        // The kernel answers EINVAL not only to unknown advice, but also if the pages' protection or a protection key forbids the access.
        Err(Errno::INVAL) if knows(advice) => Err(Errno::FAULT.into()),
        Err(Errno::INVAL) => Ok(false),
        Err(errno) => Err(errno.into()),
        Ok(()) => Ok(true),
    }
}

/// Whether the kernel knows this advice. This asks about no page: the kernel checks the advice first, and accepts an empty range.
#[inline(never)]
fn knows(advice: Advice) -> bool {
    // SAFETY: the range has no bytes, so the call affects no page.
    unsafe { madvise(core::ptr::null_mut(), 0, advice) }.is_ok()
}

/// Whether the page at `address` is mapped `MAP_SHARED`. This needs no /proc: `mremap` can map a page a second time only if the page is shared. False
/// if the answer is not known, because the system refuses `mremap` or the kernel is older than 4.14 (such a kernel also maps private pages a second
/// time).
#[cold]
#[inline(never)]
pub(super) fn is_shared(address: usize) -> bool {
    // SAFETY: with an old length of 0, `mremap` leaves the page where it is, and maps it a second time at an address that the kernel chooses.
    let Ok(second) = (unsafe { mremap(floor(address) as *mut c_void, 0, size(), MremapFlags::MAYMOVE) }) else {
        return false;
    };
    // SAFETY: this is the mapping that the call above made, which nothing uses.
    let _ = unsafe { munmap(second, size()) };
    knows(Advice::LinuxWipeOnFork) // since 4.14
}

/// Allocates zeroed pages from the system, without the program's allocator. `None` if the system refuses.
#[inline(never)]
pub(super) fn allocate(bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: the kernel chooses the place of this new mapping.
    let memory = unsafe {
        mmap_anonymous(core::ptr::null_mut(), ceil(bytes.max(1)), ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
    };
    NonNull::new(memory.ok()?.cast())
}

/// Frees pages.
///
/// # Safety
/// `memory` came from [`allocate`], is not in use, and `bytes` rounds up to the same whole pages as the size that was asked for.
#[inline(never)]
pub(super) unsafe fn release(memory: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller frees unused memory from `allocate`, and the rounded size covers exactly its pages.
    //
    // The result is ignored: `munmap` fails only if it would have to split a mapping and the process has too many mappings. The memory then stays
    // mapped.
    let _ = unsafe { munmap(memory.as_ptr().cast(), ceil(bytes.max(1))) };
}

/// Asks the system to fill these pages with zeros in forked children. Has no effect before Linux 4.14.
#[inline(never)]
pub(super) fn wipe(memory: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller passes its own pages, from `allocate`. The advice changes no byte in this process.
    let _ = unsafe { madvise(memory.as_ptr().cast(), ceil(bytes), Advice::LinuxWipeOnFork) };
}

/// Whether this process has only one thread. False if /proc does not tell, because there may be more threads.
#[inline(never)]
pub(super) fn single_threaded() -> bool {
    const TASKS: &CStr = c"/proc/thread-self/../";
    // This directory contains one directory for each thread. The number of its links is the number of these directories plus 2.
    rustix::fs::stat(TASKS).is_ok_and(|task| task.st_nlink == 3) && is_procfs(rustix::fs::statfs(TASKS))
}

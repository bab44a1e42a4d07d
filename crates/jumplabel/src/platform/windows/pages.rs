//! Pages of this process: their size, their attributes, their protection, and the allocation of new pages. Also the clock.

use core::ffi::c_void;
use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use core::time::Duration;

use super::kernel32::{self, *};
use crate::error::Refusal;

/// The [`Refusal`] for the error number `number` of the system.
pub(super) const fn refusal(number: u32) -> Refusal {
    Refusal::errno(number as i32)
}

/// The [`Refusal`] for the call of the system that has just failed.
pub(super) fn last_refusal() -> Refusal {
    // A refusal with the number 0 means that nothing was tried. So this replaces 0 by 1.
    refusal(kernel32::GetLastError().max(1))
}

static SIZE: AtomicUsize = AtomicUsize::new(0);

/// The number of bytes of a page. Asks the system only once.
#[inline]
pub(super) fn size() -> usize {
    let known = SIZE.load(Ordering::Relaxed);
    if known != 0 { known } else { ask_for_size() }
}

#[cold]
#[inline(never)]
fn ask_for_size() -> usize {
    let mut information = SystemInfo { architecture: 0, page_size: 0, rest: [0; 5] };
    // SAFETY: the call only fills a local variable of the right type.
    unsafe { kernel32::GetSystemInfo(&raw mut information) };
    let size = information.page_size as usize;
    SIZE.store(size, Ordering::Relaxed);
    size
}

/// Allocates zeroed pages from the system. `None` if the system refuses.
pub(super) fn allocate(bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: the system chooses the address of this new memory.
    let memory = unsafe {
        kernel32::VirtualAlloc(core::ptr::null_mut(), bytes.max(1), MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE)
    };
    NonNull::new(memory.cast())
}

/// Frees pages.
///
/// # Safety
/// `memory` came from [`allocate`], and nothing uses it any more.
pub(super) unsafe fn release(memory: NonNull<u8>) {
    // SAFETY: the caller frees a whole allocation, which nothing uses any more.
    unsafe { kernel32::VirtualFree(memory.as_ptr().cast(), 0, MEM_RELEASE) };
}

/// A region: a row of pages with the same attributes, as `VirtualQuery` reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The protection of the pages: a `PAGE_...` constant with modifiers. 0 if nothing is mapped there.
    pub(super) protection: u32,
    /// The address of the module that the pages belong to. 0 if they belong to no module.
    pub(super) module: usize,
}

const EXECUTE: u32 = PAGE_EXECUTE | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
const READ: u32 = PAGE_READONLY
    | PAGE_READWRITE
    | PAGE_WRITECOPY
    | PAGE_EXECUTE_READ
    | PAGE_EXECUTE_READWRITE
    | PAGE_EXECUTE_WRITECOPY;

impl Region {
    /// The region that begins with the page of `address` and contains the pages after it with the same attributes. `None` if the system does not
    /// answer. This asks the system, but calls no function of the loader, and takes none of the loader's locks.
    #[inline(never)]
    pub(super) fn at(address: usize) -> Option<Region> {
        let mut found = MemoryInformation {
            base: 0,
            allocation_base: 0,
            allocation_protection: 0,
            partition: 0,
            bytes: 0,
            state: 0,
            protection: 0,
            kind: 0,
        };
        // SAFETY: the call writes at most `size_of::<MemoryInformation>()` bytes to `found`.
        let filled =
            unsafe { kernel32::VirtualQuery(address as *const c_void, &raw mut found, size_of::<MemoryInformation>()) };
        let end = found.base.checked_add(found.bytes)?;
        (filled != 0).then_some(Region {
            start: found.base,
            end,
            protection: if found.state == MEM_COMMIT { found.protection } else { 0 },
            module: if found.kind == MEM_IMAGE { found.allocation_base } else { 0 },
        })
    }

    pub(super) fn is_code(&self) -> bool {
        self.protection & EXECUTE != 0
    }

    pub(super) fn can_be_read(&self) -> bool {
        self.protection & READ != 0 && self.protection & PAGE_GUARD == 0
    }
}

/// The region that [`readable`] found last in this transaction: its beginning, its end and its protection. It is noted because each question to the
/// system takes a considerable part of the time of a flip, and the writer needs the same region after the sites were read.
static NOTED: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

/// The region at `address`, if it can be read. Empty if it cannot. Also notes the region for [`region`]. Called with the lock held.
pub(super) fn readable(address: usize) -> Range<usize> {
    let region = Region::at(address).filter(Region::can_be_read);
    let [start, end, protection] =
        region.map_or([0; 3], |region| [region.start, region.end, region.protection as usize]);
    NOTED.iter().zip([start, end, protection]).for_each(|(place, word)| place.store(word, Ordering::Relaxed));
    start..end
}

/// The region at `address`; the field `module` of the result has no meaning. Does not ask the system if `address` lies in the region that
/// [`readable`] found last. Called with the lock held.
pub(super) fn region(address: usize) -> Option<Region> {
    let [start, end, protection] = NOTED.each_ref().map(|word| word.load(Ordering::Relaxed));
    if (start..end).contains(&address) {
        return Some(Region { start, end, protection: protection as u32, module: 0 });
    }
    Region::at(address)
}

/// Forgets the region that [`readable`] found last, because protections can change before the next transaction.
pub(super) fn forget() {
    NOTED[1].store(0, Ordering::Relaxed);
}

/// Changes the protection of pages. If the system supports that (since Windows 8.1), leaves Control Flow Guard's list of legal targets as it is.
///
/// # Safety
/// The caller may change the protection of these pages to `protection`.
#[inline]
pub(super) unsafe fn protect(start: usize, bytes: usize, protection: u32) -> Result<(), Refusal> {
    // SAFETY: the caller guarantees that the protection of these pages may be changed.
    unsafe {
        if protection & EXECUTE != 0 && try_protect(start, bytes, protection | PAGE_TARGETS_NO_UPDATE) == Ok(()) {
            return Ok(());
        }
        try_protect(start, bytes, protection)
    }
}

/// Changes the protection of pages by one call of `VirtualProtect`.
///
/// # Safety
/// The caller may change the protection of these pages to `protection`.
unsafe fn try_protect(start: usize, bytes: usize, protection: u32) -> Result<(), Refusal> {
    #[cfg(all(test, jumplabel_sites))]
    super::tests::refusal(protection)?;
    let mut old = 0;
    // SAFETY: the caller guarantees that the protection of these pages may be changed.
    let done = unsafe { kernel32::VirtualProtect(start as *mut c_void, bytes, protection, &raw mut old) };
    if done != 0 { Ok(()) } else { Err(last_refusal()) }
}

/// The time since the system was started.
pub(super) fn now() -> Duration {
    static FREQUENCY: AtomicI64 = AtomicI64::new(0);
    let mut count = 0;
    // SAFETY: the call only fills a local variable of the right type.
    unsafe { kernel32::QueryPerformanceCounter(&raw mut count) };
    let mut frequency = FREQUENCY.load(Ordering::Relaxed);
    if frequency == 0 {
        // SAFETY: the call only fills a local variable of the right type.
        unsafe { kernel32::QueryPerformanceFrequency(&raw mut frequency) };
        frequency = frequency.max(1);
        FREQUENCY.store(frequency, Ordering::Relaxed);
    }
    let (count, frequency) = (count.max(0) as u64, frequency as u64);
    let nanoseconds = (count % frequency) * 1_000_000_000 / frequency;
    Duration::new(count / frequency, nanoseconds as u32)
}

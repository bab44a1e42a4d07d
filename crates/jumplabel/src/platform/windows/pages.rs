//! Pages of this process: their size, memory, attributes and protection. Also the clock.

use core::ffi::c_void;
use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use core::time::Duration;

use super::kernel32::{self, *};
use crate::error::Refusal;

/// The refusal that stands for the system's error number `number`.
pub(super) const fn refusal(number: u32) -> Refusal {
    Refusal::errno(number as i32)
}

/// The refusal of the call that has just failed.
pub(super) fn last_refusal() -> Refusal {
    // The number 0 would mean that nothing was tried.
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
    // SAFETY: the call fills a local variable.
    unsafe { kernel32::GetSystemInfo(&raw mut information) };
    let size = information.page_size as usize;
    SIZE.store(size, Ordering::Relaxed);
    size
}

/// Allocates zeroed pages.
pub(super) fn allocate(bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: the system chooses the place.
    let memory = unsafe {
        kernel32::VirtualAlloc(core::ptr::null_mut(), bytes.max(1), MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE)
    };
    NonNull::new(memory.cast())
}

/// # Safety
/// `memory` is from [`allocate`], and nobody uses it any more.
pub(super) unsafe fn release(memory: NonNull<u8>) {
    // SAFETY: the caller gives back a whole allocation, which nobody uses.
    unsafe { kernel32::VirtualFree(memory.as_ptr().cast(), 0, MEM_RELEASE) };
}

/// A region: pages in a row around an address that have the same attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The protection `PAGE_...`, with modifiers. 0 if nothing is mapped there.
    pub(super) protection: u32,
    /// The address at which the pages' module begins. 0 if they belong to no module.
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
    /// Asks the system for the region at an address. The question calls no function of the loader, and takes none of the loader's locks.
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
        // SAFETY: the call fills a local variable of the size that it is told.
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

/// The last region that [`readable`] found in this transaction: its beginning, its end and its protection. Each question to the system takes a
/// considerable part of the time of a flip, and the writer asks about the same pages as the code that reads the sites before it.
static NOTED: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

/// The range around `address` that can be read. Empty if `address` cannot be read. Called with the lock held.
pub(super) fn readable(address: usize) -> Range<usize> {
    let region = Region::at(address).filter(Region::can_be_read);
    let [start, end, protection] =
        region.map_or([0; 3], |region| [region.start, region.end, region.protection as usize]);
    NOTED.iter().zip([start, end, protection]).for_each(|(place, word)| place.store(word, Ordering::Relaxed));
    start..end
}

/// The region at `address`. Does not ask the system if `address` lies in the region that [`readable`] found last. Called with the lock held.
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

/// Changes the protection of pages. Control Flow Guard's list of functions stays as it is, if the system supports that (Windows 8.1).
///
/// # Safety
/// It is safe to change the protection of these pages to `protection`.
#[inline]
pub(super) unsafe fn protect(start: usize, bytes: usize, protection: u32) -> Result<(), Refusal> {
    // SAFETY: the caller says that the protection of these pages can be changed.
    unsafe {
        if protection & EXECUTE != 0 && try_protect(start, bytes, protection | PAGE_TARGETS_NO_UPDATE) == Ok(()) {
            return Ok(());
        }
        try_protect(start, bytes, protection)
    }
}

/// Makes one call of `VirtualProtect`.
///
/// # Safety
/// It is safe to change the protection of these pages to `protection`.
unsafe fn try_protect(start: usize, bytes: usize, protection: u32) -> Result<(), Refusal> {
    #[cfg(all(test, jumplabel_sites))]
    super::tests::refusal(protection)?;
    let mut old = 0;
    // SAFETY: the caller says that the protection of these pages can be changed.
    let done = unsafe { kernel32::VirtualProtect(start as *mut c_void, bytes, protection, &raw mut old) };
    if done != 0 { Ok(()) } else { Err(last_refusal()) }
}

/// The time since the system was started.
pub(super) fn now() -> Duration {
    static FREQUENCY: AtomicI64 = AtomicI64::new(0);
    let mut count = 0;
    // SAFETY: the call fills a local variable.
    unsafe { kernel32::QueryPerformanceCounter(&raw mut count) };
    let mut frequency = FREQUENCY.load(Ordering::Relaxed);
    if frequency == 0 {
        // SAFETY: the call fills a local variable.
        unsafe { kernel32::QueryPerformanceFrequency(&raw mut frequency) };
        frequency = frequency.max(1);
        FREQUENCY.store(frequency, Ordering::Relaxed);
    }
    let (count, frequency) = (count.max(0) as u64, frequency as u64);
    let nanoseconds = (count % frequency) * 1_000_000_000 / frequency;
    Duration::new(count / frequency, nanoseconds as u32)
}

//! The memory for the library's lists and indexes: pages in a static of the kernel. So flips need no allocator.

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The size of a page of [`Memory`] in bytes, whatever the size of the CPU's pages.
const PAGE: usize = 4096;

/// Memory of `PAGES` pages of 4 KiB: at most 64 pages, or 32 if a word has 32 bits. An index takes 4 bytes for each site; the lists of a flip take 32
/// bytes for each site that the flip changes. If there is no room, the flip is refused as [`OutOfMemory`](jumplabel::Error::OutOfMemory), and nothing
/// has changed.
///
/// The memory is aligned to a cache line only. Alignment to a page of the CPU would cost a kernel up to two pages more.
#[repr(C, align(64))]
pub struct Memory<const PAGES: usize> {
    pages: UnsafeCell<[[u8; PAGE]; PAGES]>,
    /// A bit for each page that is in use.
    used: AtomicUsize,
}

// SAFETY: `allocate` gives a page away only if it has set the page's bit in `used` by a compare-and-swap. So a page has one user at a time.
unsafe impl<const PAGES: usize> Sync for Memory<PAGES> {}

impl<const PAGES: usize> Memory<PAGES> {
    /// Memory with all pages free.
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(PAGES <= usize::BITS as usize, "a bit for each page") };
        Memory { pages: UnsafeCell::new([[0; PAGE]; PAGES]), used: AtomicUsize::new(0) }
    }

    fn address(&self) -> usize {
        self.pages.get() as usize
    }

    /// A mask with the bits of `count` pages from page `first` on.
    fn bits(first: usize, count: usize) -> usize {
        (usize::MAX >> (usize::BITS as usize - count)) << first
    }

    pub(crate) fn allocate(&self, bytes: usize) -> Option<NonNull<u8>> {
        let count = bytes.div_ceil(PAGE).max(1);
        loop {
            let used = self.used.load(Ordering::Relaxed);
            let first = (0..=PAGES.checked_sub(count)?).find(|&first| used & Self::bits(first, count) == 0)?;
            let now = used | Self::bits(first, count);
            if self.used.compare_exchange(used, now, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                // SAFETY: `first` is at most `PAGES - count`, so the address is in `pages`.
                let memory = unsafe { self.pages.get().cast::<u8>().add(first * PAGE) };
                // SAFETY: the `count` pages from `first` on are in `pages`. The compare-and-swap has set their bits, so nobody else uses them.
                unsafe { memory.write_bytes(0, count * PAGE) };
                return NonNull::new(memory);
            }
        }
    }

    /// Frees memory.
    ///
    /// # Safety
    /// `memory` came from [`allocate`](Self::allocate), and is not in use any more. `bytes` is the size that was asked for, or a smaller one that
    /// rounds up to the same whole pages.
    pub(crate) unsafe fn release(&self, memory: NonNull<u8>, bytes: usize) {
        let first = (memory.as_ptr() as usize - self.address()) / PAGE;
        self.used.fetch_and(!Self::bits(first, bytes.div_ceil(PAGE).max(1)), Ordering::Release);
    }
}

impl<const PAGES: usize> Default for Memory<PAGES> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static MEMORY: Memory<4> = Memory::new();

    #[test]
    fn pages() {
        let [one, two] = [1, PAGE + 1].map(|bytes| MEMORY.allocate(bytes).unwrap());
        assert_eq!(two.as_ptr() as usize, one.as_ptr() as usize + PAGE);
        assert!((one.as_ptr() as usize).is_multiple_of(64) && size_of_val(&MEMORY) == 4 * PAGE + 64);
        assert!(MEMORY.allocate(2 * PAGE).is_none() && MEMORY.allocate(usize::MAX).is_none());
        // SAFETY: `two` leads to two pages, which this test has allocated.
        unsafe { two.as_ptr().write_bytes(7, 2 * PAGE) };
        // SAFETY: `two` comes from `allocate`, with this size, and is not used any more.
        unsafe { MEMORY.release(two, PAGE + 1) };
        let all = MEMORY.allocate(3 * PAGE).unwrap();
        assert_eq!(all, two);
        // SAFETY: `all` leads to three pages, which this test has allocated.
        assert!(unsafe { core::slice::from_raw_parts(all.as_ptr(), 3 * PAGE) }.iter().all(|byte| *byte == 0));
        assert!(MEMORY.allocate(1).is_none());
    }
}

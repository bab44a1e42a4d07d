//! Pages for lists and indexes, in a static of the kernel, so that no allocator is needed.

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The size of a page here in bytes, whatever the size of the CPU's pages.
const PAGE: usize = 4096;

/// `PAGES` pages of 4 KiB, at most 64, or 32 if a word has 32 bits. An index takes 4 bytes for each site; the lists of a flip take 32 bytes for each
/// site that the flip changes. If there is no room, the flip is refused as [`OutOfMemory`](jumplabel::Error::OutOfMemory), and nothing has changed.
///
/// The memory begins at a cache line. Alignment to a page of the CPU would cost a kernel up to two pages more.
#[repr(C, align(64))]
pub struct Memory<const PAGES: usize> {
    pages: UnsafeCell<[[u8; PAGE]; PAGES]>,
    /// A bit for each page that is in use.
    used: AtomicUsize,
}

// SAFETY: a page is used only by the thread that has set its bit in `used`.
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

    /// The bits of `count` pages, from page `first` on.
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
                // SAFETY: these pages are in `pages`, and only this thread has set their bits.
                let memory = unsafe { self.pages.get().cast::<u8>().add(first * PAGE) };
                // SAFETY: the same pages, all `count` of them.
                unsafe { memory.write_bytes(0, count * PAGE) };
                return NonNull::new(memory);
            }
        }
    }

    /// # Safety
    /// `memory` comes from [`allocate`](Self::allocate) with this size, and is not in use any more.
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

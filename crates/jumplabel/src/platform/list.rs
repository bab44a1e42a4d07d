//! A growing list whose memory comes from [`Platform::allocate`]. The patcher keeps its site changes and spans in such lists. The patcher cannot use
//! the program's allocator, because that allocator can contain sites, and has locks that a signal handler must not take.

use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;
use core::sync::atomic::{Ordering, fence};

use super::Platform;
use crate::error::Error;

/// A growing list. Its memory is freed by [`free`](Self::free), not when the list is dropped.
///
/// A process can be killed or forked while a thread changes a list. Another thread or the child then finds the unfinished transaction, and uses the
/// list as it is. So at no moment of a change may the capacity or the length exceed the memory that the list has.
#[repr(C)] // Another instance of the library can use the list in a `Notices`.
pub(crate) struct List<T: Copy> {
    raw: Raw,
    entries: PhantomData<T>,
}

// SAFETY: the list is the only owner of its entries.
unsafe impl<T: Copy + Send> Send for List<T> {}

/// The part of a list that does not depend on the type of the entries. The program contains the code for this part only once, and not once for each
/// type.
#[repr(C)]
struct Raw {
    /// `None` if there is no memory yet. So all bytes of an unused list are zero, and a static list takes no room in the program's file.
    memory: Option<NonNull<u8>>,
    /// The number of entries for which there is room.
    capacity: usize,
    len: usize,
}

/// The address of the entries of a list without memory. It is aligned for any type of entry.
const NOWHERE: NonNull<u8> = NonNull::new(core::ptr::without_provenance_mut(64)).unwrap();

impl Raw {
    /// The address of the first entry.
    #[inline]
    fn start(&self) -> NonNull<u8> {
        self.memory.unwrap_or(NOWHERE)
    }

    /// Makes room for `more` entries of `size` bytes.
    #[inline(never)]
    fn reserve(&mut self, more: usize, size: usize, platform: &dyn Platform) -> Result<(), Error> {
        let needed = self.len + more;
        if needed <= self.capacity { Ok(()) } else { self.grow(needed, size, platform) }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, needed: usize, size: usize, platform: &dyn Platform) -> Result<(), Error> {
        let (old, old_bytes) = (self.start(), self.capacity * size);
        let bytes = (needed.max(self.capacity * 2) * size).max(platform.page_size());
        let memory = platform.allocate(bytes).ok_or(Error::OutOfMemory)?;
        // SAFETY: the old and the new memory have room for `len` entries. They do not overlap, because `allocate` returns unused memory.
        unsafe { memory.copy_from_nonoverlapping(old, self.len * size) };
        fence(Ordering::Release);
        self.memory = Some(memory);
        fence(Ordering::Release);
        self.capacity = bytes.checked_div(size).unwrap_or_default();
        if old != NOWHERE {
            // SAFETY: the memory came from `allocate`, and the list does not use it any more. `allocate` and `release` round both sizes up to the
            // same pages.
            unsafe { platform.release(old, old_bytes) };
        }
        Ok(())
    }

    /// Makes room for one more entry of `size` bytes, and returns its address. The caller increments `len` once it has written the entry. `None` if
    /// there is no memory.
    #[inline(never)]
    fn next(&mut self, size: usize, platform: &dyn Platform) -> Option<NonNull<u8>> {
        self.reserve(1, size, platform).ok()?;
        // SAFETY: `reserve` has made room for one more entry after the first `len` entries.
        Some(unsafe { self.start().add(self.len * size) })
    }

    #[inline(never)]
    fn free(&mut self, size: usize, platform: &dyn Platform) {
        let bytes = self.capacity * size;
        (self.capacity, self.len) = (0, 0);
        fence(Ordering::Release);
        if let Some(memory) = self.memory.take() {
            // SAFETY: the memory came from `allocate`, and the list does not use it any more. `allocate` and `release` round both sizes up to the
            // same pages.
            unsafe { platform.release(memory, bytes) };
        }
    }
}

impl<T: Copy> List<T> {
    pub(crate) const fn new() -> Self {
        const { assert!(align_of::<T>() <= 64, "what a platform aligns to") };
        List { raw: Raw { memory: None, capacity: 0, len: 0 }, entries: PhantomData }
    }

    /// Makes room for `more` entries.
    #[inline]
    pub(crate) fn reserve(&mut self, more: usize, platform: &dyn Platform) -> Result<(), Error> {
        self.raw.reserve(more, size_of::<T>(), platform)
    }

    #[inline]
    pub(crate) fn push(&mut self, entry: T, platform: &dyn Platform) -> Result<(), Error> {
        let place = self.raw.next(size_of::<T>(), platform).ok_or(Error::OutOfMemory)?;
        // SAFETY: `next` made room for an entry at this place. The place is aligned: `allocate` aligns the first entry to 64 bytes, no entry needs
        // more, and all entries have the same size.
        unsafe { place.cast::<T>().write(entry) };
        fence(Ordering::Release);
        self.raw.len += 1;
        Ok(())
    }

    /// Appends the entries that `next` yields, until `next` yields `None` or the reserved room is full. If `kept` is false, writes each entry to the
    /// same unused place, and leaves the length of the list as it was.
    #[inline]
    pub(crate) fn extend(&mut self, kept: bool, mut next: impl FnMut() -> Option<T>) {
        let (memory, &Raw { capacity, len: before, .. }) = (self.raw.start(), &self.raw);
        // A local variable holds the length, so that the length stays in a register. A store to memory for each entry would cost too much.
        let mut len = before;
        while len < capacity
            && let Some(entry) = next()
        {
            // SAFETY: `len` is below the capacity, so there is room for one more entry.
            unsafe { memory.cast::<T>().add(len).write(entry) };
            len += usize::from(kept);
        }
        self.raw.len = len;
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.raw.len = self.raw.len.min(len);
    }

    /// Drops the entries for which `keep` returns false. The second argument of `keep` contains the entries that were kept so far.
    pub(crate) fn retain(&mut self, keep: impl FnMut(&T, &[T]) -> bool) {
        self.raw.len = retain(self.as_mut_slice(), keep);
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: the first `len` entries were written, because `len` grows only after an entry was written.
        unsafe { core::slice::from_raw_parts_mut(self.raw.start().as_ptr().cast(), self.raw.len) }
    }

    /// The number of bytes for which the list has memory.
    pub(crate) fn bytes(&self) -> usize {
        self.raw.capacity * size_of::<T>()
    }

    pub(crate) fn free(&mut self, platform: &dyn Platform) {
        self.raw.free(size_of::<T>(), platform);
    }
}

/// A list whose memory is freed when this value is dropped, also during the unwinding of a panic.
pub(crate) struct Owned<T: Copy> {
    pub(crate) list: List<T>,
    platform: &'static dyn Platform,
}

impl<T: Copy> Owned<T> {
    pub(crate) const fn new(platform: &'static dyn Platform) -> Self {
        Owned { list: List::new(), platform }
    }

    pub(crate) fn push(&mut self, entry: T) -> Result<(), Error> {
        self.list.push(entry, self.platform)
    }
}

impl<T: Copy> Drop for Owned<T> {
    fn drop(&mut self) {
        self.list.free(self.platform);
    }
}

/// Moves the entries for which `keep` returns true to the front, and returns their number. The second argument of `keep` contains the entries that
/// were kept so far.
pub(crate) fn retain<T: Copy>(entries: &mut [T], mut keep: impl FnMut(&T, &[T]) -> bool) -> usize {
    let mut count = 0;
    for at in 0..entries.len() {
        let (Some(&entry), Some(kept)) = (entries.get(at), entries.get(..count)) else { break };
        if keep(&entry, kept)
            && let Some(place) = entries.get_mut(count)
        {
            *place = entry;
            count += 1;
        }
    }
    count
}

impl<T: Copy> Deref for List<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: the first `len` entries were written, because `len` grows only after an entry was written.
        unsafe { core::slice::from_raw_parts(self.raw.start().as_ptr().cast(), self.raw.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::{List, Platform};
    use crate::error::Error;
    use crate::platform::{Body, Extent, Failure, Held, Summary, Token, WriteReport, WriterKind, WriterList, builtin};
    use core::ptr::NonNull;
    use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
    use core::time::Duration;

    /// A platform that checks a list each time the list frees memory. A process that is killed at that moment leaves the list in this state.
    struct Watched(AtomicPtr<List<u64>>, AtomicUsize);

    // SAFETY: the test uses only `allocate`, `release` and `page_size` of this platform, and these call the built-in platform. `open` writes nothing.
    unsafe impl Platform for Watched {
        fn lock(&self) -> Result<Token, Error> {
            Err(Error::NoWriter)
        }
        unsafe fn unlock(&self, _: Token) {}
        fn allocate(&self, bytes: usize) -> Option<NonNull<u8>> {
            builtin().allocate(bytes)
        }
        unsafe fn release(&self, memory: NonNull<u8>, bytes: usize) {
            // SAFETY: the pointer leads to the test's list, which lives until the end of the test, and which only this thread uses.
            let (now, capacity, len) = unsafe {
                let list = self.0.load(Ordering::Relaxed);
                ((&raw const (*list).raw.memory).read_volatile(), (*list).raw.capacity, (*list).raw.len)
            };
            assert_ne!(now, Some(memory), "the list leads to memory that is given back");
            assert!(now.is_some() || (capacity, len) == (0, 0));
            self.1.fetch_add(1, Ordering::Relaxed);
            // SAFETY: the caller frees memory from `allocate` above, which the built-in platform allocated.
            unsafe { builtin().release(memory, bytes) };
        }
        fn page_size(&self) -> usize {
            builtin().page_size()
        }
        fn writers(&self, _: &Summary, _: &mut Held) -> WriterList {
            WriterList::default()
        }
        unsafe fn open(
            &self,
            _: WriterKind,
            _: &[Extent],
            _: &mut Held,
            _: &mut Body<'_>,
        ) -> Result<WriteReport, Failure> {
            Err(Failure::Refused(crate::error::Refusal::NOT_TRIED))
        }
        fn now(&self) -> Duration {
            Duration::ZERO
        }
    }

    #[test]
    #[cfg_attr(not(jumplabel_user_space), ignore = "the platform has no memory to give")]
    fn lists_lead_to_memory_that_is_there() {
        let list = std::boxed::Box::into_raw(std::boxed::Box::new(List::<u64>::new()));
        let platform = Watched(AtomicPtr::new(list), AtomicUsize::new(0));
        // SAFETY: the list was made above, and is freed at the end of this block. `release` only reads it, while a method of the list calls
        // `release`.
        unsafe {
            (0..100_000).for_each(|number| (*list).push(number, &platform).unwrap());
            assert!((0..100_000).eq((*list).iter().copied()));
            (*list).free(&platform);
            drop(std::boxed::Box::from_raw(list));
        }
        assert!(platform.1.load(Ordering::Relaxed) > 3);
    }
}

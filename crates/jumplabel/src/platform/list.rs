//! A list in memory from [`Platform::allocate`]. The patcher keeps its site changes and spans in such lists. It cannot use the program's
//! allocator, because that can have its own sites, or locks that a signal handler must not take.

use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;
use core::sync::atomic::{Ordering, fence};

use super::Platform;
use crate::error::Error;

/// A list that grows. A drop of the list does not free its memory: [`free`](Self::free) does.
///
/// A process can be killed, or forked, while a list is being changed. A thread that then finds the transaction unfinished uses its lists as they
/// are. So at each moment of a change, a list must not claim more memory than it has.
#[repr(C)] // Two instances of the library use the same list, in a `Notices`.
pub(crate) struct List<T: Copy> {
    raw: Raw,
    entries: PhantomData<T>,
}

// SAFETY: the list is the only owner of its entries.
unsafe impl<T: Copy + Send> Send for List<T> {}

/// The part of a list that does not depend on the type of the entries. So a program contains its code only once, and not once for each type.
#[repr(C)]
struct Raw {
    /// `None` if there is no memory yet. So an unused list is all zeros, and a static that contains one takes no room in a file.
    memory: Option<NonNull<u8>>,
    /// The number of entries for which there is room.
    capacity: usize,
    len: usize,
}

/// Stands for the address of the entries if there is no memory. It is aligned for any entry.
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
        // SAFETY: both places have room for `len` entries, and they do not overlap.
        unsafe { memory.copy_from_nonoverlapping(old, self.len * size) };
        fence(Ordering::Release);
        self.memory = Some(memory);
        fence(Ordering::Release);
        self.capacity = bytes.checked_div(size).unwrap_or_default();
        if old != NOWHERE {
            // SAFETY: the memory came from `allocate`, and is no longer used.
            unsafe { platform.release(old, old_bytes) };
        }
        Ok(())
    }

    /// The address of the next entry, which has `size` bytes. `len` does not count that entry yet. `None` if there is no memory.
    #[inline(never)]
    fn next(&mut self, size: usize, platform: &dyn Platform) -> Option<NonNull<u8>> {
        self.reserve(1, size, platform).ok()?;
        // SAFETY: there is room for one more entry.
        Some(unsafe { self.start().add(self.len * size) })
    }

    #[inline(never)]
    fn free(&mut self, size: usize, platform: &dyn Platform) {
        let bytes = self.capacity * size;
        (self.capacity, self.len) = (0, 0);
        fence(Ordering::Release);
        if let Some(memory) = self.memory.take() {
            // SAFETY: the memory came from `allocate`, which rounds the size up in the same way as `release`.
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
        // SAFETY: the place has room for an entry. It is aligned, because `allocate` aligns to 64 bytes, which no entry exceeds,
        // and all entries have the same size.
        unsafe { place.cast::<T>().write(entry) };
        fence(Ordering::Release);
        self.raw.len += 1;
        Ok(())
    }

    /// Appends the entries that `next` yields, until `next` yields `None` or the reserved room is full. If `kept` is false, each entry overwrites
    /// the previous one, and the list stays as it was.
    #[inline]
    pub(crate) fn extend(&mut self, kept: bool, mut next: impl FnMut() -> Option<T>) {
        let (memory, &Raw { capacity, len: before, .. }) = (self.raw.start(), &self.raw);
        // A local variable counts the length, so that the count stays in a register. A store to memory for each entry would cost too much.
        let mut len = before;
        while len < capacity
            && let Some(entry) = next()
        {
            // SAFETY: there is room for one more entry.
            unsafe { memory.cast::<T>().add(len).write(entry) };
            len += usize::from(kept);
        }
        self.raw.len = len;
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.raw.len = self.raw.len.min(len);
    }

    /// Keeps the entries for which `keep` returns true. The second argument of `keep` is a slice of the entries that were kept so far.
    pub(crate) fn retain(&mut self, keep: impl FnMut(&T, &[T]) -> bool) {
        self.raw.len = retain(self.as_mut_slice(), keep);
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: `len` entries were written.
        unsafe { core::slice::from_raw_parts_mut(self.raw.start().as_ptr().cast(), self.raw.len) }
    }

    /// The number of bytes of memory that the list holds.
    pub(crate) fn bytes(&self) -> usize {
        self.raw.capacity * size_of::<T>()
    }

    pub(crate) fn free(&mut self, platform: &dyn Platform) {
        self.raw.free(size_of::<T>(), platform);
    }
}

/// A list that is freed when this value is dropped, even by a panic.
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

/// Moves the entries for which `keep` returns true to the front, and returns their number. The second argument of `keep` is a slice of the
/// entries that were kept so far.
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
        // SAFETY: `len` entries were written.
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

    /// A platform that looks at a list each time memory is freed. If a process were killed at that moment, it would leave the list in that
    /// state.
    struct Watched(AtomicPtr<List<u64>>, AtomicUsize);

    // SAFETY: this platform is never used for writing.
    unsafe impl Platform for Watched {
        fn lock(&self) -> Result<Token, Error> {
            Err(Error::NoWriter)
        }
        unsafe fn unlock(&self, _: Token) {}
        fn allocate(&self, bytes: usize) -> Option<NonNull<u8>> {
            builtin().allocate(bytes)
        }
        unsafe fn release(&self, memory: NonNull<u8>, bytes: usize) {
            // SAFETY: this is the test's list, which only this thread uses.
            let (now, capacity, len) = unsafe {
                let list = self.0.load(Ordering::Relaxed);
                ((&raw const (*list).raw.memory).read_volatile(), (*list).raw.capacity, (*list).raw.len)
            };
            assert_ne!(now, Some(memory), "the list leads to memory that is given back");
            assert!(now.is_some() || (capacity, len) == (0, 0));
            self.1.fetch_add(1, Ordering::Relaxed);
            // SAFETY: the caller keeps the contract of `release`, and the built-in platform allocated the memory.
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
        // SAFETY: the list was made above. `release` only reads it, while a method of the list is calling `release`.
        unsafe {
            (0..100_000).for_each(|number| (*list).push(number, &platform).unwrap());
            assert!((0..100_000).eq((*list).iter().copied()));
            (*list).free(&platform);
            drop(std::boxed::Box::from_raw(list));
        }
        assert!(platform.1.load(Ordering::Relaxed) > 3);
    }
}

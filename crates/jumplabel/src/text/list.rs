//! A list in memory from [`Text::allocate`]: what the patcher keeps its edits and spans in, because the program's allocator
//! may have sites of its own, or locks that a signal handler must not take.

use core::cell::UnsafeCell;
use core::ops::Deref;
use core::ptr::NonNull;

use super::Text;
use crate::error::Error;
use crate::patch::Lock;

/// A list that grows. Not dropped by itself: [`free`](Self::free).
pub(crate) struct List<T: Copy> {
    memory: Option<NonNull<T>>,
    capacity: usize,
    len: usize,
}

impl<T: Copy> List<T> {
    pub(crate) const fn new() -> Self {
        List { memory: None, capacity: 0, len: 0 }
    }

    /// Room for `more` entries.
    #[inline]
    pub(crate) fn reserve(&mut self, more: usize, text: &dyn Text) -> Result<(), Error> {
        let needed = self.len + more;
        if needed <= self.capacity {
            return Ok(());
        }
        let old = self.memory.map(NonNull::cast);
        let wanted = needed.max(self.capacity * 2) * size_of::<T>();
        // SAFETY: memory of this list.
        let (memory, bytes) =
            unsafe { grow(old, self.bytes(), self.len * size_of::<T>(), wanted, text) }.ok_or(Error::OutOfMemory)?;
        (self.memory, self.capacity) = (Some(memory.cast()), bytes / size_of::<T>());
        Ok(())
    }

    #[inline(never)]
    pub(crate) fn push(&mut self, entry: T, text: &dyn Text) -> Result<(), Error> {
        self.reserve(1, text)?;
        if let Some(memory) = self.memory {
            // SAFETY: there is room.
            unsafe { memory.add(self.len).write(entry) };
            self.len += 1;
        }
        Ok(())
    }

    /// Appends what `next` yields, until it yields nothing or the room that was reserved is full.
    #[inline]
    pub(crate) fn extend<E>(&mut self, mut next: impl FnMut() -> Result<Option<T>, E>) -> Result<(), E> {
        let Some(memory) = self.memory else { return Ok(()) };
        while self.len < self.capacity {
            let Some(entry) = next()? else { break };
            // SAFETY: there is room.
            unsafe { memory.add(self.len).write(entry) };
            self.len += 1;
        }
        Ok(())
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Keeps the entries that `keep` says, which is shown those that are kept before, too.
    pub(crate) fn retain(&mut self, keep: impl FnMut(&T, &[T]) -> bool) {
        self.len = retain(self.as_mut_slice(), keep);
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        match self.memory {
            // SAFETY: `len` entries were written.
            Some(memory) => unsafe { core::slice::from_raw_parts_mut(memory.as_ptr(), self.len) },
            None => &mut [],
        }
    }

    /// Bytes that the list holds.
    pub(crate) fn bytes(&self) -> usize {
        self.capacity * size_of::<T>()
    }

    pub(crate) fn free(&mut self, text: &dyn Text) {
        let bytes = self.bytes();
        (self.capacity, self.len) = (0, 0);
        if let Some(memory) = self.memory.take() {
            // SAFETY: from `allocate`, which rounds as `release` does.
            unsafe { text.release(memory.cast(), bytes) };
        }
    }
}

/// Moves the entries that `keep` says to the front, and counts them. It is shown those that are kept before, too.
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

/// Memory of at least `wanted` bytes in the place of `old`, with what is used of that, and how much it is. One for all types.
///
/// # Safety
/// `old` is `bytes` bytes from [`Text::allocate`], of which `used` are written; after this it is nobody's.
#[inline(never)]
unsafe fn grow(
    old: Option<NonNull<u8>>,
    bytes: usize,
    used: usize,
    wanted: usize,
    text: &dyn Text,
) -> Option<(NonNull<u8>, usize)> {
    let wanted = wanted.max(text.page_size());
    let memory = text.allocate(wanted)?;
    if let Some(old) = old {
        // SAFETY: both have room for what is used, and do not overlap; then, by the contract, nobody needs the old one.
        unsafe {
            memory.copy_from_nonoverlapping(old, used);
            text.release(old, bytes);
        }
    }
    Some((memory, wanted))
}

impl<T: Copy> Deref for List<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        match self.memory {
            // SAFETY: `len` entries were written.
            Some(memory) => unsafe { core::slice::from_raw_parts(memory.as_ptr(), self.len) },
            None => &[],
        }
    }
}

/// A static that belongs to whoever holds the lock.
pub(crate) struct Guarded<T>(UnsafeCell<T>);

// SAFETY: only `get` reaches the cell, under the lock.
unsafe impl<T> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    pub(crate) const fn new(value: T) -> Self {
        Guarded(UnsafeCell::new(value))
    }

    /// The value.
    ///
    /// # Safety
    /// The lock is held, and no other reference to the value is in use.
    #[allow(clippy::mut_from_ref)] // The lock stands for the right to the static.
    pub(crate) unsafe fn get(&self) -> &mut T {
        // SAFETY: by the contract.
        unsafe { &mut *self.0.get() }
    }
}

/// Collects what `fill` finds under the lock, releases it, and hands the entries to `visit`, which may then do anything.
pub(crate) fn collect<T: Copy>(
    fill: impl FnOnce(&mut List<T>, &Lock) -> Result<(), Error>,
    mut visit: impl FnMut(T),
) -> Result<usize, Error> {
    let lock = Lock::take()?;
    let text = lock.text();
    let mut found = Freed { list: List::new(), text };
    fill(&mut found.list, &lock)?;
    drop(lock);
    found.list.iter().copied().for_each(&mut visit);
    Ok(found.list.len())
}

/// A list that is freed, also when `visit` unwinds.
struct Freed<T: Copy> {
    list: List<T>,
    text: &'static dyn Text,
}

impl<T: Copy> Drop for Freed<T> {
    fn drop(&mut self) {
        self.list.free(self.text);
    }
}

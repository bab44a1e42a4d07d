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
    pub(crate) fn reserve(&mut self, more: usize, text: &dyn Text) -> Result<(), Error> {
        let needed = self.len + more;
        if needed <= self.capacity {
            return Ok(());
        }
        let bytes = (needed.max(self.capacity * 2) * size_of::<T>()).max(text.page_size());
        let memory = text.allocate(bytes).ok_or(Error::OutOfMemory)?.cast::<T>();
        let len = self.len;
        if let Some(old) = self.memory {
            // SAFETY: both have room for `len` entries, and do not overlap.
            unsafe { memory.copy_from_nonoverlapping(old, len) };
        }
        self.free(text);
        (self.memory, self.capacity, self.len) = (Some(memory), bytes / size_of::<T>(), len);
        Ok(())
    }

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

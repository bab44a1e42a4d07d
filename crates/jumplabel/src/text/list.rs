//! A list in memory from [`Text::allocate`]: what the patcher keeps its edits and spans in, because the program's allocator
//! may have sites of its own, or locks that a signal handler must not take.

use core::ops::Deref;
use core::ptr::NonNull;
use core::sync::atomic::{Ordering, fence};

use super::Text;
use crate::error::Error;

/// A list that grows. Not dropped by itself: [`free`](Self::free).
///
/// Whoever finds a transaction unfinished goes on with its lists as they are: a process that is killed, or copied, in the middle
/// of a change leaves a list that says of its memory no more than is there.
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
        let (bytes, used) = (self.bytes(), self.len * size_of::<T>());
        let wanted = needed.max(self.capacity * 2) * size_of::<T>();
        let mut publish = |memory: NonNull<u8>, bytes: usize| {
            self.memory = Some(memory.cast());
            fence(Ordering::Release);
            self.capacity = bytes / size_of::<T>();
        };
        // SAFETY: memory of this list.
        unsafe { grow(old, bytes, used, wanted, text, &mut publish) }.ok_or(Error::OutOfMemory)
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
        // In a register: nothing that is done for each entry may cost more than the entry.
        let mut len = self.len;
        let result = loop {
            match if len < self.capacity { next() } else { Ok(None) } {
                // SAFETY: there is room.
                Ok(Some(entry)) => unsafe { memory.add(len).write(entry) },
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
            len += 1;
        };
        self.len = len;
        result
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
        fence(Ordering::Release);
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

/// Hands memory of at least `wanted` bytes, with what is used of `old`, and how much it is, to `publish`, and gives `old` back.
///
/// # Safety
/// `old` is `bytes` bytes from [`Text::allocate`], of which `used` are written; behind `publish` it is nobody's.
#[inline(never)] // One for all types.
unsafe fn grow(
    old: Option<NonNull<u8>>,
    bytes: usize,
    used: usize,
    wanted: usize,
    text: &dyn Text,
    publish: &mut dyn FnMut(NonNull<u8>, usize),
) -> Option<()> {
    let wanted = wanted.max(text.page_size());
    let memory = text.allocate(wanted)?;
    if let Some(old) = old {
        // SAFETY: both have room for what is used, and do not overlap.
        unsafe { memory.copy_from_nonoverlapping(old, used) };
    }
    fence(Ordering::Release);
    publish(memory, wanted);
    if let Some(old) = old {
        // SAFETY: by the contract.
        unsafe { text.release(old, bytes) };
    }
    Some(())
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

#[cfg(test)]
mod tests {
    use super::{List, Text};
    use crate::error::Error;
    use crate::text::{Body, Extent, Failure, Held, Summary, Token, WriterKind, Writers, Written, builtin};
    use core::ptr::NonNull;
    use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
    use core::time::Duration;

    /// Looks at a list when memory is given back: a process that is killed then leaves it like that.
    struct Watched(AtomicPtr<List<u64>>, AtomicUsize);

    // SAFETY: never used for writing.
    unsafe impl Text for Watched {
        fn lock(&self) -> Result<Token, Error> {
            Err(Error::NoWriter)
        }
        unsafe fn unlock(&self, _: Token) {}
        fn allocate(&self, bytes: usize) -> Option<NonNull<u8>> {
            builtin().allocate(bytes)
        }
        unsafe fn release(&self, memory: NonNull<u8>, bytes: usize) {
            // SAFETY: the test's list, which is in nobody's hands but this thread's.
            let (now, capacity, len) = unsafe {
                let list = self.0.load(Ordering::Relaxed);
                ((&raw const (*list).memory).read_volatile(), (*list).capacity, (*list).len)
            };
            assert_ne!(now.map(NonNull::cast), Some(memory), "the list leads to memory that is given back");
            assert!(now.is_some() || (capacity, len) == (0, 0));
            self.1.fetch_add(1, Ordering::Relaxed);
            // SAFETY: passed on.
            unsafe { builtin().release(memory, bytes) };
        }
        fn page_size(&self) -> usize {
            builtin().page_size()
        }
        fn writers(&self, _: &Summary, _: &mut Held) -> Writers {
            Writers::default()
        }
        unsafe fn open(&self, _: WriterKind, _: &[Extent], _: &mut Held, _: &mut Body<'_>) -> Result<Written, Failure> {
            Err(Failure::Refused(crate::error::Errno::NONE))
        }
        fn now(&self) -> Duration {
            Duration::ZERO
        }
    }

    #[test]
    #[cfg_attr(not(jumplabel_linux), ignore = "the platform has no memory to give")]
    fn lists_lead_to_memory_that_is_there() {
        let list = std::boxed::Box::into_raw(std::boxed::Box::new(List::<u64>::new()));
        let text = Watched(AtomicPtr::new(list), AtomicUsize::new(0));
        // SAFETY: made above; the other reference is a look, at moments at which this one is passed on.
        unsafe {
            (0..100_000).for_each(|number| (*list).push(number, &text).unwrap());
            assert!((0..100_000).eq((*list).iter().copied()));
            (*list).free(&text);
            drop(std::boxed::Box::from_raw(list));
        }
        assert!(text.1.load(Ordering::Relaxed) > 3);
    }
}

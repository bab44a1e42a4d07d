//! The table of functions that are called when a key or a mode has changed (Linux: a notifier chain, kernel/notifier.c). All instances of the library
//! in a process share this table, so a flip by any instance calls all functions.
//!
//! ```text
//!   slot    free ── register ──► id, of, function, data ── remove ──► free once nobody is in it
//!
//!   a thread that calls     running += 1      is there an id?  call it      running -= 1
//!   a thread that removes   id := 0           returns `running`
//! ```
//!
//! If a call and a removal happen at the same time, either the caller sees that the id is gone, or the remover sees that the call runs. While a call
//! runs, its slot is not given to another function. So the function and data that a caller reads after the id belong to that id.

use core::ffi::{c_int, c_uint, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use crate::error::Error;

/// The largest number of functions that can be registered at a time.
pub(crate) const SLOTS: usize = 64;
/// The largest number of threads whose nesting of flips the table can count at the same time.
const CALLERS: usize = 32;
/// The value of a slot's `id` while a thread fills the slot: the slot is not free, but has no function yet.
const CLAIMED: u32 = 1;
/// The deepest allowed nesting of flips on one thread. Flips nest if a registered function makes a flip.
const DEEPEST: u32 = 8;

/// The argument of a function: `struct jumplabel_changed` in C.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RawChanged {
    /// The key that has changed. Null if a mode has changed.
    pub key: *const c_void,
    pub mode: *const c_void,
    /// The new setting. For a key: 1 if the key is on, 0 if it is off. For a mode: its number.
    pub state: c_int,
    /// The number of the [`AskedBy`](crate::AskedBy).
    pub by: c_int,
    pub uid: c_uint,
}

/// A function that can be registered. It must not unwind.
#[doc(hidden)]
pub type Notify = unsafe extern "C" fn(*const RawChanged, *mut c_void);

/// The table of registered functions. A table whose bytes are all zero is empty.
#[doc(hidden)]
#[repr(C)]
pub struct Notifiers {
    /// The [`Sender`](super::notices::Sender). Null until the first function is registered.
    sender: AtomicPtr<c_void>,
    count: AtomicU32,
    /// The number of ids that were given so far.
    given: AtomicU32,
    /// The number of forks since the table was made. A call that began in the parent notices by this number that it does not count in the child.
    forks: AtomicU32,
    slots: [Slot; SLOTS],
    callers: [Caller; CALLERS],
}

#[repr(C)]
struct Slot {
    id: AtomicU32,
    running: AtomicU32,
    /// The address of the key or mode for which the function is registered. 0 if it is registered for all keys and modes.
    of: AtomicUsize,
    /// A [`Notify`]. The field is a pointer and not a number, because in Rust a number may not be turned into a pointer to a function.
    function: AtomicPtr<c_void>,
    data: AtomicPtr<c_void>,
}

/// A thread that is calling functions.
#[repr(C)]
struct Caller {
    /// The thread's number ([`Platform::thread`](super::Platform::thread)). 0 if this place is free.
    thread: AtomicUsize,
    /// How deeply flips are nested on the thread. 1 if the thread is calling the functions of a flip, 2 if one of these functions has made a flip
    /// whose functions are being called, and so on.
    depth: AtomicU32,
}

/// The table for platforms that do not make their own.
pub(super) static OWN: Notifiers = Notifiers::new();

impl Notifiers {
    const fn new() -> Notifiers {
        let slots = [const {
            let [id, running] = [const { AtomicU32::new(0) }; 2];
            let of = AtomicUsize::new(0);
            let [function, data] = [const { AtomicPtr::new(null_mut()) }; 2];
            Slot { id, running, of, function, data }
        }; SLOTS];
        let callers = [const { Caller { thread: AtomicUsize::new(0), depth: AtomicU32::new(0) } }; CALLERS];
        Notifiers {
            sender: AtomicPtr::new(null_mut()),
            count: AtomicU32::new(0),
            given: AtomicU32::new(0),
            forks: AtomicU32::new(0),
            slots,
            callers,
        }
    }

    /// The [`Sender`](super::notices::Sender) of the process. Null until a function is registered.
    #[inline]
    pub(super) fn sender(&self) -> *const c_void {
        self.sender.load(Ordering::Acquire)
    }

    /// Makes `sender` the [`Sender`](super::notices::Sender) of the process, if the process has none.
    pub(super) fn set_sender(&self, sender: *const c_void) {
        let _ = self.sender.compare_exchange(null_mut(), sender.cast_mut(), Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Whether no function is registered.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Registers a function, and returns its id, which is above 0. `of` is the address of the key or mode for which the function is registered. If
    /// `of` is 0, the function is registered for all keys and modes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if no slot is free.
    ///
    /// # Safety
    /// The caller allows each thread that flips to call `function` with `data`, until [`remove`](Self::remove) has returned 0 for the id.
    pub(crate) unsafe fn register(&self, of: usize, function: Notify, data: *mut c_void) -> Result<u32, Error> {
        let (number, slot) = (0..).zip(&self.slots).find(|(_, slot)| slot.is_claimed()).ok_or(Error::OutOfMemory)?;
        slot.of.store(of, Ordering::Relaxed);
        slot.function.store(function as *mut c_void, Ordering::Relaxed);
        slot.data.store(data, Ordering::Relaxed);
        // The counter makes the ids of one slot differ. It starts again after 33 million ids, so that an id is a positive `int` in C.
        let given = self.given.fetch_add(1, Ordering::Relaxed) % (i32::MAX as u32 / SLOTS as u32 - 1) + 1;
        let id = given * SLOTS as u32 + number;
        slot.id.store(id, Ordering::SeqCst);
        self.count.fetch_add(1, Ordering::Relaxed);
        Ok(id)
    }

    /// Removes the function with this id. After this returns, no new call of the function begins. Returns how many of its calls still run. Can be
    /// called again after the removal, to get that number.
    pub(crate) fn remove(&self, id: u32) -> u32 {
        let Some(slot) = self.slots.get(id as usize % SLOTS).filter(|_| id > CLAIMED) else { return 0 };
        self.clear(slot, id);
        // If the slot has the id of another function, no call of the removed function runs any more. If another thread has only claimed the slot,
        // calls may still run, because that thread may not have looked for them yet.
        match slot.id.load(Ordering::SeqCst) {
            0 | CLAIMED => slot.running.load(Ordering::SeqCst),
            _ => 0,
        }
    }

    fn clear(&self, slot: &Slot, id: u32) {
        if slot.id.compare_exchange(id, 0, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Removes each function that lies at `addresses`, and each that is registered for a key or mode there. Called when the object at these addresses
    /// is about to be unloaded.
    #[cfg_attr(not(jumplabel_sites), allow(dead_code))] // Without sites, no object is unloaded.
    pub(crate) fn unload(&self, addresses: &core::ops::Range<usize>) {
        for slot in &self.slots {
            let id = slot.id.load(Ordering::SeqCst);
            let leads_to = [slot.function.load(Ordering::Relaxed) as usize, slot.of.load(Ordering::Relaxed)];
            if id > CLAIMED && leads_to.iter().any(|address| addresses.contains(address)) {
                self.clear(slot, id);
            }
        }
    }

    /// Called in a forked child. Forgets all calls that ran at the time of the fork: those of threads that the child does not have, and, if a
    /// registered function forked, the call of that function. Frees each slot that a thread was filling. Counts the filled slots again, because a
    /// thread of the parent may have filled a slot and not counted it yet.
    #[cfg_attr(not(jumplabel_sites), allow(dead_code))] // Without sites, nothing reports that the process was forked.
    pub(crate) fn forked(&self) {
        self.forks.fetch_add(1, Ordering::Relaxed);
        let mut count = 0;
        for slot in &self.slots {
            slot.running.store(0, Ordering::Relaxed);
            let _ = slot.id.compare_exchange(CLAIMED, 0, Ordering::Relaxed, Ordering::Relaxed);
            count += u32::from(slot.id.load(Ordering::Relaxed) != 0);
        }
        self.count.store(count, Ordering::Relaxed);
        self.callers.iter().for_each(|caller| caller.thread.store(0, Ordering::Relaxed));
    }

    /// The element of `callers` for `thread`. `None` if the thread calls no functions now, if it has no number, or if there was no free element for
    /// it.
    #[inline(never)]
    fn caller(&self, thread: usize) -> Option<&Caller> {
        self.callers.iter().find(|caller| thread != 0 && caller.thread.load(Ordering::Relaxed) == thread)
    }

    /// Whether `thread` must not flip, because its flips are already nested as deeply as [`DEEPEST`] allows.
    pub(crate) fn is_too_deep(&self, thread: usize) -> bool {
        self.caller(thread).is_some_and(|caller| caller.depth.load(Ordering::Relaxed) >= DEEPEST)
    }

    /// Calls the registered functions for each of `changes`. `changed` makes the functions' argument. `thread` is the number of the calling thread,
    /// or 0 if the platform knows no number. The caller does not hold the lock.
    pub(crate) fn call<T>(&self, thread: usize, changes: &[T], changed: impl Fn(&T) -> RawChanged) {
        let claim = |caller: &&Caller| {
            let is_free =
                thread != 0 && caller.thread.compare_exchange(0, thread, Ordering::Relaxed, Ordering::Relaxed).is_ok();
            if is_free {
                caller.depth.store(0, Ordering::Relaxed);
            }
            is_free
        };
        let forks = self.forks.load(Ordering::Relaxed);
        let caller = self.caller(thread).or_else(|| self.callers.iter().find(claim));
        let depth = caller.map_or(0, |caller| caller.depth.fetch_add(1, Ordering::Relaxed));
        for change in changes {
            let changed = changed(change);
            let of = (changed.key as usize).max(changed.mode as usize);
            self.slots.iter().for_each(|slot| slot.call(of, &changed, &self.forks));
        }
        if let Some(caller) = caller.filter(|_| forks == self.forks.load(Ordering::Relaxed)) {
            caller.depth.store(depth, Ordering::Relaxed);
            if depth == 0 {
                caller.thread.store(0, Ordering::Relaxed);
            }
        }
    }
}

impl Slot {
    /// Claims the slot for the calling thread, and returns true. Returns false if the slot has a function, is claimed by another thread, or still has
    /// a running call.
    fn is_claimed(&self) -> bool {
        if self.id.compare_exchange(0, CLAIMED, Ordering::SeqCst, Ordering::Relaxed).is_err() {
            return false;
        }
        let is_free = self.running.load(Ordering::SeqCst) == 0;
        if !is_free {
            self.id.store(0, Ordering::SeqCst);
        }
        is_free
    }

    /// Calls the slot's function if it is registered for the key or mode at `of`, or for all.
    fn call(&self, of: usize, changed: &RawChanged, forks: &AtomicU32) {
        if self.id.load(Ordering::Relaxed) <= CLAIMED {
            return;
        }
        let before = forks.load(Ordering::Relaxed);
        self.running.fetch_add(1, Ordering::SeqCst);
        let (id, registered_for) = (self.id.load(Ordering::SeqCst), self.of.load(Ordering::Relaxed));
        if id > CLAIMED && (registered_for == 0 || registered_for == of) {
            // SAFETY: the slot has an id, so `register` has stored a function and its data. The caller of `register` allows calls until `remove`
            // returns 0, and `remove` does not return 0 while `running` counts this call.
            unsafe {
                let function = core::mem::transmute::<*mut c_void, Notify>(self.function.load(Ordering::Relaxed));
                function(changed, self.data.load(Ordering::Relaxed));
            }
        }
        // If the function forked, `forked` has set `running` to 0 in the child, and no longer counts this call.
        if forks.load(Ordering::Relaxed) == before {
            self.running.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests;

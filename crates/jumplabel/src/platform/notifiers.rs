//! The table of functions that are called when a key or a mode has changed (Linux: a notifier chain, kernel/notifier.c). All instances of the
//! library in a process share it, so a flip by any of them calls all functions.
//!
//! ```text
//!   slot    free ── register ──► id, of, function, data ── remove ──► free once nobody is in it
//!
//!   a thread that calls     running += 1      is there an id?  call it      running -= 1
//!   a thread that removes   id := 0           returns `running`
//! ```
//!
//! Either the caller sees that the id is gone, or the remover sees that the call runs. While a call is in a slot, the slot is not given to another
//! function. So the data that a caller reads after an id belongs to that id.

use core::ffi::{c_int, c_uint, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use crate::error::Error;

/// The number of functions that can be registered.
pub(crate) const SLOTS: usize = 64;
/// The number of threads that the table can distinguish while they call functions at the same time.
const CALLERS: usize = 32;
/// Stands in the place of an id: the slot is not free, but has no function yet.
const CLAIMED: u32 = 1;
/// The deepest nesting of flips on one thread. Flips nest if a function that is called after a flip makes a flip itself.
const DEEPEST: u32 = 8;

/// The argument of a function: `struct jumplabel_changed` in C.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RawChanged {
    /// The key that has changed; null if it was a mode.
    pub key: *const c_void,
    pub mode: *const c_void,
    /// For a key: 1 if it is on, 0 if it is off. For a mode: its number.
    pub state: c_int,
    /// The number of the sort of requester ([`AskedBy`](crate::AskedBy)).
    pub by: c_int,
    pub uid: c_uint,
}

/// A function that can be registered. It must not unwind.
#[doc(hidden)]
pub type Notify = unsafe extern "C" fn(*const RawChanged, *mut c_void);

/// The table of registered functions. If all its bytes are zero, the table is empty.
#[doc(hidden)]
#[repr(C)]
pub struct Notifiers {
    /// Null until the first function is registered.
    sender: AtomicPtr<c_void>,
    count: AtomicU32,
    /// The number of ids that were given.
    given: AtomicU32,
    /// The number of forks between the process that made the table and this one. Calls and callers from before a fork do not count any more.
    forks: AtomicU32,
    slots: [Slot; SLOTS],
    callers: [Caller; CALLERS],
}

#[repr(C)]
struct Slot {
    id: AtomicU32,
    running: AtomicU32,
    /// The address of the key or mode for which the function is registered; 0 for all.
    of: AtomicUsize,
    /// A [`Notify`]. It is kept as a pointer, because a number would not lead to the function by Rust's rules.
    function: AtomicPtr<c_void>,
    data: AtomicPtr<c_void>,
}

/// A thread that is calling functions.
#[repr(C)]
struct Caller {
    /// The thread's number. 0 if this place is free.
    thread: AtomicUsize,
    /// How deep the thread's flips are nested now: it is calling the functions of this many flips, each made by a function of the one before.
    depth: AtomicU32,
}

/// The table for platforms that have none of their own.
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

    /// The `Sender` of the process. Null until a function is registered.
    #[inline]
    pub(super) fn sender(&self) -> *const c_void {
        self.sender.load(Ordering::Acquire)
    }

    /// Makes this the `Sender` of the process, if the process has none.
    pub(super) fn set_sender(&self, sender: *const c_void) {
        let _ = self.sender.compare_exchange(null_mut(), sender.cast_mut(), Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Whether no function is registered.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Registers a function, and returns its id, which is above 0. `of` is the address of the key or mode for which it is registered, or 0 for
    /// all.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if no slot is free.
    ///
    /// # Safety
    /// Any thread that flips may call the function with this data, until [`remove`](Self::remove) has returned 0 for the id.
    pub(crate) unsafe fn register(&self, of: usize, function: Notify, data: *mut c_void) -> Result<u32, Error> {
        let (number, slot) = (0..).zip(&self.slots).find(|(_, slot)| slot.is_claimed()).ok_or(Error::OutOfMemory)?;
        slot.of.store(of, Ordering::Relaxed);
        slot.function.store(function as *mut c_void, Ordering::Relaxed);
        slot.data.store(data, Ordering::Relaxed);
        // Two ids of one slot differ as long as someone keeps them. Ids are positive numbers in C.
        let given = self.given.fetch_add(1, Ordering::Relaxed) % (i32::MAX as u32 / SLOTS as u32 - 1) + 1;
        let id = given * SLOTS as u32 + number;
        slot.id.store(id, Ordering::SeqCst);
        self.count.fetch_add(1, Ordering::Relaxed);
        Ok(id)
    }

    /// Removes a function: after this returns, no new call of it begins. Returns how many calls still run, even if the function was removed before.
    pub(crate) fn remove(&self, id: u32) -> u32 {
        let Some(slot) = self.slots.get(id as usize % SLOTS).filter(|_| id > CLAIMED) else { return 0 };
        self.clear(slot, id);
        // Another function can be in the slot only if no call of this one was running. If another thread has claimed the slot, that thread has not
        // looked for running calls yet.
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

    /// Removes each function that lies at `addresses`, or is registered for a key or mode there, because these addresses are about to be
    /// unloaded.
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

    /// Called in a forked child. Forgets all calls that ran at the moment of the fork: the calls of threads that the child does not have, and the
    /// call in which this thread forked, if there was one. Frees each slot that a thread was about to fill. Counts the filled slots again, because
    /// a thread may have been between filling a slot and counting it.
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

    /// The place of `thread` among the callers. `None` if the thread calls no functions now, or has no number.
    #[inline(never)]
    fn caller(&self, thread: usize) -> Option<&Caller> {
        self.callers.iter().find(|caller| thread != 0 && caller.thread.load(Ordering::Relaxed) == thread)
    }

    /// Returns true if `thread` must not flip, because its flips are already nested as deeply as [`DEEPEST`] allows.
    pub(crate) fn is_too_deep(&self, thread: usize) -> bool {
        self.caller(thread).is_some_and(|caller| caller.depth.load(Ordering::Relaxed) >= DEEPEST)
    }

    /// Calls the functions for each of `changes`, in the thread of this number (0 if the platform knows none). The caller does not hold the
    /// lock.
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
    /// Claims the slot. Returns false if it is not free. After this returns true, no other thread can take the slot.
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

    /// Calls the function, if there is one that is registered for the key or mode at `of`.
    fn call(&self, of: usize, changed: &RawChanged, forks: &AtomicU32) {
        if self.id.load(Ordering::Relaxed) <= CLAIMED {
            return;
        }
        let before = forks.load(Ordering::Relaxed);
        self.running.fetch_add(1, Ordering::SeqCst);
        let (id, registered_for) = (self.id.load(Ordering::SeqCst), self.of.load(Ordering::Relaxed));
        if id > CLAIMED && (registered_for == 0 || registered_for == of) {
            // SAFETY: `register` has stored a function, which may be called with this data as long as `running` counts this call.
            unsafe {
                let function = core::mem::transmute::<*mut c_void, Notify>(self.function.load(Ordering::Relaxed));
                function(changed, self.data.load(Ordering::Relaxed));
            }
        }
        // If the process was forked during the call, this call does not count in the child.
        if forks.load(Ordering::Relaxed) == before {
            self.running.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests;

//! USDT: tracers such as bpftrace and perf find tracepoints in the program's file, and attach to them.
//!
//! ```text
//!   the file      .note.stapsdt: net, packet ──► nop        in a function of its own (Rust), or where the walk begins (C)
//!                                            ──► semaphore  16 bits, in .probes
//!   a tracer      sets a uprobe on the nop, and adds 1 to the semaphore
//!   a look        semaphore above 0: turns the key on, and leads the call to the walk
//!                 semaphore 0: sets the key and the call as the probes need them
//!   the walk      runs the nop if the semaphore is above 0, and then calls each probe of the list
//! ```
//!
//! So a tracer counts as one more probe: the tracepoint is on as long as it has a tracer or any other probe. If the tracer leaves, or the program
//! removes its probes, the other still has what it needs.
//!
//! A bit in the count of probes says whether the library knows of a tracer. A look changes this bit under the lock, together with the key and the
//! call. So two looks at the same time, or a look in a forked child, never find a change that is half done. The whole look happens under the lock, so
//! other threads may unload objects meanwhile. Nothing here depends on the types of a tracepoint, because code for each tracepoint would cost 4 KB
//! and a fifth of a second of compile time.
//!
//! The keys of C's `<jumplabel/sdt.h>` have a semaphore, but no probes and no call: the note is the program's own, after the check. For them, a look
//! flips only the key.
//!
//! The system does not tell a process that a semaphore has changed. So [`watch`] looks ten times a second.

mod declare;
#[doc(hidden)] // For the macros.
pub mod place;
#[cfg(all(test, jumplabel_usdt))]
mod tests;
#[doc(hidden)] // For the macros.
pub mod text;
mod watch;

#[cfg(jumplabel_usdt)]
use core::mem::MaybeUninit;
#[cfg(jumplabel_usdt)]
use core::ptr::null;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU16, Ordering};

use super::probes::{Led, Probes};
use crate::error::Error;
use crate::key_record::meta::Description;
#[cfg(jumplabel_usdt)]
use crate::{
    format::{SEMAPHORE, relative},
    key::RawKey,
    key_record::{self, Record},
    patch::{self, Lock, Request},
    platform::list::Owned,
    raw::count::Change,
};
pub use watch::watch;

/// The result of [`look`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Looked {
    /// The number of tracepoints that have a note. This includes keys that follow semaphores of `<sys/sdt.h>`, and callsites of tracing that have
    /// keys.
    pub tracepoints: usize,
    /// The number of these tracepoints to which a tracer is attached.
    pub traced: usize,
    /// The error of a tracepoint that could not be set as its semaphore requires, because a flip was refused. That tracepoint stays as it was, and
    /// the next look tries again. If there were several errors, this is the last one.
    pub error: Option<Error>,
}

impl Description {
    pub(super) fn of(semaphore: &'static AtomicU16, led: Led<'static>, probes: &'static Probes) -> Description {
        Description { semaphore, key: led.key, call: led.call, probes: core::ptr::from_ref(probes).cast() }
    }
}

#[cfg(jumplabel_usdt)]
impl Description {
    /// Whether a tracer is attached. Called under the lock.
    fn is_traced(&self, _: &Lock) -> bool {
        // SAFETY: the semaphore is a static of a loaded object, and the lock keeps the object loaded.
        unsafe { &*self.semaphore }.load(Ordering::Relaxed) != 0
    }

    /// Whether the library already knows whether a tracer is attached, so that key and call agree with the semaphore. Called under the lock.
    fn follows(&self, lock: &Lock) -> bool {
        // SAFETY: the head of the probes is in a static of a loaded object, and the lock keeps the object loaded.
        unsafe { &*self.probes.cast::<Probes>() }.is_traced() == self.is_traced(lock)
    }

    /// Makes the key and the call agree with the semaphore. Called under the lock.
    fn follow(&self, lock: &mut Lock) -> Result<(), Error> {
        let is_traced = self.is_traced(lock);
        #[cfg(test)]
        if !is_traced && tests::FORGETS.load(Ordering::Relaxed) {
            return Ok(());
        }
        // SAFETY: the head of the probes, the key and the call are statics of a loaded object, and the lock keeps the object loaded. (`call` can be
        // null.)
        let (probes, key, call) = unsafe { (&*self.probes.cast::<Probes>(), &*self.key, self.call.as_ref()) };
        if let Some(call) = call {
            return probes.trace(is_traced, Led { key, call, walk: 0 }, lock);
        }
        patch::commit_locked(&[Request::of_key(key, Change::to(is_traced))], lock)?;
        probes.mark_traced(is_traced);
        Ok(())
    }
}

/// A key that follows a semaphore of `<sys/sdt.h>`, in the layout of C's `include/jumplabel/sdt.h`. It has no probes: `probes` only notes whether a
/// tracer is known.
#[cfg(jumplabel_usdt)]
#[repr(C)]
struct Following {
    key: RawKey,
    probes: Probes,
    /// Leads to the semaphore.
    semaphore: i32,
}

#[cfg(jumplabel_usdt)]
const _: () = assert!(core::mem::offset_of!(Following, semaphore) == 24 && size_of::<Following>() == 32);

#[cfg(jumplabel_usdt)]
impl Following {
    fn describe(&self) -> Description {
        Description {
            semaphore: relative(&raw const self.semaphore) as *const AtomicU16,
            key: &raw const self.key,
            call: null(),
            probes: (&raw const self.probes).cast(),
        }
    }
}

#[cfg(jumplabel_usdt)]
impl Record {
    /// The parts of the tracepoint whose key this record declares. `None` if the key has no tracepoint with a note. Called under the lock.
    fn tracepoint(&self, _: &Lock) -> Option<Description> {
        if self.describe == 0 {
            return self.meta?().tracepoint;
        }
        if self.declaration().shape & SEMAPHORE != 0 {
            // SAFETY: the flag says that `describe` is the address of a `Following`, which the C macro makes as a static. The lock keeps its object
            // loaded.
            return Some(unsafe { &*(self.describe as *const Following) }.describe());
        }
        let mut description = MaybeUninit::uninit();
        // SAFETY: without that flag, `describe` is the address of a function of this type, which the C macro makes. The function fills in all of the
        // description.
        unsafe {
            let describe = core::mem::transmute::<usize, extern "C" fn(*mut Description)>(self.describe);
            describe(description.as_mut_ptr());
            Some(description.assume_init())
        }
    }
}

/// Looks at the semaphores of all tracepoints. Turns a tracepoint on if a tracer is attached to it, and off if the tracer has left and there are no
/// probes.
///
/// This covers the tracepoints of all loaded objects that use this instance of the library. Costs a look at the record of each key, and a flip for
/// each tracepoint whose tracer has come or left since the last look. Any thread may call it at any time, but not in a signal handler. [`watch`]
/// starts a thread that calls it.
///
/// # Errors
/// [`Error::OutOfMemory`]. If the lock cannot be taken, the errors of [`RawKey::seal`](crate::RawKey::seal). On these errors, nothing has changed. If
/// a tracepoint could not be set, the result is still `Ok`, and [`Looked::error`] has the error.
pub fn look() -> Result<Looked, Error> {
    let looked = Looked::default();
    #[cfg(jumplabel_usdt)]
    let looked = look_at_all(looked)?;
    Ok(looked)
}

/// The hook that [`on_look`] stored, an `fn(bool, Looked) -> Looked`; or null.
static HOOK: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// Registers `hook`, which is called after each look. Its first argument is true if the look has found a tracer that has come or left. The hook
/// returns the result of the look, to which it can add. It is for code that follows the key of a tracepoint, and for code that has notes and
/// semaphores of its own. A second call replaces the hook of the first.
#[doc(hidden)] // For the patched tracing-core.
pub fn on_look(hook: fn(bool, Looked) -> Looked) {
    HOOK.store(hook as *mut (), Ordering::Release);
}

#[cfg(jumplabel_usdt)]
fn look_at_all(mut looked: Looked) -> Result<Looked, Error> {
    // An emission in C does nothing if its thread cannot be counted. So the words in which readers are counted must exist before a tracepoint is on.
    super::readers::make()?;
    let mut lock = Lock::take()?;
    let mut stale = Owned::new(lock.platform());
    for tracepoint in key_record::all(&lock.objects).filter_map(|record| record.tracepoint(&lock)) {
        looked.tracepoints += 1;
        looked.traced += usize::from(tracepoint.is_traced(&lock));
        if !tracepoint.follows(&lock) {
            stale.push(tracepoint)?;
        }
    }
    for tracepoint in stale.list.iter() {
        if let Err(error) = tracepoint.follow(&mut lock) {
            looked.error = Some(error);
        }
    }
    drop(lock);
    let hook = HOOK.load(Ordering::Acquire);
    if !hook.is_null() {
        // SAFETY: the pointer is not null, so `on_look` stored a function of this type.
        looked = unsafe {
            core::mem::transmute::<*mut (), fn(bool, Looked) -> Looked>(hook)(!stale.list.is_empty(), looked)
        };
    }
    Ok(looked)
}

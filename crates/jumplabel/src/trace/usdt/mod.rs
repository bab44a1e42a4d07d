//! USDT: tracers such as bpftrace and perf find tracepoints in the file of the program, and attach to them.
//!
//! ```text
//!   the file      .note.stapsdt: net, packet ──► nop        in a function of its own (Rust), or where the walk begins (C)
//!                                            ──► semaphore  16 bits, in .probes
//!   a tracer      sets a uprobe on the nop, and counts the semaphore up
//!   a look        semaphore above 0: key on, and the call leads to the walk     semaphore 0: as the probes need it
//!   the walk      nop, if the semaphore is above 0; then each probe of the list
//! ```
//!
//! So a tracer counts as one probe more. The tracepoint is on as long as it has a tracer or any probe: neither takes away what the other needs.
//! Whether a tracer is known is a bit in the count of probes. A look sets it under the lock, together with the key and the call: so several
//! looks at once, and looks of a child of fork, find nothing half changed. As all of a look happens under the lock, objects can be unloaded
//! meanwhile. Nothing here depends on the types of a tracepoint: code for each would cost 4 KB and a fifth of a second of the compiler.
//!
//! Nobody tells a process that a semaphore has changed. [`watch`] looks ten times a second.

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
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU16, Ordering};

use super::probes::{Led, Probes};
use crate::error::Error;
use crate::key_record::meta::Description;
#[cfg(jumplabel_usdt)]
use crate::{
    key_record::{self, Record},
    patch::Lock,
    platform::list::Owned,
};
pub use watch::watch;

/// What [`look`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Looked {
    /// How many tracepoints have a note, and callsites of tracing, if these have keys.
    pub tracepoints: usize,
    /// How many of them a tracer is attached to.
    pub traced: usize,
    /// Why one of them could not follow, such as a flip that was refused. It stays as it was; the next look tries again.
    pub error: Option<Error>,
}

impl Description {
    pub(super) fn of(semaphore: &'static AtomicU16, led: Led<'static>, probes: &'static Probes) -> Description {
        Description { semaphore, key: led.key, call: led.call, probes: core::ptr::from_ref(probes).cast() }
    }
}

#[cfg(jumplabel_usdt)]
impl Description {
    /// Under the lock: whether there is a tracer.
    fn is_traced(&self, _: &Lock) -> bool {
        // SAFETY: a static of an object that the lock keeps loaded.
        unsafe { &*self.semaphore }.load(Ordering::Relaxed) != 0
    }

    /// Under the lock: whether key and call follow what the semaphore says.
    fn follows(&self, lock: &Lock) -> bool {
        // SAFETY: a static of an object that the lock keeps loaded.
        unsafe { &*self.probes.cast::<Probes>() }.is_traced() == self.is_traced(lock)
    }

    /// Under the lock: has key and call follow.
    fn follow(&self, lock: &mut Lock) -> Result<(), Error> {
        let is_traced = self.is_traced(lock);
        #[cfg(test)]
        if !is_traced && tests::FORGETS.load(Ordering::Relaxed) {
            return Ok(());
        }
        // SAFETY: statics of an object that the lock keeps loaded.
        let (probes, led) =
            unsafe { (&*self.probes.cast::<Probes>(), Led { key: &*self.key, call: &*self.call, walk: 0 }) };
        probes.trace(is_traced, led, lock)
    }
}

#[cfg(jumplabel_usdt)]
impl Record {
    /// Under the lock: what the tracepoint of the key consists of, if it has one with a note.
    fn tracepoint(&self, _: &Lock) -> Option<Description> {
        if self.describe == 0 {
            return self.meta?().tracepoint;
        }
        let mut description = MaybeUninit::uninit();
        // SAFETY: the macro of C leads to such a function, which fills in a description, and does nothing else.
        unsafe {
            let describe = core::mem::transmute::<usize, extern "C" fn(*mut Description)>(self.describe);
            describe(description.as_mut_ptr());
            Some(description.assume_init())
        }
    }
}

/// Looks at the semaphores of all tracepoints, and turns those on that a tracer has attached to, and those off that it has left, unless they
/// have probes.
///
/// It covers the tracepoints of all loaded objects that use this instance of the library. Costs a look at the record of each key, and a flip
/// where a tracer has come or gone. Any thread may look at any time. Not for signal handlers. [`watch`] has a thread do it.
///
/// # Errors
/// [`Error::OutOfMemory`]; if the lock cannot be taken, as [`RawKey::seal`](crate::RawKey::seal). Then nothing has changed. The error of a
/// single tracepoint is in the result.
pub fn look() -> Result<Looked, Error> {
    let looked = Looked::default();
    #[cfg(jumplabel_usdt)]
    let looked = look_at_all(looked)?;
    Ok(looked)
}

/// An `fn(bool, Looked) -> Looked`, or null.
static HOOK: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// Has `hook` called after each look, with whether a tracer has come to a tracepoint or gone: for what follows the key of a tracepoint, and for what
/// has notes and semaphores of its own. It adds these to what the look has found. Replaces the hook before it.
#[doc(hidden)] // For the patched tracing-core.
pub fn on_look(hook: fn(bool, Looked) -> Looked) {
    HOOK.store(hook as *mut (), Ordering::Release);
}

#[cfg(jumplabel_usdt)]
fn look_at_all(mut looked: Looked) -> Result<Looked, Error> {
    // An emission of C does nothing as long as its thread cannot be counted.
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
        // SAFETY: `on_look` stored such a function.
        looked = unsafe {
            core::mem::transmute::<*mut (), fn(bool, Looked) -> Looked>(hook)(!stale.list.is_empty(), looked)
        };
    }
    Ok(looked)
}

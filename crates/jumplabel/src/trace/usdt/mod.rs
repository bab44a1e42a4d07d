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
//! So a tracer counts as one more probe. The tracepoint is on as long as it has a tracer or any probe. Neither of the two removes anything that the
//! other needs. A bit in the count of probes says whether a tracer is known. A look sets this bit under the lock, together with the key and the
//! call. So several looks at the same time, and looks of a forked child, find no unfinished change. The whole look happens under the lock, so other
//! threads may unload objects at the same time. Nothing here depends on the types of a tracepoint, because code for each type would cost 4 KB and a
//! fifth of a second of the compiler.
//!
//! Keys of C's `<jumplabel/sdt.h>` have a semaphore, no probes and no call: the program's own note is after the check. A look flips only the key.
//!
//! A process is not informed when a semaphore changes. So [`watch`] looks ten times a second.

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
    /// The number of tracepoints that have a note. It includes keys that follow semaphores of `<sys/sdt.h>`, and callsites of tracing that have
    /// keys.
    pub tracepoints: usize,
    /// The number of these tracepoints that have a tracer.
    pub traced: usize,
    /// The reason why one of these tracepoints could not follow its semaphore, such as a refused flip. That tracepoint stays as it was, and the
    /// next look tries again.
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
        // SAFETY: this is a static of an object that the lock keeps loaded.
        unsafe { &*self.semaphore }.load(Ordering::Relaxed) != 0
    }

    /// Whether the key and the call agree with the semaphore. Called under the lock.
    fn follows(&self, lock: &Lock) -> bool {
        // SAFETY: this is a static of an object that the lock keeps loaded.
        unsafe { &*self.probes.cast::<Probes>() }.is_traced() == self.is_traced(lock)
    }

    /// Makes the key and the call agree with the semaphore. Called under the lock.
    fn follow(&self, lock: &mut Lock) -> Result<(), Error> {
        let is_traced = self.is_traced(lock);
        #[cfg(test)]
        if !is_traced && tests::FORGETS.load(Ordering::Relaxed) {
            return Ok(());
        }
        // SAFETY: these are statics of an object that the lock keeps loaded.
        let (probes, key, call) = unsafe { (&*self.probes.cast::<Probes>(), &*self.key, self.call.as_ref()) };
        if let Some(call) = call {
            return probes.trace(is_traced, Led { key, call, walk: 0 }, lock);
        }
        patch::commit_locked(&[Request::of_key(key, Change::to(is_traced))], lock)?;
        probes.mark_traced(is_traced);
        Ok(())
    }
}

/// A key that follows a semaphore of `<sys/sdt.h>`, as `include/jumplabel/sdt.h` of C lays it out. It has no probes: the head of their list only
/// notes whether a tracer is known.
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
    /// The parts of the key's tracepoint. `None` if the key has no tracepoint with a note. Called under the lock.
    fn tracepoint(&self, _: &Lock) -> Option<Description> {
        if self.describe == 0 {
            return self.meta?().tracepoint;
        }
        if self.declaration().shape & SEMAPHORE != 0 {
            // SAFETY: the macro of C leads to such a key, in an object that the lock keeps loaded.
            return Some(unsafe { &*(self.describe as *const Following) }.describe());
        }
        let mut description = MaybeUninit::uninit();
        // SAFETY: the C macro leads to a function of this type, which only fills in a description.
        unsafe {
            let describe = core::mem::transmute::<usize, extern "C" fn(*mut Description)>(self.describe);
            describe(description.as_mut_ptr());
            Some(description.assume_init())
        }
    }
}

/// Looks at the semaphores of all tracepoints. Turns a tracepoint on if a tracer has attached to it, and off if the tracer has left and there
/// are no probes.
///
/// It covers the tracepoints of all loaded objects that use this instance of the library. Costs a look at the record of each key, and a flip for
/// each tracepoint that a tracer has attached to or left. Any thread may look at any time. Do not call it in signal handlers. [`watch`] starts a
/// thread that calls it.
///
/// # Errors
/// [`Error::OutOfMemory`]. If the lock cannot be taken, the errors of [`RawKey::seal`](crate::RawKey::seal). On these errors, nothing has
/// changed. The error of a single tracepoint is in the result.
pub fn look() -> Result<Looked, Error> {
    let looked = Looked::default();
    #[cfg(jumplabel_usdt)]
    let looked = look_at_all(looked)?;
    Ok(looked)
}

/// The hook of [`on_look`], an `fn(bool, Looked) -> Looked`, or null.
static HOOK: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// Registers `hook`. It is called after each look. Its first argument says whether a tracer has attached to any tracepoint, or left one. It is for
/// code that follows the key of a tracepoint, and for code that has notes and semaphores of its own, which it adds to the result of the look.
/// Replaces the previous hook.
#[doc(hidden)] // For the patched tracing-core.
pub fn on_look(hook: fn(bool, Looked) -> Looked) {
    HOOK.store(hook as *mut (), Ordering::Release);
}

#[cfg(jumplabel_usdt)]
fn look_at_all(mut looked: Looked) -> Result<Looked, Error> {
    // An emission in C does nothing if its thread cannot be counted, so the words of the readers must exist.
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
        // SAFETY: `on_look` stored a function of this type.
        looked = unsafe {
            core::mem::transmute::<*mut (), fn(bool, Looked) -> Looked>(hook)(!stale.list.is_empty(), looked)
        };
    }
    Ok(looked)
}

//! Tracepoints: places in the code at which probes can be attached. A tracepoint without probes is one instruction.
//!
//! ```text
//!   emit!(packet, len(), port())      the site of a key; if the key is on, the arguments are evaluated
//!        │ static call
//!        ├──► probe                   if the only probe is a plain fn: the call leads directly to it
//!        └──► walk ──► list ──► each  if there are several probes, or a closure: the walk loads the list once, and calls each probe
//! ```
//!
//! ```
//! use jumplabel::{emit, tracepoint};
//! # use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
//!
//! tracepoint! {
//!     /// A packet came.
//!     pub net, packet(len: usize, port: u16);
//! }
//!
//! fn receive(data: &[u8]) {
//!     emit!(packet, data.len(), 80); // a nop, until there is a probe
//! }
//!
//! receive(b"nobody sees this");
//! let bytes = Arc::new(AtomicUsize::new(0));
//! let sum = Arc::clone(&bytes);
//! let probe = packet.add_closure(Arc::new(move |len, _| _ = sum.fetch_add(len, Ordering::Relaxed)))?;
//! receive(b"but this");
//! probe.remove()?;
//! assert_eq!(bytes.load(Ordering::Relaxed), 8);
//! # Ok::<(), jumplabel::Error>(())
//! ```
//!
//! # Why no probe gets another probe's data, and no call leads to code that is gone
//!
//! Linux changes a function and its data at two moments, so a thread could call the function of one probe with the data of another. That happened
//! when a probe was removed and another one was added (from one to none to one), and when all probes but one were removed (from N to two to one).
//! Linux had to add a wait between the two moments (commits 231264d6927f, 352384d5c84e, f7ec41212563). Here, the static call leads only to functions
//! of two kinds:
//!
//! * A plain `fn`, which has no data. A thread that calls it late still passes the right arguments.
//! * The walk. It has no data either: it loads one pointer to a list. A list never changes, and its entry for a probe holds the function and the data
//!   as one object. A thread that comes late finds a later list, or none.
//!
//! So each call is right, whatever the order in which key, call and list change. The order has another purpose: no probe is called that was not
//! added. First, one transaction changes the key and the call; then the list changes. If the transaction is refused, no thread has seen the new
//! probe. Until the new list is in place, the walk goes through the old list, which has all probes that were added before. A removal takes the same
//! steps. The removal of the last probe turns the key off.
//!
//! # When data are freed
//!
//! A thread that walks a list counts itself (`readers`). A list that was replaced is *retired*. A retired list is freed once no thread can be in it,
//! by the next change of any tracepoint, or by [`synchronize_probes`]. A closure is dropped with the last list that contains it. If dropping the
//! closure panics, the panic leaves the call that freed the list. If that call was adding a probe, the probe is removed again.

mod counting;
mod declare;
mod here;
mod info;
mod panics;
mod probes;
#[doc(hidden)] // For the C API.
pub mod raw;
pub(crate) mod readers;
pub mod usdt;

#[doc(hidden)] // For the macros.
pub use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{self, AtomicU16, AtomicU64, Ordering};
use core::time::Duration;

use crate::call::{StaticCall, Trampoline};
use crate::error::Error;
use crate::key::{RawKey, StaticKey};
use crate::key_record::meta::Description;
use crate::patch::{self, Lock, Outcome};
use crate::platform::threads;
pub use info::{TracepointInfo, for_each_tracepoint};
pub use probes::Probes;
use probes::{Entry, Led};

/// A tracepoint's type, which [`tracepoint!`](crate::tracepoint) makes.
///
/// # Safety
/// The default of the trampoline is a function of the type `Target`. It calls each probe in the list of the tracepoint.
#[doc(hidden)]
pub unsafe trait Signature: Trampoline<Target = <Self as Trampoline>::Function> {
    type Closure: ?Sized + Send + Sync + 'static;
    fn closure(function: Self::Function) -> Arc<Self::Closure>;
}

/// A tracepoint. Declare it with [`tracepoint!`](crate::tracepoint), and emit it by [`emit!`](crate::emit).
#[repr(C)]
pub struct Tracepoint<S: Signature> {
    /// The first field, because the trampoline's table entry names the address of the static as the address of the call.
    #[doc(hidden)]
    pub call: StaticCall<S>,
    #[doc(hidden)]
    pub key: StaticKey<false>,
    #[doc(hidden)]
    pub probes: Probes,
}

impl<S: Signature> Tracepoint<S> {
    /// Makes a tracepoint without probes. Only for [`tracepoint!`](crate::tracepoint).
    #[doc(hidden)]
    #[must_use]
    #[allow(clippy::new_without_default)] // `Default` is not const, and a tracepoint must be a static.
    pub const fn new() -> Self {
        Tracepoint { call: StaticCall::new(), key: StaticKey::new(), probes: Probes::new() }
    }

    /// Adds a probe without data. While the probe is the only one, the static call leads directly to it, and an emission counts nothing and loads
    /// nothing.
    ///
    /// When `add` returns, every emission that starts later, on any thread, calls the probe. (For the one exception, see
    /// [`Visibility`](crate::Visibility).) Probes are called in the order in which they were added. Costs some allocations, and three system calls
    /// for the lock. The first probe also costs a flip, and so does the second, if the first has no data. Blocks while another thread flips. A probe
    /// can call `add`. Not safe in signal handlers, because it allocates.
    ///
    /// # Errors
    /// The errors of [`Batch::commit`](crate::Batch::commit). On an error, nothing has changed, and the probe was not called.
    pub fn add(&'static self, probe: S::Function) -> Result<Probe<S>, Error> {
        self.insert(S::closure(probe), Some(probe))
    }

    /// Adds a probe with data, as a closure. After the probe was removed, its data is dropped once no thread is in the probe. An emission then costs
    /// two atomic changes of a counter, and a call through a pointer for each probe. In all other respects, it is like [`add`](Self::add).
    ///
    /// Code that can be unloaded must add a closure even if it needs no data, because [`synchronize_probes`] waits only for closures.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn add_closure(&'static self, probe: Arc<S::Closure>) -> Result<Probe<S>, Error> {
        self.insert(probe, None)
    }

    fn insert(&'static self, closure: Arc<S::Closure>, function: Option<S::Function>) -> Result<Probe<S>, Error> {
        static IDS: AtomicU64 = AtomicU64::new(0);
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        let entry = Entry { id, closure, function };
        // The `Probe` exists before the change, for this case: the change frees old closures, and the drop of one of them panics. Then the `Probe` is
        // dropped, too, and this removes the new probe.
        let probe = Probe { point: self, id };
        match self.change(&|probes| probes.push(entry.clone())) {
            Ok(_) => Ok(probe),
            Err(error) => {
                core::mem::forget(probe);
                Err(error)
            }
        }
    }

    /// The present number of probes. Another thread can change it at any time. A tracer counts as one.
    #[must_use]
    pub fn probes(&self) -> usize {
        self.probes.count()
    }

    /// The tracepoint's key, which is on as long as there are probes. Use it to list its sites, or to [`prepare`](crate::prepare) it. If you seal the
    /// key, only those probes can be added or removed that do not turn the key on or off.
    #[must_use]
    pub const fn key(&'static self) -> &'static RawKey {
        self.key.raw()
    }

    /// Calls `call` with each probe. The walk that [`tracepoint!`](crate::tracepoint) makes uses this function.
    #[doc(hidden)]
    #[inline]
    pub fn each(&self, mut call: impl FnMut(&S::Closure)) {
        let Some(_inside) = readers::enter() else { return };
        // SAFETY: all entries of this tracepoint's list are `Entry<S>`, and `_inside` counts this thread as long as the entries are used.
        let probes = unsafe { self.probes.get::<Entry<S>>() };
        probes.iter().for_each(|probe| call(&probe.closure));
    }

    fn change(&'static self, edit: &dyn Fn(&mut Vec<Entry<S>>)) -> Result<Outcome, Error> {
        let edit = |probes: &mut Vec<_>| {
            edit(probes);
            Ok(())
        };
        // `leads_to` refers to the call's default, the walk, which contains the tracepoint's record. So a program that adds probes contains the
        // record even if it never emits the tracepoint.
        let direct = |probes: &[Entry<S>]| match probes {
            [Entry { function: Some(function), .. }] => StaticCall::<S>::leads_to(*function),
            _ => 0,
        };
        // SAFETY: all entries of this tracepoint's list are `Entry<S>`.
        unsafe { self.probes.change(&edit, &direct, self.led()) }
    }

    fn led(&'static self) -> Led<'static> {
        Led { key: self.key(), call: self.call.raw(), walk: 0 }
    }

    /// The description of this tracepoint for [`usdt::look`], which compares the semaphore with the key.
    #[doc(hidden)]
    #[must_use]
    pub fn describe(&'static self, semaphore: &'static AtomicU16) -> Description {
        Description::of(semaphore, self.led(), &self.probes)
    }
}

impl<S: Signature> core::fmt::Debug for Tracepoint<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Tracepoint({} probes)", self.probes())
    }
}

/// A probe that [`Tracepoint::add`] has added. Dropping this value removes the probe. To leave the probe attached for ever,
/// [`forget`](core::mem::forget) the value.
#[must_use = "the probe is removed when this is dropped"]
pub struct Probe<S: Signature> {
    point: &'static Tracepoint<S>,
    id: u64,
}

impl<S: Signature> Probe<S> {
    /// Removes the probe, as dropping this value does, and returns the outcome.
    ///
    /// When `remove` returns, no emission that starts later calls the probe (see [`Visibility`](crate::Visibility)). Threads may still be in the
    /// probe: [`synchronize_probes`] waits for those in a closure. The probe's data is dropped when all threads have left the probe. `remove` costs
    /// as much as [`Tracepoint::add`], and can be called in the same places.
    ///
    /// # Errors
    /// The errors of [`Tracepoint::add`]. On an error, the probe stays. (A drop cannot report the error.)
    pub fn remove(self) -> Result<Outcome, Error> {
        core::mem::ManuallyDrop::new(self).take_off()
    }

    fn take_off(&self) -> Result<Outcome, Error> {
        self.point.change(&|probes| probes.retain(|probe| probe.id != self.id))
    }
}

impl<S: Signature> Drop for Probe<S> {
    fn drop(&mut self) {
        let _ = self.take_off();
    }
}

impl<S: Signature> core::fmt::Debug for Probe<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Probe({})", self.id)
    }
}

/// Waits until every thread that is in a closure of any tracepoint now has left it (Linux: `tracepoint_synchronize_unregister`). Also waits until the
/// data of all probes that were removed before is dropped. It covers the tracepoints of this instance of the library.
///
/// It does not wait for threads in a plain `fn` that is the only probe, because an emission calls this `fn` directly and counts nothing. Nor does it
/// wait for threads that enter a closure during the wait. Costs a few system calls, and takes as long as the probes take. Do not call it in signal
/// handlers. In a forked child, only the child's own threads count.
///
/// # Errors
/// [`Error::Reentrant`] if this thread is in a closure of a tracepoint, or drops one, because it would wait for itself; also if this thread holds the
/// [`Lock`](crate::Lock). The errors of [`RawKey::seal`](crate::RawKey::seal).
pub fn synchronize_probes() -> Result<(), Error> {
    // This check comes before any use of a thread-local variable, because an IFUNC resolver has none yet.
    patch::demand_registered()?;
    if readers::is_inside() {
        return Err(Error::Reentrant);
    }
    let mut pause = Pause(0);
    let mut seen = 0;
    loop {
        let lock = Lock::take()?;
        let empty = readers::empty();
        let unused = probes::unused(empty, &lock);
        drop(lock);
        drop(unused);
        seen |= empty;
        if seen == readers::BOTH {
            break;
        }
        pause.wait();
    }
    while readers::is_freeing() {
        pause.wait();
    }
    Ok(())
}

/// The pauses between two looks at the other threads. The first pauses are short, and later ones get longer.
struct Pause(u32);

impl Pause {
    fn wait(&mut self) {
        self.0 += 1;
        match self.0.checked_sub(16) {
            None => threads::give_way(),
            Some(rounds) => threads::pause(Duration::from_micros(50) * rounds.min(20)),
        }
    }
}

//! `on_change`: functions that are called when a flip is over (Linux: a notifier chain, include/linux/notifier.h).
//!
//! ```text
//!   flip          lock ── sites, counts ── unlock ── each function, for each key that has changed ── returns
//!                 └───── nobody is called ─────┘     in the thread that flips
//!   a batch       all of it first, then each key; a batch that is refused calls nobody
//!   Lock          the functions are called when it is dropped
//! ```

mod sender;

use core::ffi::c_void;

use crate::error::Error;
use crate::patch::Lock;
use crate::platform::notices::{self, By, PROGRAM};
use crate::platform::notifiers::{Notify, RawChanged};
use crate::platform::platform;
use crate::raw::key::RawKey;
use crate::raw::mode::RawMode;

/// The one who asked for a change. The numbers are those of `JUMPLABEL_BY_*` in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AskedBy {
    /// The program, by any function of this crate or of the C API. This includes guards, the first probe of a tracepoint, and the thread of
    /// deferred keys.
    Program,
    /// The one who started the program, by the variable `JUMPLABEL`.
    Startup,
    /// An operator, by an agent. This includes an operator of a fleet, because agents cannot distinguish the two.
    Operator {
        /// The number of the user that has connected to the agent.
        uid: u32,
    },
    /// An agent that took back a change, because an operator had asked for the change only for a while.
    Revert,
}

impl AskedBy {
    pub(crate) const fn numbers(self) -> By {
        match self {
            AskedBy::Program => PROGRAM,
            AskedBy::Startup => [1, 0],
            AskedBy::Operator { uid } => [2, uid],
            AskedBy::Revert => [3, 0],
        }
    }

    const fn of([number, uid]: By) -> AskedBy {
        match number {
            0 => AskedBy::Program,
            1 => AskedBy::Startup,
            2 => AskedBy::Operator { uid },
            _ => AskedBy::Revert,
        }
    }
}

/// A key or mode that has changed, and its new state.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Changed<'a> {
    /// A key was turned on or off.
    Key {
        /// The key.
        key: &'a RawKey,
        /// The state that this flip gave the key. Another thread may have flipped the key again: [`RawKey::is_enabled`] returns the present
        /// state.
        on: bool,
    },
    /// A mode was set.
    Mode {
        /// The mode.
        mode: &'a RawMode,
        /// The number that this flip gave the mode. [`RawMode::get`] returns the present number.
        number: u8,
    },
}

impl Changed<'_> {
    /// The address of the key or the mode.
    #[must_use]
    pub fn address(&self) -> usize {
        match self {
            Changed::Key { key, .. } => key.address(),
            Changed::Mode { mode, .. } => mode.address(),
        }
    }
}

/// A registered function. Dropping this value does not remove the function: [`remove`](Self::remove) does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnChange {
    id: u32,
}

impl OnChange {
    /// Removes the function, and returns how many of its calls still run, in other threads or around this call. Never waits. After this returns, no
    /// new call begins. If you call `remove` again, for the same registration, it again returns how many calls run. Once it has returned 0, no call
    /// runs. (Until then, the count may for a moment include a thread that was about to call.)
    ///
    /// So before you free anything that the function uses, or unload its object, call this until it returns 0. Do not do that in the function
    /// itself: the loop would never end, because the function's own call is counted.
    ///
    /// Costs a few atomic operations. Safe in signal handlers, and before and after `fork`. In a forked child, the calls that ran at the time of
    /// the fork do not count, not even the call that forked.
    #[allow(clippy::must_use_candidate)] // A function can stay registered for ever.
    pub fn remove(self) -> usize {
        platform().notifiers().map_or(0, |notifiers| notifiers.remove(self.id)) as usize
    }
}

/// Registers `function`: it is called whenever any key or mode of the process has changed. [`RawKey::on_change`] is for one key,
/// [`RawMode::on_change`] for one mode.
///
/// ```
/// use jumplabel::{AskedBy, Changed, on_change, static_key};
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// static_key! { static TRACE: false; }
/// static TURNED_ON: AtomicUsize = AtomicUsize::new(0);
///
/// let registered = on_change(&|changed: &Changed, by: AskedBy| {
///     if let Changed::Key { on: true, .. } = changed {
///         assert_eq!(by, AskedBy::Program);
///         TURNED_ON.fetch_add(1, Ordering::Relaxed);
///     }
/// })?;
/// TRACE.enable()?;
/// TRACE.enable()?; // It is on already.
/// assert_eq!(TURNED_ON.load(Ordering::Relaxed), 1);
/// assert_eq!(registered.remove(), 0);
/// # Ok::<(), jumplabel::Error>(())
/// ```
///
/// *When.* The function runs in the thread that flips. It runs after the flip has committed and the library has released its lock, and before
/// the call that flipped returns. It is called once for each key that went on or off, and for each mode that got another number; not for an
/// `inc` of a key that is on. For a batch, the calls come after all of it has committed; a refused batch causes none. For flips under a
/// [`Lock`], the calls come when the lock is dropped. A flip whose `Ok` says `Visibility::Eventual` also causes calls.
///
/// *Order.* After one flip, functions are called one after the other, in no particular order; so are those for the keys of a batch. Calls for flips of
/// different threads can run at the same time, and in another order than the flips. So a function that keeps a copy of a state must read the
/// key's *present* state, under a lock of its own: then the last call leaves the right copy.
///
/// *What it may do.* The function may do everything that the thread may do at the place where it flips, with the signals and the locks that the
/// thread has there. It may flip keys, even the key that has changed. Then functions are called for that flip before it returns, in calls inside
/// this one. A thread that is 8 flips deep is refused the next, with [`Error::Reentrant`]. The depth is not counted in kernels, in the fallback
/// without std, and for a 33rd thread that calls functions at the same time. The function may register and remove functions, even itself. It may
/// wait for a thread that waits for the library's lock: this is no deadlock, because no thread holds that lock during the call. It must not end
/// the thread, nor be cancelled (`pthread_cancel`): [`remove`](OnChange::remove) would count its call as running for ever. If it panics, the process aborts.
///
/// *Where flips come from.* If a signal handler flips, the functions are called in the handler, so they must be safe there. If a constructor or
/// a handler of `fork` flips, they are called there. For a deferred `dec`, they are called in the library's own thread. A forked child keeps the
/// functions. All instances of the library in a process share them, so it does not matter which instance flips. No function is called for three
/// sorts of changes: a change from outside the process (`jumplabel set --force`); a change by a process that shares the memory and is killed in
/// the middle of a flip; and a change of a static call or a table of operations, which only the program changes.
///
/// *Unloading.* Remove a function before its object is unloaded, and wait until its calls have ended. If an object that has keys or sites is
/// unloaded without that, the library removes its functions, but does not wait for calls that still run. If an object without keys is unloaded,
/// the library does not notice, and its functions stay registered. The instance of the library that registers first calls all functions. If that
/// instance is in a plugin, the plugin is never unloaded.
///
/// *Cost.* Registering takes a lock. Up to 64 functions can be registered. A flip costs a few more instructions, even if no function is
/// registered. If one is registered, a flip takes a page of memory until all functions were called. If there is no memory for that, the flip is
/// refused with [`Error::OutOfMemory`]. Do not register functions in signal handlers.
///
/// # Errors
/// [`Error::OutOfMemory`] if there are 64 functions already (a removed one counts until its calls have ended), or no memory for the table.
pub fn on_change<F: Fn(&Changed<'_>, AskedBy) + Sync>(function: &'static F) -> Result<OnChange, Error> {
    register(0, function)
}

impl RawKey {
    /// Registers `function`: it is called whenever this key goes on or off. Otherwise like [`on_change`].
    ///
    /// # Errors
    /// The errors of [`on_change`].
    pub fn on_change<F: Fn(&Changed<'_>, AskedBy) + Sync>(&self, function: &'static F) -> Result<OnChange, Error> {
        register(self.address(), function)
    }
}

impl RawMode {
    /// Registers `function`: it is called whenever this mode is set to another number. Otherwise like [`on_change`].
    ///
    /// # Errors
    /// The errors of [`on_change`].
    pub fn on_change<F: Fn(&Changed<'_>, AskedBy) + Sync>(&self, function: &'static F) -> Result<OnChange, Error> {
        register(self.address(), function)
    }
}

fn register<F: Fn(&Changed<'_>, AskedBy) + Sync>(of: usize, function: &'static F) -> Result<OnChange, Error> {
    /// # Safety
    /// `data` is a static `F`. The key or mode of `changed` lives as long as the call.
    unsafe extern "C" fn call<F: Fn(&Changed<'_>, AskedBy)>(changed: *const RawChanged, data: *mut c_void) {
        // SAFETY: the caller passes a change of a live key or mode, and the data that was registered.
        let (raw, function) = unsafe { (&*changed, &*data.cast::<F>()) };
        let by = AskedBy::of([raw.by as u32, raw.uid]);
        // SAFETY: one of the two pointers is null, and the other leads to a patchable that is alive: a patchable lives until the flip has returned.
        // If a patchable is flipped under a `Lock`, functions are called later, but such a patchable lives for ever.
        let changed = match unsafe { raw.key.cast::<RawKey>().as_ref() } {
            Some(key) => Changed::Key { key, on: raw.state != 0 },
            // SAFETY: the key's pointer is null, so the mode's pointer leads to a mode, which is alive for the reason given above.
            None => Changed::Mode { mode: unsafe { &*raw.mode.cast::<RawMode>() }, number: raw.state as u8 },
        };
        function(&changed, by);
    }
    let data = core::ptr::from_ref(function).cast_mut().cast();
    // SAFETY: `call` takes a static `F`, which any thread may call because it is `Sync`.
    unsafe { on_change_raw(of, call::<F>, data) }.map(|id| OnChange { id })
}

/// [`on_change`] without types, for the C API. `of` is the address of the key or mode that the function is registered for, or 0 for all. Returns
/// the number of the registration, which is above 0.
///
/// # Errors
/// The errors of [`on_change`].
///
/// # Safety
/// Any thread that flips may call the function with these data until [`remove_raw`] has returned 0.
#[doc(hidden)]
pub unsafe fn on_change_raw(of: usize, function: Notify, data: *mut c_void) -> Result<u32, Error> {
    let platform = platform();
    let notifiers = platform.notifiers().ok_or(Error::OutOfMemory)?;
    // This instance gives its sender to all instances, unless another instance has already given one.
    if notices::sender(platform).is_none() {
        platform.stay();
        notices::set_sender(&sender::SENDER, notifiers);
    }
    // SAFETY: the caller says that the function may be called with these data.
    let id = unsafe { notifiers.register(of, function, data) };
    // A flip that has not seen the function has committed before this returns. So a caller that registers, and then reads a state, misses no
    // change. (If this thread already holds the lock, no other thread flips now.)
    drop(Lock::take_anyway());
    id
}

/// [`OnChange::remove`] without types, for the C API.
#[doc(hidden)]
#[must_use]
pub fn remove_raw(id: u32) -> usize {
    OnChange { id }.remove()
}

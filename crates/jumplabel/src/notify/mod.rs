//! Functions that are called after each change of a key or a mode: [`on_change`]. (Linux: a notifier chain, include/linux/notifier.h.)
//!
//! ```text
//!   flip          lock ── sites, counts ── unlock ── each function, for each key that has changed ── the flip returns
//!                 └─── no function is called ───┘    in the thread that flips
//!   a batch       first all of it is done, then come the calls for each key; a batch that is refused causes no call
//!   a Lock        the functions are called when the lock is dropped
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

/// The one who asked for a change. C has the same numbers as `JUMPLABEL_BY_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AskedBy {
    /// The program, by any function of this crate or of the C API. This includes changes by guards, by the first probe of a tracepoint, and by the
    /// thread of deferred keys.
    Program,
    /// Whoever started the program, by the variable `JUMPLABEL`.
    Startup,
    /// An operator, by an agent. This includes an operator of a fleet, because agents cannot distinguish the two.
    Operator {
        /// The number of the user that has connected to the agent.
        uid: u32,
    },
    /// An agent, which took back a change that an operator had asked for only for a while.
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
        /// The state that this flip gave the key. Another thread may have flipped the key again since then: [`RawKey::is_enabled`] returns the
        /// present state.
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

/// A registered function. To remove the function, call [`remove`](Self::remove); dropping this value does not remove it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnChange {
    id: u32,
}

impl OnChange {
    /// Removes the function, and returns the number of its calls that still run. Never waits. After `remove` has returned, no new call begins. Each
    /// further call of `remove` for the same registration returns the number of calls that run by then. After it has returned 0, no call runs.
    /// (Before that, the number may for a moment include a thread that was only about to call the function.)
    ///
    /// So before you free anything that the function uses, or unload its object, call `remove` until it returns 0. Do not do that inside the
    /// function: its own call is counted, so the loop would never end.
    ///
    /// Costs a few atomic operations. Safe in signal handlers, and before and after `fork`. In a forked child, calls that ran at the time of the fork
    /// are not counted, not even the call that forked.
    #[allow(clippy::must_use_candidate)] // A function can stay registered for ever.
    pub fn remove(self) -> usize {
        platform().notifiers().map_or(0, |notifiers| notifiers.remove(self.id)) as usize
    }
}

/// Registers `function`. From then on, it is called after each change of any key or mode of the process. [`RawKey::on_change`] is for one key,
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
/// *When.* The function runs in the thread that flips: after the flip has committed and the library has released its lock, and before the call that
/// flipped returns. It is called once for each key that went on or off, and for each mode that got another number. An `inc` of a key that is on
/// causes no call. The calls for a batch come after all of it has committed; a refused batch causes none. The calls for flips under a [`Lock`] come
/// when the lock is dropped. A flip whose `Ok` says `Visibility::Eventual` also causes calls.
///
/// *Order.* For one flip, the functions are called one after the other, in no particular order. The keys of a batch come in no particular order,
/// either. Calls for flips of different threads can run at the same time, and in another order than the flips. So a function that keeps a copy of a
/// state must read the key's *present* state, under a lock of its own: then the last call leaves the right copy.
///
/// *What it may do.* The function runs with the signals and the locks that the thread has where it flips, and may do everything that the thread may
/// do there.
/// - It may flip keys, even the key that has changed. Before such a flip returns, functions are called for it, inside the first call. If a thread's
///   flips are nested 8 deep, its next flip is refused with [`Error::Reentrant`]. This depth is not counted in kernels, in the fallback without std,
///   and for a thread that calls functions while 32 others do.
/// - It may register and remove functions, even itself.
/// - It may wait for a thread that waits for the library's lock. This is no deadlock, because no thread holds that lock during the call.
/// - It must not end the thread, nor be cancelled (`pthread_cancel`): [`remove`](OnChange::remove) would count its call as running for ever. If it
///   panics, the process aborts.
///
/// *Where flips come from.* If a signal handler flips, the functions are called in the handler, so they must be safe there. If a constructor or a
/// handler of `fork` flips, they are called there. For a deferred `dec`, they are called in the library's own thread. A forked child keeps the
/// functions. All instances of the library in a process share them, so it does not matter which instance flips. No function is called for three kinds
/// of changes:
/// - changes from outside the process (`jumplabel set --force`);
/// - changes by a process that shares the memory and is killed in the middle of a flip;
/// - changes of static calls and tables of operations, because only the program makes them.
///
/// *Unloading.* Remove a function before its object is unloaded, and wait until its calls have ended. Otherwise, if the object has keys or sites, the
/// library removes the object's functions when it is unloaded, but does not wait for calls that still run. If the object has no keys and no sites,
/// the library does not notice that it is unloaded, and its functions stay registered. The instance of the library that registers the first function
/// calls all functions. If that instance is in a plugin, the plugin is never unloaded.
///
/// *Cost.* Registering takes a lock. Up to 64 functions can be registered. A flip costs a few more instructions, even if no function is registered.
/// While a function is registered, each flip takes a page of memory until all functions were called. If there is no memory for this page, the flip is
/// refused with [`Error::OutOfMemory`]. Do not register functions in signal handlers. The first function that a plugin with its own instance of the
/// library registers calls the dynamic loader, which keeps the plugin: do not hold a [`Lock`] then.
///
/// # Errors
/// [`Error::OutOfMemory`] if 64 functions are registered already, or if there is no memory for the table. A function that was removed counts until
/// its calls have ended.
pub fn on_change<F: Fn(&Changed<'_>, AskedBy) + Sync>(function: &'static F) -> Result<OnChange, Error> {
    register(0, function)
}

impl RawKey {
    /// Registers `function`. From then on, it is called whenever this key goes on or off. In all other respects, it is like [`on_change`].
    ///
    /// # Errors
    /// The errors of [`on_change`].
    pub fn on_change<F: Fn(&Changed<'_>, AskedBy) + Sync>(&self, function: &'static F) -> Result<OnChange, Error> {
        register(self.address(), function)
    }
}

impl RawMode {
    /// Registers `function`. From then on, it is called whenever this mode is set to another number. In all other respects, it is like [`on_change`].
    ///
    /// # Errors
    /// The errors of [`on_change`].
    pub fn on_change<F: Fn(&Changed<'_>, AskedBy) + Sync>(&self, function: &'static F) -> Result<OnChange, Error> {
        register(self.address(), function)
    }
}

fn register<F: Fn(&Changed<'_>, AskedBy) + Sync>(of: usize, function: &'static F) -> Result<OnChange, Error> {
    /// Calls the registered `F` at `data`.
    ///
    /// # Safety
    /// `data` is a static `F`. `changed`, and the key or mode that it leads to, live as long as the call.
    unsafe extern "C" fn call<F: Fn(&Changed<'_>, AskedBy)>(changed: *const RawChanged, data: *mut c_void) {
        // SAFETY: the caller passes a change that lives as long as the call, and as `data` the static `F` that `register` registered.
        let (raw, function) = unsafe { (&*changed, &*data.cast::<F>()) };
        let by = AskedBy::of([raw.by as u32, raw.uid]);
        // SAFETY: one of the two pointers is null, and the other leads to a key or mode that is alive: it lives at least until the call that flipped
        // it returns. If a key or mode is flipped under a `Lock`, functions are called later, but then it is a static.
        let changed = match unsafe { raw.key.cast::<RawKey>().as_ref() } {
            Some(key) => Changed::Key { key, on: raw.state != 0 },
            // SAFETY: the key's pointer is null, so the mode's pointer leads to a mode. It is alive for the reason given above.
            None => Changed::Mode { mode: unsafe { &*raw.mode.cast::<RawMode>() }, number: raw.state as u8 },
        };
        function(&changed, by);
    }
    let data = core::ptr::from_ref(function).cast_mut().cast();
    // SAFETY: `data` is the static `F` that `call` expects. `F` is `Sync`, so any thread may call it.
    unsafe { on_change_raw(of, call::<F>, data) }.map(|id| OnChange { id })
}

/// Registers a function without types, for the C API and for [`on_change`]. `of` is the address of the key or mode for which the function is
/// registered, or 0 for all of them. Returns the number of the registration, which is above 0.
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
    // All instances of the library pass their notices to one sender. It is the sender of this instance, unless the process already has one.
    if notices::sender(platform).is_none() {
        platform.stay();
        notices::set_sender(&sender::SENDER, notifiers);
    }
    // SAFETY: the caller ensures that any thread may call the function with these data.
    let id = unsafe { notifiers.register(of, function, data) };
    // After the next line, every flip that did not see the new function has committed. So a caller that registers a function, and then reads a state,
    // misses no change. (If this thread already holds the lock, no other thread flips now.)
    drop(Lock::take_anyway());
    id
}

/// Removes a registered function, as [`OnChange::remove`] does. For the C API.
#[doc(hidden)]
#[must_use]
pub fn remove_raw(id: u32) -> usize {
    OnChange { id }.remove()
}

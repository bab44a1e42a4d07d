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

/// Who asked for a change. The numbers are those of `JUMPLABEL_BY_*` in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AskedBy {
    /// The program, by any function of this crate or of the C API: also a guard, a tracepoint's first probe, or the thread of deferred keys.
    Program,
    /// Whoever started the program, by the variable `JUMPLABEL`.
    Startup,
    /// An operator, by an agent: also a fleet's, whose agents cannot tell it from another.
    Operator {
        /// The user that has connected to the agent.
        uid: u32,
    },
    /// An agent, which took back what an operator had asked for a while.
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

/// What has changed, and what it became.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Changed<'a> {
    /// A key was turned on or off.
    Key {
        /// The key.
        key: &'a RawKey,
        /// What the flip made it. Another thread may have flipped it again: [`RawKey::is_enabled`] says what it is.
        on: bool,
    },
    /// A mode was set.
    Mode {
        /// The mode.
        mode: &'a RawMode,
        /// What the flip made it. [`RawMode::get`] says what it is.
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

/// A function that is registered. To drop this does not remove the function: [`remove`](Self::remove) does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnChange {
    id: u32,
}

impl OnChange {
    /// Removes the function, and returns how many calls of it still run, in other threads or around this call. Never waits. From when this
    /// returns, no call begins. Another `remove` of the same registration says again how many run. Once that is 0, none runs any more, although a
    /// thread that was about to call can be counted for a moment.
    ///
    /// So whoever frees what the function uses, or unloads its object, first calls this until it returns 0. In the function itself, that
    /// would be for ever, because it counts its own call.
    ///
    /// Costs a few atomic operations. Safe in signal handlers, and before and after `fork`. In a child of `fork`, the calls that ran when it was
    /// forked do not count, also not the one that forked.
    #[allow(clippy::must_use_candidate)] // The function can be there for good.
    pub fn remove(self) -> usize {
        platform().notifiers().map_or(0, |notifiers| notifiers.remove(self.id)) as usize
    }
}

/// Registers `function`: it is called whenever any key or mode of the process has changed. [`RawKey::on_change`] is for one key, [`RawMode::on_change`] for one
/// mode.
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
/// *When.* In the thread that flips, after the flip has committed and the library's lock is released, before the function that flipped
/// returns. Once for each key that went on or off, and for each mode that got another number; not for an `inc` of a key that is on. For a
/// batch, when all of it has committed; not for one that was refused. For flips under a [`Lock`], when the lock is dropped. Also for a flip
/// whose `Ok` says `Visibility::Eventual`.
///
/// *Order.* Functions are called one after the other, in no particular order, and so are the keys of a batch. Calls for flips of different
/// threads can run at the same time, and in another order than the flips. So a function that keeps a copy of a state reads the state
/// that the key has *now*, under a lock of its own: then the last call leaves the right copy.
///
/// *What it may do.* All that the thread may do where it flips, with the signals and the locks that the thread has there. It may flip, also the
/// key that has changed. Then functions are called for that flip before it returns, in calls inside this one. A thread that is 8 flips deep is refused the next,
/// with [`Error::Reentrant`]; nobody counts in kernels, in the fallback without std, and for a 33rd thread that calls functions at the same
/// time. It may register and remove, also itself. Waiting for a thread that waits for the library's lock is no deadlock, because nobody holds
/// that lock. It must not end the thread, nor be cancelled (`pthread_cancel`): such a call counts for ever. A panic in it aborts the process.
///
/// *Where flips come from.* For a flip in a signal handler, functions are called in the handler: they must be safe there. For a flip in a
/// constructor or in a handler of `fork`, they are called there. For a deferred `dec`, they are called in the library's own thread. A child of
/// `fork` keeps the functions. All instances of the library in a process share them, so it does not matter which of them flips. No function is
/// called for a change from outside of the process (`jumplabel set --force`), for one by a process that shares the memory and is killed in the
/// middle of a flip, and for static calls and tables of operations, which only the program changes.
///
/// *Unloading.* Remove a function before its object is unloaded, and wait until its calls have ended. If an object that has keys or sites is
/// unloaded without that, its functions are removed, but nobody waits for calls that run. An object without keys is unloaded
/// unnoticed, with its functions registered. The instance
/// of the library that registers first calls all functions: if it is in a plugin, the plugin is never unloaded.
///
/// *Cost.* A lock. Up to 64 functions can be registered. A flip costs some instructions more, also if there is none. If there is one, a flip
/// takes a page of memory until all functions were called, and is refused with [`Error::OutOfMemory`] without that. Not for signal handlers.
///
/// # Errors
/// [`Error::OutOfMemory`] if 64 functions are registered already, or if there is no memory for the table.
pub fn on_change<F: Fn(&Changed<'_>, AskedBy) + Sync>(function: &'static F) -> Result<OnChange, Error> {
    register(0, function)
}

impl RawKey {
    /// Registers `function`: it is called whenever this key goes on or off. Otherwise as [`on_change`].
    ///
    /// # Errors
    /// As [`on_change`].
    pub fn on_change<F: Fn(&Changed<'_>, AskedBy) + Sync>(&self, function: &'static F) -> Result<OnChange, Error> {
        register(self.address(), function)
    }
}

impl RawMode {
    /// Registers `function`: it is called whenever this mode is set to another number. Otherwise as [`on_change`].
    ///
    /// # Errors
    /// As [`on_change`].
    pub fn on_change<F: Fn(&Changed<'_>, AskedBy) + Sync>(&self, function: &'static F) -> Result<OnChange, Error> {
        register(self.address(), function)
    }
}

fn register<F: Fn(&Changed<'_>, AskedBy) + Sync>(of: usize, function: &'static F) -> Result<OnChange, Error> {
    /// # Safety
    /// `data` is a static `F`, and what `changed` leads to lives as long as the call.
    unsafe extern "C" fn call<F: Fn(&Changed<'_>, AskedBy)>(changed: *const RawChanged, data: *mut c_void) {
        // SAFETY: the caller passes a change of a key or a mode that lives, and the data that were registered.
        let (raw, function) = unsafe { (&*changed, &*data.cast::<F>()) };
        let by = AskedBy::of([raw.by as u32, raw.uid]);
        // SAFETY: one of them is null, and the other one lives: a patchable lives until the flip has returned, and one that is flipped under a
        // `Lock`, of so functions are called later, lives for good.
        let changed = match unsafe { raw.key.cast::<RawKey>().as_ref() } {
            Some(key) => Changed::Key { key, on: raw.state != 0 },
            // SAFETY: as above.
            None => Changed::Mode { mode: unsafe { &*raw.mode.cast::<RawMode>() }, number: raw.state as u8 },
        };
        function(&changed, by);
    }
    let data = core::ptr::from_ref(function).cast_mut().cast();
    // SAFETY: `call` takes a static `F`, which any thread may call because it is `Sync`.
    unsafe { on_change_raw(of, call::<F>, data) }.map(|id| OnChange { id })
}

/// [`on_change`] without types, for the C API. `of` is the address of the key or mode that the function is registered for, or 0 for all. Returns the
/// number of the registration, which is above 0.
///
/// # Errors
/// As [`on_change`].
///
/// # Safety
/// Any thread that flips may call the function with these data until [`remove_raw`] has returned 0.
#[doc(hidden)]
pub unsafe fn on_change_raw(of: usize, function: Notify, data: *mut c_void) -> Result<u32, Error> {
    let platform = platform();
    let notifiers = platform.notifiers().ok_or(Error::OutOfMemory)?;
    // The sender of this instance serves all instances, unless another instance has given one before.
    if notices::sender(platform).is_none() {
        platform.stay();
        notices::set_sender(&sender::SENDER, notifiers);
    }
    // SAFETY: the caller says that the function may be called with these data.
    let id = unsafe { notifiers.register(of, function, data) };
    // Whoever has not seen the function has committed before this returns: whoever registers, and then reads a state, misses nothing. (A thread
    // that has the lock already flips nothing meanwhile.)
    drop(Lock::take_anyway());
    id
}

/// [`OnChange::remove`] without types, for the C API.
#[doc(hidden)]
#[must_use]
pub fn remove_raw(id: u32) -> usize {
    OnChange { id }.remove()
}

//! How functions of the program's hear of a flip, as the instance of the library that flips has it. Most of the work is done by the
//! [`Engine`] of the instance that has registered the first function: so a program that registers none is no larger for it.
//!
//! ```text
//!   this instance                               the engine
//!     under the lock     make_room  ───────────►  room    in each transaction: the last moment to refuse
//!                        note       ───────────►  note    each key and mode that has a new setting
//!     Lock::drop         releases the lock
//!     tell               ───────────────────────►  tell    calls the functions, in this thread
//! ```
//!
//! A `Lock` can have several transactions (`enable_locked` and the like). All that they have changed is told when it is dropped.

use super::Platform;
use super::list::List;
use super::notifiers::Notifiers;
use crate::error::Error;

/// Who asked for a change: the number of the sort, and a user.
pub(crate) type By = [u32; 2];

/// The program itself.
pub(crate) const PROGRAM: By = [0; 2];

/// Who asks for changes that are not told: the library, for keys of its own.
pub(crate) const NOBODY: By = [u32::MAX; 2];

/// What is to be told. It must be told before it is dropped, or the engine's memory is lost. Another instance's engine uses it, so its layout is C's.
#[repr(C)]
pub struct Telling {
    /// `None` until a transaction begins in a process that has an engine.
    engine: Option<&'static Engine>,
    /// What has changed. Only the engine uses it: it also frees it.
    pub(crate) noted: List<Noted>,
    pub(crate) by: By,
}

/// A change: what is heard of by this number (`Patchable::heard`) has this setting now.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Noted {
    pub(crate) heard: usize,
    pub(crate) setting: usize,
}

/// The functions of an instance that registers functions. It is never unloaded.
#[repr(C)]
#[derive(Debug)]
pub struct Engine {
    /// Makes room for so many changes more. Returns one of the numbers below.
    pub(crate) room: unsafe extern "C" fn(telling: *mut Telling, more: usize) -> u32,
    /// Notes that what is heard of by this number has this setting now. There is room for it.
    pub(crate) note: unsafe extern "C" fn(telling: *mut Telling, heard: usize, setting: usize),
    /// Calls the functions, and frees what `room` took.
    pub(crate) tell: unsafe extern "C" fn(telling: *mut Telling),
    /// What lies at `start..end` is about to be unloaded. If both are 0, this process was forked from another.
    pub(crate) gone: unsafe extern "C" fn(start: usize, end: usize),
}

/// There is room.
pub(crate) const ROOM: u32 = 0;
/// There is no memory.
pub(crate) const NO_MEMORY: u32 = 1;
/// The thread flips in a call for a flip in a call, and so on: see [`Error::Reentrant`].
pub(crate) const TOO_DEEP: u32 = 2;

/// The engine of the process, if a function was ever registered.
pub(crate) fn engine(platform: &dyn Platform) -> Option<&'static Engine> {
    // SAFETY: the pointer is null, or from `set_engine`.
    platform.notifiers().and_then(|notifiers| unsafe { notifiers.engine().cast::<Engine>().as_ref() })
}

/// Gives the process this engine, if it has none. Its instance is never unloaded.
pub(crate) fn set_engine(engine: &'static Engine, notifiers: &Notifiers) {
    notifiers.set_engine(core::ptr::from_ref(engine).cast());
}

impl Telling {
    pub(crate) const fn new() -> Telling {
        Telling { engine: None, noted: List::new(), by: PROGRAM }
    }

    /// Under the lock, before a transaction with so many requests.
    #[inline]
    pub(crate) fn make_room(&mut self, requests: usize, platform: &dyn Platform) -> Result<(), Error> {
        engine(platform).map_or(Ok(()), |engine| self.make_room_by(engine, requests))
    }

    #[cold]
    #[inline(never)]
    fn make_room_by(&mut self, engine: &'static Engine, requests: usize) -> Result<(), Error> {
        self.engine = Some(engine);
        // SAFETY: this is a `Telling`, and nobody else uses it.
        match unsafe { (engine.room)(self, requests) } {
            ROOM => Ok(()),
            TOO_DEEP => Err(Error::Reentrant),
            _ => Err(Error::OutOfMemory),
        }
    }

    /// Whether somebody wants to know what changes.
    #[inline]
    pub(crate) fn is_heard(&self) -> bool {
        self.engine.is_some()
    }

    /// Under the lock, after a transaction for which there was room: notes a change. `heard` 0: nobody hears of it.
    pub(crate) fn note(&mut self, heard: usize, setting: usize) {
        if let Some(engine) = self.engine.filter(|_| heard != 0) {
            // SAFETY: `make_room` has let the engine make room.
            unsafe { (engine.note)(self, heard, setting) };
        }
    }

    /// Without the lock: tells what was noted.
    #[inline]
    pub(crate) fn tell(&mut self) {
        if let Some(engine) = self.engine.take() {
            // SAFETY: this is a `Telling`, and nobody else uses it.
            unsafe { (engine.tell)(self) };
        }
    }
}

//! The notices of a flip: which keys and modes have changed, and who asked. They are sent to the functions of the program
//! ([`on_change`](crate::on_change), [`notifiers`](super::notifiers)) when the flip is over. The instance of the library that flips leaves
//! most of the work to the [`Sender`], which belongs to the instance that has registered the first function. So a program that registers
//! none is no larger for it.
//!
//! ```text
//!   the instance that flips                     the sender
//!     under the lock     make_room  ───────────►  room    in each transaction: the last moment to refuse
//!                        add        ───────────►  add     each key and mode that has a new setting
//!     Lock::drop         releases the lock
//!                        send       ───────────►  send    calls the functions, in this thread
//! ```
//!
//! A `Lock` can have several transactions (`enable_locked` and the like). The notices of all of them are sent when it is dropped.

use super::Platform;
use super::list::List;
use super::notifiers::Notifiers;
use crate::error::Error;

/// Who asked for a change: the number of the sort, and a user.
pub(crate) type By = [u32; 2];

/// The program itself.
pub(crate) const PROGRAM: By = [0; 2];

/// Who asks for changes without a notice: the library, for keys of its own.
pub(crate) const NOBODY: By = [u32::MAX; 2];

/// Notices that are still to be sent. If they are dropped before, the sender's memory is lost. The sender of another instance uses them, so
/// their layout is C's.
#[repr(C)]
pub struct Notices {
    /// `None` until a transaction begins in a process that has a sender.
    sender: Option<&'static Sender>,
    /// Only the sender uses the list. It also frees it.
    pub(crate) list: List<Notice>,
    pub(crate) by: By,
}

/// The key or mode with this number (`Patchable::notice_number`) has this setting now.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Notice {
    pub(crate) of: usize,
    pub(crate) setting: usize,
}

/// The functions of an instance that registers functions. It is never unloaded.
#[repr(C)]
#[derive(Debug)]
pub struct Sender {
    /// Makes room for so many more notices. Returns one of the numbers below.
    pub(crate) room: unsafe extern "C" fn(notices: *mut Notices, more: usize) -> u32,
    /// Adds a notice. There is room for it.
    pub(crate) add: unsafe extern "C" fn(notices: *mut Notices, of: usize, setting: usize),
    /// Calls the functions, and frees what `room` took.
    pub(crate) send: unsafe extern "C" fn(notices: *mut Notices),
    /// What lies at `start..end` is about to be unloaded. If both are 0, this process was forked from another.
    pub(crate) gone: unsafe extern "C" fn(start: usize, end: usize),
}

/// There is room.
pub(crate) const ROOM: u32 = 0;
/// There is no memory.
pub(crate) const NO_MEMORY: u32 = 1;
/// The thread flips in a call for a flip in a call, and so on: see [`Error::Reentrant`].
pub(crate) const TOO_DEEP: u32 = 2;

/// The sender of the process, if a function was ever registered.
pub(crate) fn sender(platform: &dyn Platform) -> Option<&'static Sender> {
    // SAFETY: the pointer is null, or from `set_sender`.
    platform.notifiers().and_then(|notifiers| unsafe { notifiers.sender().cast::<Sender>().as_ref() })
}

/// Gives the process this sender, if it has none. Its instance is never unloaded.
pub(crate) fn set_sender(sender: &'static Sender, notifiers: &Notifiers) {
    notifiers.set_sender(core::ptr::from_ref(sender).cast());
}

impl Notices {
    pub(crate) const fn new() -> Notices {
        Notices { sender: None, list: List::new(), by: PROGRAM }
    }

    /// Under the lock, before a transaction with so many requests.
    #[inline]
    pub(crate) fn make_room(&mut self, requests: usize, platform: &dyn Platform) -> Result<(), Error> {
        sender(platform).map_or(Ok(()), |sender| self.make_room_by(sender, requests))
    }

    #[cold]
    #[inline(never)]
    fn make_room_by(&mut self, sender: &'static Sender, requests: usize) -> Result<(), Error> {
        self.sender = Some(sender);
        // SAFETY: this is a `Notices`, and nobody else uses it.
        match unsafe { (sender.room)(self, requests) } {
            ROOM => Ok(()),
            TOO_DEEP => Err(Error::Reentrant),
            _ => Err(Error::OutOfMemory),
        }
    }

    /// Whether notices are to be added.
    #[inline]
    pub(crate) fn are_wanted(&self) -> bool {
        self.sender.is_some()
    }

    /// Adds a notice, under the lock, after a transaction for which room was made. `of` 0: there are no notices of that.
    pub(crate) fn add(&mut self, of: usize, setting: usize) {
        if let Some(sender) = self.sender.filter(|_| of != 0) {
            // SAFETY: `make_room` has let the sender make room.
            unsafe { (sender.add)(self, of, setting) };
        }
    }

    /// Sends the notices. Called without the lock.
    #[inline]
    pub(crate) fn send(&mut self) {
        if let Some(sender) = self.sender.take() {
            // SAFETY: this is a `Notices`, and nobody else uses it.
            unsafe { (sender.send)(self) };
        }
    }
}

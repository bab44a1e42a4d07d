//! The notices of a flip: the keys and modes that have changed, and who asked for the changes. When the flip is over, the library calls, for each
//! notice, the functions that the program has registered ([`on_change`](crate::on_change), [`notifiers`](super::notifiers)). The instance of the
//! library that flips leaves most of this work to the [`Sender`], which belongs to the instance that registered the first function. So a program that
//! registers no function does not contain the sender's code.
//!
//! ```text
//!   the instance that flips                     the sender
//!     under the lock     make_room  ───────────►  room    in each transaction: the last moment to refuse
//!                        add        ───────────►  add     each key and mode that has a new setting
//!     Lock::drop         releases the lock
//!                        send       ───────────►  send    calls the functions, in this thread
//! ```
//!
//! The holder of a `Lock` can do several transactions (`enable_locked` and similar functions). The notices of all these transactions are sent when
//! the `Lock` is dropped.

use super::Platform;
use super::list::List;
use super::notifiers::Notifiers;
use crate::error::Error;

/// The requester of a change: the number of an [`AskedBy`](crate::AskedBy) and, if an operator asked, the operator's user id.
pub(crate) type By = [u32; 2];

/// The program itself asked.
pub(crate) const PROGRAM: By = [0; 2];

/// The requester of changes that cause no notice: the library's own changes of its own keys.
pub(crate) const NOBODY: By = [u32::MAX; 2];

/// The notices that are still to be sent. Call [`send`](Self::send) before this value is dropped; otherwise the memory that the sender took is lost.
/// The layout is C's, because the sender may belong to another instance of the library.
#[repr(C)]
pub struct Notices {
    /// The sender for these notices. `None` until a transaction begins, and `None` in a process without a sender.
    sender: Option<&'static Sender>,
    /// The notices. Only the sender uses this list and frees it.
    pub(crate) list: List<Notice>,
    pub(crate) by: By,
}

/// A notice: the key or mode with the number `of` (`Patchable::notice_number`) now has the setting `setting`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Notice {
    pub(crate) of: usize,
    pub(crate) setting: usize,
}

/// The four functions of the sender, which all instances in the process call. They belong to the instance in which the program has registered its
/// first function. That instance is never unloaded.
#[repr(C)]
#[derive(Debug)]
pub struct Sender {
    /// Makes room for `more` additional notices. Returns [`ROOM`], [`NO_MEMORY`] or [`TOO_DEEP`].
    pub(crate) room: unsafe extern "C" fn(notices: *mut Notices, more: usize) -> u32,
    /// Adds a notice. There must be room for it.
    pub(crate) add: unsafe extern "C" fn(notices: *mut Notices, of: usize, setting: usize),
    /// Calls the registered functions, and frees the memory that `room` took.
    pub(crate) send: unsafe extern "C" fn(notices: *mut Notices),
    /// Tells the sender that the object at `start..end` is about to be unloaded. If `start` and `end` are 0, tells it instead that this process is a
    /// forked child.
    pub(crate) gone: unsafe extern "C" fn(start: usize, end: usize),
}

/// Answer of `room`: there is room for the notices.
pub(crate) const ROOM: u32 = 0;
/// Answer of `room`: there is no memory for the notices.
pub(crate) const NO_MEMORY: u32 = 1;
/// Answer of `room`: flips are nested too deeply on this thread. Flips nest if a registered function flips, because that flip calls registered
/// functions again. See [`Error::Reentrant`].
pub(crate) const TOO_DEEP: u32 = 2;

/// The sender of the process. `None` if no function was ever registered.
pub(crate) fn sender(platform: &dyn Platform) -> Option<&'static Sender> {
    // SAFETY: the pointer is null, or came from `set_sender`, which takes a `&'static Sender`. The instance with that `Sender` is never unloaded.
    platform.notifiers().and_then(|notifiers| unsafe { notifiers.sender().cast::<Sender>().as_ref() })
}

/// Makes `sender` the sender of the process, if the process has none. The caller ensures that the instance with this `sender` is never unloaded.
pub(crate) fn set_sender(sender: &'static Sender, notifiers: &Notifiers) {
    notifiers.set_sender(core::ptr::from_ref(sender).cast());
}

impl Notices {
    pub(crate) const fn new() -> Notices {
        Notices { sender: None, list: List::new(), by: PROGRAM }
    }

    /// Makes room for the notices of a transaction with `requests` requests. Called under the lock, before the transaction, which can still be
    /// refused.
    #[inline]
    pub(crate) fn make_room(&mut self, requests: usize, platform: &dyn Platform) -> Result<(), Error> {
        sender(platform).map_or(Ok(()), |sender| self.make_room_by(sender, requests))
    }

    #[cold]
    #[inline(never)]
    fn make_room_by(&mut self, sender: &'static Sender, requests: usize) -> Result<(), Error> {
        self.sender = Some(sender);
        // SAFETY: `self` is borrowed mutably, so only this call uses these `Notices`.
        match unsafe { (sender.room)(self, requests) } {
            ROOM => Ok(()),
            TOO_DEEP => Err(Error::Reentrant),
            _ => Err(Error::OutOfMemory),
        }
    }

    /// Whether changes need notices, because the process has a sender.
    #[inline]
    pub(crate) fn are_wanted(&self) -> bool {
        self.sender.is_some()
    }

    /// Adds a notice. Does nothing if `of` is 0, which is the number of all patchables without notices. Called under the lock, after a transaction
    /// for which [`make_room`](Self::make_room) made room.
    pub(crate) fn add(&mut self, of: usize, setting: usize) {
        if let Some(sender) = self.sender.filter(|_| of != 0) {
            // SAFETY: `self` is borrowed mutably, so only this call uses these `Notices`. Before the transaction, `make_room` had the sender make
            // room.
            unsafe { (sender.add)(self, of, setting) };
        }
    }

    /// Has the sender call the functions for these notices. Called without the lock.
    #[inline]
    pub(crate) fn send(&mut self) {
        if let Some(sender) = self.sender.take() {
            // SAFETY: `self` is borrowed mutably, so only this call uses these `Notices`.
            unsafe { (sender.send)(self) };
        }
    }
}

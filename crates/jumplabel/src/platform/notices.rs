//! The notices of a flip: the keys and modes that have changed, and who asked for that. When the flip is over, they are sent to the functions of
//! the program ([`on_change`](crate::on_change), [`notifiers`](super::notifiers)). The instance of the library that flips leaves most of the work
//! to the [`Sender`], which belongs to the instance that registered the first function. So a program that registers no function is no larger.
//!
//! ```text
//!   the instance that flips                     the sender
//!     under the lock     make_room  ───────────►  room    in each transaction: the last moment to refuse
//!                        add        ───────────►  add     each key and mode that has a new setting
//!     Lock::drop         releases the lock
//!                        send       ───────────►  send    calls the functions, in this thread
//! ```
//!
//! A `Lock` can have several transactions (`enable_locked` and similar functions). The notices of all of them are sent when the lock is dropped.

use super::Platform;
use super::list::List;
use super::notifiers::Notifiers;
use crate::error::Error;

/// The one who asked for a change: the number of the sort of requester, and the number of a user.
pub(crate) type By = [u32; 2];

/// The program itself asked.
pub(crate) const PROGRAM: By = [0; 2];

/// Marks changes without a notice: the library's own changes of its own keys.
pub(crate) const NOBODY: By = [u32::MAX; 2];

/// Notices that are still to be sent. If this value is dropped before that, the sender's memory is lost. The sender of another instance may use it,
/// so its layout is C's.
#[repr(C)]
pub struct Notices {
    /// `None` until a transaction begins in a process that has a sender.
    sender: Option<&'static Sender>,
    /// Only the sender uses the list, and the sender frees it.
    pub(crate) list: List<Notice>,
    pub(crate) by: By,
}

/// A notice: the key or mode with the number `of` (`Patchable::notice_number`) has this setting now.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Notice {
    pub(crate) of: usize,
    pub(crate) setting: usize,
}

/// The four functions by which any instance of the process passes its notices to the sender. The sender belongs to the instance in which the
/// program has registered its first function. That instance is never unloaded.
#[repr(C)]
#[derive(Debug)]
pub struct Sender {
    /// Makes room for `more` more notices. Returns [`ROOM`], [`NO_MEMORY`] or [`TOO_DEEP`].
    pub(crate) room: unsafe extern "C" fn(notices: *mut Notices, more: usize) -> u32,
    /// Adds a notice. There must be room for it.
    pub(crate) add: unsafe extern "C" fn(notices: *mut Notices, of: usize, setting: usize),
    /// Calls the registered functions, and frees the memory that `room` took.
    pub(crate) send: unsafe extern "C" fn(notices: *mut Notices),
    /// Tells the sender that the object at `start..end` is about to be unloaded. If both are 0, this process was forked.
    pub(crate) gone: unsafe extern "C" fn(start: usize, end: usize),
}

/// There is room.
pub(crate) const ROOM: u32 = 0;
/// There is no memory.
pub(crate) const NO_MEMORY: u32 = 1;
/// Flips are nested too deeply on this thread: a registered function flips, which calls registered functions again. See [`Error::Reentrant`].
pub(crate) const TOO_DEEP: u32 = 2;

/// The sender of the process. `None` if no function was ever registered.
pub(crate) fn sender(platform: &dyn Platform) -> Option<&'static Sender> {
    // SAFETY: the pointer is null, or came from `set_sender`.
    platform.notifiers().and_then(|notifiers| unsafe { notifiers.sender().cast::<Sender>().as_ref() })
}

/// Makes `sender` the sender of the process, if the process has none. The sender's instance is never unloaded.
pub(crate) fn set_sender(sender: &'static Sender, notifiers: &Notifiers) {
    notifiers.set_sender(core::ptr::from_ref(sender).cast());
}

impl Notices {
    pub(crate) const fn new() -> Notices {
        Notices { sender: None, list: List::new(), by: PROGRAM }
    }

    /// Makes room for the notices of a transaction with this many requests. Called under the lock, before the transaction.
    #[inline]
    pub(crate) fn make_room(&mut self, requests: usize, platform: &dyn Platform) -> Result<(), Error> {
        sender(platform).map_or(Ok(()), |sender| self.make_room_by(sender, requests))
    }

    #[cold]
    #[inline(never)]
    fn make_room_by(&mut self, sender: &'static Sender, requests: usize) -> Result<(), Error> {
        self.sender = Some(sender);
        // SAFETY: this is a `Notices`, and no other code uses it.
        match unsafe { (sender.room)(self, requests) } {
            ROOM => Ok(()),
            TOO_DEEP => Err(Error::Reentrant),
            _ => Err(Error::OutOfMemory),
        }
    }

    /// Whether there is a sender, so that changes need notices.
    #[inline]
    pub(crate) fn are_wanted(&self) -> bool {
        self.sender.is_some()
    }

    /// Adds a notice, unless `of` is 0: such a change has no notices. Called under the lock, after a transaction for which room was made.
    pub(crate) fn add(&mut self, of: usize, setting: usize) {
        if let Some(sender) = self.sender.filter(|_| of != 0) {
            // SAFETY: `make_room` made the sender make room.
            unsafe { (sender.add)(self, of, setting) };
        }
    }

    /// Sends the notices. Called without the lock.
    #[inline]
    pub(crate) fn send(&mut self) {
        if let Some(sender) = self.sender.take() {
            // SAFETY: this is a `Notices`, and no other code uses it.
            unsafe { (sender.send)(self) };
        }
    }
}

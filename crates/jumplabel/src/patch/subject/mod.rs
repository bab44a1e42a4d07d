//! What transactions change: keys, static calls and static modes. Each kind of subject has a file here, and a line in [`of`].
//!
//! ```text
//!   begin     tells what the change comes to: nothing to patch, or an aim
//!   goal      what the site of an entry is to do then
//!   expose    the sites are about to be patched
//!   publish   the sites are patched: the subject says so from now on
//!   abandon   the sites are as they were
//! ```

mod call;
mod key;
mod switch;

use core::fmt;

use crate::error::Error;
use crate::format::Entry;
#[cfg(jumplabel_sites)]
use crate::format::{BRANCH, JUMP, NAKED, Runtime, SWITCH};
#[cfg(jumplabel_sites)]
use crate::site::{index, object};
use crate::text::{Held, Objects, Visibility};

/// What entries of a table name, and what a transaction changes.
pub(crate) trait Subject: Sync {
    /// What entries name.
    fn address(&self) -> usize;

    /// Under the lock: begins `change`, a number of the subject's own, and returns the aim. `None` if nothing has to be patched: then
    /// the change is done.
    fn begin(&self, change: usize) -> Result<Option<usize>, Error>;

    /// Under the lock: whether the aim of a change can be done at all.
    fn check(&self, _aim: usize, _held: &Held<Objects>) -> Result<(), Error> {
        Ok(())
    }

    /// What its sites do now: the aim of the last change.
    fn aim(&self) -> usize;

    /// What the site of `entry` is to do for an aim. The same for all entries with the same kind and arm.
    fn goal(&self, aim: usize, entry: &Entry) -> usize;

    /// Under the lock: nothing but a writer can refuse any more. Shows the aim to whoever executes a site in between.
    fn expose(&self, _aim: usize) {}

    /// Under the lock: the sites are patched. Does nothing the second time.
    fn publish(&self, change: usize, aim: Option<usize>);

    /// Under the lock: the sites are as they were. Does nothing if nothing was begun.
    fn abandon(&self);

    /// Whether other threads may still execute what the sites were before the last change.
    fn is_eventual(&self) -> bool;

    /// Under the lock, and before `publish`.
    fn set_eventual(&self, eventual: bool);
}

/// The subject of `entry`, which is at `address`.
///
/// # Safety
/// The index found the entry sound; the subject's object is loaded.
#[cfg(jumplabel_sites)]
pub(super) unsafe fn of<'a>(entry: &Entry, address: usize) -> Option<&'a dyn Subject> {
    match entry.kind() {
        // SAFETY: what the macros emit for these kinds.
        BRANCH | NAKED => Some(unsafe { &*(address as *const crate::key::raw::RawKey) }),
        // SAFETY: the same.
        JUMP => Some(unsafe { &*(address as *const crate::call::raw::RawCall) }),
        // SAFETY: the same.
        SWITCH => Some(unsafe { &*(address as *const crate::switch::raw::RawMode) }),
        _ => None,
    }
}

/// A static call that leads to one of these addresses.
#[cfg(jumplabel_sites)]
pub(super) fn leading_into(addresses: &core::ops::Range<usize>, held: &Held<Objects>) -> Option<&'static dyn Subject> {
    object::runtimes(held).flat_map(Runtime::objects).find_map(|object| {
        index::sound(object, held).filter(|(entry, _)| entry.kind() == JUMP).find_map(|(entry, address)| {
            // SAFETY: an entry that was looked at, of an object that is loaded.
            unsafe { of(entry, address) }.filter(|call| addresses.contains(&call.aim()))
        })
    })
}

/// A change of one subject in a transaction.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub(super) subject: &'a dyn Subject,
    change: usize,
    pub(super) aim: Option<usize>,
    pub(super) order: u32,
}

impl<'a> Request<'a> {
    /// A request to be committed.
    pub(crate) const fn new(subject: &'a dyn Subject, change: usize) -> Self {
        Request { subject, change, aim: None, order: 0 }
    }

    /// Asks the subject.
    pub(super) fn begin(&mut self) -> Result<(), Error> {
        self.aim = self.subject.begin(self.change)?;
        Ok(())
    }

    /// Nothing but a writer can refuse any more.
    pub(super) fn expose(&self) {
        if let Some(aim) = self.aim {
            self.subject.expose(aim);
        }
    }

    /// The sites are patched, and other threads see them as `visibility` says; `None` if that is not known.
    #[inline(never)] // Once in a program is enough.
    pub(super) fn publish(&self, visibility: Option<Visibility>) {
        match visibility {
            Some(Visibility::Immediate) => self.subject.set_eventual(false),
            Some(Visibility::Eventual) if self.aim.is_some() => self.subject.set_eventual(true),
            _ => {}
        }
        self.subject.publish(self.change, self.aim);
    }
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({:#x}, {})", self.subject.address(), self.change)
    }
}

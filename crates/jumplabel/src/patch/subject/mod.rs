//! What transactions change: keys, static calls and static modes. Each kind of subject has a file here. The entries of keys are in every
//! program: [`of`] knows their kinds. For others, the file has an [`OptionalKind`], and its `begin` makes that known.
//!
//! ```text
//!   begin     tells what the change comes to: nothing to patch, or an aim
//!   goal      what the site of an entry is to do then
//!   expose    the sites are about to be patched
//!   publish   the sites are patched: the subject says so from now on
//!   abandon   the sites are as they were
//! ```

#[cfg(jumplabel_alternatives)]
mod alternatives;
mod call;
mod found;
mod key;
mod ops;
mod switch;

use core::fmt;

use crate::arch::Code;
use crate::error::Error;
use crate::format::Entry;
use crate::text::{Held, Objects, Visibility};
pub(super) use found::complaint;
pub(crate) use found::{Found, Look};
#[cfg(jumplabel_sites)]
use {
    super::Lock,
    crate::arch::{Kind, State},
    crate::format::{BRANCH, NAKED, PREFIX},
    crate::site::{index, object},
    crate::text::RUNTIME,
    core::ptr::null_mut,
    core::sync::atomic::{AtomicPtr, Ordering},
    found::Own,
};

/// What entries of a table name, and what a transaction changes.
pub(crate) trait Subject: Sync {
    /// What entries name.
    fn address(&self) -> usize;

    /// Under the lock: begins `change`, a number of the subject's own, and returns the aim. `None` if nothing has to be patched: then
    /// the change is done.
    fn begin(&self, change: usize, held: &Held<Objects>) -> Result<Option<usize>, Error>;

    /// What its sites do now: the aim of the last change.
    fn aim(&self) -> usize;

    /// What the site of `entry` is to do for an aim. If a kind leads to the entry's target, the same for all entries of that kind with
    /// one arm: a run of edits relies on it.
    fn goal(&self, aim: usize, entry: &Entry) -> usize;

    /// What is found at a site that holds `code`, if it may hold anything beside the states of its kind.
    fn found(&self, _look: &Look<'_>, _code: Code) -> Option<Result<Found, usize>> {
        None
    }

    /// What does `goal` there, of that.
    fn own(&self, _entry: &Entry, _goal: usize) -> Option<Code> {
        None
    }

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

/// The subject of `entry`, which is at `address`; `None` if this copy of the library never changed one of its kind.
///
/// # Safety
/// The index found the entry sound; the subject's object is loaded.
#[cfg(jumplabel_sites)]
pub(super) unsafe fn of<'a>(entry: &Entry, address: usize) -> Option<&'a dyn Subject> {
    match entry.kind() {
        // SAFETY: what the macros emit for these kinds.
        #[cfg(jumplabel_short_engine)]
        crate::format::SHORT => Some(unsafe { &*(address as *const crate::key::raw::RawKey) }),
        // SAFETY: what the macros emit for these kinds.
        BRANCH | NAKED | PREFIX => Some(unsafe { &*(address as *const crate::key::raw::RawKey) }),
        // SAFETY: the same.
        _ if entry.is_alternative() => Some(unsafe { (OptionalKind::of_kind(ALTERNATIVE)?.of)(address) }),
        // SAFETY: the same.
        kind => Some(unsafe { (OptionalKind::of_kind(kind)?.of)(address) }),
    }
}

/// In the list of those below, an alternative, whose entries are of the kind of operations. No kind has this number.
#[cfg(jumplabel_sites)]
const ALTERNATIVE: u8 = u8::MAX;

/// A kind whose code is linked only into programs that change subjects of the kind.
#[cfg(jumplabel_sites)]
pub(super) struct OptionalKind {
    kind: u8,
    next: AtomicPtr<OptionalKind>,
    /// The subject at an address.
    of: unsafe fn(usize) -> &'static dyn Subject,
    /// The state of a site in a process that was copied in mid-change; `None` if the kind's `decode` knows all that the
    /// site can hold then.
    in_copy: fn(Kind, Code) -> Option<State>,
}

/// Those that this copy has changed.
#[cfg(jumplabel_sites)]
static OPTIONAL: AtomicPtr<OptionalKind> = AtomicPtr::new(null_mut());

#[cfg(jumplabel_sites)]
impl OptionalKind {
    /// # Safety
    /// The macros emit such a subject at the address of an entry of this kind.
    const unsafe fn new(
        kind: u8,
        of: unsafe fn(usize) -> &'static dyn Subject,
        in_copy: fn(Kind, Code) -> Option<State>,
    ) -> OptionalKind {
        OptionalKind { kind, next: AtomicPtr::new(null_mut()), of, in_copy }
    }

    fn all() -> impl Iterator<Item = &'static OptionalKind> {
        let mut at = &OPTIONAL;
        core::iter::from_fn(move || {
            // SAFETY: null, or from a reference for ever.
            let optional = unsafe { at.load(Ordering::Acquire).as_ref() }?;
            at = &optional.next;
            Some(optional)
        })
    }

    /// Under the lock: puts it on the list.
    fn register(&'static self) {
        if OptionalKind::all().all(|other| other.kind != self.kind) {
            self.next.store(OPTIONAL.load(Ordering::Relaxed), Ordering::Relaxed);
            OPTIONAL.store(core::ptr::from_ref(self).cast_mut(), Ordering::Release);
            RUNTIME.set_tell(told);
        }
    }

    fn of_kind(kind: u8) -> Option<&'static OptionalKind> {
        OptionalKind::all().find(|optional| optional.kind == kind)
    }
}

/// The state of a site that holds none that its subject says, in a process that was copied in mid-change.
#[cfg(jumplabel_sites)]
pub(super) fn in_copy(kind: Kind, code: Code) -> Option<State> {
    (OptionalKind::of_kind(kind.number())?.in_copy)(kind, code)
}

/// Under the lock: refuses a subject that has an entry which is not fit.
#[cfg(jumplabel_sites)]
fn examine_all(
    subject: &dyn Subject,
    held: &Held<Objects>,
    examine: fn(&Entry) -> Result<(), Error>,
) -> Result<(), Error> {
    object::all(held)
        .try_for_each(|object| index::entries(object, subject.address(), held)?.iter().try_for_each(examine))
}

/// What another copy of the library says with [`Runtime::tell`](crate::format::Runtime). The lock is held.
#[cfg(jumplabel_sites)]
extern "C" fn told(start: usize, end: usize) {
    // SAFETY: whoever tells has borrowed nothing that the lock stands for.
    let mut lock = unsafe { Lock::borrowed() };
    if end != 0 {
        return call::unload(&(start..end), &mut lock);
    }
    super::catch_up_all(&mut lock);
}

/// What a [`Batch`](crate::Batch) can set: a key to on or off, a static call to a function, a static mode to one of its modes.
pub trait Settable {
    /// What it can be set to.
    type Value;
    #[doc(hidden)]
    fn request(&self, value: Self::Value) -> Result<Request<'_>, Error>;
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
    pub(super) fn begin(&mut self, held: &Held<Objects>) -> Result<(), Error> {
        self.aim = self.subject.begin(self.change, held)?;
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

//! Patchables: the things that a transaction can change. A patchable is a key, a static call, a mode, a table of operations, or the alternatives of
//! an object. Each sort of [`Patchable`] has a file here. Every program has entries of keys, so [`of`] always knows the kinds of these entries. The
//! file of each other sort has an [`OptionalKind`]. The patchable's `begin` adds the `OptionalKind` to those that `of` knows.
//!
//! ```text
//!   Patchable      key          call            mode, table of operations   alternatives
//!   its setting    1: on        the target      the number of the mode      1: applied
//!                  0: off       0: the default                              0: not applied
//!      │
//!      ▼ for each entry
//!   the action     1: jump      the address     the address of the arm      the address of the instructions
//!   of one site    0: do not    to lead to
//!                  (the address of the arm instead of 1, if the site can load)
//!      │
//!      ▼ arch::Kind             arch::State::action returns these numbers, too
//!   the State      what a site of this kind holds to do that action: nop, test, jump, ...
//!      │
//!      ▼ Wanted                 beside states, a site can hold a Literal: an instruction of the program, or a call as it was compiled
//!   Comparison     what the site holds, what it shall hold, and the change from the first to the second
//! ```
//!
//! A transaction calls these functions of a patchable in this order:
//!
//! ```text
//!   begin     returns the Effect of the change: none, a new setting, the present setting, a user more or less
//!   action    returns what the site of an entry shall do for that setting
//!   compare   compares what the site holds with what it shall hold
//!   expose    the sites are about to be patched
//!   publish   the sites are patched: the patchable has the new setting from now on
//!   abandon   instead of publish, if the change has failed: the sites are as they were
//! ```

#[cfg(jumplabel_alternatives)]
mod alternatives;
mod call;
mod comparison;
mod key;
mod lent;
mod ops;
mod switch;
#[cfg(jumplabel_sites)]
mod torn;

use core::fmt;

use crate::arch::Code;
use crate::error::Error;
use crate::format::Entry;
use crate::platform::{Held, Objects};
#[cfg(jumplabel_sites)]
pub(super) use call::go_home;
pub(crate) use comparison::{Comparison, Wanted};
pub(super) use comparison::{complaint, nothing};
pub(crate) use lent::{LENT, LentKey, RETURNED};
#[cfg(jumplabel_sites)]
use {
    crate::arch::{Kind, State},
    crate::format::{BRANCH, LOADING, NAKED, PREFIX},
    crate::platform::RUNTIME,
    crate::site::{index, object},
    comparison::Literal,
    core::ptr::null_mut,
    core::sync::atomic::{AtomicPtr, Ordering},
};

/// The effect of a change on the sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing changes.
    None,
    /// No site has to change. When the change is published, [`add_user`](Patchable::add_user) counts the user that comes.
    Joins,
    /// No site has to change. A user is counted off. If the change is abandoned, [`add_user`](Patchable::add_user) counts that user again.
    Left,
    /// The setting keeps this value. The sites are compared nevertheless, because something outside the library may have changed them.
    Same(usize),
    /// The setting gets this new value.
    New(usize),
}

/// A bit that marks the number of a mode in notices. No address of a key or a mode has this bit.
pub(crate) const MODE: usize = 1;

/// A thing that entries name, and that a transaction changes: a key, a call, a mode, a table of operations, the alternatives of an object.
pub(crate) trait Patchable: Sync {
    /// The address by which entries name the patchable.
    fn address(&self) -> usize;

    /// Begins `change`, and returns its effect on the sites. Each sort of patchable gives the numbers of changes its own meaning. Called under the
    /// lock, after [`index::demand`](crate::site::index::demand).
    fn begin(&self, change: usize, held: &Held<Objects>) -> Result<Effect, Error>;

    /// The present setting: the one after the last change that was published.
    fn setting(&self) -> usize;

    /// The action that the site of `entry` must do under this setting of the patchable. For a kind whose sites lead to the target of their entry,
    /// all sites with the same [`arm`](Entry::arm) must have the same action, because a run of changes relies on that.
    fn action(&self, setting: usize, entry: &Entry) -> usize;

    /// Compares a site that holds `code` with the state that it must hold. Patchables whose sites can hold a [`Literal`] replace this function by
    /// their own.
    fn compare(&self, wanted: &Wanted<'_>, code: Code) -> Result<Comparison, usize> {
        wanted.compare_states(code)
    }

    /// The bytes of the literal that does this action at the site of `entry`. `None` if no literal does this action.
    fn literal(&self, _entry: &Entry, _goal: usize) -> Option<Code> {
        None
    }

    /// Number `number` of the actions for which the compiler may have emitted the site. `None` if there are no more. Only kinds whose sites lead to
    /// their action need this. (For other kinds, the compiler always emits one of the states.)
    fn emitted(&self, _entry: &Entry, _number: usize) -> Option<usize> {
        None
    }

    /// Shows the new setting to threads that execute a site in the middle of its change. Called under the lock, before the sites are written.
    fn expose(&self, _aim: usize) {}

    /// Publishes the change. `setting` is the new setting, or `None` if the setting stays the same. A second call does nothing. Called under the
    /// lock, after the sites were patched.
    fn publish(&self, change: usize, setting: Option<usize>);

    /// Counts one user more. Only the effects [`Effect::Joins`] and [`Effect::Left`] need this. Called under the lock.
    fn add_user(&self) {}

    /// Takes back a change that has begun. Does nothing if no change has begun. Called under the lock, when the sites are as they were.
    fn abandon(&self);

    /// The patchable's number in notices: the address of a key, or the address of a mode plus [`MODE`]. 0 if the patchable has no notices.
    fn notice_number(&self) -> usize {
        0
    }

    /// Whether other threads may still execute the bytes that the sites held before the last change.
    fn is_eventual(&self) -> bool;

    /// Sets the answer of [`is_eventual`](Self::is_eventual). Called under the lock, before `publish`.
    fn set_eventual(&self, eventual: bool);
}

/// The patchable that `entry` names, which lies at `address`. `None` if this instance of the library does not know the entry's kind: the instance has
/// never changed a patchable of that kind, and never called [`know_all`].
///
/// # Safety
/// The index found the entry sound, and the patchable's object is loaded.
#[cfg(jumplabel_sites)]
pub(super) unsafe fn of<'a>(entry: &Entry, address: usize) -> Option<&'a dyn Patchable> {
    match entry.kind() {
        // SAFETY: the macros lead an entry of this kind to a raw key, and the caller keeps its object loaded.
        #[cfg(jumplabel_short_engine)]
        crate::format::SHORT => Some(unsafe { &*(address as *const crate::raw::key::RawKey) }),
        // SAFETY: the macros lead an entry of these kinds to a raw key, and the caller keeps its object loaded.
        BRANCH | LOADING | NAKED | PREFIX => Some(unsafe { &*(address as *const crate::raw::key::RawKey) }),
        // SAFETY: the macros lead the entry of an alternative to the type that this `of` takes, and the caller keeps its object loaded.
        _ if entry.is_alternative() => Some(unsafe { (OptionalKind::of_kind(ALTERNATIVE)?.of)(address) }),
        // SAFETY: the macros or a tool lead such an entry to the type that this `of` takes, and the caller keeps its object loaded.
        kind => Some(unsafe { (OptionalKind::of_kind(kind)?.of)(address) }),
    }
}

/// The `kind` of the [`OptionalKind`] of alternatives. No entry has this number as its kind. (The entries of alternatives have the same kind as those
/// of operations, so that kind cannot tell them apart.)
#[cfg(jumplabel_sites)]
const ALTERNATIVE: u8 = u8::MAX;

/// A kind of entries whose code is linked only into programs that change patchables of that kind.
#[cfg(jumplabel_sites)]
pub(super) struct OptionalKind {
    kind: u8,
    next: AtomicPtr<OptionalKind>,
    /// Returns the patchable at an address.
    of: unsafe fn(usize) -> &'static dyn Patchable,
    /// Decodes a site of a process that was forked in mid-change, if the kind's `decode` does not know the site's bytes. Returns the state in which
    /// the change may have left the site. `None` if no state fits the bytes.
    in_fork: fn(Kind, Code) -> Option<State>,
}

/// The list of the optional kinds that this instance knows.
#[cfg(jumplabel_sites)]
static OPTIONAL: AtomicPtr<OptionalKind> = AtomicPtr::new(null_mut());

#[cfg(jumplabel_sites)]
impl OptionalKind {
    /// # Safety
    /// The macros, or a tool, lead each entry of `kind` to a patchable of the type that `of` takes.
    const unsafe fn new(
        kind: u8,
        of: unsafe fn(usize) -> &'static dyn Patchable,
        in_fork: fn(Kind, Code) -> Option<State>,
    ) -> OptionalKind {
        OptionalKind { kind, next: AtomicPtr::new(null_mut()), of, in_fork }
    }

    fn all() -> impl Iterator<Item = &'static OptionalKind> {
        let mut at = &OPTIONAL;
        core::iter::from_fn(move || {
            // SAFETY: the pointer is null, or was made of a `&'static` reference.
            let optional = unsafe { at.load(Ordering::Acquire).as_ref() }?;
            at = &optional.next;
            Some(optional)
        })
    }

    /// Puts this kind on the list of optional kinds, unless it is there already. Called under the lock.
    fn register(&'static self) {
        if OptionalKind::all().all(|other| other.kind != self.kind) {
            self.next.store(OPTIONAL.load(Ordering::Relaxed), Ordering::Relaxed);
            OPTIONAL.store(core::ptr::from_ref(self).cast_mut(), Ordering::Release);
            RUNTIME.set_tell(super::told);
        }
    }

    fn of_kind(kind: u8) -> Option<&'static OptionalKind> {
        OptionalKind::all().find(|optional| optional.kind == kind)
    }
}

/// Registers all optional kinds, and stores the defaults of static calls. Then [`of`] finds every patchable, and each can be compared with its sites.
#[cfg(jumplabel_sites)]
pub(super) fn know_all(held: &Held<Objects>) {
    call::know();
    call::know_defaults(held);
    switch::know();
    ops::know();
    #[cfg(jumplabel_alternatives)]
    alternatives::know();
}

/// The argument `otherwise` of [`Comparison::at`], for a process that was forked in mid-change: asks the kind's [`OptionalKind::in_fork`].
#[cfg(jumplabel_sites)]
pub(super) fn in_fork(kind: Kind, code: Code) -> Option<State> {
    (OptionalKind::of_kind(kind.number())?.in_fork)(kind, code)
}

/// Calls `examine` for each entry of `patchable`, and returns the first error. Called under the lock, in a transaction.
#[cfg(jumplabel_sites)]
fn examine_all(
    patchable: &dyn Patchable,
    held: &Held<Objects>,
    examine: fn(&Entry) -> Result<(), Error>,
) -> Result<(), Error> {
    object::all(held).try_for_each(|object| {
        index::entries_behind(&mut 0, object, patchable.address(), held)?.iter().try_for_each(examine)
    })
}

/// A thing that a [`Batch`](crate::Batch) can set: a key to on or off, a static call to a function, a static mode to one of its modes.
pub trait Settable {
    /// The type of the values to which this can be set.
    type Value;
    #[doc(hidden)]
    fn request(&self, value: Self::Value) -> Result<Request<'_>, Error>;
}

/// A request for a change of one patchable.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub(super) patchable: &'a dyn Patchable,
    pub(super) change: usize,
}

impl<'a> Request<'a> {
    /// A request for `change`, which has not begun yet.
    pub(crate) const fn new(patchable: &'a dyn Patchable, change: usize) -> Self {
        Request { patchable, change }
    }
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({:#x}, {})", self.patchable.address(), self.change)
    }
}

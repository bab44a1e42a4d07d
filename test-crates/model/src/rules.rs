//! The transitions of the counter: those of the core, and what can be broken in them.

use crate::atomic::AtomicI32;
use crate::count::{self, Change, Misuse, Transition};

/// The transitions of the counter; those of the core, or one of them broken.
#[derive(Clone, Copy)]
pub struct Rules {
    /// [`count::fast`].
    pub fast: fn(&AtomicI32, Change) -> Option<()>,
    /// [`count::begin`].
    pub begin: fn(&AtomicI32, Change) -> Result<Transition, Misuse>,
    /// [`count::publish`].
    pub publish: fn(&AtomicI32, Transition),
    /// [`count::abandon`].
    pub abandon: fn(&AtomicI32),
    /// [`count::add`].
    pub add: fn(&AtomicI32),
    /// [`count::seal`].
    pub seal: fn(&AtomicI32) -> Result<(), Misuse>,
    /// The order of `patch::commit`: sites first, counts after.
    pub publish_after_patch: bool,
    /// A deferred dec that finds more users under the lock than it found without goes back to the lock-free way.
    pub deferred_never_flips: bool,
    /// A deferred dec that was refused stays due.
    pub refused_stays_due: bool,
    /// [`count::clears_due`].
    pub clears_due: fn(Change, Transition) -> bool,
    /// A key is sealed without the user that has left.
    pub seal_carries_out: bool,
}

impl Rules {
    /// Those of the core.
    pub const CORE: Rules = Rules {
        fast: count::fast,
        begin: count::begin,
        publish: count::publish,
        abandon: count::abandon,
        add: count::add,
        seal: count::seal,
        publish_after_patch: true,
        deferred_never_flips: true,
        refused_stays_due: true,
        clears_due: count::clears_due,
        seal_carries_out: true,
    };
}

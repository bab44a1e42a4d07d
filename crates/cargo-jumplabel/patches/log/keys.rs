//! A static key for each callsite. `cargo jumplabel log` has written this file; upstream does not have it.
//!
//! A key is off if its callsite cannot do anything: its level is above `max_level()`, or the logger was asked and has refused it. Then the
//! callsite is one nop. While its key is on, the callsite does what upstream does, so the program behaves the same. Keys follow each change of the
//! maximum level, in one batch.

#[path = "sync.rs"]
mod sync;

// In upstream's root, the name `std` can stand for core.
extern crate std as library;

use core::panic::Location;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::{logger, max_level, Level, Metadata};
use sync::Callsite;

pub use jumplabel;

/// True if callsites have keys. They have none on systems where the library does not patch code.
pub const HAS_KEYS: bool = jumplabel::if_sites!({ true } else { false });

/// A callsite with a key.
#[derive(Debug)]
pub struct Keyed {
    #[doc(hidden)]
    pub key: jumplabel::StaticKey<false, true>,
    level: Level,
    /// The target, if it is the module's path or a literal, and the program passes no logger of its own.
    target: Option<&'static str>,
    place: &'static Location<'static>,
    /// True if the logger was asked, and has refused it.
    is_refused: AtomicBool,
}

jumplabel::list! {
    /// The callsites of the program and of its dependencies: those in functions that the program can call.
    pub static KEYED: [Keyed];
}

impl Keyed {
    #[doc(hidden)]
    #[track_caller]
    pub const fn new(level: Level, target: Option<&'static str>) -> Keyed {
        Keyed {
            key: jumplabel::StaticKey::new(),
            level,
            target,
            place: Location::caller(),
            is_refused: AtomicBool::new(false),
        }
    }

    /// The callsite's level.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The callsite's target. `None` if the program computes the target, or passes a logger of its own.
    pub fn target(&self) -> Option<&'static str> {
        self.target
    }

    /// The callsite's place in the source.
    pub fn place(&self) -> &'static Location<'static> {
        self.place
    }

    /// True if the callsite's key is on.
    pub fn is_on(&self) -> bool {
        self.key.is_enabled()
    }

    /// True if the present logger was asked, and has refused the callsite.
    pub fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::SeqCst)
    }
}

impl Callsite for Keyed {
    fn key(&'static self) -> &'static jumplabel::RawKey {
        self.key.raw()
    }

    fn is_wanted(&self) -> bool {
        self.level <= max_level() && !self.is_refused()
    }
}

/// Calls `visit` for each callsite.
///
/// # Errors
/// Those of `jumplabel::List::for_each`.
pub fn for_each(visit: impl FnMut(&'static Keyed)) -> Result<(), jumplabel::Error> {
    KEYED.for_each(visit)
}

/// The error that kept the keys from following the last change, if there was one. The keys follow again at the next change.
pub fn last_error() -> Option<jumplabel::Error> {
    sync::last_error()
}

/// Asks the logger about each callsite whose target is known, and turns all keys on or off accordingly, in one batch.
///
/// # Errors
/// Those of `jumplabel::List::for_each` and `jumplabel::set_all`. All keys are then as they were.
pub fn ask_logger() -> Result<jumplabel::Outcome, jumplabel::Error> {
    KEYED.for_each(|callsite| {
        let is_enabled = |target| logger().enabled(&Metadata::builder().level(callsite.level).target(target).build());
        callsite.is_refused.store(!callsite.target.is_none_or(is_enabled), Ordering::SeqCst);
    })?;
    sync::sync(&KEYED, loaded)
}

/// Forgets the refusals of the old logger, and makes the keys follow. Called when the maximum level or the logger has changed.
pub(crate) fn changed() {
    // If callsites cannot be listed, `follow` keeps the reason.
    let _ = KEYED.for_each(|callsite| callsite.is_refused.store(false, Ordering::SeqCst));
    sync::follow(&KEYED, loaded);
}

fn loaded(change: jumplabel::ObjectChange, _: &[&'static Keyed]) {
    if let jumplabel::ObjectChange::Loaded = change {
        sync::follow(&KEYED, loaded);
    }
}

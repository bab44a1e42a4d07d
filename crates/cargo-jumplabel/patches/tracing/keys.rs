//! A static key for each callsite. `cargo jumplabel tracing` has written this file; upstream does not have it.
//!
//! A key is off if its callsite cannot do anything: no subscriber is interested, or the callsite's level is above what any of them wants.
//! Then the callsite is one nop. While its key is on, the callsite does what upstream does, so the program behaves the same. Keys follow after each
//! rebuild of interests, in one batch.

#[path = "sync.rs"]
mod sync;

extern crate std as library;

use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Once;

use super::DefaultCallsite;
use crate::dispatcher;
use crate::metadata::{Level, LevelFilter, Metadata};

mod check;
mod limit;
mod marks;
mod others;
mod rebuild;
mod tracers;

pub use check::check;
pub use jumplabel;
use marks::Marks;
pub use marks::{follow, force, is_marked, Follower, Goes, ALL, ANY_MARKED};
use others::Others;
pub use others::SEMAPHORE;
pub(super) use rebuild::rebuild;
pub use tracers::{watch_tracers, Note};

/// True if callsites have keys. They have none on systems where the library does not patch code.
pub const HAS_KEYS: bool = jumplabel::if_sites!({ true } else { false });

/// True if events go to the crate `log` until there is a subscriber. All keys are on until then.
const LOGS: bool = cfg!(feature = "jumplabel-log");

/// A callsite with a key. The fields that an event reads while its key is on come first and together: most often, they are in one line of the data
/// cache. (Without `repr(C)`, the compiler puts `others` at the end.)
#[derive(Debug)]
#[repr(C)]
pub struct Keyed {
    #[doc(hidden)]
    pub inner: DefaultCallsite,
    others: Others,
    #[doc(hidden)]
    pub key: jumplabel::StaticKey<LOGS, true>,
    /// The text of the callsite's message, before values are inserted.
    text: &'static str,
    marks: Marks,
    /// The function to which tracers attach, if the callsite has a note.
    note: Option<Note>,
}

jumplabel::list! {
    /// The callsites of the program and of its dependencies: those in functions that the program can call.
    pub static KEYED: [Keyed];
}

/// The result of [`status`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Status {
    /// The number of callsites with a key.
    pub callsites: usize,
    /// The number of callsites whose key is on.
    pub on: usize,
    /// The number of callsites whose events are sent to subscribers even if these do not want them.
    pub forced: usize,
    /// The error that kept the keys from following the last rebuild of interests. The keys follow again at the next rebuild.
    pub error: Option<jumplabel::Error>,
}

jumplabel::tracepoint! {
    /// A thread has reached a callsite whose key is on. Each key is on as long as a tracer listens to this tracepoint. A probe of the program itself
    /// also turns all keys on, but not before the next rebuild of interests: call `rebuild_interest_cache()` after `add` and `remove`.
    pub tracing, reached(target: &'static str, name: &'static str, level: u8, line: u32, file: &'static str, metadata: &'static Metadata<'static>);
}

/// The level as tracers see it: 1 for an error, 5 for the most verbose one.
fn number(level: &Level) -> u8 {
    match *level {
        Level::ERROR => 1,
        Level::WARN => 2,
        Level::INFO => 3,
        Level::DEBUG => 4,
        Level::TRACE => 5,
    }
}

/// Counts the callsites that have a key, and those of them whose keys are on.
///
/// # Errors
/// Those of `jumplabel::List::for_each`.
pub fn status() -> Result<Status, jumplabel::Error> {
    let error = sync::last_error();
    let mut status = Status { callsites: 0, on: 0, forced: 0, error };
    KEYED.for_each(|callsite| {
        status.callsites += 1;
        status.on += usize::from(callsite.key.is_enabled());
        status.forced += usize::from(callsite.is_forced());
    })?;
    Ok(status)
}

/// Calls `visit` for each callsite.
///
/// # Errors
/// Those of `jumplabel::List::for_each`.
pub fn for_each(visit: impl FnMut(&'static Keyed)) -> Result<(), jumplabel::Error> {
    KEYED.for_each(visit)
}

impl Keyed {
    /// A callsite that nobody has registered yet.
    pub const fn new(meta: &'static Metadata<'static>, text: &'static str, note: Option<Note>) -> Self {
        Keyed {
            inner: DefaultCallsite::new(meta),
            others: Others::new(),
            key: jumplabel::StaticKey::new(),
            text,
            marks: Marks::new(),
            note,
        }
    }

    /// The callsite's metadata.
    pub fn meta(&self) -> &'static Metadata<'static> {
        self.inner.meta
    }

    /// The text of the callsite's message, before values are inserted: a literal of the source. Empty if there is none.
    pub fn text(&self) -> &'static str {
        self.text
    }

    /// True if the callsite's key is on.
    pub fn is_on(&self) -> bool {
        self.key.is_enabled()
    }

    /// The number of sites of the callsite's key. 0 if they cannot be counted.
    pub fn sites(&'static self) -> usize {
        jumplabel::for_each_site(self.key.raw(), |_| ()).unwrap_or(0)
    }

    /// True if the callsite's events are sent to subscribers even if these do not want them.
    pub fn is_forced(&self) -> bool {
        self.marks.forced() > 0
    }

    /// True if an attached tracer keeps the callsite's key on.
    pub fn is_traced(&self) -> bool {
        self.others.is_tracer_known()
    }

    /// The number of events that were lost since the callsite was forced: they were above the limit, and no subscriber wanted them.
    pub fn lost(&self) -> u64 {
        self.marks.lost()
    }

    /// Counts an event that the follower gets. Returns the event's number in this second.
    pub fn nth_told(&self) -> u32 {
        self.marks.nth_told()
    }

    /// The number of events that the follower got but has not noted. The follower itself counts them here.
    pub fn missed(&self) -> &'static AtomicU32 {
        self.marks.missed()
    }
}

impl sync::Callsite for Keyed {
    fn key(&'static self) -> &'static jumplabel::RawKey {
        self.key.raw()
    }

    fn is_wanted(&self) -> bool {
        if sync::Callsite::is_marked(self) || reached.key().is_enabled() || LOGS && !dispatcher::has_been_set() {
            return true;
        }
        let registration = self.inner.registration.load(Ordering::Acquire);
        let is_refused = registration == DefaultCallsite::REGISTERED
            && self.inner.interest.load(Ordering::SeqCst) == DefaultCallsite::INTEREST_NEVER;
        // As in upstream, a callsite that is not registered yet registers itself when a thread reaches it, so its key is on.
        !is_refused && *self.meta().level() <= LevelFilter::current()
    }

    fn is_marked(&self) -> bool {
        self.marks.any() || self.others.is_tracer_known()
    }

    fn refresh(&self) {
        self.others.refresh(&self.marks);
    }

    fn all_marked() -> bool {
        reached.key().is_enabled()
    }

    fn any_marked() -> Option<&'static jumplabel::RawKey> {
        Some(ANY_MARKED.raw())
    }
}

impl Deref for Keyed {
    type Target = DefaultCallsite;
    fn deref(&self) -> &DefaultCallsite {
        &self.inner
    }
}

/// Makes the keys follow interests when it is dropped, so that they follow even if a subscriber panics meanwhile.
pub(crate) struct SyncAtEnd;

impl Drop for SyncAtEnd {
    fn drop(&mut self) {
        rebuild::if_wanted();
        watch_tracers();
        sync::follow(&KEYED, loaded);
    }
}

/// Called when a dispatcher was made the default. At the first call, lets the keys go off that are on only for the crate `log`.
pub(crate) fn dispatcher_is_set() {
    static FIRST: Once = Once::new();
    if LOGS {
        FIRST.call_once(|| drop(SyncAtEnd));
    }
}

/// Turns all keys on or off as interests say, in one batch.
fn sync() -> Result<jumplabel::Outcome, jumplabel::Error> {
    watch_tracers();
    sync::sync(&KEYED, loaded)
}

fn loaded(change: jumplabel::ObjectChange, callsites: &[&'static Keyed]) {
    if let jumplabel::ObjectChange::Unloading = change {
        rebuild::forget(callsites);
    }
    // Also after an unloading: a rebuild of another thread may have found the lock taken meanwhile.
    drop(SyncAtEnd);
}

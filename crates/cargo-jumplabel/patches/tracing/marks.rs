//! Callsites whose events go somewhere whatever subscribers say. `cargo jumplabel tracing` has written this file; upstream does not have it.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::OnceLock;
use std::vec::Vec;

use super::{is_enabled, sync, Keyed, KEYED};
use crate::field::{ValueSet, Visit};

/// Of a callsite.
#[derive(Debug)]
pub(super) struct Marks(AtomicU8);

/// Its events pass whatever subscribers say.
const FORCED: u8 = 1;
/// Its events go to the follower, and to subscribers only if these want them.
const FOLLOWED: u8 = 2;
/// It was [`FOLLOWED`] at some time: whether subscribers want an event is asked when it goes to them, because nobody may have asked before.
const ONCE_FOLLOWED: u8 = 4;

/// Is told each event and each new span of the callsites that are followed, in the thread that makes it. `record` visits its values.
pub type Follower = fn(callsite: &'static Keyed, record: &dyn Fn(&mut dyn Visit));

static FOLLOWER: OnceLock<Follower> = OnceLock::new();

/// On while some callsite is forced or followed, so that `#[instrument]` asks the callsites of spans above the level that subscribers want.
pub static ANY_MARKED: jumplabel::StaticKey<false, true> = jumplabel::StaticKey::new();

impl Marks {
    pub(super) const fn new() -> Marks {
        Marks(AtomicU8::new(0))
    }

    fn has(&self, which: u8) -> bool {
        self.0.load(Ordering::SeqCst) & which != 0
    }

    pub(super) fn is_forced(&self) -> bool {
        self.has(FORCED)
    }

    /// Whether the callsite's key has to be on.
    pub(super) fn any(&self) -> bool {
        self.has(FORCED | FOLLOWED)
    }

    fn set(&self, which: u8, to: bool) {
        let once = if which == FOLLOWED { ONCE_FOLLOWED } else { 0 };
        match to {
            true => self.0.fetch_or(which | once, Ordering::SeqCst),
            false => self.0.fetch_and(!which, Ordering::SeqCst),
        };
    }
}

/// Lets the events and spans of callsites pass whatever subscribers say about them, or ends that: `choose` is asked for each callsite, and
/// `None` leaves it as it is. In one batch.
///
/// # Errors
/// As `jumplabel::set_all`. Then all is as it was.
pub fn force(choose: impl FnMut(&'static Keyed) -> Option<bool>) -> Result<jumplabel::Outcome, jumplabel::Error> {
    mark(FORCED, choose)
}

/// Tells `follower` the events and new spans of callsites, or ends that: `choose` is asked for each callsite, and `None` leaves it as it is. In
/// one batch. Filters do not matter, and subscribers see what they saw before. All calls give the same follower: the first one counts.
///
/// # Errors
/// As `jumplabel::set_all`. Then all is as it was.
pub fn follow(
    follower: Follower,
    choose: impl FnMut(&'static Keyed) -> Option<bool>,
) -> Result<jumplabel::Outcome, jumplabel::Error> {
    FOLLOWER.get_or_init(|| follower);
    mark(FOLLOWED, choose)
}

fn mark(
    which: u8,
    mut choose: impl FnMut(&'static Keyed) -> Option<bool>,
) -> Result<jumplabel::Outcome, jumplabel::Error> {
    let mut changed = Vec::new();
    KEYED.for_each(|callsite| {
        let wanted = choose(callsite).filter(|&wanted| wanted != callsite.marks.has(which));
        changed.extend(wanted.map(|wanted| (callsite, wanted)));
    })?;
    let set = |to: bool| changed.iter().for_each(|&(callsite, wanted): &(&Keyed, bool)| callsite.marks.set(which, wanted == to));
    set(true);
    sync().map_err(|error| {
        set(false);
        error
    })
}

/// Whether `enabled!` says yes, whatever subscribers say.
#[doc(hidden)]
pub fn is_marked(callsite: &'static Keyed) -> bool {
    callsite.marks.any()
}

/// Whether an event or a new span goes to subscribers, behind [`check`]. The follower is told, if there is one.
#[doc(hidden)]
pub fn goes_on(callsite: &'static Keyed, values: &ValueSet<'_>) -> bool {
    let marks = callsite.marks.0.load(Ordering::SeqCst);
    marks & ONCE_FOLLOWED == 0 || goes_on_from_follower(callsite, marks, values)
}

#[cold]
fn goes_on_from_follower(callsite: &'static Keyed, marks: u8, values: &ValueSet<'_>) -> bool {
    if let Some(follower) = FOLLOWER.get().filter(|_| marks & FOLLOWED != 0) {
        follower(callsite, &|visitor| values.record(visitor));
    }
    marks & FORCED != 0 || is_enabled(callsite)
}

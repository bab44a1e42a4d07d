//! Callsites whose events go somewhere whatever subscribers say. `cargo jumplabel tracing` has written this file; upstream does not have it.

use std::sync::atomic::{AtomicU32, AtomicU8, Ordering};
use std::sync::OnceLock;
use std::vec::Vec;

use super::{sync, Keyed, KEYED};
use crate::field::{ValueSet, Visit};

/// Of a callsite.
#[derive(Debug)]
pub(super) struct Marks(AtomicU8);

/// Its events pass whatever subscribers say.
const FORCED: u8 = 1;
/// Its events go to the follower, and to subscribers only if these want them.
const FOLLOWED: u8 = 2;

/// Where an event or a new span goes. It is decided once, because a filter may count how often it is asked.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Goes {
    to_subscribers: bool,
    to_follower: bool,
}

/// Is told each event and each new span of the callsites that are followed, in the thread that makes it. `record` visits its values.
pub type Follower = fn(callsite: &'static Keyed, record: &dyn Fn(&mut dyn Visit));

static FOLLOWER: OnceLock<Follower> = OnceLock::new();
/// The process in which callsites are followed: not its children, where nobody follows.
static PROCESS: AtomicU32 = AtomicU32::new(0);

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

    fn is_followed(&self) -> bool {
        self.has(FOLLOWED) && PROCESS.load(Ordering::SeqCst) == std::process::id()
    }

    /// Whether the callsite's key has to be on.
    pub(super) fn any(&self) -> bool {
        self.is_forced() || self.is_followed()
    }

    /// Where an event goes, behind a key that is on.
    pub(super) fn goes(&self, is_enabled: impl FnOnce() -> bool) -> Goes {
        Goes { to_subscribers: self.is_forced() || is_enabled(), to_follower: self.is_followed() }
    }

    fn set(&self, which: u8, to: bool) {
        match to {
            true => self.0.fetch_or(which, Ordering::SeqCst),
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
    PROCESS.store(std::process::id(), Ordering::SeqCst);
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

impl Goes {
    /// What is compiled out, or whose key is off.
    pub const NOWHERE: Goes = Goes { to_subscribers: false, to_follower: false };

    /// Whether it goes anywhere.
    #[inline]
    pub fn anywhere(self) -> bool {
        self.to_subscribers || self.to_follower
    }

    /// Whether it goes to subscribers.
    #[inline]
    pub fn to_subscribers(self) -> bool {
        self.to_subscribers
    }

    /// Tells the follower, if there is one: after subscribers, who see what they saw before, even if a value can be displayed only once.
    #[inline]
    pub fn tell(self, callsite: &'static Keyed, values: &ValueSet<'_>) {
        if self.to_follower {
            tell(callsite, values);
        }
    }
}

#[cold]
fn tell(callsite: &'static Keyed, values: &ValueSet<'_>) {
    if let Some(follower) = FOLLOWER.get() {
        follower(callsite, &|visitor| values.record(visitor));
    }
}

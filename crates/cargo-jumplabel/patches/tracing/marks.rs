//! Callsites whose events are shown even if no subscriber wants them. `cargo jumplabel tracing` has written this file; upstream does not have it.

use std::boxed::Box;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::OnceLock;
use std::vec::Vec;

use super::limit::{Second, Shown};
use super::{sync, tracers, Keyed, KEYED};
use crate::field::{ValueSet, Visit};
use crate::metadata::Metadata;

/// A pointer to the marks of a callsite. It is null until the callsite is marked for the first time. The marks are never freed.
#[derive(Debug)]
pub(super) struct Marks(AtomicPtr<Marked>);

/// The marks of a callsite that somebody has marked.
#[derive(Debug, Default)]
struct Marked {
    /// How many events in a second are sent to subscribers that do not want them; [`ALL`] is any number. 0: subscribers decide.
    forced: AtomicU32,
    shown: Shown,
    /// If not 0, the callsite's events go to the follower, and to subscribers only if these want them.
    followed: AtomicU32,
    /// The number of events that the follower got in this second.
    told: Second,
    /// The number of events that the follower got but has not noted.
    missed: AtomicU32,
}

/// The limit for "any number of events in a second".
pub const ALL: u32 = u32::MAX;

/// Where an event or a new span goes. This is decided once, because a filter may count how often it is asked.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goes(u8);

/// A function that is called for each event and each new span of followed callsites, in the thread that makes it. `record` visits its values.
pub type Follower = fn(callsite: &'static Keyed, record: &dyn Fn(&mut dyn Visit));

static FOLLOWER: OnceLock<Follower> = OnceLock::new();
/// The number of the process that called [`follow`]. In forked children of that process, no callsite is followed.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// On while some callsite is forced or followed, or a tracer is attached: then `#[instrument]` asks a span's callsite even if its level is above the
/// subscribers' maximum.
pub static ANY_MARKED: jumplabel::StaticKey<false, true> = jumplabel::StaticKey::new();

impl Marks {
    pub(super) const fn new() -> Marks {
        Marks(AtomicPtr::new(ptr::null_mut()))
    }

    fn get(&self) -> Option<&'static Marked> {
        // SAFETY: the pointer is null, or comes from `made`, which never frees it.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// Returns the marks. Makes them if there are none.
    fn made(&self) -> &'static Marked {
        self.get().unwrap_or_else(|| {
            let new = Box::into_raw(Box::default());
            match self.0.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: `new` leads to marks that are never freed.
                Ok(_) => unsafe { &*new },
                Err(other) => {
                    // SAFETY: nobody else has seen `new`; the other marks are never freed.
                    unsafe { drop(Box::from_raw(new)) };
                    unsafe { &*other }
                }
            }
        })
    }

    /// How many events in a second are sent to subscribers that do not want them.
    pub(super) fn forced(&self) -> u32 {
        self.get().map_or(0, |marked| marked.forced.load(Ordering::SeqCst))
    }

    fn is_followed(&self) -> bool {
        self.get().is_some_and(|marked| marked.followed.load(Ordering::SeqCst) != 0)
            && PROCESS.load(Ordering::SeqCst) == std::process::id()
    }

    /// True if the callsite is forced or followed. Then its key has to be on.
    pub(super) fn any(&self) -> bool {
        self.forced() > 0 || self.is_followed()
    }

    /// The number of events that were lost since the callsite was forced: they were above the limit, and no subscriber wanted them.
    pub(super) fn lost(&self) -> u64 {
        self.get().map_or(0, |marked| marked.shown.lost())
    }

    /// Counts an event that the follower gets. Returns the event's number in this second.
    pub(super) fn nth_told(&self) -> u32 {
        self.get().map_or(0, |marked| marked.told.next())
    }

    /// The number of events that the follower got but has not noted. The follower itself counts them here.
    pub(super) fn missed(&self) -> &'static AtomicU32 {
        &self.made().missed
    }

    /// Returns where an event goes if the key is on. `is_enabled` returns whether subscribers want it.
    pub(super) fn goes(&self, meta: &'static Metadata<'static>, to_tracer: bool, is_enabled: impl FnOnce() -> bool) -> Goes {
        let to_subscribers = match (self.forced(), self.get()) {
            (0, _) | (_, None) => is_enabled(),
            (ALL, _) => true,
            (most, Some(marked)) => marked.shown.passes(most, meta) || is_enabled() || marked.shown.lose(),
        };
        let goes = |is_so, to: Goes| if is_so { to.0 } else { 0 };
        Goes(
            Goes::to_subscribers_if(to_subscribers).0
                | goes(self.is_followed(), Goes::TO_FOLLOWER)
                | goes(to_tracer, Goes::TO_TRACER),
        )
    }
}

/// Forces callsites: their events and spans are sent to subscribers even if these do not want them. For each callsite, `choose` returns how many may
/// pass in a second. 0 ends the forcing, and `None` changes nothing. All changes are one batch. Events above the limit are lost unless subscribers
/// want them. Lost events are counted: when the next event passes, another event tells subscribers how many were lost.
///
/// # Errors
/// Those of `jumplabel::List::for_each` and `jumplabel::set_all`. Then all is as it was.
pub fn force(choose: impl FnMut(&'static Keyed) -> Option<u32>) -> Result<jumplabel::Outcome, jumplabel::Error> {
    mark(|marked| &marked.forced, choose)
}

/// Sends the events and new spans of callsites to `follower`, or stops that. For each callsite, `choose` returns true to begin, false to stop, and
/// `None` to change nothing. All changes are one batch. Filters have no influence, and subscribers see what they saw before. All calls must pass the
/// same follower: the first one is kept.
///
/// # Errors
/// Those of `jumplabel::List::for_each` and `jumplabel::set_all`. Then all is as it was.
pub fn follow(
    follower: Follower,
    mut choose: impl FnMut(&'static Keyed) -> Option<bool>,
) -> Result<jumplabel::Outcome, jumplabel::Error> {
    FOLLOWER.get_or_init(|| follower);
    PROCESS.store(std::process::id(), Ordering::SeqCst);
    mark(|marked| &marked.followed, |callsite| choose(callsite).map(u32::from))
}

fn mark(
    which: fn(&'static Marked) -> &'static AtomicU32,
    mut choose: impl FnMut(&'static Keyed) -> Option<u32>,
) -> Result<jumplabel::Outcome, jumplabel::Error> {
    let mut changed = Vec::new();
    KEYED.for_each(|callsite| {
        let before = callsite.marks.get().map_or(0, |marked| which(marked).load(Ordering::SeqCst));
        let wanted = choose(callsite).filter(|&wanted| wanted != before);
        changed.extend(wanted.map(|wanted| (callsite, callsite.marks.made(), before, wanted)));
    })?;
    for &(callsite, marked, _, wanted) in &changed {
        if marked.forced.load(Ordering::SeqCst) == 0 {
            marked.shown.begin();
        }
        // A new follower does not get the losses of one that has gone.
        if marked.followed.load(Ordering::SeqCst) == 0 {
            marked.missed.store(0, Ordering::SeqCst);
        }
        which(marked).store(wanted, Ordering::SeqCst);
        callsite.others.marked();
    }
    sync().map_err(|error| {
        for &(callsite, marked, before, _) in &changed {
            which(marked).store(before, Ordering::SeqCst);
            callsite.others.marked();
        }
        error
    })
}

/// True if the callsite is forced, followed or traced. Then `enabled!` is true even if no subscriber wants the callsite.
#[doc(hidden)]
pub fn is_marked(callsite: &'static Keyed) -> bool {
    callsite.marks.any() || callsite.is_traced()
}

impl Goes {
    /// The result for a callsite that is compiled out, or whose key is off.
    pub const NOWHERE: Goes = Goes(0);
    /// To subscribers only: the result for almost all other callsites.
    pub const TO_SUBSCRIBERS: Goes = Goes(1);
    const TO_FOLLOWER: Goes = Goes(2);
    const TO_TRACER: Goes = Goes(4);

    /// True if the event goes anywhere.
    #[inline(always)]
    pub fn anywhere(self) -> bool {
        self != Goes::NOWHERE
    }

    #[inline]
    pub(super) fn to_subscribers_if(is_so: bool) -> Goes {
        Goes(u8::from(is_so))
    }

    #[inline]
    fn includes(self, to: Goes) -> bool {
        self.0 & to.0 != 0
    }

    /// True if the event goes to subscribers.
    #[inline]
    pub fn to_subscribers(self) -> bool {
        self.includes(Goes::TO_SUBSCRIBERS)
    }

    /// Sends an event to the follower and to tracers, if there are any. Subscribers get it first. So they see what they saw before, even if a value
    /// can be displayed only once.
    #[inline]
    pub fn tell(self, callsite: &'static Keyed, values: &ValueSet<'_>) {
        if self.includes(Goes::TO_FOLLOWER) || self.includes(Goes::TO_TRACER) {
            self.tell_others(callsite, values);
        }
    }

    #[cold]
    fn tell_others(self, callsite: &'static Keyed, values: &ValueSet<'_>) {
        if let Some(follower) = FOLLOWER.get().filter(|_| self.includes(Goes::TO_FOLLOWER)) {
            follower(callsite, &|visitor| values.record(visitor));
        }
        if self.includes(Goes::TO_TRACER) {
            tracers::tell(callsite, values);
        }
    }
}

//! The rebuild of interests, and the registration of callsites that no thread has reached. `cargo jumplabel tracing` has written this file.
//!
//! While there is just one dispatcher, upstream's rebuild asks the default dispatcher of the calling thread. If that thread has none, upstream
//! refuses all registered callsites. A callsite that no thread has reached is not refused, because upstream has not registered it. Here, such a
//! callsite is registered as well. It would be refused, too, although another thread has a dispatcher that wants it. So here, a rebuild asks all
//! dispatchers, under the lock of their list.
//!
//! A rebuild never waits for that lock. If a thread holds the lock, because it makes a dispatcher, that thread carries out the rebuild after it has
//! released the lock.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{fence, AtomicBool, Ordering};
use std::sync::TryLockError;
use std::time::{Duration, Instant};
use std::vec::Vec;

use super::super::dispatchers::{Rebuilder, LOCKED_DISPATCHERS};
use super::super::{rebuild_callsite_interest, Callsites, DefaultCallsite, CALLSITES, DISPATCHERS};
use super::{Keyed, KEYED};
use crate::dispatcher::{Dispatch, Registrar};
use crate::metadata::LevelFilter;

/// True if a rebuild did not get the lock. The thread that holds the lock reads this after it has released the lock.
static IS_WANTED: AtomicBool = AtomicBool::new(false);

/// Rebuilds all interests: asks all dispatchers that are alive. If a thread (perhaps this one) is making a dispatcher, leaves the rebuild to that
/// thread.
pub(in super::super) fn rebuild() {
    let Some(dispatchers) = all().or_else(|| {
        IS_WANTED.store(true, Ordering::Relaxed);
        // The other thread releases the lock, and then reads `IS_WANTED`. With the two fences, this thread sees the lock free, or that thread sees
        // the store.
        fence(Ordering::SeqCst);
        all()
    }) else {
        return;
    };
    // These references keep all subscribers alive until the lock is released. A subscriber that runs its destructor may make another dispatcher,
    // which takes the lock. So if the program drops a dispatcher meanwhile, its subscriber is dropped only at the end of this function.
    let _alive: Vec<Dispatch> = match &dispatchers {
        Rebuilder::Read(all) => all.iter().filter_map(Registrar::upgrade).collect(),
        _ => Vec::new(),
    };
    CALLSITES.rebuild_interest(dispatchers);
}

/// Rebuilds all interests if a rebuild did not get the lock meanwhile. The caller has just released the lock.
pub(super) fn if_wanted() {
    fence(Ordering::SeqCst);
    if !std::thread::panicking() && IS_WANTED.swap(false, Ordering::Relaxed) {
        rebuild();
    }
}

/// Returns all dispatchers. `None` if a thread, perhaps this one, is adding a dispatcher.
fn all() -> Option<Rebuilder<'static>> {
    match LOCKED_DISPATCHERS.try_read() {
        Ok(all) => Some(Rebuilder::Read(all)),
        Err(TryLockError::WouldBlock) => None,
        // Upstream's function decides: it panics, or asks the default dispatcher of this thread.
        Err(TryLockError::Poisoned(_)) => Some(DISPATCHERS.rebuilder()),
    }
}

/// How long an unloading waits for other threads' rebuilds. It does not wait for ever: the loader waits for it, and a rebuild may wait for the loader.
const PATIENCE: Duration = Duration::from_secs(1);

/// Takes callsites off the list of registered ones, because their object is about to be unloaded: otherwise, the next rebuild would read memory that
/// is gone. `callsites` are in the order of addresses.
///
/// The lock of all dispatchers keeps other threads from walking the list. They may still add callsites, but only in front of all others.
pub(super) fn forget(callsites: &[&'static Keyed]) {
    let start = Instant::now();
    let _alone = loop {
        match LOCKED_DISPATCHERS.try_write() {
            Ok(all) => break all,
            Err(TryLockError::Poisoned(all)) => break all.into_inner(),
            Err(TryLockError::WouldBlock) if start.elapsed() > PATIENCE => return,
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    };
    let address = |callsite: &DefaultCallsite| callsite as *const DefaultCallsite as usize;
    let mut link = &CALLSITES.list_head;
    // SAFETY: each callsite on the list is a static of an object that is loaded.
    while let Some(callsite) = unsafe { link.load(Ordering::Acquire).as_ref() } {
        if callsites.binary_search_by_key(&address(callsite), |keyed| address(&keyed.inner)).is_err() {
            link = &callsite.next;
            continue;
        }
        let (this, next) = (callsite as *const _ as *mut _, callsite.next.load(Ordering::Acquire));
        if link.compare_exchange(this, next, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // A thread has added a callsite in front of this one.
            link = &CALLSITES.list_head;
        }
    }
}

impl Callsites {
    /// Registers callsites that nobody has reached yet, so that their keys can stay off if no subscriber is interested. Does so only if all
    /// dispatchers are asked: otherwise, a callsite would stay off although one of them wants it.
    pub(in super::super) fn register_keyed(&self, dispatchers: &Rebuilder<'_>, max_level: LevelFilter) {
        if matches!(dispatchers, Rebuilder::JustOne) {
            return;
        }
        let mut callsites = Vec::new();
        // If the callsites cannot be listed, no key goes off, and `sync` reports that.
        let _ = KEYED.for_each(|callsite| callsites.push(&callsite.inner));
        let new = (DefaultCallsite::UNREGISTERED, DefaultCallsite::REGISTERING);
        // A panic of a subscriber must not leave this function, because it runs under the lock of all dispatchers. (Upstream would ask the subscriber
        // later, without that lock.) After a panic, this callsite and those after it stay unregistered. They register themselves when a thread
        // reaches them, and their keys are on until then. Each rebuild asks about the callsites on upstream's list. So a callsite is put on that list
        // only after the question: one for which a subscriber has panicked must not be there before a thread reaches it.
        let register = |callsite: &'static DefaultCallsite| {
            if *callsite.meta.level() <= max_level
                && callsite.registration.compare_exchange(new.0, new.1, Ordering::AcqRel, Ordering::Acquire).is_ok()
            {
                let asks = || rebuild_callsite_interest(callsite, dispatchers);
                if catch_unwind(AssertUnwindSafe(asks)).is_err() {
                    callsite.registration.store(DefaultCallsite::UNREGISTERED, Ordering::Release);
                    return false;
                }
                CALLSITES.push_default(callsite);
                callsite.registration.store(DefaultCallsite::REGISTERED, Ordering::Release);
            }
            true
        };
        let _ = callsites.into_iter().all(register);
    }
}

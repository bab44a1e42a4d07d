//! The rebuild of interests, and the registration of callsites that no thread has reached. `cargo jumplabel tracing` has written this file.
//!
//! While there is just one dispatcher, upstream asks the default of the calling thread instead. If that is none, upstream refuses callsites, except
//! those that no thread has reached. Here, these are registered as well: they would be refused, too, although another thread has a dispatcher that
//! wants them. So a rebuild asks all dispatchers, under the lock of their list. It never waits for that lock. A thread that has the lock, because it
//! makes a dispatcher, carries out the rebuild when it has released the lock.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{fence, AtomicBool, Ordering};
use std::sync::TryLockError;
use std::vec::Vec;

use super::super::dispatchers::{Rebuilder, LOCKED_DISPATCHERS};
use super::super::{rebuild_callsite_interest, Callsites, DefaultCallsite, CALLSITES, DISPATCHERS};
use super::KEYED;
use crate::dispatcher::{Dispatch, Registrar};
use crate::metadata::LevelFilter;

/// Whether a rebuild did not get the lock. The thread that has it looks here after it has released the lock.
static IS_WANTED: AtomicBool = AtomicBool::new(false);

/// Rebuilds all interests: asks all dispatchers that are alive. Or leaves that to the thread that makes a dispatcher just now.
pub(in super::super) fn rebuild() {
    let Some(dispatchers) = all().or_else(|| {
        IS_WANTED.store(true, Ordering::Relaxed);
        // The other thread releases the lock, and then looks. Of its release and this store, at least one is seen.
        fence(Ordering::SeqCst);
        all()
    }) else {
        return;
    };
    // If the program drops a dispatcher meanwhile, its subscriber is dropped here, without the lock: it may make another dispatcher.
    let _alive: Vec<Dispatch> = match &dispatchers {
        Rebuilder::Read(all) => all.iter().filter_map(Registrar::upgrade).collect(),
        _ => Vec::new(),
    };
    CALLSITES.rebuild_interest(dispatchers);
}

/// Rebuilds all interests if a rebuild did not get the lock meanwhile. The caller has just released it.
pub(super) fn if_wanted() {
    fence(Ordering::SeqCst);
    if !std::thread::panicking() && IS_WANTED.swap(false, Ordering::Relaxed) {
        rebuild();
    }
}

/// All dispatchers. `None` if a thread is adding one, which can be this thread.
fn all() -> Option<Rebuilder<'static>> {
    match LOCKED_DISPATCHERS.try_read() {
        Ok(all) => Some(Rebuilder::Read(all)),
        Err(TryLockError::WouldBlock) => None,
        // As upstream: it panics, or asks the default of this thread.
        Err(TryLockError::Poisoned(_)) => Some(DISPATCHERS.rebuilder()),
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
        // A panic of a subscriber must not leave this function, which runs under the lock of all dispatchers; upstream would ask the subscriber
        // later, without that lock. Nor may the callsite be on the list then: each rebuild would ask about it, though no thread has reached it.
        // It and those after it register themselves where a thread reaches them, and their keys go on.
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

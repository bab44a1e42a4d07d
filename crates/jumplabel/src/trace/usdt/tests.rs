//! Tests that a look takes back what an earlier look has changed, and nothing else.

use core::sync::atomic::{AtomicBool, AtomicU16, Ordering};

use crate::patch::Lock;

pub(super) static FORGETS: AtomicBool = AtomicBool::new(false);

crate::tracepoint! { test, traced(number: usize); }

/// A tracer comes and leaves twice, and meanwhile the program adds and removes a probe. Returns true if the tracepoint is still on at the end.
fn stays_on() -> bool {
    static SEMAPHORE: AtomicU16 = AtomicU16::new(0);
    fn heard(_: usize) {}
    super::super::readers::make().unwrap();
    let is = |probes| assert_eq!((traced.probes(), traced.key().is_enabled()), (probes, probes != 0));
    let leads_to_the_walk = || traced.call.raw().target() == 0;
    let look = |tracers| {
        SEMAPHORE.store(tracers, Ordering::Relaxed);
        traced.describe(&SEMAPHORE).follow(&mut Lock::take().unwrap()).unwrap();
    };
    look(1);
    is(1);
    let probe = traced.add(heard).unwrap();
    assert!(leads_to_the_walk());
    look(2);
    is(2);
    look(0);
    if !FORGETS.load(Ordering::Relaxed) {
        is(1);
        assert!(!leads_to_the_walk(), "straight to the probe that is left");
    }
    look(3);
    is(2);
    assert!(leads_to_the_walk());
    probe.remove().unwrap();
    is(1);
    look(0);
    traced.key().is_enabled()
}

/// `stays_on` returns true for the wrong version of [`look`](super::look), which does not take its changes back (`FORGETS`).
#[test]
fn a_tracer_leaves() {
    assert!(!stays_on());
    FORGETS.store(true, Ordering::Relaxed);
    assert!(stays_on());
    FORGETS.store(false, Ordering::Relaxed);
    assert!(!stays_on());
}

//! Naked keys: the state machine of a key, batches with keys of the other kind, listings, threads. In the fallback too.

use std::sync::atomic::{AtomicBool, Ordering};

use jumplabel::arch::Native;
use jumplabel::{RawKey, for_each_key, for_each_site, naked_key, text_reserved};
use jumplabel_format::{Arch, State};
use jumplabel_testing::tests_of_bodies;

#[path = "conformance/naked.rs"]
mod conformance;

conformance::each!(tests_of_bodies);

/// `#[cfg]` takes the whole declaration away; names do not clash with what the macro makes.
#[test]
fn attributes_and_names() {
    naked_key! {
        #[cfg(any())]
        static GONE: no_such_thing;
        /// Documented.
        #[cfg(all())]
        #[allow(dead_code)]
        static NAME: true;
        static __FUNCTION: false;
    }
    assert!(NAME.get() && !__FUNCTION.get());
    assert_eq!(format!("{NAME:?}"), "StaticKey(on, count 1)");
}

/// A key has one site, however many checks.
#[test]
#[cfg_attr(not(jumplabel_sites), ignore = "no records without sites")]
fn introspection() {
    const LINE: u32 = line!() + 1;
    naked_key! { static LISTED: true; static LONELY: false; }
    fn checks() -> bool {
        LISTED.get() && LISTED.get() && LISTED.get()
    }
    assert!(checks());
    let mut found = Vec::new();
    for_each_key(|key| {
        if key.name == concat!(module_path!(), "::LISTED") || key.name == concat!(module_path!(), "::LONELY") {
            assert!(key.file.ends_with("naked.rs") && key.line == LINE && key.element.is_none());
            found.push((key.default, key.enabled, key.count, key.key.address()));
        }
    })
    .unwrap();
    found.sort_unstable();
    assert_eq!(found, [(false, false, 0, LONELY.address()), (true, true, 1, LISTED.address())]);

    let mut address = 0;
    let state = |key: &RawKey| {
        let mut state = None;
        let count = for_each_site(key, |site| {
            assert!(site.naked && !site.arm);
            state = site.state;
        });
        (count.unwrap(), state.unwrap())
    };
    assert_eq!(state(&LISTED), (1, State::TRUE));
    for_each_site(&LISTED, |site| {
        address = site.address;
        LISTED.disable().unwrap(); // Visited without the lock.
    })
    .unwrap();
    assert!(!checks());
    assert_eq!(state(&LISTED), (1, State::FALSE));
    assert!(text_reserved(address..address + 1).unwrap());
    assert!(text_reserved(address + Native::SIZE - 1..address + Native::SIZE).unwrap());
    assert!(!text_reserved(address + Native::SIZE..address + 8).unwrap());
    // A key that nobody checks is flipped like any other.
    let outcome = LONELY.enable().unwrap();
    assert!(LONELY.is_enabled() && outcome.sites <= 1);
}

/// When `inc` returns the key is on, until the matching `dec`; and a check that holds nothing does find it off.
#[test]
fn held_by_several_threads() {
    naked_key! { static KEY: false; }
    const ROUNDS: usize = if cfg!(miri) { 4 } else { 500 };
    let (stop, seen_off) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let users: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    // Waits until the other thread had a turn while the key was off.
                    for round in 0..1000 * ROUNDS {
                        if round >= ROUNDS && seen_off.load(Ordering::Relaxed) {
                            break;
                        }
                        KEY.inc().unwrap();
                        assert!(KEY.get() && KEY.is_enabled());
                        KEY.dec().unwrap();
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                if !KEY.get() {
                    seen_off.store(true, Ordering::Relaxed);
                }
                std::thread::yield_now();
            }
        });
        let ended: Vec<_> = users.into_iter().map(|user| user.join()).collect();
        stop.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok));
    });
    assert!(!KEY.get() && KEY.count() == 0);
    assert!(seen_off.into_inner(), "the key was never off, so the users cannot have found it on by their own doing");
}

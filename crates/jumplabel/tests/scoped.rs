//! Guards of keys: what they give back, and when; and that two of one key wait for each other.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use jumplabel::{Error, static_branch_unlikely, static_key};

#[test]
fn the_state_comes_back() {
    static_key! { static OFF: false; static ON: true; }
    for on in [true, false] {
        let guards = (OFF.scoped(on).unwrap(), ON.scoped(on).unwrap());
        assert!(static_branch_unlikely!(OFF) == on && static_branch_unlikely!(ON) == on);
        drop(guards);
        assert!(!static_branch_unlikely!(OFF) && static_branch_unlikely!(ON));
    }
    assert_eq!(OFF.scoped(true).unwrap().restore().unwrap().sites, if cfg!(jumplabel_sites) { 2 } else { 0 });
    assert!(!OFF.is_enabled());
}

#[test]
fn a_panic_gives_it_back() {
    static_key! { static KEY: false; }
    let panicked = thread::spawn(|| {
        let _guard = KEY.scoped(true).unwrap();
        std::panic::resume_unwind(Box::new(()));
    });
    assert!(panicked.join().is_err() && !KEY.is_enabled());
    drop(KEY.scoped(true).unwrap());
}

#[test]
fn refusals_leave_no_guard() {
    static_key! { static COUNTED: false; static SEALED: false; static TWICE: false; }
    COUNTED.inc().unwrap();
    COUNTED.inc().unwrap();
    assert_eq!(COUNTED.scoped(false).unwrap_err(), Error::Counted { count: 2 });
    COUNTED.dec().unwrap();
    drop(COUNTED.scoped(false).unwrap());
    assert_eq!(COUNTED.count(), 1);
    SEALED.seal().unwrap();
    assert_eq!(SEALED.scoped(true).unwrap_err(), Error::Sealed);
    drop(SEALED.scoped(false).unwrap());
    let first = TWICE.scoped(true).unwrap();
    let refused = TWICE.scoped(false).unwrap_err();
    assert!(refused == Error::Reentrant && refused.to_string().contains("guard of the key"), "{refused}");
    assert!(TWICE.is_enabled());
    drop(first);
    assert!(!TWICE.is_enabled());
}

/// Threads that want different states of one key; each finds its own for as long as it looks. Without the guards, `found` differs.
#[test]
fn guards_of_one_key_wait_for_each_other() {
    static_key! { static KEY: false; }
    let (rounds, others) = if cfg!(miri) { (3, 2) } else { (200, 4) };
    let inside = AtomicU32::new(0);
    thread::scope(|scope| {
        for number in 0..others {
            let inside = &inside;
            scope.spawn(move || {
                for round in 0..rounds {
                    let on = (number + round) % 2 == 0;
                    let guard = KEY.scoped(on).unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
                    thread::yield_now();
                    let found = static_branch_unlikely!(KEY);
                    assert_eq!(found, on);
                    inside.fetch_sub(1, Ordering::Relaxed);
                    drop(guard);
                }
            });
        }
    });
    assert!(!KEY.is_enabled());
}

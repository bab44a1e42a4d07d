//! Threads that flip at once: the same keys, and keys of their own.

use std::sync::atomic::{AtomicUsize, Ordering};

use jumplabel::set_writer;

use crate::writers;

use crate::scenario::{self, passes};

crate::pages::pages! { common: 2 keys, 6 sites, every 1 pages, at 4093 }
crate::pages::pages! { own: 4 keys, 8 sites, every 1 pages, at 0 }

/// What `inc` promises: when it returns the key is on, on this thread too, until the matching `dec`.
#[test]
fn the_same_key_and_different_keys() {
    passes(|| {
        let rounds = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let rounds = &rounds;
                scope.spawn(move || {
                    for round in 0..scenario::rounds(400) {
                        let key = &common().keys[(thread + round) % 2];
                        key.inc().unwrap();
                        let mine = |number: &usize| number % 2 == (thread + round) % 2;
                        assert!((0..6).filter(mine).all(|number| common().check(number)) && key.is_enabled());
                        let on = round % 2 == 0;
                        let single = &own().keys[thread];
                        if on { single.enable() } else { single.disable() }.unwrap();
                        assert!(own().check(thread) == on && own().check(thread + 4) == on);
                        key.dec().unwrap();
                        let number = rounds.fetch_add(1, Ordering::Relaxed);
                        set_writer(writers::turn(number));
                    }
                });
            }
        });
        assert!(common().all(false) && own().all(false) && common().agree() && own().agree());
        assert!(common().keys.iter().all(|key| key.count() == 0));
    });
}

/// Threads that come and go while others flip, pristine sites included.
#[test]
fn threads_that_come_and_go() {
    passes(|| {
        for round in 0..scenario::rounds(60) {
            std::thread::scope(|scope| {
                for thread in 0..4 {
                    scope.spawn(move || {
                        let key = &own().keys[thread];
                        if round % 2 == 0 { key.enable() } else { key.disable() }.unwrap();
                        assert_eq!(own().check(thread), round % 2 == 0);
                        if round % 2 == 1 {
                            jumplabel::settle(key).unwrap();
                        }
                    });
                }
            });
        }
        assert!(own().all(false));
    });
}

//! UP mode: atomics in both modes and in the fallback; the bytes of prefixes; numbers that threads add to; the calls that are refused.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use jumplabel::Outcome;
#[cfg(target_pointer_width = "64")]
use jumplabel::up::AtomicU64;
use jumplabel::up::{self, AtomicBool, AtomicU32, AtomicUsize};

#[cfg(all(jumplabel_prefixes, target_os = "linux"))]
#[path = "up/patched.rs"]
mod patched;
#[cfg(all(jumplabel_prefixes, target_os = "linux"))]
#[path = "up/unreliable.rs"]
mod unreliable;

/// Compares each operation with the standard library's.
fn operations() {
    macro_rules! numbers {
        ($Atomic:ident, $Other:ident, $value:ident) => {
            let mut seed = fastrand::Rng::with_seed(7);
            let (mut ours, mut other) = ($Atomic::new(3), std::sync::atomic::$Other::new(3));
            for round in 0..2000 {
                let value = if round % 8 == 0 { $value::MAX } else { seed.$value(..) };
                let now = other.load(Relaxed);
                let guess = if seed.bool() { now } else { value };
                let (result, expected) = match seed.u8(..9) {
                    0 => (ours.fetch_add(value, Relaxed), other.fetch_add(value, Relaxed)),
                    1 => (ours.fetch_sub(value, Acquire), other.fetch_sub(value, Acquire)),
                    2 => (ours.fetch_and(value, Release), other.fetch_and(value, Release)),
                    3 => (ours.fetch_or(value, SeqCst), other.fetch_or(value, SeqCst)),
                    4 => (ours.swap(value, SeqCst), other.swap(value, SeqCst)),
                    5 => {
                        let results = (
                            ours.compare_exchange(guess, value, SeqCst, Relaxed),
                            other.compare_exchange(guess, value, SeqCst, Relaxed),
                        );
                        assert_eq!(results.0, results.1);
                        (0, 0)
                    }
                    6 => {
                        ours.store(value, if seed.bool() { SeqCst } else { Release });
                        (other.swap(value, SeqCst), now)
                    }
                    7 => {
                        ours.add(value, Relaxed);
                        ours.sub(3, Relaxed);
                        (now, other.fetch_add(value.wrapping_sub(3), Relaxed))
                    }
                    _ => {
                        ours.or(value, Relaxed);
                        ours.and(guess, Relaxed);
                        (now, other.swap((now | value) & guess, Relaxed))
                    }
                };
                assert_eq!(result, expected);
                assert_eq!(ours.load(Acquire), other.load(Acquire));
                assert_eq!(*ours.get_mut(), *other.get_mut());
            }
            assert_eq!(format!("{ours:?}"), format!("{other:?}"));
            assert_eq!(ours.into_inner(), other.into_inner());
            assert_eq!($Atomic::from(5).load(Relaxed) + $Atomic::default().load(Relaxed), 5);
        };
    }
    numbers!(AtomicU32, AtomicU32, u32);
    #[cfg(target_pointer_width = "64")]
    numbers!(AtomicU64, AtomicU64, u64);
    numbers!(AtomicUsize, AtomicUsize, usize);
    let flag = AtomicBool::new(false);
    assert_eq!(flag.compare_exchange(true, false, SeqCst, Relaxed), Err(false));
    assert_eq!(flag.compare_exchange(false, true, SeqCst, Relaxed), Ok(false));
    assert_eq!(flag.compare_exchange(false, true, SeqCst, Relaxed), Err(true));
    assert!(flag.swap(true, SeqCst) && flag.swap(false, SeqCst) && !flag.swap(false, SeqCst));
    flag.store(true, SeqCst);
    assert!(flag.load(SeqCst) && flag.into_inner());
}

/// The atomics of a program that knows nothing of UP mode. Tests in UP mode are below.
#[test]
fn atomics() {
    operations();
    assert!(!up::is_on());
    assert_eq!(up::leave().unwrap(), Outcome::default());
}

/// The wrapper starts a thread, and passes on its result.
#[test]
fn spawned() {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let threads: Vec<_> = (0..4)
        .map(|number| {
            up::spawn(move || {
                (0..1000).for_each(|_| COUNT.add(1, Relaxed));
                number
            })
        })
        .collect();
    let returned: Vec<i32> = threads.into_iter().map(|thread| thread.unwrap().join().unwrap()).collect();
    assert_eq!((returned, COUNT.load(Relaxed)), (vec![0, 1, 2, 3], 4000));
}

//! Threads that flip and check the same keys at once: a promise to one thread holds whatever the others do.
//!
//! ```text
//!   promise                                            kept by
//!   inc returned: on until the matching dec            the counter (key::count), under flips by other holders
//!   enable returned: on in every thread                core sync, then publish
//!   seal returned: the count never changes again       the sealed word
//! ```
//!
//! Each property is a function that counts broken promises, so that the last test can show that it counts some where
//! nothing is promised. Runs with sites, in the fallback, and under Miri and the thread sanitizer.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread;

#[cfg(all(target_os = "linux", not(miri)))]
use jumplabel::Lock;
use jumplabel::{Batch, Error, Outcome, static_branch_likely, static_branch_unlikely, static_key};
#[cfg(all(target_os = "linux", not(miri)))]
use jumplabel_testing::{
    real_time::{self, Upper},
    scenario,
};

/// Few under an interpreter or a sanitizer, which look at each access anyway.
const ROUNDS: usize = if cfg!(miri) { 8 } else { 400 };
const THREADS: usize = 3;

type Flip = Result<Outcome, Error>;

/// Runs `body` in [`THREADS`] threads that start together.
fn together(body: impl Fn(usize) + Sync) {
    let start = Barrier::new(THREADS);
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (start, body) = (&start, &body);
            scope.spawn(move || {
                start.wait();
                body(number);
            });
        }
    });
}

/// Each thread takes the key, checks it, and gives it back. Returns how many checks found the key off in between.
fn found_off(take: impl Fn() -> Flip + Sync, check: impl Fn() -> bool + Sync, give: impl Fn() -> Flip + Sync) -> usize {
    let off = AtomicUsize::new(0);
    together(|_| {
        for _ in 0..ROUNDS {
            take().unwrap();
            for _ in 0..3 {
                off.fetch_add(usize::from(!check()), Ordering::Relaxed);
                thread::yield_now();
            }
            give().unwrap();
        }
    });
    off.into_inner()
}

#[test]
fn inc_holds_until_dec() {
    static_key! { static KEY: false; }
    let check = || static_branch_unlikely!(KEY) && static_branch_likely!(KEY) && KEY.is_enabled();
    let off = found_off(|| KEY.inc(), check, || KEY.dec());
    assert_eq!(off, 0);
    assert_eq!(KEY.count(), 0);
    assert!(!check());
}

/// A key that starts on: its first user is the default itself.
#[test]
fn inc_holds_a_key_that_starts_on() {
    static_key! { static KEY: true; }
    let check = || static_branch_unlikely!(KEY) && static_branch_likely!(KEY) && KEY.is_enabled();
    KEY.dec().unwrap();
    assert_eq!(found_off(|| KEY.inc(), check, || KEY.dec()), 0);
    assert!(KEY.count() == 0 && !check());
}

/// The lock-free inc succeeds only on a key that is on, and then holds it as `inc` does.
#[test]
fn lock_free_inc_holds() {
    static_key! { static KEY: false; }
    let (off, held) = (AtomicUsize::new(0), AtomicUsize::new(0));
    together(|number| {
        for _ in 0..ROUNDS {
            if number == 0 {
                KEY.inc().unwrap();
                thread::yield_now();
                KEY.dec().unwrap();
            } else if KEY.fast_inc_not_disabled() {
                held.fetch_add(1, Ordering::Relaxed);
                off.fetch_add(usize::from(!static_branch_unlikely!(KEY)), Ordering::Relaxed);
                KEY.dec().unwrap();
            } else {
                thread::yield_now();
            }
        }
    });
    println!("held without a lock {} times", held.into_inner());
    assert_eq!(off.into_inner(), 0);
    assert!(KEY.count() == 0 && !static_branch_unlikely!(KEY));
}

/// Message passing: a thread that learns of a flip by other means than the key finds the sites flipped.
#[test]
fn a_flip_that_returned_is_seen() {
    static_key! { static KEY: false; }
    static ROUND: AtomicU32 = AtomicU32::new(0);
    static SEEN: AtomicU32 = AtomicU32::new(0);
    const READERS: u32 = 2;
    let wrong = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| {
                for round in 1..=ROUNDS as u32 {
                    while ROUND.load(Ordering::Acquire) < round {
                        thread::yield_now();
                    }
                    let on = round % 2 == 1;
                    wrong.fetch_add(usize::from(static_branch_unlikely!(KEY) != on), Ordering::Relaxed);
                    wrong.fetch_add(usize::from(static_branch_likely!(KEY) != on), Ordering::Relaxed);
                    SEEN.fetch_add(1, Ordering::Release);
                }
            });
        }
        for round in 1..=ROUNDS as u32 {
            if round % 2 == 1 { KEY.enable() } else { KEY.disable() }.unwrap();
            ROUND.store(round, Ordering::Release);
            while SEEN.load(Ordering::Acquire) < round * READERS {
                thread::yield_now();
            }
        }
    });
    assert_eq!(wrong.into_inner(), 0);
}

/// All kinds of changes at once on one key: only the documented refusals, a count in range, and sites that agree with the count at the end.
#[test]
fn mixed_changes_leave_sites_and_count_in_agreement() {
    static_key! { static KEY: false; }
    let check = || (static_branch_unlikely!(KEY), static_branch_likely!(KEY));
    for _ in 0..ROUNDS / 8 {
        together(|number| {
            for turn in 0..8 {
                let result = match (number + turn) % 5 {
                    0 => KEY.inc(),
                    1 => KEY.enable(),
                    2 => KEY.dec(),
                    3 => KEY.disable(),
                    _ => Batch::new().disable(&KEY).enable(&KEY).commit(),
                };
                match result {
                    Ok(_) | Err(Error::Underflow | Error::Counted { .. }) => {}
                    Err(other) => panic!("{other}"),
                }
                let count = KEY.count();
                assert!((0..=(THREADS * 8) as i32).contains(&count), "count {count}");
                check();
            }
        });
        assert_eq!(check(), (KEY.is_enabled(), KEY.is_enabled()));
        assert_eq!(KEY.is_enabled(), KEY.count() > 0);
        while KEY.count() > 0 {
            KEY.dec().unwrap();
        }
        assert_eq!(check(), (false, false));
    }
}

/// Two keys that are only ever flipped together agree whenever nobody flips them.
#[test]
fn batches_of_several_threads_do_not_mix() {
    static_key! { static PAIR: [false; 2]; }
    let set = |on| Batch::new().set(&PAIR[0], on).set(&PAIR[1], !on).commit();
    set(true).unwrap();
    for _ in 0..ROUNDS / 4 {
        together(|number| {
            for turn in 0..4 {
                set((number + turn) % 2 == 0).unwrap();
            }
        });
        let sites = [static_branch_unlikely!(PAIR[0]), static_branch_likely!(PAIR[1])];
        assert_ne!(sites[0], sites[1]);
        assert_eq!(sites, [PAIR[0].is_enabled(), PAIR[1].is_enabled()]);
    }
}

const KEYS: usize = if cfg!(miri) { 2 } else { 32 };

#[test]
fn a_sealed_count_never_changes() {
    static_key! { static SEALED: [false; KEYS]; }
    for (number, key) in SEALED.iter().enumerate() {
        let sealed = AtomicBool::new(false);
        let changed = AtomicUsize::new(0);
        together(|thread| {
            if thread == 0 {
                for _ in 0..number % 4 {
                    thread::yield_now();
                }
                key.seal().unwrap();
                sealed.store(true, Ordering::Release);
                let count = key.count();
                for _ in 0..8 {
                    changed.fetch_add(usize::from(key.count() != count || !key.is_sealed()), Ordering::Relaxed);
                    thread::yield_now();
                }
                return;
            }
            for _ in 0..8 {
                let late = sealed.load(Ordering::Acquire);
                let results = [key.inc().map(drop), key.dec().map(drop)];
                if late {
                    changed.fetch_add(usize::from(results != [Err(Error::Sealed); 2]), Ordering::Relaxed);
                    changed.fetch_add(usize::from(key.fast_inc_not_disabled()), Ordering::Relaxed);
                }
            }
        });
        assert_eq!(changed.into_inner(), 0);
    }
    assert_eq!(static_branch_unlikely!(SEALED[0]), SEALED[0].is_enabled());
}

/// The broken twin: threads that check without holding the key do find it off, so the counting above can fail.
#[test]
fn a_check_without_inc_is_found_out() {
    static_key! { static KEY: false; }
    let come_and_go = || KEY.inc().and_then(|_| KEY.dec());
    assert_ne!(found_off(come_and_go, || static_branch_unlikely!(KEY), || Ok(Outcome::default())), 0);
}

/// The lock goes to a thread with a real-time priority, although its owner has a lower one, and both are on one processor.
#[cfg(all(target_os = "linux", not(miri)))]
#[test]
fn a_waiting_real_time_thread_sleeps() {
    static_key! { static KEY: false; }
    scenario::passes(|| {
        let Some(upper) = Upper::new(|| assert!(KEY.enable().is_ok())) else { scenario::skip() };
        let lock = Lock::take().unwrap();
        real_time::wake(&upper.thread());
        assert!(!static_branch_unlikely!(KEY));
        drop(lock);
        upper.join();
        assert!(static_branch_unlikely!(KEY));
    });
}

/// The broken twin of both tests with [`Upper`]: a thread that waits, and only yields.
#[cfg(all(target_os = "linux", not(miri)))]
#[test]
fn a_real_time_thread_that_yields_is_found_out() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    static OVER: AtomicBool = AtomicBool::new(false);
    scenario::passes(|| {
        let ended = scenario::wait_for(scenario::fork(|| {
            let wait = || {
                BEGUN.store(true, Ordering::Release);
                while !OVER.load(Ordering::Acquire) {
                    thread::yield_now();
                }
            };
            let Some(upper) = Upper::new(wait) else { return true };
            real_time::wake(&upper.thread());
            while !BEGUN.load(Ordering::Acquire) {
                thread::sleep(std::time::Duration::from_millis(1));
            }
            OVER.store(true, Ordering::Release);
            upper.join();
            false
        }));
        let is_skipped = ended.success();
        assert!(is_skipped || std::os::unix::process::ExitStatusExt::signal(&ended) == Some(libc::SIGXCPU), "{ended}");
    });
}

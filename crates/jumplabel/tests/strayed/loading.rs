//! Sites of keys declared `or_load` that load again. Such a site is right whatever its key says, and each flip patches it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use jumplabel::{
    RawKey, for_each_site, prepare, set_writer, static_branch_likely, static_branch_unlikely, static_key, verify,
};
use jumplabel_testing::scenario::passes;
use jumplabel_testing::stop::Stop;
use jumplabel_testing::writers;

use super::text::WAYS;
use super::{back, each};

/// The number of sites that load.
fn loading(key: &RawKey) -> usize {
    let mut loading = 0;
    for_each_site(key, |site| loading += usize::from(site.loads)).unwrap();
    loading
}

/// A site that loads has not strayed. A flip finds what it needs, in either direction.
#[test]
fn what_loads_again_is_right() {
    static_key! { static KEY: false, or_load; }
    passes(|| {
        let on = || static_branch_unlikely!(KEY);
        each(|way| {
            // A site that was never patched, or has the file's bytes again, is left alone.
            back(KEY.disable(), 0);
            back(verify(), 0);
            assert!(!on());
            prepare().unwrap();
            KEY.enable().unwrap();
            assert!(on() && loading(&KEY) == 0);
            way.stray();
            assert!(on() && loading(&KEY) == 1);
            back(KEY.enable(), 0);
            back(KEY.verify(), 0);
            back(verify(), 0);
            assert!(on() && loading(&KEY) == 1);
            back(KEY.disable(), 1);
            assert!(!on() && loading(&KEY) == 0);
            way.stray();
            back(KEY.disable(), 0);
            assert!(!on() && loading(&KEY) == 1);
            back(KEY.enable(), 1);
            assert!(on() && loading(&KEY) == 0);
            way.stray();
            assert!(on());
            back(KEY.disable(), 1);
            assert!(!on());
            way.stray();
        });
    });
}

static_key! { static KEY: false, or_load; static ON: true, or_load; }

/// Sites that do not lie on two pages: a torn site may do anything until it is repaired. The stub is far away, so that a jump to it and one to an
/// arm differ in several bytes.
#[inline(never)]
fn check<const NUMBER: usize>() -> [bool; 4] {
    macro_rules! aligned {
        ($check:ident!($key:ident)) => {{
            // SAFETY: instructions that do nothing.
            unsafe { std::arch::asm!(".balign 64", options(nomem, nostack, preserves_flags)) };
            $check!($key)
        }};
    }
    let checks = [
        aligned!(static_branch_likely!(KEY)),
        aligned!(static_branch_unlikely!(KEY)),
        !aligned!(static_branch_likely!(ON)),
        !aligned!(static_branch_unlikely!(ON)),
    ];
    if std::hint::black_box(false) {
        // SAFETY: never executed.
        unsafe { std::arch::asm!(".skip 20000") };
    }
    checks
}

const CHECKS: [fn() -> [bool; 4]; 8] =
    [check::<0>, check::<1>, check::<2>, check::<3>, check::<4>, check::<5>, check::<6>, check::<7>];

/// Threads execute sites that go from loading to their arm, fall through, and load again. They never find an arm that is not right.
#[test]
fn from_loading_to_the_arm_under_threads() {
    passes(|| {
        // Even: at rest; 0 modulo 4: off.
        let (phase, stop, looks) = (AtomicUsize::new(0), AtomicBool::new(false), AtomicUsize::new(0));
        let is_in_place = |site: jumplabel::Site| assert!(site.address % 4096 <= 4096 - site.bytes.len(), "{site}");
        for key in [KEY.raw(), ON.raw()] {
            for_each_site(key, is_in_place).unwrap();
        }
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let _stop = Stop(&stop);
                    while !stop.load(Ordering::Relaxed) {
                        for check in CHECKS {
                            let before = phase.load(Ordering::SeqCst);
                            let seen = check();
                            let at_rest = before % 2 == 0 && phase.load(Ordering::SeqCst) == before;
                            assert!(!at_rest || seen == [before % 4 == 2; 4], "{before}: {seen:?}");
                            looks.fetch_add(usize::from(at_rest), Ordering::Relaxed);
                        }
                    }
                });
            }
            let _stop = Stop(&stop);
            let end = Instant::now() + Duration::from_secs(2);
            for (round, way) in WAYS.into_iter().cycle().enumerate() {
                let done = Instant::now() > end && round >= 20 && looks.load(Ordering::Relaxed) > 1000;
                if done || stop.load(Ordering::Relaxed) {
                    break;
                }
                set_writer(writers::turn(round));
                way.stray();
                if round % 3 == 1 {
                    prepare().unwrap();
                }
                let sites = 2 * CHECKS.len();
                for (key, on) in [(true, false), (false, true)] {
                    phase.fetch_add(1, Ordering::SeqCst);
                    let outcome = jumplabel::Batch::new().set(&KEY, key).set(&ON, on).commit().unwrap();
                    phase.fetch_add(1, Ordering::SeqCst);
                    assert!(outcome.loading == 0 && outcome.sites >= sites, "{outcome:?}");
                    assert_eq!(loading(&KEY) + loading(&ON), 0);
                    if key && round % 3 == 2 {
                        way.stray();
                        back(KEY.enable(), 0);
                    }
                }
            }
        });
    });
}

//! Naked keys: the state machine of a key, batches with keys of the other kind, listings, threads. In the fallback too.

use std::sync::atomic::{AtomicBool, Ordering};

use jumplabel::arch::{Arch, Native, State};
use jumplabel::{
    Batch, Error, RawKey, for_each_key, for_each_site, naked_key, settle, static_branch_likely, static_branch_unlikely,
    static_key, text_reserved,
};

/// Sites of a naked key that is checked: its function.
const SITES: usize = if cfg!(jumplabel_sites) { 1 } else { 0 };

#[test]
fn defaults_and_flips() {
    naked_key! {
        static OFF: false;
        static ON: true;
    }
    #[inline(never)]
    fn checks() -> [bool; 4] {
        [OFF.get(), OFF.get(), ON.get(), ON.get()]
    }
    for _ in 0..3 {
        assert_eq!(checks(), [false, false, true, true]);
        let outcome = OFF.enable().unwrap();
        // No first flip: where there is something to prime, functions have nothing.
        assert_eq!((outcome.sites, outcome.pages, outcome.primed), (SITES, SITES, 0));
        assert_eq!(checks(), [true, true, true, true]);
        ON.disable().unwrap();
        assert_eq!(checks(), [true, true, false, false]);
        Batch::new().disable(&OFF).enable(&ON).commit().unwrap();
    }
}

/// Where checks stand, and what the default may be. The last two are one key's, in two instances.
#[test]
fn places() {
    mod deeper {
        jumplabel::naked_key! {
            pub(super) static NEAR: true;
        }
    }
    naked_key! { static CHECKS: cfg!(debug_assertions); static GENERIC: false; }
    fn generic<T>() -> bool {
        std::hint::black_box(std::any::type_name::<T>());
        GENERIC.get()
    }
    fn by_type<F: jumplabel::key::naked::Function>(key: &jumplabel::NakedKey<F>) -> bool {
        key.get()
    }
    let closure = || deeper::NEAR.get();
    assert_eq!(CHECKS.get(), cfg!(debug_assertions));
    GENERIC.enable().unwrap();
    assert!(closure() && generic::<u8>() && generic::<String>() && by_type(&GENERIC));
    deeper::NEAR.disable().unwrap();
    assert!(!closure() && !by_type(&deeper::NEAR));
}

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

#[test]
fn counts() {
    naked_key! { static KEY: false; }
    assert_eq!(KEY.dec(), Err(Error::Underflow));
    assert!(!KEY.fast_inc_not_disabled());
    KEY.inc().unwrap();
    assert!(KEY.fast_inc_not_disabled());
    assert!(KEY.get() && KEY.count() == 2);
    assert_eq!(KEY.enable(), Err(Error::Counted { count: 2 }));
    assert_eq!(KEY.disable(), Err(Error::Counted { count: 2 }));
    KEY.dec().unwrap();
    assert!(KEY.get() && KEY.count() == 1 && KEY.is_enabled());
    KEY.dec().unwrap();
    assert!(!KEY.get() && KEY.count() == 0 && !KEY.is_enabled());
    assert_eq!(KEY.enable().unwrap().sites, SITES);
    assert_eq!(KEY.enable().unwrap().sites, 0);
    assert!(KEY.get());
    KEY.disable().unwrap();
    KEY.disable().unwrap();
    assert!(!KEY.get() && KEY.count() == 0);
}

#[test]
fn sealed() {
    naked_key! { static KEY: false; static OTHER: false; }
    KEY.inc().unwrap();
    KEY.seal().unwrap();
    assert!(KEY.is_sealed() && KEY.get() && KEY.count() == 1);
    assert_eq!(KEY.dec(), Err(Error::Sealed));
    assert_eq!(KEY.disable(), Err(Error::Sealed));
    assert!(KEY.enable().is_ok());
    assert_eq!(Batch::new().enable(&OTHER).disable(&KEY).commit(), Err(Error::Sealed));
    assert!(!OTHER.is_enabled() && !OTHER.get() && KEY.get());
}

/// Both kinds together, all or nothing, in any order; what is pristine is primed on the way.
#[test]
fn batches_with_site_keys() {
    naked_key! { static NAKED: false; static OTHER: true; static COUNTED: false; }
    COUNTED.inc().and_then(|_| COUNTED.inc()).unwrap();
    static_key! { static SITE: false; }
    #[inline(never)] // One site each.
    fn checks() -> [bool; 4] {
        [NAKED.get(), OTHER.get(), static_branch_unlikely!(SITE), static_branch_likely!(SITE)]
    }
    let set = |on| Batch::new().set(&NAKED, on).set(&SITE, on).set(&OTHER, !on).set(&NAKED, on).commit();
    for round in 0..3 {
        let outcome = set(true).unwrap();
        // Where a site that falls through has another instruction than the compiler's.
        let primes = State::JUMP.toward::<Native>(0, Some(0)) != State::NOP;
        let primed = if round == 0 && primes { SITES } else { 0 };
        assert_eq!((outcome.sites, outcome.primed), (4 * SITES, primed));
        assert_eq!(checks(), [true, false, true, true]);
        let refused = Batch::new().disable(&NAKED).disable(&SITE).enable(&OTHER).disable(&COUNTED).commit();
        assert_eq!(refused, Err(Error::Counted { count: 2 }));
        assert_eq!(checks(), [true, false, true, true]);
        set(false).unwrap();
        assert_eq!(checks(), [false, true, false, false]);
    }
}

/// There is nothing to settle, whatever the state.
#[test]
fn settling_changes_nothing() {
    naked_key! { static KEY: false; }
    for on in [false, true, false] {
        Batch::new().set(&KEY, on).commit().unwrap();
        assert_eq!(settle(&KEY).unwrap().sites, 0);
        assert_eq!(KEY.get(), on);
    }
}

/// One site, however many checks.
#[test]
#[cfg_attr(not(jumplabel_sites), ignore = "no records without sites")]
fn introspection() {
    naked_key! { static LISTED: true; static LONELY: false; }
    fn checks() -> bool {
        LISTED.get() && LISTED.get() && LISTED.get()
    }
    assert!(checks());
    let mut found = Vec::new();
    for_each_key(|key| {
        if key.name == concat!(module_path!(), "::LISTED") || key.name == concat!(module_path!(), "::LONELY") {
            assert!(key.file.ends_with("naked.rs") && key.line > 100 && key.element.is_none());
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
    // Nobody checks it, and it is flipped like any other.
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
                    // As long as it takes for the other thread to get a turn while the key is off.
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

//! Bodies of tests/naked.rs, which kernels run, too (kernels/src/main.rs): without std, in one thread, each once.

use jumplabel::arch::Native;
use jumplabel::arch::State;
use jumplabel::{Batch, Error, naked_key, restore_pristine, static_branch_likely, static_branch_unlikely, static_key};

/// Sites of a naked key that is checked: its function.
const SITES: usize = if cfg!(jumplabel_sites) { 1 } else { 0 };

pub fn defaults_and_flips() {
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
        // There is no first flip: functions of naked keys have nothing to prime.
        assert_eq!((outcome.sites, outcome.pages, outcome.primed), (SITES, SITES, 0));
        assert_eq!(checks(), [true, true, true, true]);
        ON.disable().unwrap();
        assert_eq!(checks(), [true, true, false, false]);
        Batch::new().disable(&OFF).enable(&ON).commit().unwrap();
    }
}

/// The places where checks can be, and the values that the default can have. The last two keys are one key in two instances.
pub fn places() {
    mod deeper {
        jumplabel::naked_key! {
            pub(super) static NEAR: true;
        }
    }
    naked_key! { static CHECKS: cfg!(debug_assertions); static GENERIC: false; }
    fn generic<T>() -> bool {
        core::hint::black_box(core::any::type_name::<T>());
        GENERIC.get()
    }
    fn by_type<F: jumplabel::key::naked::Function>(key: &jumplabel::NakedKey<F>) -> bool {
        key.get()
    }
    let closure = || deeper::NEAR.get();
    assert_eq!(CHECKS.get(), cfg!(debug_assertions));
    GENERIC.enable().unwrap();
    assert!(closure() && generic::<u8>() && generic::<[u8; 3]>() && by_type(&GENERIC));
    deeper::NEAR.disable().unwrap();
    assert!(!closure() && !by_type(&deeper::NEAR));
}

pub fn counts() {
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

pub fn sealed() {
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

/// A batch of both kinds of keys changes all or nothing, in any order; pristine sites are primed on the way.
pub fn batches_with_site_keys() {
    naked_key! { static NAKED: false; static OTHER: true; static COUNTED: false; }
    COUNTED.inc().and_then(|_| COUNTED.inc()).unwrap();
    static_key! { static SITE: false; }
    #[inline(never)] // The checks have one site each.
    fn checks() -> [bool; 4] {
        [NAKED.get(), OTHER.get(), static_branch_unlikely!(SITE), static_branch_likely!(SITE)]
    }
    let set = |on| Batch::new().set(&NAKED, on).set(&SITE, on).set(&OTHER, !on).set(&NAKED, on).commit();
    for round in 0..3 {
        let outcome = set(true).unwrap();
        // After a flip, a site that falls through may have another instruction than the compiler's.
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

/// There is nothing to restore, whatever the state.
pub fn settling_changes_nothing() {
    naked_key! { static KEY: false; }
    for on in [false, true, false] {
        Batch::new().set(&KEY, on).commit().unwrap();
        assert_eq!(restore_pristine(&KEY).unwrap().sites, 0);
        assert_eq!(KEY.get(), on);
    }
}

/// Hands the names of all these tests to a macro.
macro_rules! each {
    ($then:ident) => {
        $then! {
            defaults_and_flips places counts sealed batches_with_site_keys settling_changes_nothing
        }
    };
}
pub(crate) use each;

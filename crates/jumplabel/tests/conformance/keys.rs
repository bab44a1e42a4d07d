//! Bodies of tests/keys.rs, which kernels run, too (kernels/src/main.rs): without std, in one thread, each once.

use jumplabel::{
    Batch, Error, Lock, StaticKeyFalse, set_all, static_branch_likely, static_branch_maybe, static_branch_unlikely,
    static_key, text_reserved_locked,
};

#[path = "words.rs"]
mod word_tests;
pub use word_tests::*;

/// All four combinations of default and arm, flipped there and back.
pub fn arms_and_defaults() {
    static_key! {
        static OFF: false;
        static ON: true;
    }
    #[inline(never)]
    fn checks() -> [bool; 4] {
        [
            static_branch_likely!(OFF),
            static_branch_unlikely!(OFF),
            static_branch_likely!(ON),
            static_branch_unlikely!(ON),
        ]
    }
    for _ in 0..3 {
        assert_eq!(checks(), [false, false, true, true]);
        OFF.enable().unwrap();
        assert_eq!(checks(), [true, true, true, true]);
        ON.disable().unwrap();
        assert_eq!(checks(), [true, true, false, false]);
        Batch::new().disable(&OFF).enable(&ON).commit().unwrap();
    }
}

/// Elements, fields, elements of fields, const generics, closures, and a default that is a constant expression.
pub fn places() {
    struct Config {
        _pad: u64,
        trace: StaticKeyFalse,
        hooks: [StaticKeyFalse; 4],
    }
    static CONFIG: Config =
        Config { _pad: 0, trace: StaticKeyFalse::new(), hooks: [const { StaticKeyFalse::new() }; 4] };
    static_key! {
        static HOOKS: [true; 8];
        static CHECKS: cfg!(debug_assertions);
    }
    fn element<const N: usize>() -> bool {
        static_branch_likely!(HOOKS[N])
    }
    let field = || static_branch_unlikely!(CONFIG.trace);
    let nested = || static_branch_unlikely!(CONFIG.hooks[2]);
    assert!(element::<0>() && element::<7>() && !field() && !nested());
    HOOKS[7].disable().unwrap();
    CONFIG.hooks[2].enable().unwrap();
    assert!(element::<0>() && !element::<7>() && !field() && nested());
    CONFIG.trace.enable().unwrap();
    assert!(field() && nested());
    assert_eq!(static_branch_maybe!(cfg!(debug_assertions), CHECKS), cfg!(debug_assertions));
}

pub fn counts() {
    static_key! { static KEY: false; }
    let on = || static_branch_unlikely!(KEY);
    assert_eq!(KEY.dec(), Err(Error::Underflow));
    assert!(!KEY.fast_inc_not_disabled());
    KEY.inc().unwrap();
    assert!(KEY.fast_inc_not_disabled());
    assert!(on() && KEY.count() == 2);
    assert_eq!(KEY.enable(), Err(Error::Counted { count: 2 }));
    assert_eq!(KEY.disable(), Err(Error::Counted { count: 2 }));
    KEY.dec().unwrap();
    assert!(on() && KEY.count() == 1 && KEY.is_enabled());
    KEY.dec().unwrap();
    assert!(!on() && KEY.count() == 0 && !KEY.is_enabled());
    KEY.enable().unwrap();
    KEY.enable().unwrap();
    assert_eq!(KEY.count(), 1);
    KEY.disable().unwrap();
    KEY.disable().unwrap();
    assert!(!on());
}

pub fn sealed() {
    static_key! { static KEY: false; static OTHER: false; }
    KEY.inc().unwrap();
    KEY.inc().unwrap();
    KEY.seal().unwrap();
    KEY.seal().unwrap();
    assert!(KEY.is_sealed() && KEY.is_enabled() && KEY.count() == 2 && static_branch_unlikely!(KEY));
    assert_eq!(KEY.dec(), Err(Error::Sealed));
    assert_eq!(KEY.inc(), Err(Error::Sealed));
    assert_eq!(KEY.disable(), Err(Error::Sealed));
    assert!(KEY.enable().is_ok() && !KEY.fast_inc_not_disabled());
    assert_eq!(Batch::new().enable(&OTHER).disable(&KEY).commit(), Err(Error::Sealed));
    assert!(!OTHER.is_enabled() && !static_branch_unlikely!(OTHER));
}

/// Several changes under one lock, and operations that take the lock themselves.
pub fn locked() {
    static_key! { static KEY: false; }
    let is_on = || static_branch_unlikely!(KEY);
    let mut lock = Lock::take().unwrap();
    assert_eq!(KEY.enable().unwrap_err(), Error::Reentrant);
    assert_eq!(Lock::take().err(), Some(Error::Reentrant));
    KEY.inc_locked(&mut lock).unwrap();
    KEY.inc_locked(&mut lock).unwrap();
    assert!(is_on() && KEY.count() == 2);
    assert_eq!(KEY.disable_locked(&mut lock).unwrap_err(), Error::Counted { count: 2 });
    KEY.dec_locked(&mut lock).unwrap();
    KEY.disable_locked(&mut lock).unwrap();
    assert!(!is_on());
    KEY.enable_locked(&mut lock).unwrap();
    assert!(is_on());
    let data = core::ptr::from_ref(&KEY) as usize;
    assert!(!text_reserved_locked(data..data + 1, &lock));
    drop(lock);
    KEY.disable().unwrap();
    assert!(!is_on());
}

/// `#[cfg]` takes the whole declaration away; names do not clash with what the macro makes.
pub fn attributes_and_names() {
    static_key! {
        #[cfg(any())]
        static GONE: no_such_thing;
        /// Documented.
        #[cfg(all())]
        #[allow(dead_code)]
        static NAME: true;
        static FILE: false;
    }
    assert!(static_branch_likely!(NAME) && !static_branch_likely!(FILE));
}

/// A key that nobody checks is flipped like any other.
pub fn no_sites() {
    static_key! { static LONELY: false; }
    let outcome = LONELY.enable().unwrap();
    assert!(LONELY.is_enabled() && outcome.sites == 0 && outcome.writer.is_none());
}

pub fn batch_last_wins_and_limits() {
    static_key! { static KEYS: [false; 3]; }
    Batch::new().enable(&KEYS[0]).enable(&KEYS[1]).disable(&KEYS[0]).commit().unwrap();
    assert!(!KEYS[0].is_enabled() && KEYS[1].is_enabled());
    let full = Batch::<2>::with_capacity().enable(&KEYS[0]).enable(&KEYS[1]).enable(&KEYS[2]).commit();
    assert_eq!(full, Err(Error::BatchFull { capacity: 2 }));
    assert!(!KEYS[2].is_enabled());
    assert_eq!(Batch::new().commit().unwrap().sites, 0);
    KEYS[2].inc().unwrap();
    KEYS[2].inc().unwrap();
    let counted = Batch::new().disable(&KEYS[1]).enable(&KEYS[0]).disable(&KEYS[2]).commit();
    assert_eq!(counted, Err(Error::Counted { count: 2 }));
    assert!(!KEYS[0].is_enabled() && KEYS[1].is_enabled() && KEYS[2].count() == 2);
}

/// A refused batch leaves the numbers of users as they were, those of keys that stay on included.
pub fn refused_batches_count_nothing() {
    use jumplabel::{RawChange, Stay, commit_all};

    static_key! { static USED: false; static LENT: false; static SEALED: false; static OTHER: false; }
    let commit = |changes: &[RawChange<'static>]| {
        // SAFETY: there is no static call among the changes.
        unsafe { commit_all(changes.iter().map(|&change| Ok::<_, Error>(change))) }
    };
    USED.inc().unwrap();
    USED.inc().unwrap();
    commit(&[RawChange::For(Stay::Begins, LENT.raw(), true)]).unwrap();
    LENT.inc().unwrap();
    SEALED.seal().unwrap();
    let counts = || [USED.count(), LENT.count(), OTHER.count()];
    // Requests are carried out in the order of the keys' addresses, so one of the two sealed keys comes after the others.
    static_key! { static SEALED_TOO: [false; 2]; }
    SEALED_TOO.iter().for_each(|key| key.seal().unwrap());
    for refused in [SEALED.raw(), SEALED_TOO[0].raw(), SEALED_TOO[1].raw()] {
        for change in [
            RawChange::Inc(USED.raw()),
            RawChange::Dec(USED.raw()),
            RawChange::Inc(OTHER.raw()),
            RawChange::For(Stay::Ends, LENT.raw(), false),
        ] {
            assert_eq!(commit(&[change, RawChange::Key(refused, true)]), Err(Error::Sealed));
            assert_eq!(counts(), [2, 2, 0]);
        }
    }
    commit(&[RawChange::Inc(USED.raw()), RawChange::Inc(OTHER.raw())]).unwrap();
    assert_eq!(counts(), [3, 2, 1]);
    commit(&[RawChange::Dec(USED.raw()), RawChange::For(Stay::Ends, LENT.raw(), false)]).unwrap();
    assert_eq!(counts(), [2, 1, 1]);
}

/// More keys than a batch holds change together, all or nothing.
pub fn any_number_of_keys() {
    static_key! { static MANY: [false; 200]; static SEALED: false; }
    assert_eq!(set_all([]).unwrap().sites, 0);
    // The list of changes is on the stack, and from 33 changes on in memory of its own.
    for len in [1, 2, 31, 32, 33, 34, 64, 200] {
        for on in [true, false] {
            set_all(MANY.iter().take(len).map(|key| (key.raw(), on))).unwrap();
            assert!(
                MANY.iter().enumerate().all(|(number, key)| key.is_enabled() == (on && number < len)),
                "{len} {on}"
            );
        }
    }
    set_all(MANY.iter().enumerate().map(|(number, key)| (key.raw(), number % 2 == 0))).unwrap();
    assert!(MANY.iter().enumerate().all(|(number, key)| key.is_enabled() == (number % 2 == 0)));
    SEALED.seal().unwrap();
    let all = MANY.iter().map(|key| (key.raw(), true)).chain([(SEALED.raw(), true)]);
    assert_eq!(set_all(all.clone()).unwrap_err(), Error::Sealed);
    assert!(MANY.iter().enumerate().all(|(number, key)| key.is_enabled() == (number % 2 == 0)));
    // The last change of a key wins.
    set_all(all.chain([(SEALED.raw(), false), (MANY[7].raw(), false)])).unwrap();
    assert!(MANY.iter().enumerate().all(|(number, key)| key.is_enabled() == (number != 7)));
}

/// A key that is off is sealed as well as one that is on, and stays what it is.
pub fn sealed_on_and_off() {
    static_key! {
        static ON: true;
        static OFF: false;
    }
    assert!(!ON.is_sealed() && !OFF.is_sealed());
    for _ in 0..2 {
        ON.seal().unwrap();
        OFF.seal().unwrap();
        assert!(ON.is_sealed() && OFF.is_sealed() && ON.is_enabled() && !OFF.is_enabled());
        assert_eq!((ON.count(), OFF.count()), (1, 0));
        assert!(ON.enable().is_ok() && OFF.disable().is_ok());
        let changes = [ON.disable(), OFF.enable(), ON.inc(), OFF.inc(), ON.dec(), OFF.dec()];
        assert_eq!(changes, [const { Err(Error::Sealed) }; 6]);
        assert!(static_branch_likely!(ON) && !static_branch_likely!(OFF));
    }
}

/// Hands the names of all these tests to a macro.
macro_rules! each {
    ($then:ident) => {
        $then! {
            arms_and_defaults places counts sealed locked attributes_and_names
            no_sites batch_last_wins_and_limits refused_batches_count_nothing any_number_of_keys sealed_on_and_off words changes_of_words
            left_behind_while_leaving
        }
    };
}
pub(crate) use each;

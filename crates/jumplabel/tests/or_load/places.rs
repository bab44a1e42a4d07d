//! Every default, arm and place: the checks follow each change.

use std::time::Duration;

use jumplabel::{
    Batch, DeferredKey, Error, Key, OrLoadKey, RawKey, StaticKey, for_each_key, static_branch_likely,
    static_branch_maybe, static_branch_unlikely, static_key,
};

static_key! {
    static OFF: false, or_load;
    pub static ON: true, or_load;
    static ARRAY: [false; 4], or_load;
    static ARRAY_ON: [true; 2], or_load;
    static LATER: true, or_load, deferred Duration::from_secs(3600);
    static ORDINARY: false;
}

struct Config {
    _first: u32,
    trace: OrLoadKey<false>,
    levels: [OrLoadKey<true>; 3],
    late: DeferredKey<false, true>,
}

static CONFIG: Config = Config {
    _first: 7,
    trace: OrLoadKey::new(),
    levels: [const { StaticKey::new() }; 3],
    late: DeferredKey::new(Duration::ZERO),
};

mod inner {
    jumplabel::static_key! { pub static DEEP: true, or_load; }
}

/// A key and all kinds of checks of it.
struct Place {
    key: &'static RawKey,
    checks: fn() -> [bool; 4],
}

macro_rules! places {
    ($({ $($key:tt)* })*) => {
        [$(Place {
            key: $($key)*.raw(),
            checks: || [
                static_branch_likely!($($key)*),
                static_branch_unlikely!($($key)*),
                static_branch_maybe!(true, $($key)*),
                static_branch_maybe!(false, $($key)*),
            ],
        }),*]
    };
}

const PLACES: usize = 13;

fn places() -> [Place; PLACES] {
    places! {
        { OFF } { ON } { inner::DEEP } { self::inner::DEEP }
        { ARRAY[0] } { ARRAY[3] } { ARRAY_ON[1] }
        { CONFIG.trace } { CONFIG.levels[0] } { CONFIG.levels[2] } { CONFIG.late }
        { LATER } { ORDINARY }
    }
}

/// The tests share the keys.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[track_caller]
fn agree(places: &[Place; PLACES]) {
    for (number, place) in places.iter().enumerate() {
        assert_eq!((place.checks)(), [place.key.is_enabled(); 4], "place {number}, {:?}", place.key);
    }
}

#[test]
fn checks_follow_in_every_place() {
    let _alone = alone();
    let places = places();
    agree(&places);
    for place in &places {
        let default = place.key.default_state();
        assert_eq!(place.key.is_enabled(), default);
        let changes: [fn(&RawKey) -> Result<_, Error>; 6] =
            [RawKey::disable, RawKey::inc, RawKey::inc, RawKey::dec, RawKey::dec, RawKey::enable];
        for (change, count) in changes.into_iter().zip([0, 1, 2, 1, 0, 1]) {
            let outcome = change(place.key).unwrap();
            assert_eq!((place.key.count(), outcome.loading), (count, 0));
            agree(&places);
        }
        assert_eq!(place.key.dec().map(drop), Ok(()));
        agree(&places);
        assert_eq!(place.key.dec(), Err(Error::Underflow));
        Batch::new().set(place.key, default).set(places[0].key, true).commit().unwrap();
        agree(&places);
        places[0].key.disable().unwrap();
        place.key.enable().unwrap();
        jumplabel::restore_pristine(place.key).unwrap();
        agree(&places);
        Batch::new().set(place.key, default).commit().unwrap();
        agree(&places);
    }
}

#[test]
fn a_deferred_key_goes_off_when_it_is_due() {
    let _alone = alone();
    let places = places();
    LATER.dec_deferred().unwrap();
    agree(&places);
    assert!(LATER.is_enabled() && static_branch_unlikely!(LATER));
    assert!(LATER.flush().unwrap().is_some());
    agree(&places);
    assert!(!static_branch_likely!(LATER));
    LATER.enable().unwrap();
    CONFIG.late.inc().unwrap();
    CONFIG.late.dec_deferred().unwrap();
    assert!(CONFIG.late.flush().is_ok() && !CONFIG.late.is_enabled());
    agree(&places);
}

/// A sealed key's count has its highest bit set: the stub must not test that bit.
#[test]
fn sealed() {
    static_key! { static SEALED: false, or_load; static SEALED_ON: true, or_load; }
    SEALED.seal().unwrap();
    SEALED_ON.seal().unwrap();
    assert!(!static_branch_unlikely!(SEALED) && !static_branch_likely!(SEALED));
    assert!(static_branch_unlikely!(SEALED_ON) && static_branch_likely!(SEALED_ON));
    assert_eq!(SEALED.enable(), Err(Error::Sealed));
    assert_eq!(SEALED_ON.disable(), Err(Error::Sealed));
}

/// Keys of this kind cost no more data than others, and are listed as others are.
#[test]
fn keys_like_others() {
    fn or_load<K: Key>(_: &K) -> bool {
        K::OR_LOAD
    }
    let _alone = alone();
    assert_eq!(size_of::<OrLoadKey<false>>(), size_of::<StaticKey<false>>());
    assert_eq!(size_of::<DeferredKey<false, true>>(), size_of::<DeferredKey<false>>());
    assert!(or_load(&OFF) && or_load(&ARRAY[1]) && or_load(&LATER) && !or_load(&ORDINARY));
    let mut found = 0;
    for_each_key(|key| found += usize::from(key.name.ends_with("places::OFF") || key.name.ends_with("places::ARRAY")))
        .unwrap();
    assert_eq!(found, 5);
    assert_eq!(format!("{OFF:?}"), format!("{:?}", OFF.raw()));
}

//! The sites that `prepare`, `prepare_keys` and `restore_pristine` patch, and those that go on loading.

use jumplabel::arch::State;
use jumplabel::{Outcome, RawKey, find_key, for_each_site, prepare, prepare_keys, restore_pristine};
use jumplabel_testing::scenario::passes;

use super::refused::{ALL, KEY, ON, ORDINARY, allow, begin, denied, is, loading};

/// `prepare_keys` patches the sites of these keys that need not load, and no others. It patches all of them or none.
#[test]
fn some_patched_ahead() {
    passes(|| {
        begin();
        let before = jumplabel::loading().unwrap();
        assert!(before >= 5);
        let both = || prepare_keys([KEY.raw(), ON.raw(), KEY.raw()]);
        denied(both());
        assert_eq!((loading(&KEY), loading(&ON)), (3, 2));
        allow(ALL);
        let outcome = prepare_keys([KEY.raw()]).unwrap();
        assert_eq!((outcome.sites, outcome.loading), (2, 0));
        assert_eq!((loading(&KEY), loading(&ON), jumplabel::loading().unwrap()), (1, 2, before - 2));
        is(false, true, false);
        let outcome = both().unwrap();
        assert_eq!((outcome.sites, loading(&KEY), loading(&ON)), (1, 1, 1));
        assert_eq!(both().unwrap().sites, 0);
        // Not a single write, of which some succeed.
        KEY.enable().unwrap();
        is(true, true, false);
        assert_eq!(both().unwrap().sites, 0);
        assert_eq!(prepare_keys([]).unwrap(), Outcome::default());
        assert_eq!(prepare_keys([ORDINARY.raw()]).unwrap().sites, 0);
        is(true, true, false);
    });
}

/// `prepare` and `restore_pristine` patch the sites that need not load, and no others.
#[test]
fn patched_ahead() {
    passes(|| {
        begin();
        allow(ALL);
        restore_pristine(&ON).unwrap();
        let nops = |key: &RawKey| {
            let mut nops = 0;
            for_each_site(key, |site| nops += usize::from(site.state == Some(State::LOADING_NOP))).unwrap();
            nops
        };
        assert_eq!((nops(&ON), loading(&ON)), (1, 1));
        is(false, true, false);
        prepare().unwrap();
        assert_eq!((loading(&KEY), loading(&ON)), (1, 1));
        is(false, true, false);
        let outcome = KEY.enable().unwrap();
        assert_eq!(outcome.sites, 3);
        is(true, true, false);
        assert_eq!(loading(&KEY), 0);
        prepare().unwrap();
        is(true, true, false);
        assert!(find_key("or_load::refused::KEY").is_ok_and(|key| key.sites == 3));
    });
}

//! Sites to which something outside the library has given the file's bytes back, as a removed uprobe, `madvise(MADV_DONTNEED)` and a new mapping of
//! the same file do. A change of a key, call or mode to its present state brings its sites back, and so does `verify`.
//!
//! Each test first shows that the sites do go astray: code that finds "nothing to do" by the count alone would fail there.
#![cfg(all(target_os = "linux", jumplabel_sites))]

#[path = "strayed/hooked.rs"]
mod hooked;
#[path = "strayed/kinds.rs"]
mod kinds;
#[path = "strayed/loading.rs"]
mod loading;
#[path = "strayed/refused.rs"]
mod refused;
#[path = "strayed/text.rs"]
mod text;
#[path = "strayed/threads.rs"]
mod threads;
#[path = "strayed/torn.rs"]
mod torn;

use jumplabel::{
    Batch, Error, Outcome, Visibility, WriterKind, naked_key, set_all, set_writer, static_branch_likely,
    static_branch_unlikely, static_key, verify,
};
use jumplabel_testing::scenario::passes;
use jumplabel_testing::writers;
use text::{WAYS, Way};

static_key! {
    static OFF: false;
    static ON: true;
    static COUNTED: false;
    static MANY: [false; 300];
}
naked_key! { static NAKED: false; }

/// The results of the checks of a key that is off at first, and of one that is on: in line and not.
#[inline(never)]
fn checks() -> [bool; 4] {
    [static_branch_likely!(OFF), static_branch_unlikely!(OFF), static_branch_likely!(ON), static_branch_unlikely!(ON)]
}

/// Runs `body` for each way and with each writer, each time in a process of its own that is in this state.
fn each(body: impl Fn(Way)) {
    let all = [None, Some(WriterKind::Procmem), Some(WriterKind::Mprotect), Some(WriterKind::Remap)];
    for way in WAYS {
        for writer in all.into_iter().filter(|writer| writers::works(*writer)) {
            set_writer(writer);
            body(way);
        }
    }
}

/// Asserts that this many sites were brought back, and that all threads see it.
#[track_caller]
fn back(result: Result<Outcome, Error>, sites: usize) {
    let outcome = result.unwrap();
    assert_eq!((outcome.sites, outcome.visibility), (sites, Visibility::Immediate));
    assert_eq!(outcome.writer.is_some(), sites > 0);
}

#[test]
fn keys() {
    passes(|| {
        each(|way| {
            OFF.enable().unwrap();
            ON.disable().unwrap();
            assert_eq!(checks(), [true, true, false, false]);
            way.stray();
            assert_eq!(checks(), [false, false, true, true], "nothing has strayed");
            back(OFF.enable(), 2);
            back(ON.disable(), 2);
            assert_eq!(checks(), [true, true, false, false]);
            back(OFF.enable(), 0);
            back(ON.disable(), 0);
            // A change to the other state finds the bytes that it wants; a change back does not.
            way.stray();
            back(OFF.disable(), 0);
            back(ON.enable(), 0);
            assert_eq!(checks(), [false, false, true, true]);
            back(OFF.enable(), 2);
            back(ON.disable(), 2);
            assert_eq!(checks(), [true, true, false, false]);
            // The `_locked` methods bring the sites back, too.
            way.stray();
            let mut lock = jumplabel::Lock::take().unwrap();
            back(OFF.enable_locked(&mut lock), 2);
            back(ON.disable_locked(&mut lock), 2);
            drop(lock);
            assert_eq!(checks(), [true, true, false, false]);
            OFF.disable().unwrap();
            ON.enable().unwrap();
        });
    });
}

/// A naked key has one site, which begins its function.
#[test]
fn naked_keys() {
    passes(|| {
        each(|way| {
            NAKED.enable().unwrap();
            way.stray();
            assert!(!NAKED.get(), "nothing has strayed");
            back(NAKED.enable(), 1);
            assert!(NAKED.get());
            way.stray();
            back(NAKED.verify(), 1);
            assert!(NAKED.get());
            NAKED.disable().unwrap();
        });
    });
}

/// `inc` and `dec` of a key that stays on look at nothing. `verify` asks for no count.
#[test]
fn counts() {
    passes(|| {
        let on = || static_branch_unlikely!(COUNTED);
        each(|way| {
            COUNTED.inc().unwrap();
            COUNTED.inc().unwrap();
            way.stray();
            assert!(!on(), "nothing has strayed");
            COUNTED.inc().unwrap();
            COUNTED.dec().unwrap();
            assert!(!on() && COUNTED.count() == 2);
            assert_eq!(COUNTED.enable(), Err(Error::Counted { count: 2 }));
            back(COUNTED.verify(), 1);
            assert!(on() && COUNTED.count() == 2);
            back(COUNTED.verify(), 0);
            COUNTED.dec().unwrap();
            COUNTED.dec().unwrap();
            assert!(!on());
        });
    });
}

/// A sealed key does not change, and neither do its sites.
#[test]
fn sealed_keys() {
    passes(|| {
        OFF.enable().unwrap();
        ON.disable().unwrap();
        OFF.seal().unwrap();
        ON.seal().unwrap();
        each(|way| {
            way.stray();
            assert_eq!(checks(), [false, false, true, true], "nothing has strayed");
            back(OFF.enable(), 2);
            back(ON.verify(), 2);
            assert_eq!(checks(), [true, true, false, false]);
            way.stray();
            assert_eq!((OFF.disable(), ON.enable()), (Err(Error::Sealed), Err(Error::Sealed)));
            back(ON.disable(), 2);
            back(verify(), 2);
            assert_eq!(checks(), [true, true, false, false]);
        });
    });
}

/// A batch and `set_all` bring back the strayed sites of keys that stay, together with those that change.
#[test]
fn batches() {
    passes(|| {
        let many = || {
            macro_rules! at {
                ($($at:literal)*) => { [$(static_branch_unlikely!(MANY[$at])),*] };
            }
            at!(0 1 2 3 299)
        };
        each(|way| {
            set_all(MANY.iter().map(|key| (&**key, true))).unwrap();
            OFF.enable().unwrap();
            assert_eq!(many(), [true; 5]);
            way.stray();
            assert_eq!(many(), [false; 5], "nothing has strayed");
            // One more site of the last key is in another test.
            back(set_all(MANY.iter().map(|key| (&**key, true))), 6);
            assert_eq!((many(), checks()[0]), ([true; 5], false));
            // The batch has keys that stay, that change to the state that they have, and that change.
            back(Batch::new().enable(&OFF).enable(&ON).commit(), 2);
            back(Batch::new().enable(&OFF).disable(&ON).commit(), 2);
            assert_eq!(checks(), [true, true, false, false]);
            Batch::new().disable(&OFF).enable(&ON).commit().unwrap();
            set_all(MANY.iter().map(|key| (&**key, false))).unwrap();
        });
    });
}

/// All keys of the process at once.
#[test]
fn everything() {
    passes(|| {
        each(|way| {
            back(verify(), 0);
            OFF.enable().unwrap();
            ON.disable().unwrap();
            NAKED.enable().unwrap();
            MANY[299].enable().unwrap();
            back(verify(), 0);
            way.stray();
            static_key! { static LATER: false; }
            LATER.enable().unwrap();
            let outcome = verify().unwrap();
            assert!(outcome.sites == 7 && outcome.pages > 0 && outcome.writer.is_some(), "{outcome:?}");
            assert_eq!((checks(), NAKED.get()), ([true, true, false, false], true));
            assert!(static_branch_likely!(MANY[299]) && static_branch_unlikely!(LATER));
            back(verify(), 0);
            Batch::new()
                .disable(&OFF)
                .enable(&ON)
                .disable(&NAKED)
                .disable(&MANY[299])
                .disable(&LATER)
                .commit()
                .unwrap();
        });
    });
}

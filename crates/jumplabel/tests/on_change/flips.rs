//! The flips of which functions are told, when, and the calls that a function may make.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use jumplabel::AskedBy::{Operator, Program, Startup};
use jumplabel::{AskedBy, Batch, Changed, Error, Lock, RawChange, modes, on_change, set_all, static_key, static_mode};

use crate::{List, alone, told};

modes! { enum Policy { Fifo, Lru } }

#[test]
fn each_change_once() {
    static_key! { static ONE: false; static OTHER: true; }
    static_mode! { static POLICY: Policy = Fifo; }
    static ALL: List = List::new();
    static OF_ONE: List = List::new();
    static OF_POLICY: List = List::new();
    let _turn = alone();
    let all = on_change(&|changed: &Changed<'_>, by| ALL.note(changed, by)).unwrap();
    let one = ONE.on_change(&|changed: &Changed<'_>, by| OF_ONE.note(changed, by)).unwrap();
    let policy = POLICY.raw().on_change(&|changed: &Changed<'_>, by| OF_POLICY.note(changed, by)).unwrap();
    let [key, other, mode] = [ONE.address(), OTHER.address(), POLICY.raw().address()];

    ONE.enable().unwrap();
    ONE.enable().unwrap(); // The key is on already.
    assert_eq!((ALL.take(), OF_ONE.take()), (vec![(key, 1, Program)], vec![(key, 1, Program)]));
    ONE.inc().unwrap();
    assert_eq!(ONE.disable(), Err(Error::Counted { count: 2 }));
    ONE.dec().unwrap();
    ONE.dec().unwrap();
    assert_eq!(ONE.dec(), Err(Error::Underflow));
    assert_eq!((ALL.take(), OF_ONE.take()), (vec![(key, 0, Program)], vec![(key, 0, Program)]));
    POLICY.set(Policy::Lru).unwrap();
    POLICY.set(Policy::Lru).unwrap();
    OTHER.disable().unwrap();
    assert_eq!(ALL.take(), [(mode, 1, Program), (other, 0, Program)]);
    assert_eq!((OF_POLICY.take(), OF_ONE.take()), (vec![(mode, 1, Program)], vec![]));
    for on_change in [all, one, policy] {
        assert_eq!(on_change.remove(), 0);
    }
    ONE.enable().unwrap();
    assert_eq!((ALL.take(), OF_ONE.take()), (vec![], vec![]));
}

/// When a function is told of the first key of a batch, the whole batch has changed. A function is not told of a batch that is refused.
#[test]
fn batches() {
    static_key! { static KEYS: [false; 40]; static SEALED: false; }
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    static UNFINISHED: AtomicUsize = AtomicUsize::new(0);
    let _turn = alone();
    let count = on_change(&|changed: &Changed<'_>, _| {
        let (address, state, _) = told(changed, Program);
        assert!(KEYS.iter().any(|key| key.address() == address));
        let behind = KEYS.iter().filter(|key| u8::from(key.is_enabled()) != state).count();
        UNFINISHED.fetch_add(behind, Ordering::Relaxed);
        COUNT.fetch_add(1, Ordering::Relaxed);
    })
    .unwrap();
    SEALED.seal().unwrap();
    for (size, on) in [(40, true), (40, false)] {
        set_all(KEYS.iter().take(size).map(|key| (key.raw(), on))).unwrap();
        assert_eq!((COUNT.swap(0, Ordering::Relaxed), UNFINISHED.load(Ordering::Relaxed)), (size, 0));
        let refused = set_all(KEYS.iter().map(|key| (key.raw(), !on)).chain([(SEALED.raw(), true)]));
        assert_eq!((refused, COUNT.load(Ordering::Relaxed)), (Err(Error::Sealed), 0));
    }
    // A function is told once of a key that is named twice, and not at all if the key stays.
    Batch::<4>::with_capacity().set(&KEYS[0], true).set(&KEYS[0], false).set(&KEYS[1], false).commit().unwrap();
    assert_eq!(COUNT.load(Ordering::Relaxed), 0);
    assert_eq!(count.remove(), 0);
}

#[test]
fn what_is_flipped_under_the_lock() {
    static_key! { static KEYS: [false; 12]; }
    static LIST: List = List::new();
    let _turn = alone();
    let list = on_change(&|changed: &Changed<'_>, by| LIST.note(changed, by)).unwrap();
    let mut lock = Lock::take().unwrap();
    for key in &KEYS {
        key.enable_locked(&mut lock).unwrap();
    }
    KEYS[0].dec_locked(&mut lock).unwrap();
    // A function can be removed, and another one registered, under the lock.
    assert_eq!(list.remove(), 0);
    let list = on_change(&|changed: &Changed<'_>, by| LIST.note(changed, by)).unwrap();
    assert_eq!(LIST.take(), []);
    drop(lock);
    let mut expected: Vec<_> = KEYS.iter().map(|key| (key.address(), 1, Program)).collect();
    expected.push((KEYS[0].address(), 0, Program));
    assert_eq!(LIST.take(), expected);
    // A guard takes the lock, too.
    drop(KEYS[0].scoped(true).unwrap());
    assert_eq!(LIST.take(), [(KEYS[0].address(), 1, Program), (KEYS[0].address(), 0, Program)]);
    assert_eq!(list.remove(), 0);
}

/// The one who asked is told with the changes of that call, and with no others.
#[test]
fn who_asked() {
    static_key! { static KEY: false; }
    static LIST: List = List::new();
    let _turn = alone();
    let list = KEY.on_change(&|changed: &Changed<'_>, by| LIST.note(changed, by)).unwrap();
    let set = |by: AskedBy, change| {
        // SAFETY: no call is among them.
        unsafe { jumplabel::commit_all_by(by, [Ok::<_, Error>(change)]) }.unwrap();
    };
    set(Operator { uid: 1000 }, RawChange::Key(&KEY, true));
    set(Operator { uid: 0 }, RawChange::Key(&KEY, true));
    KEY.disable().unwrap();
    set(Startup, RawChange::Inc(&KEY));
    set(AskedBy::Revert, RawChange::Dec(&KEY));
    let key = KEY.address();
    assert_eq!(
        LIST.take(),
        [(key, 1, Operator { uid: 1000 }), (key, 0, Program), (key, 1, Startup), (key, 0, AskedBy::Revert)]
    );
    // A change for a while: only its own flips are told with it.
    set(Operator { uid: 7 }, RawChange::For(jumplabel::Stay::Begins, &KEY, true));
    set(AskedBy::Revert, RawChange::For(jumplabel::Stay::Ends, &KEY, false));
    set(AskedBy::Revert, RawChange::For(jumplabel::Stay::Ends, &KEY, false));
    assert_eq!(LIST.take(), [(key, 1, Operator { uid: 7 }), (key, 0, AskedBy::Revert)]);
    assert_eq!(list.remove(), 0);
}

/// A function that does not let its key stay on. It is told of its own flip within its call.
#[test]
fn its_own_key() {
    static_key! { static KEY: false; }
    static LIST: List = List::new();
    let _turn = alone();
    let veto = KEY
        .on_change(&|changed: &Changed<'_>, by| {
            if let Changed::Key { key, on: true, .. } = changed {
                key.disable().unwrap();
            }
            LIST.note(changed, by);
        })
        .unwrap();
    KEY.enable().unwrap();
    assert!(!KEY.is_enabled());
    let states: Vec<_> = LIST.take().into_iter().map(|(_, state, _)| state).collect();
    assert_eq!(states, [0, 1]);
    assert_eq!(veto.remove(), 0);
}

/// A function whose flip calls it again without end comes to an end: its flips are refused, and all others are not.
#[test]
fn without_an_end() {
    static_key! { static KEY: false; static OTHER: false; }
    static ENDS: Mutex<Vec<Error>> = Mutex::new(Vec::new());
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let _turn = alone();
    let toggle = KEY
        .on_change(&|changed: &Changed<'_>, _| {
            CALLS.fetch_add(1, Ordering::Relaxed);
            let Changed::Key { key, on, .. } = changed else { unreachable!() };
            if let Err(error) = if *on { key.disable() } else { key.enable() } {
                ENDS.lock().unwrap().push(error);
                // Another thread is not in a call.
                std::thread::scope(|scope| scope.spawn(|| OTHER.enable()).join().unwrap()).unwrap();
                assert_eq!(OTHER.disable(), Err(Error::Reentrant));
            }
        })
        .unwrap();
    for _ in 0..3 {
        KEY.enable().unwrap();
        assert_eq!((CALLS.swap(0, Ordering::Relaxed), KEY.is_enabled()), (8, false));
        assert_eq!(std::mem::take(&mut *ENDS.lock().unwrap()), [Error::Reentrant]);
        OTHER.disable().unwrap();
    }
    assert_eq!(toggle.remove(), 0);
}

/// A function waits for a lock of the program, whose holder flips. Nobody waits for ever, because the function is called without the library's
/// lock.
#[test]
fn a_lock_that_a_flipper_holds() {
    static_key! { static KEY: false; static OTHER: false; }
    static OWN: Mutex<()> = Mutex::new(());
    static IS_CALLED: AtomicBool = AtomicBool::new(false);
    let _turn = alone();
    let waits = KEY
        .on_change(&|_, _| {
            IS_CALLED.store(true, Ordering::SeqCst);
            drop(OWN.lock().unwrap());
        })
        .unwrap();
    let own = OWN.lock().unwrap();
    std::thread::scope(|scope| {
        let flips = scope.spawn(|| KEY.enable().unwrap());
        while !IS_CALLED.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        // The other thread waits in its call.
        assert!(KEY.is_enabled() && !flips.is_finished());
        OTHER.enable().unwrap();
        drop(own);
    });
    assert_eq!(waits.remove(), 0);
}

/// A function copies the state that the key has when it is called. The copy is right in the end, whichever threads flip at the same time, even if
/// the function is registered in the middle.
#[test]
fn a_copy_is_right() {
    static_key! { static KEY: false; }
    static COPY: Mutex<bool> = Mutex::new(false);
    const ROUNDS: usize = if cfg!(miri) { 3 } else { 100 };
    let _turn = alone();
    for _ in 0..ROUNDS {
        let copies = std::thread::scope(|scope| {
            for on in [true, false, true] {
                scope.spawn(move || (0..4).for_each(|_| _ = if on { KEY.enable() } else { KEY.disable() }));
            }
            let copies = KEY
                .on_change(&|_, _| {
                    let mut copy = COPY.lock().unwrap();
                    *copy = KEY.is_enabled();
                })
                .unwrap();
            let mut copy = COPY.lock().unwrap();
            *copy = KEY.is_enabled();
            copies
        });
        assert_eq!(*COPY.lock().unwrap(), KEY.is_enabled());
        assert_eq!(copies.remove(), 0);
    }
}

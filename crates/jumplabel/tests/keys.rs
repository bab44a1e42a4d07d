//! Keys and their checks in one thread: defaults, arms, places, counts, misuse.

use jumplabel::arch::{Arch, Native, State};
use jumplabel::{
    Batch, Error, Lock, RawKey, Site, StaticKeyFalse, for_each_key, for_each_site, naked_key, probe, set_all,
    static_branch_likely, static_branch_maybe, static_branch_unlikely, static_key, text_reserved, text_reserved_locked,
};

/// All four combinations, flipped there and back.
#[test]
fn arms_and_defaults() {
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
#[test]
fn places() {
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

#[test]
fn counts() {
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

#[test]
fn sealed() {
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

/// `#[cfg]` takes the whole declaration away; names do not clash with what the macro makes.
/// Several changes under one lock, and what takes the lock itself.
#[test]
fn locked() {
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

#[test]
fn attributes_and_names() {
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
#[test]
fn no_sites() {
    static_key! { static LONELY: false; }
    let outcome = LONELY.enable().unwrap();
    assert!(LONELY.is_enabled() && outcome.sites == 0 && outcome.writer.is_none());
}

#[test]
fn batch_last_wins_and_limits() {
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

#[test]
#[cfg_attr(not(jumplabel_sites), ignore = "no sites")]
fn introspection() {
    static_key! { static LISTED: [true; 2]; }
    #[inline(never)] // One site.
    fn check() -> bool {
        static_branch_unlikely!(LISTED[1])
    }
    assert!(check());
    let mut found = 0;
    for_each_key(|key| {
        if key.name.ends_with("::LISTED") {
            found += 1;
            assert!(key.file.ends_with("keys.rs") && key.line > 100 && key.default && key.enabled);
            assert_eq!(key.sites, key.element.unwrap() as usize);
        }
    })
    .unwrap();
    assert_eq!(found, 2);
    let mut address = 0;
    assert_eq!(for_each_site(&LISTED[1], |site| address = site.address).unwrap(), 1);
    LISTED[1].disable().unwrap();
    for_each_site(&LISTED[1], |site| {
        assert!(site.state.unwrap().falls_through());
        let shown = format!("{address:#x} {} -> {:#x} unlikely", site.state.unwrap().name(), site.target);
        assert_eq!(site.to_string(), shown);
        assert!(Site { state: None, ..site }.to_string().starts_with(&format!("{address:#x} foreign bytes [")));
        // Where a site has more than one way to fall through, it is left in another than it came in.
        assert_eq!(site.state, Some(State::JUMP.toward::<Native>(0, Some(0))));
        LISTED[1].enable().unwrap(); // Visited without the lock.
    })
    .unwrap();
    assert!(check());
    assert!(text_reserved(address..address + 1).unwrap());
    assert!(text_reserved(address + Native::SIZE - 1..address + Native::SIZE).unwrap());
    assert!(!text_reserved(address + Native::SIZE..address + Native::SIZE).unwrap());
}

/// Keys of all kinds in one constant list.
#[test]
fn keys_without_their_types() {
    static_key! {
        static OFF: false;
        static ON: true;
        static LATER: false, deferred std::time::Duration::from_millis(1);
    }
    naked_key! { static NAKED: true; }
    static ALL: [&RawKey; 4] = [OFF.raw(), ON.raw(), LATER.raw(), NAKED.raw()];
    assert_eq!(ALL.map(RawKey::is_enabled), [false, true, false, true]);
    set_all(ALL.into_iter().map(|key| (key, !key.is_enabled()))).unwrap();
    assert!(OFF.is_enabled() && !static_branch_likely!(ON) && static_branch_unlikely!(LATER) && !NAKED.get());
    // For people: short, whatever the type.
    assert!(ALL.iter().map(|key| format!("{key:?}")).eq([
        format!("{OFF:?}"),
        format!("{ON:?}"),
        format!("{LATER:?}"),
        format!("{NAKED:?}")
    ]));
    OFF.inc().unwrap();
    NAKED.seal().unwrap();
    assert_eq!(
        format!("{OFF:?} {ON:?} {LATER:?} {NAKED:?}"),
        "StaticKey(on, count 2) StaticKey(off, count 0) StaticKey(on, count 1) StaticKey(off, count 0, sealed)"
    );
}

/// More than a batch holds, and all or nothing.
#[test]
fn any_number_of_keys() {
    static_key! { static MANY: [false; 200]; static SEALED: false; }
    assert_eq!(set_all([]).unwrap().sites, 0);
    // On the stack, and from the 33rd on in memory of their own.
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

#[test]
#[cfg_attr(not(jumplabel_sites), ignore = "nothing to write without sites")]
fn a_writer_is_found_ahead() {
    let writer = probe().unwrap();
    static_key! { static KEY: false; }
    assert!(!static_branch_unlikely!(KEY));
    assert_eq!(KEY.enable().unwrap().writer, Some(writer));
}

/// What is reserved is all bytes of a site, and neither of those beside it.
#[cfg(jumplabel_sites)]
#[test]
fn reserved_text() {
    static_key! { static ALONE: false; }
    #[inline(never)]
    fn check(before: u64, after: u64) -> u64 {
        // Instructions of other kinds on both sides of the site.
        let before = std::hint::black_box(before).wrapping_mul(3);
        let on = u64::from(static_branch_unlikely!(ALONE));
        before.wrapping_add(std::hint::black_box(after + on))
    }
    assert_eq!((check(1, 1), check(2, 3)), (4, 9));
    let mut sites = Vec::new();
    for_each_site(&ALONE, |site| sites.push(site.address)).unwrap();
    assert!(!sites.is_empty());
    for start in sites {
        let end = start + Native::SIZE;
        for (range, reserved) in [
            (start - 1..start, false),
            (start - 1..start + 1, true),
            (start..start, false),
            (start + 1..start + 1, false),
            (start..start + 1, true),
            (start..end, true),
            (end - 1..end, true),
            (end - 1..end + 1, true),
            (end..end + 1, false),
            (start - 1..end + 1, true),
        ] {
            assert_eq!(text_reserved(range.clone()).unwrap(), reserved, "{range:x?} of {start:x}");
        }
    }
}

/// What each kind of word means, at its borders.
#[test]
fn words() {
    use jumplabel::key::count::{sealed, users};
    use std::sync::atomic::AtomicI32;

    for (word, count, is_sealed) in [
        (0, 0, false),
        (1, 1, false),
        (i32::MAX, i32::MAX, false),
        (-1, 1, false),
        (-2, i32::MAX - 1, true),
        (i32::MIN, 0, true),
        (i32::MIN + 1, 1, true),
    ] {
        assert_eq!((users(word), sealed(&AtomicI32::new(word))), (count, is_sealed), "{word}");
    }
}

/// What each change under the lock makes of each kind of word. Those that a lock-free change mostly comes before are here, too.
#[test]
fn changes_of_words() {
    use Transition::{Done, TurnOff, TurnOn};
    use jumplabel::key::count::{Change, Misuse, Transition, abandon, begin, publish};
    use std::sync::atomic::{AtomicI32, Ordering};

    const MAX: i32 = i32::MAX;
    const OFF: i32 = i32::MIN; // sealed
    const ON: i32 = i32::MIN + 1;
    let all = [
        (Change::Enable, 0, Ok(TurnOn), 1),
        (Change::Enable, 1, Ok(Done), 1),
        (Change::Enable, 2, Err(Misuse::Counted(2)), 2),
        (Change::Enable, OFF, Err(Misuse::Sealed), OFF),
        (Change::Enable, ON, Ok(Done), ON),
        (Change::Disable, 0, Ok(Done), 0),
        (Change::Disable, 1, Ok(TurnOff), 0),
        (Change::Disable, 2, Err(Misuse::Counted(2)), 2),
        (Change::Disable, OFF, Ok(Done), OFF),
        (Change::Disable, ON, Err(Misuse::Sealed), ON),
        (Change::Inc, 0, Ok(TurnOn), 1),
        (Change::Inc, 1, Ok(Done), 2),
        (Change::Inc, 2, Ok(Done), 3),
        (Change::Inc, MAX - 1, Ok(Done), MAX),
        (Change::Inc, MAX, Err(Misuse::Overflow), MAX),
        (Change::Inc, OFF, Err(Misuse::Sealed), OFF),
        (Change::Dec, 0, Err(Misuse::Underflow), 0),
        (Change::Dec, 1, Ok(TurnOff), 0),
        (Change::Dec, 2, Ok(Done), 1),
        (Change::Dec, MAX, Ok(Done), MAX - 1),
        (Change::Dec, ON, Err(Misuse::Sealed), ON),
    ];
    for (change, before, expected, after) in all {
        let word = AtomicI32::new(before);
        let result = begin(&word, change);
        assert_eq!(result, expected, "{change:?} of {before}");
        let Ok(transition) = result else {
            assert_eq!(word.into_inner(), before);
            continue;
        };
        let again = AtomicI32::new(word.load(Ordering::Relaxed));
        for _ in 0..2 {
            publish(&word, transition);
            assert_eq!(word.load(Ordering::Relaxed), after, "{change:?} of {before}");
            abandon(&again);
            let kept = if transition == Done { after } else { before };
            assert_eq!(again.load(Ordering::Relaxed), kept, "{change:?} of {before}, refused");
        }
    }
}

/// A key that is off is sealed as well as one that is on, and stays what it is.
#[test]
fn sealed_on_and_off() {
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

/// What a copied process can find: a key whose last user was leaving. The user has not left, whatever is asked of the key.
#[test]
fn left_behind_while_leaving() {
    use jumplabel::key::count::{Change, Misuse, Transition, begin, seal, sealed, users};
    use std::sync::atomic::{AtomicI32, Ordering};

    let leaving = || AtomicI32::new(-1);
    let word = leaving();
    assert_eq!((seal(&word), sealed(&word), users(word.load(Ordering::Relaxed))), (Ok(()), true, 1));
    for (change, expected, count) in [
        (Change::Enable, Ok(Transition::Done), 1),
        (Change::Inc, Ok(Transition::Done), 2),
        (Change::Disable, Ok(Transition::TurnOff), 1),
        (Change::Dec, Ok(Transition::TurnOff), 1),
    ] {
        let word = leaving();
        assert_eq!((begin(&word, change), users(word.load(Ordering::Relaxed))), (expected, count), "{change:?}");
    }
    // A count that is sealed would be this mark.
    assert_eq!(seal(&AtomicI32::new(i32::MAX)), Err(Misuse::Overflow));
}

/// A dec that is due is carried out by itself, on every platform that has threads and a clock.
#[test]
fn deferred() {
    use std::time::{Duration, Instant};
    static_key! { static LATE: true, deferred core::time::Duration::from_millis(1); }
    LATE.dec_deferred().unwrap();
    let start = Instant::now();
    while LATE.is_enabled() {
        assert!(start.elapsed() < Duration::from_secs(60), "still on");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(!static_branch_likely!(LATE));
    std::thread::sleep(Duration::from_millis(50)); // Miri wants the worker to end before its process.
}

/// A key that is sealed may lie in memory that cannot be written: what is refused writes nothing.
#[test]
#[cfg(all(target_os = "linux", not(miri)))]
fn sealed_in_read_only_memory() {
    const PAGE: usize = 1 << 16; // The largest there is.
    #[repr(C, align(65536))]
    struct Page(StaticKeyFalse, [u8; PAGE - 8]);
    static SEALED: Page = Page(StaticKeyFalse::new(), [0; PAGE - 8]);
    static_key! { static OTHER: false; }

    SEALED.0.seal().unwrap();
    // SAFETY: pages of this static, of which nothing else is in them.
    let done = unsafe { libc::mprotect(SEALED.0.address() as *mut libc::c_void, PAGE, libc::PROT_READ) };
    assert_eq!(done, 0);
    let refused = [SEALED.0.inc(), SEALED.0.enable(), Batch::new().enable(&OTHER).enable(&SEALED.0).commit()];
    assert_eq!(refused, [const { Err(Error::Sealed) }; 3]);
    assert!(SEALED.0.disable().is_ok() && !OTHER.is_enabled());
}
